// What the ranks of one group share to meet: the layout of their control segment.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/comm/announcement.h"

namespace assay::engine {

inline constexpr int kMaxRanks = 64;
inline constexpr size_t kCacheLine = 64;

/// A number that only grows, and that others can sleep on (futex).
struct alignas(kCacheLine) SharedCounter {
  std::atomic<uint32_t> value;
  std::atomic<uint32_t> sleepers;
};

struct RankSlot {
  SharedCounter phase;     ///< meeting points reached
  SharedCounter farewell;  ///< 1: this rank has left in order
  /// By the parity of the call's number: a rank that is one call ahead does not overwrite what a slower one reads.
  alignas(kCacheLine) Announcement calls[2];
};

/// Messages from one rank to another.
struct Channel {
  static constexpr uint32_t kDepth = 8;
  SharedCounter posted;
  SharedCounter taken;
  Announcement messages[kDepth];
};

/// The first failure that a machine's ranks met; whoever sees it reports the same.
struct FailureRecord {
  enum State : uint32_t { kNone, kWriting, kSet };
  std::atomic<uint32_t> state;
  uint32_t settled;  ///< 0: somebody was lost, but who is not known here
  char text[1016];
};

/// A view of a control segment: zeros are its initial state.
class ControlBlock {
 public:
  static size_t bytes_for(int ranks);

  ControlBlock(std::span<std::byte> memory, int ranks);

  FailureRecord& failure() const;
  RankSlot& slot(int rank) const;
  Channel& channel(int from, int to) const;

 private:
  std::byte* memory_;
  int ranks_;
};

}  // namespace assay::engine
