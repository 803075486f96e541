#include "data/cache_file.h"

#include <fmt/format.h>

#include <cstring>

namespace assay::data {

Status CacheFileKind::CheckStart(const std::string& path, std::span<const std::byte> bytes, size_t smallest) const {
  if (bytes.size() < magic.size() || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0) {
    const std::string_view start(magic.data(), magic.size());
    return Refuse(path, fmt::format("it is not one (it does not start with {})", start));
  }
  if (bytes.size() < smallest) {
    return Truncated(path, bytes.size());
  }
  uint32_t found = 0;
  std::memcpy(&found, bytes.data() + magic.size(), sizeof(found));
  if (found != version) {
    return Refuse(path, fmt::format("it has format version {}, this program reads version {}; remove it, it is made "
                                    "again from the data set",
                                    found, version));
  }
  return Status::Ok();
}

Status CacheFileKind::Refuse(const std::string& path, std::string_view what) const {
  return Status::InvalidArgument(fmt::format("cannot read {} {}: {}", name, path, what));
}

Status CacheFileKind::Truncated(const std::string& path, size_t size) const {
  return Refuse(path, fmt::format("it is truncated or damaged ({} bytes do not hold what it says it holds); "
                                  "remove it, it is made again from the data set",
                                  size));
}

}  // namespace assay::data
