#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/files.h"

namespace assay {

Result<TemporaryDirectory> TemporaryDirectory::Create(std::string_view prefix) {
  const char* parent = std::getenv("TMPDIR");
  std::string path = (parent != nullptr && *parent != '\0') ? parent : "/tmp";
  path.append("/").append(prefix).append("-XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) {
    return ErrnoStatus(errno, "create temporary folder", path);
  }
  return TemporaryDirectory(std::move(path));
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept
    : path_(std::exchange(other.path_, std::string())) {}

TemporaryDirectory::~TemporaryDirectory() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

}  // namespace assay
