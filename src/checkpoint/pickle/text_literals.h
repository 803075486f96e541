// Texts of the oldest pickle protocol, which stand in quotes and escapes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay::checkpoint {

/// A text in quotes with the escapes of Python's string literals; nothing where quotes are missing or an escape is
/// none. What it holds is bytes.
std::optional<std::string> UnquotePython(std::string_view literal);
/// Of Python's raw-unicode-escape: Latin-1 with \uXXXX and \UXXXXXXXX. As UTF-8.
std::optional<std::string> UnescapeRawUnicode(std::string_view text);

}  // namespace assay::checkpoint
