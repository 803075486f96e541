#include "engine/kernels/block_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace assay::engine {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
/// The arena grows by at least this: every growth is a system call.
constexpr size_t kGrowthStep = size_t{32} << 20;
constexpr size_t kSmallestReservation = size_t{1} << 30;

size_t rounded_up(size_t bytes, size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

}  // namespace

BlockArena::BlockArena(size_t reserve_bytes) {
  for (size_t size = rounded_up(std::max(reserve_bytes, kSmallestReservation), kHugePage); size >= kSmallestReservation;
       size = rounded_up(size / 2, kHugePage)) {
    // Without access rights the pages count against no limit on committed memory.
    void* pages = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages != MAP_FAILED) {
      base_ = static_cast<char*>(pages);
      reserved_ = size;
      break;
    }
  }
  top_ = base_;
  committed_ = base_;
}

BlockArena::BlockArena(std::span<std::byte> memory)
    : owned_(false),
      base_(reinterpret_cast<char*>(memory.data())),
      reserved_(memory.size()),
      top_(base_),
      committed_(base_ + reserved_) {}

BlockArena::~BlockArena() {
  if (owned_ && base_ != nullptr) {
    munmap(base_, reserved_);
  }
}

void* BlockArena::take(size_t bytes) {
  const size_t size = rounded_up(bytes, kGranularity);
  const auto fit = free_by_size_.lower_bound({size, nullptr});
  if (fit == free_by_size_.end()) {
    return grow(size);
  }
  const auto [free_size, begin] = *fit;
  remove_free(begin, free_size);
  if (free_size > size) {
    add_free(begin + size, free_size - size);
  }
  return begin;
}

/// A block at the top, in part out of the free range that ends there.
char* BlockArena::grow(size_t size) {
  char* begin = top_;
  if (!free_by_address_.empty()) {
    const auto last = std::prev(free_by_address_.end());
    if (last->first + last->second == top_) {
      begin = last->first;
    }
  }
  if (size > reserved_ - static_cast<size_t>(begin - base_)) {
    return nullptr;
  }
  if (begin + size > committed_) {
    const size_t left = reserved_ - static_cast<size_t>(committed_ - base_);
    const size_t more = std::min(left, rounded_up(static_cast<size_t>(begin + size - committed_), kGrowthStep));
    if (mprotect(committed_, more, PROT_READ | PROT_WRITE) != 0) {
      return nullptr;
    }
    madvise(committed_, more, MADV_HUGEPAGE);
    committed_ += more;
  }
  if (begin != top_) {
    remove_free(begin, static_cast<size_t>(top_ - begin));
  }
  top_ = begin + size;
  return begin;
}

void BlockArena::give(void* block, size_t bytes) {
  char* begin = static_cast<char*>(block);
  size_t size = rounded_up(bytes, kGranularity);
  const auto next = free_by_address_.lower_bound(begin);
  if (next != free_by_address_.begin()) {
    const auto [before, before_size] = *std::prev(next);
    if (before + before_size == begin) {
      remove_free(before, before_size);
      begin = before;
      size += before_size;
    }
  }
  if (const auto after = free_by_address_.find(begin + size); after != free_by_address_.end()) {
    const size_t after_size = after->second;
    remove_free(begin + size, after_size);
    size += after_size;
  }
  add_free(begin, size);
}

void BlockArena::add_free(char* begin, size_t size) {
  free_by_address_.emplace(begin, size);
  free_by_size_.emplace(size, begin);
}

void BlockArena::remove_free(char* begin, size_t size) {
  free_by_address_.erase(begin);
  free_by_size_.erase({size, begin});
}

}  // namespace assay::engine
