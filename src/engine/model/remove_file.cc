#include "engine/model/remove_file.h"

#include <filesystem>
#include <system_error>

#include "engine/model/status_error.h"

namespace assay::engine {

void remove_file(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error && error != std::errc::no_such_file_or_directory) {
    throw StatusError(ErrnoStatus(error.value(), "remove", path));
  }
}

}  // namespace assay::engine
