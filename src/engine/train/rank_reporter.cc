#include "engine/train/rank_reporter.h"

#include <algorithm>
#include <string>

#include "base/text.h"

namespace assay::engine {

int RankReporter::rank() const {
  return groups_ == nullptr ? 0 : groups_->world().rank();
}

CollectiveStats communication_of(const StrategyGroups& groups) {
  CollectiveStats total;
  for (const auto& [name, group] : groups.named()) {
    for (const CollectiveStats& stats : group->stats()) {
      total.busy_seconds += stats.busy_seconds;
      total.exposed_seconds += stats.exposed_seconds;
      total.hidden_seconds += stats.hidden_seconds;
    }
  }
  return total;
}

CollectiveStats RankReporter::communication() const {
  return groups_ == nullptr ? CollectiveStats() : communication_of(*groups_);
}

void RankReporter::step_begins() {
  step_began_ = MonotonicSeconds();
  before_step_ = communication();
}

void RankReporter::step_computed() {
  after_step_ = communication();
}

void RankReporter::step_ended(const job::Step& step, const StepUse& use) {
  peak_bytes_ = std::max({peak_bytes_, step.forward_peak_bytes, step.backward_peak_bytes, step.optimizer_peak_bytes});
  if (rank() == 0) {
    events_.write(step);
  }
  events_.write(rank_step(step, use));
}

job::RankStep RankReporter::rank_step(const job::Step& step, const StepUse& use) const {
  return {.rank = rank(),
          .step = step.step,
          .began_seconds = step_began_,
          .seconds = step.seconds,
          .data_seconds = use.data.seconds,
          .transfer_seconds = use.transfer.seconds,
          .forward_seconds = use.forward.seconds,
          .backward_seconds = use.backward.seconds,
          .optimizer_seconds = use.optimizer.seconds,
          .communication_seconds = after_step_.busy_seconds - before_step_.busy_seconds,
          .exposed_communication_seconds = after_step_.exposed_seconds - before_step_.exposed_seconds,
          .hidden_communication_seconds = after_step_.hidden_seconds - before_step_.hidden_seconds,
          .forward_exposed_seconds = use.forward.waited_seconds,
          .backward_exposed_seconds = use.backward.waited_seconds,
          .optimizer_exposed_seconds = use.optimizer.waited_seconds,
          .loss_scale = step.loss_scale,
          .skipped = step.skipped};
}

void RankReporter::measuring_begins() {
  peak_bytes_ = 0;
  if (groups_ != nullptr) {
    for (const auto& [name, group] : groups_->named()) {
      group->reset_stats();
    }
  }
}

void RankReporter::write_collectives() {
  for (const auto& [name, group] : groups_->named()) {
    for (const CollectiveStats& stats : group->stats()) {
      events_.write(job::CollectiveTotals{.rank = rank(),
                                          .operation = stats.kind == "recv" ? "receive" : std::string(stats.kind),
                                          .group = name,
                                          .group_size = group->size(),
                                          .calls = stats.calls,
                                          .payload_bytes = stats.bytes,
                                          .seconds = stats.busy_seconds,
                                          .exposed_seconds = stats.exposed_seconds});
    }
  }
}

}  // namespace assay::engine
