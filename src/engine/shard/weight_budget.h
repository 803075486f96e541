// Which gathered weights and optimiser states stay while memory is short.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "engine/shard/shard_unit.h"
#include "engine/shard/sharded_adamw.h"

namespace assay::engine {

/// Keeps units gathered as long as everything fits under policy.memory_cap_bytes, and then gives up what is needed
/// farthest ahead (Belady 1966), which a pass through the units in order and back tells exactly: weights that are not
/// needed before the update; then the optimiser's states, of the last unit first, as many as may move to host memory;
/// then weights that have to be gathered again. States begin there and come to the device when there is room. What is
/// in memory beside the engine's data (activations) is sampled in the first step, at the use of each unit, and agreed
/// on by the ranks; until then nothing is kept.
class WeightBudget {
 public:
  /// Bytes of tensors alive on the device; none in a rehearsal where nothing else is there.
  using Probe = std::function<int64_t()>;
  WeightBudget(ShardContext& context, std::vector<std::unique_ptr<ShardUnit>>& units, int64_t model_units,
               ShardedAdamw& optimizer, Probe probe);

  /// Forward uses the model's unit u at time u, backward at 2 n - 1 - u, of n units.
  int64_t forward_time(int64_t unit) const { return unit; }
  int64_t backward_time(int64_t unit) const { return 2 * model_units_ - 1 - unit; }

  bool warm() const { return warm_; }
  /// Gives up what must go so that the `needed` units fit at `time`; they stay. Throws StatusError (out of memory) with
  /// one line when they cannot fit.
  void make_room(int64_t time, const std::vector<int64_t>& needed);
  /// Whether one more unit fits at `time` as things are.
  bool fits(int64_t time, int64_t unit) const;
  /// Of the first step: what is alive beside the engine's data now.
  void sample(int64_t time);
  /// The first step is over: the ranks agree on the largest samples.
  void agree();
  /// A later backward that reduces is over: as many states come to the device, of the first unit first, as there was
  /// room for at every time since the one before it.
  void return_states();

 private:
  int64_t room(int64_t time) const;
  int64_t missing_bytes(const std::vector<int64_t>& needed) const;
  int64_t next_use(const ShardUnit& unit, int64_t time) const;
  ShardUnit* farthest_weights(int64_t time, const std::vector<int64_t>& needed) const;
  bool offload_states();
  bool return_states_of(ShardUnit& unit);

  ShardContext& context_;
  std::vector<std::unique_ptr<ShardUnit>>& units_;
  int64_t model_units_;
  ShardedAdamw& optimizer_;
  Probe probe_;
  std::vector<int64_t> beside_;                               ///< by time, bytes
  int64_t least_room_ = std::numeric_limits<int64_t>::max();  ///< of the step, beside what was gathered
  bool warm_ = false;
};

}  // namespace assay::engine
