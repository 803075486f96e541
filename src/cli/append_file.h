// A file that grows while others read it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace assay::cli {

/// Closes its file at its end. Not safe to use from two threads.
class AppendFile {
 public:
  /// Behind what `path` holds, which is made where it is missing.
  static Result<AppendFile> Open(const std::string& path);
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&&) = delete;
  ~AppendFile();

  /// Readers see all of `text` when it returns.
  Status Append(std::string_view text);

 private:
  AppendFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_;
  std::string path_;
};

}  // namespace assay::cli
