// When which gradients are reduced.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/shard/gradient_buckets.h"
#include "engine/shard/shard_unit.h"

namespace assay::engine {

/// Reduces units strictly in one order, the same on all ranks, however their gradients come: last unit first, those
/// that several units share at the end.
class GradientReducer {
 public:
  GradientReducer(ShardContext& context, std::vector<std::unique_ptr<ShardUnit>>& units);

  /// A backward begins.
  void open();
  /// All gradients of the unit are there: it is reduced as soon as those before it are.
  void ready(ShardUnit& unit);
  /// Reduces what is left, gradients or not, and waits for everything.
  void finish();
  /// After a step: all gradients are let go.
  void step_over();

  /// Trainable groups, in the order of the units.
  const std::vector<FlatGroup*>& groups() const { return groups_; }
  /// The tensors that hold this rank's reduced gradients, those that count in the norm; of experts that are divided, or
  /// of all else.
  std::vector<at::Tensor> reduced(bool expert) const;

 private:
  void begin(ShardUnit& unit);

  ShardContext& context_;
  std::vector<ShardUnit*> order_;
  std::vector<FlatGroup*> groups_;
  std::array<std::optional<GradientBuckets>, 2> buckets_;  ///< of all else, and of experts that are divided
  std::vector<FlatGroup*> under_way_;
  size_t next_ = 0;
};

}  // namespace assay::engine
