// The weights of one unit that are gathered and given up together.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/model/unit.h"
#include "engine/shard/flat_buffer.h"
#include "engine/shard/flat_layout.h"
#include "engine/shard/float8_gather.h"
#include "engine/shard/shard_context.h"

namespace assay::engine {

/// Parameters of one dtype that are all trainable or all frozen. The model's tensors are replaced by leaves into a flat
/// buffer; the first of the ranks gives its values to all. Of the whole buffer this rank keeps what the policy says:
/// - trainable: a shard that the optimiser updates, in float32 beside 16-bit weights (the master);
/// - the whole buffer, for ever or from begin_gather() to release().
/// Buffers are padded to `elements`, if they have fewer.
class FlatWeights {
 public:
  FlatWeights(ShardContext& context, const DataRanks& ranks, const std::string& unit,
              const std::vector<ParameterRef>& parameters, const UnitPlacement& placement, int64_t elements);

  const DataRanks& ranks() const { return ranks_; }
  const FlatLayout& layout() const { return layout_; }
  bool trainable() const { return trainable_; }
  const std::vector<at::Tensor>& leaves() const { return leaves_; }
  at::ScalarType dtype() const { return full_->flat().scalar_type(); }

  /// Never released.
  bool kept() const { return kept_; }
  bool released() const { return state_ == State::kReleased; }
  int64_t gathered_bytes() const { return full_->bytes(); }

  /// Starts to make the whole weights usable, unless they are or it was started; wait_gather() ends it.
  void begin_gather();
  void wait_gather();
  /// Gives the whole buffer up; waits first for a gather under way.
  void release();

  bool optimizer_offloaded() const { return placement_.offload_optimizer; }
  /// Whether the optimiser's states are in device memory, and may move.
  bool optimizer_may_move() const { return placement_.optimizer_yields && !placement_.offload_optimizer; }
  bool optimizer_may_return() const { return placement_.optimizer_yields && placement_.offload_optimizer; }
  /// Moves the master to host memory; waits first for a gather under way. Of trainable weights.
  void offload_master();
  /// Moves it back to device memory.
  void return_master();
  /// This rank's shard that the optimiser updates; undefined when frozen. In host memory when offloaded.
  const at::Tensor& master() const { return master_; }
  /// What must receive the new master, rounded; undefined: nothing (the model reads the master, or gathers from it).
  const at::Tensor& master_copy() const { return master_copy_; }
  /// The master (and its copy) has changed: what was gathered from the old one is no longer good.
  void mark_updated();
  /// Copies the master into its copy: after it was written by other means than the optimiser.
  void publish_master();
  /// This rank's shard as it is at rest: the master, or of frozen weights what they are gathered from.
  at::Tensor resting_shard() const;

 private:
  enum class State { kReleased, kStale, kGathering, kReady };

  void fill(const at::Tensor& flat, const std::vector<ParameterRef>& parameters) const;
  void broadcast(const at::Tensor& flat) const;
  void bind(const std::vector<ParameterRef>& parameters);
  void make_master(const at::Tensor& whole);
  void make_resting(const at::Tensor& own);
  at::Tensor own_part(const at::Tensor& flat) const;

  ShardContext& context_;
  DataRanks ranks_;
  UnitPlacement placement_;
  std::string label_;
  bool trainable_;
  FlatLayout layout_;
  std::unique_ptr<FlatBuffer> full_;
  std::unique_ptr<FlatBuffer> master_buffer_;   ///< null: the master lies in full_
  std::unique_ptr<FlatBuffer> resting_buffer_;  ///< what is gathered from, where that is not the master
  std::unique_ptr<Float8Gather> float8_;
  at::Tensor master_;
  at::Tensor master_copy_;
  std::vector<at::Tensor> leaves_;
  bool kept_ = false;
  State state_ = State::kReady;
  WorkPtr work_;
};

}  // namespace assay::engine
