// A file that grows while others read it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/file_descriptor.h"
#include "base/status.h"

namespace assay::cli {

/// Closes its file at its end. Not safe to use from two threads.
class AppendFile {
 public:
  /// Behind what `path` holds, which is made where it is missing.
  static Result<AppendFile> Open(const std::string& path);

  /// Readers see all of `text` when it returns.
  Status Append(std::string_view text);

 private:
  AppendFile(FileDescriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  FileDescriptor file_;
  std::string path_;
};

}  // namespace assay::cli
