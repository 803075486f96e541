#include "shards/convert/spare_buffers.h"

#include <utility>

#include "base/huge_pages.h"

namespace assay::shards {
namespace {

/// One huge row is no reason to keep so much for all others.
constexpr size_t kMostSpareBytes = size_t{64} << 20;

}  // namespace

std::string SpareBuffers::Take(size_t bytes) {
  std::string buffer;
  {
    const std::lock_guard lock(mutex_);
    if (!spares_.empty()) {
      buffer = std::move(spares_.back());
      spares_.pop_back();
    }
  }
  buffer.clear();
  ReserveInHugePages(buffer, bytes);
  return buffer;
}

std::shared_ptr<const std::string> SpareBuffers::Share(std::string buffer) {
  const auto comes_back = [self = shared_from_this()](std::string* read) {
    const std::unique_ptr<std::string> owned(read);
    if (read->capacity() <= kMostSpareBytes) {
      const std::lock_guard lock(self->mutex_);
      self->spares_.push_back(std::move(*read));
    }
  };
  return std::shared_ptr<std::string>(new std::string(std::move(buffer)), comes_back);
}

}  // namespace assay::shards
