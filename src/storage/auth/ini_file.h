// INI files as the AWS and OCI tools write them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace assay::storage {

/// Keys in lower case. Where a key's own value is empty, indented lines below it are keys "outer.inner"; elsewhere they
/// continue the value.
using IniSection = std::map<std::string, std::string>;
using IniFile = std::map<std::string, IniSection>;

/// An error names `source` and the line, and shows nothing of its text, which may be a secret.
Result<IniFile> ParseIni(std::string_view text, std::string_view source);
/// An empty file where there is none.
Result<IniFile> ReadIniFile(const std::string& path);

}  // namespace assay::storage
