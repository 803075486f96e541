#include "engine/comm/shm/control_block.h"

#include <c10/util/Exception.h>

namespace assay::engine {
namespace {

constexpr size_t whole_lines(size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

constexpr size_t kSlotsAt = whole_lines(sizeof(FailureRecord));

constexpr size_t channels_at(int ranks) {
  return kSlotsAt + static_cast<size_t>(ranks) * sizeof(RankSlot);
}

static_assert(std::atomic<uint32_t>::is_always_lock_free, "shared between processes");
static_assert(sizeof(RankSlot) % kCacheLine == 0 && sizeof(Channel) % kCacheLine == 0);

}  // namespace

size_t ControlBlock::bytes_for(int ranks) {
  return channels_at(ranks) + static_cast<size_t>(ranks) * static_cast<size_t>(ranks) * sizeof(Channel);
}

ControlBlock::ControlBlock(std::span<std::byte> memory, int ranks) : memory_(memory.data()), ranks_(ranks) {
  TORCH_CHECK(memory.size() >= bytes_for(ranks), "the ranks' control segment has ", memory.size(), " bytes, not ",
              bytes_for(ranks), ": do all ranks run the same program?");
}

FailureRecord& ControlBlock::failure() const {
  return *reinterpret_cast<FailureRecord*>(memory_);
}

RankSlot& ControlBlock::slot(int rank) const {
  return reinterpret_cast<RankSlot*>(memory_ + kSlotsAt)[rank];
}

Channel& ControlBlock::channel(int from, int to) const {
  return reinterpret_cast<Channel*>(memory_ + channels_at(ranks_))[from * ranks_ + to];
}

}  // namespace assay::engine
