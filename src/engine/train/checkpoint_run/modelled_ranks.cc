#include "engine/train/checkpoint_run/modelled_ranks.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "checkpoint/dcp/transfer_model.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

checkpoint::StoreLimits limits_of(const job::CheckpointPlan& plan) {
  return {.read_seconds = plan.read_seconds,
          .write_seconds = plan.write_seconds,
          .slow_write_seconds = plan.slow_write_seconds,
          .slow_read_seconds = plan.slow_read_seconds,
          .connection_bytes_per_s = plan.connection_bytes_per_s,
          .machine_bytes_per_s = plan.machine_bytes_per_s,
          .prefix_reads_per_s = plan.prefix_reads_per_s,
          .prefix_writes_per_s = plan.prefix_writes_per_s};
}

/// Rows shared out as torch.chunk does.
checkpoint::ModelledRanks ranks_of(const job::CheckpointPlan& plan) {
  checkpoint::ModelledRanks ranks;
  ranks.bytes.assign(static_cast<size_t>(plan.modelled_ranks), 0);
  ranks.ranks_per_machine = static_cast<int>(plan.ranks_per_machine);
  ranks.files_per_rank = static_cast<int>(plan.files_per_rank);
  ranks.prefix = value_or_throw(checkpoint::ParsePrefixStrategy(plan.prefix, plan.prefix_epoch));
  for (const std::string& text : plan.tensors) {
    const job::PlannedTensor tensor = value_or_throw(job::ParsePlannedTensor(text));
    const int64_t rows = tensor.shape.front();
    const int64_t elements = std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies<>());
    const int64_t row_bytes = elements / rows * static_cast<int64_t>(sizeof(float));
    const int64_t chunk = (rows + plan.modelled_ranks - 1) / plan.modelled_ranks;
    for (int64_t begin = 0; begin < rows; begin += chunk) {
      ranks.bytes[static_cast<size_t>(begin / chunk)] += std::min(chunk, rows - begin) * row_bytes;
      ++ranks.chunks;
    }
  }
  return ranks;
}

}  // namespace

void write_modelled_ranks(const job::CheckpointPlan& plan, EventWriter& events) {
  const checkpoint::ModelledRanks ranks = ranks_of(plan);
  const auto transfer = plan.operation == "load" ? checkpoint::Transfer::kLoad : checkpoint::Transfer::kSave;
  checkpoint::ModelledTransfer model = checkpoint::ModelTransfer(ranks, limits_of(plan), transfer);
  for (size_t rank = 0; rank < ranks.bytes.size(); ++rank) {
    job::CheckpointTransfer event{.rank = static_cast<int64_t>(rank), .operation = plan.operation, .repeat = 1};
    event.seconds = model.rank_seconds[rank] + model.commit_seconds;
    event.stall_seconds = event.seconds;
    event.state_bytes = std::accumulate(ranks.bytes.begin(), ranks.bytes.end(), int64_t{0});
    events.write(event);
  }
  events.write(job::CheckpointModel{.files = model.files,
                                    .prefixes = model.prefixes,
                                    .requests = model.requests,
                                    .busiest_prefix_requests = model.busiest_prefix_requests,
                                    .metadata_bytes = model.metadata_bytes,
                                    .commit_seconds = model.commit_seconds,
                                    .limited_by = std::move(model.limited_by)});
}

}  // namespace assay::engine
