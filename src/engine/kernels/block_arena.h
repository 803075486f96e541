// One stretch of address space that blocks of any size are cut from and joined back into.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace assay::engine {

/// Best fit over coalescing free ranges. What a step frees in one place serves any later tensor that fits there, so the
/// footprint stays near the highest sum of live blocks, and pages are faulted in once, not in every step. Memory is
/// committed as the arena grows and not given back. Not safe to use from two threads.
class BlockArena {
 public:
  /// Blocks begin at multiples of this and are as long as a multiple of it.
  static constexpr size_t kGranularity = 4096;

  /// Reserves up to `reserve_bytes` of address space, less where the process may not have as much.
  explicit BlockArena(size_t reserve_bytes);
  /// Cuts blocks from `memory`, which stays the caller's: zero pages of any kind, touched from the front as needed.
  explicit BlockArena(std::span<std::byte> memory);
  ~BlockArena();
  BlockArena(const BlockArena&) = delete;
  BlockArena& operator=(const BlockArena&) = delete;

  /// A block of `bytes` rounded up to the granularity; null when the system has no more.
  void* take(size_t bytes);
  /// Takes back what take(bytes) returned.
  void give(void* block, size_t bytes);

  bool holds(const void* block) const { return block >= base_ && block < base_ + reserved_; }
  /// Bytes that blocks have reached so far, free ranges between them included.
  size_t footprint() const { return static_cast<size_t>(top_ - base_); }

 private:
  char* grow(size_t size);
  void add_free(char* begin, size_t size);
  void remove_free(char* begin, size_t size);

  bool owned_ = true;
  char* base_ = nullptr;
  size_t reserved_ = 0;
  char* top_ = nullptr;        ///< nothing beyond it was ever handed out
  char* committed_ = nullptr;  ///< pages below it can be touched
  std::map<char*, size_t> free_by_address_;
  std::set<std::pair<size_t, char*>> free_by_size_;
};

}  // namespace assay::engine
