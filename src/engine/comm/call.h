// One call of a collective, as plain data.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/comm/communicator.h"

namespace assay::engine {

enum class CallKind : uint8_t { kAllGather, kReduceScatter, kAllReduce, kBroadcast, kBarrier, kSend, kRecv };
inline constexpr int kCallKinds = 7;

std::string_view to_string(CallKind kind);
std::string_view to_string(ReduceOp op);

struct Call {
  CallKind kind = CallKind::kBarrier;
  ReduceOp op = ReduceOp::kSum;
  at::Tensor full = {};   ///< the whole buffer; undefined for a barrier
  at::Tensor shard = {};  ///< of all_gather and reduce_scatter
  int peer = -1;          ///< root of a broadcast, the other rank of a send or recv
  std::string label;
  int64_t number = 0;             ///< of this group's collectives, or of the pair's messages, from 1
  const Call* step_of = nullptr;  ///< the collective of a larger group that needs this one

  bool reduces() const { return kind == CallKind::kReduceScatter || kind == CallKind::kAllReduce; }
  /// What the caller of the ranks' collectives knows it by: for errors and comparisons.
  const Call& named() const { return step_of == nullptr ? *this : *step_of; }
  int64_t bytes() const { return full.defined() ? static_cast<int64_t>(full.nbytes()) : 0; }
};

/// "collective 7 (all_gather of blocks.3)", "message 2 (recv of activations)"
std::string place_of(const Call& call);

}  // namespace assay::engine
