// AdamW over this rank's shards.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/kernels/optimizer_step.h"
#include "engine/optim/optimizer.h"
#include "engine/shard/flat_group.h"

namespace assay::engine {

/// The same update as the unsharded optimiser's, on the stretches of parameters that this rank has; the moments are
/// where the masters are. Parameters that got no gradient keep value and state, as in torch.optim.
class ShardedAdamw {
 public:
  /// `groups`: trainable; they must outlive this.
  ShardedAdamw(ShardContext& context, std::vector<FlatGroup*> groups, const OptimizerOptions& options);

  /// `used`: for each parameter of each group, in order, whether any rank made a gradient. Does not wait for a device
  /// unless masters are offloaded.
  void step(double learning_rate, const GradientRule& rule, const std::vector<bool>& used);
  /// The rule made the last step() change nothing: it does not count.
  void forget_last_step();
  /// Moves the group's master and moments to host memory, or back, where it is updated from the next step() on; its
  /// gradients follow. `group`: one of groups().
  void move_states(FlatGroup& group, bool to_host);

  /// This rank's shards of the states of one group, and how often each of its parameters was updated.
  struct GroupState {
    at::Tensor first_moment;
    at::Tensor second_moment;
    std::vector<int64_t> steps;
  };
  const std::vector<FlatGroup*>& groups() const { return groups_; }
  /// Tensors to read from or write into. They are zero where no update was made yet.
  GroupState& state(size_t group) { return states_[group]; }

 private:
  struct Updates;
  at::Tensor make_moment(size_t group, size_t which);
  void add_group(size_t group, const std::vector<bool>& used, size_t first_used, Updates& updates);

  ShardContext& context_;
  std::vector<FlatGroup*> groups_;
  OptimizerOptions options_;
  std::vector<std::array<std::unique_ptr<FlatBuffer>, 2>> moments_;  ///< by group
  std::vector<GroupState> states_;
  std::vector<std::vector<bool>> decays_;           ///< by group and parameter
  std::vector<std::pair<size_t, size_t>> counted_;  ///< group and parameter of what the last step() counted
};

}  // namespace assay::engine
