// What ranks tell each other of a call, to find out that they call the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/comm/call.h"

namespace assay::engine {

inline constexpr size_t kLabelBytes = 96;

/// What a rank calls, for its peers to check, and where they find its buffer.
struct Announcement {
  uint64_t run;  ///< over a network, where another run may have come to an address: Rendezvous::run()
  int64_t number;
  int64_t step;  ///< the number in the group that compares, where the call is a step of a larger group's
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

/// An announcement of what `call` is named by, without a place.
Announcement announcement_of(const Call& call);
/// "all_gather of blocks.3 (1024 elements of float32)"
std::string describe(const Announcement& announcement);
/// Throws CommError, which unless both are of one run: then `rank`'s place has been taken.
void check_same_run(const Announcement& own, const Announcement& other, int rank);
/// The line about ranks `a_rank` and `b_rank` of `group` (empty: all ranks) that do not call the same.
std::string describe_mismatch(std::string_view group, int a_rank, const Announcement& a, int b_rank,
                              const Announcement& b);
bool same_call(const Announcement& a, const Announcement& b);

}  // namespace assay::engine
