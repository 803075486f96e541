#include <algorithm>
#include <cstring>

#include "storage/transfer/dialect.h"

namespace assay::storage {

size_t TextSource::Read(std::span<std::byte> out) {
  const size_t bytes = std::min(out.size(), text_.size() - offset_);
  std::memcpy(out.data(), text_.data() + offset_, bytes);
  offset_ += bytes;
  return bytes;
}

}  // namespace assay::storage
