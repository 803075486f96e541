// When which units gather their weights and give them up.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/shard/shard_unit.h"
#include "engine/shard/weight_budget.h"

namespace assay::engine {

enum class Pass { kForward, kBackward };

/// Follows a model through its units, which forward passes in order and backward in reverse; gathers run ahead of use
/// by policy.prefetch stored units. What several units of the model read stays gathered from the first of them to the
/// last, in forward and in backward. All ranks make the same calls, so that their collectives agree.
class WeightSchedule {
 public:
  /// `reads`: see StoredUnits; every `unit` below is one of the model.
  WeightSchedule(ShardContext& context, std::vector<std::unique_ptr<ShardUnit>>& units,
                 std::vector<std::vector<int64_t>> reads, ShardedAdamw& optimizer, WeightBudget::Probe probe);

  /// The unit's weights, and those it reads of others, are usable when this returns. No effect when they are already.
  void use(int64_t unit, Pass pass);
  void forward_done(int64_t unit);
  /// `keep`: another backward without reduction follows, which may find the weights where they are.
  void backward_done(int64_t unit, bool keep);
  /// Everything that is not kept between steps is given up.
  void backward_over(bool keep);
  /// Weights were updated: starts to spread those that are kept whole.
  void updated();

 private:
  bool budgeted() const { return budget_ && budget_->warm(); }
  void prefetch(int64_t unit, Pass pass);
  int64_t time_of(int64_t unit, Pass pass) const;

  ShardContext& context_;
  std::vector<std::unique_ptr<ShardUnit>>& units_;
  std::vector<std::vector<int64_t>> reads_;
  std::optional<WeightBudget> budget_;
};

}  // namespace assay::engine
