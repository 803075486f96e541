#include "engine/comm/shm/arena.h"

#include <ATen/Functions.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "engine/kernels/memory.h"

namespace assay::engine {

Arena::Arena(SharedMapping mapping) : mapping_(std::move(mapping)), blocks_(mapping_.bytes()) {}

at::Tensor Arena::allocate(int64_t elements, at::ScalarType dtype) {
  const auto options = at::TensorOptions().dtype(dtype);
  const size_t bytes = static_cast<size_t>(elements) * c10::elementSize(dtype);
  if (bytes == 0) {
    return at::empty({0}, options);
  }
  void* block = take(bytes);
  const auto release = [arena = shared_from_this(), bytes](void* data) { arena->give(data, bytes); };
  return at::from_blob(block, {elements}, release, options);
}

void* Arena::take(size_t bytes) {
  ChargeTensorBytes(static_cast<int64_t>(bytes));
  const std::lock_guard lock(mutex_);
  void* block = blocks_.take(bytes);
  if (block == nullptr) {
    ChargeTensorBytes(-static_cast<int64_t>(bytes));
    TORCH_CHECK_WITH(OutOfMemoryError, false, "allocating ", FormatBytes(static_cast<double>(bytes)),
                     " of memory shared between ranks failed: the segment of ",
                     FormatBytes(static_cast<double>(mapping_.bytes().size())), " is full");
  }
  return block;
}

void Arena::give(void* block, size_t bytes) {
  ChargeTensorBytes(-static_cast<int64_t>(bytes));
  const std::lock_guard lock(mutex_);
  blocks_.give(block, bytes);
}

std::optional<int64_t> Arena::offset_of(const void* data) const {
  const auto* begin = static_cast<const std::byte*>(data);
  if (begin < base() || begin >= base() + mapping_.bytes().size()) {
    return std::nullopt;
  }
  return begin - base();
}

int64_t default_arena_bytes(int ranks) {
  constexpr int64_t kAddressSpace = int64_t{1} << 46;
  const int64_t physical = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  return std::min(physical, kAddressSpace / ranks);
}

}  // namespace assay::engine
