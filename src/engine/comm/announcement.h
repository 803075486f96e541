// What ranks tell each other of a call, to find out that they call the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/comm/call.h"

namespace assay::engine {

inline constexpr size_t kLabelBytes = 96;

/// What a rank calls, for its peers to check, and where they find its buffer.
struct Announcement {
  int64_t number;
  CallKind kind;
  ReduceOp op;
  int8_t dtype;  ///< at::ScalarType; -1: no buffer
  bool staged;   ///< the buffer is private memory: tiles of it pass through the arena
  int32_t root;
  int64_t elements;
  int64_t offset;  ///< in the announcer's arena
  uint64_t label_hash;
  char label[kLabelBytes];  ///< cut to fit
};

/// An announcement of `call` without a place.
Announcement announcement_of(const Call& call);
/// "all_gather of blocks.3 (1024 elements of float32)"
std::string describe(const Announcement& announcement);
/// "rank 0 calls ..., rank 1 calls ..."
std::string describe_difference(int a_rank, const Announcement& a, int b_rank, const Announcement& b);
bool same_call(const Announcement& a, const Announcement& b);

}  // namespace assay::engine
