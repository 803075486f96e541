// The events of a rank: what its steps took, and what its groups sent.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/train/event_writer.h"
#include "engine/train/loop.h"
#include "engine/train/strategy.h"

namespace assay::engine {

/// All collectives of this rank in the groups of all ranks.
CollectiveStats communication_of(const StrategyGroups& groups);

/// Writes events for each step: the first rank's of all ranks, and each rank's own.
class RankReporter : public StepObserver {
 public:
  /// `groups` null: one rank, without groups. Both outlive this.
  RankReporter(EventWriter& events, const StrategyGroups* groups) : events_(events), groups_(groups) {}

  void step_begins() override;
  void step_computed() override;
  void step_ended(const job::Step& step, const StepUse& use) override;
  /// Further figures are those of the measured steps.
  void measuring_begins() override;

  /// All collectives since measuring began.
  void write_collectives();
  /// The highest of the phases since measuring began.
  int64_t peak_bytes() const { return peak_bytes_; }

 private:
  int rank() const;
  CollectiveStats communication() const;
  job::RankStep rank_step(const job::Step& step, const StepUse& use) const;

  EventWriter& events_;
  const StrategyGroups* groups_;
  double step_began_ = 0;
  CollectiveStats before_step_;
  CollectiveStats after_step_;
  int64_t peak_bytes_ = 0;
};

}  // namespace assay::engine
