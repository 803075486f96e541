// Where a stream stands, with all that decides what comes next: a training that goes on checks it, not trusts it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "shards/order/epoch_order.h"
#include "shards/stream/shard_table.h"

namespace assay::shards {

/// What a state says of a data set.
struct SourceState {
  std::string fingerprint{};
  int64_t samples = 0;
  StreamWeight weight{};
};

/// Plain data. Settings are resolved: no rule fills them in again.
struct StreamState {
  EpochPosition position{};
  OrderSettings order{};
  int64_t global_batch = 0;
  std::vector<SourceState> sources{};
  int64_t skipped = 0;  ///< samples that were left out so far
};

/// One line of JSON; equal states give the same bytes.
std::string FormatState(const StreamState& state);
/// An error names `source` and the field.
Result<StreamState> ParseState(std::string_view json, std::string_view source);

/// The settings to go on from `state` with: those that are given, and where a rule would decide (0) the state's.
/// FailedPrecondition, naming the first that differs, where another order would come out: a data set that changed, a
/// seed, a block, a global batch that is another.
Result<OrderSettings> GoOnWith(const StreamState& state, const OrderSettings& given, const World& world,
                               std::span<const StreamSource> sources);

std::vector<SourceState> StatesOf(std::span<const StreamSource> sources);

}  // namespace assay::shards
