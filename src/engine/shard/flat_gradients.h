// The gradients of one unit's trainable parameters on their way to the optimiser.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/shard/flat_buffer.h"
#include "engine/shard/flat_layout.h"
#include "engine/shard/shard_context.h"

namespace assay::engine {

/// Collects gradients in a flat buffer as backward makes them. Usually, when nobody splits them, they lie in a bucket,
/// which is averaged as one. Else they are averaged over the ranks unit by unit, and this rank's shard is kept, in host
/// memory where the optimiser is, and added to that of earlier micro-batches; the whole buffer exists from the first
/// gradient to the end of the reduction.
class FlatGradients {
 public:
  /// `travels_as`: what is reduced over the ranks. Gradients are collected in the same dtype, or in float32 where
  /// those of several backward passes are added up.
  FlatGradients(ShardContext& context, const DataRanks& ranks, const FlatLayout& layout, at::ScalarType travels_as,
                const std::string& unit, bool offload);

  at::ScalarType dtype() const { return dtype_; }
  at::ScalarType travels_as() const { return travels_as_; }
  bool in_bucket() const { return whole_ == nullptr; }
  /// Of those in a bucket: where they lie, all elements of the layout in dtype().
  void put_into(const at::Tensor& part_of_bucket);

  /// A backward begins: gradients may come again.
  void open() { closed_ = false; }
  /// Of those in a bucket: what was collected so far was taken elsewhere.
  void collect_anew() { written_.assign(written_.size(), false); }
  /// Adds to what is there since the last reduction or reset. Throws std::logic_error after close(): a reduction that
  /// is under way would take part of it.
  void add(size_t parameter, const at::Tensor& gradient);
  /// Zeroes what no gradient was added to. Call before a reduction.
  void close();

  /// Starts the reduction of gradients that are not in a bucket.
  void begin_reduce();
  /// Waits for the collective under way and starts the next one, if any. True when the reduction is complete and the
  /// whole buffer is given up.
  bool advance_reduce();

  /// What the optimiser reads: this rank's shard, or everything; undefined before the first reduction.
  at::Tensor reduced() const;
  /// Whether a gradient was added to the parameter since reset().
  const std::vector<bool>& used() const { return used_; }
  /// After a step: everything is let go.
  void reset();
  /// From the next reset() on this rank's shard is kept in host memory, or is not. No effect on gradients in a bucket.
  void offload_next(bool offload) { offload_next_ = offload; }

 private:
  at::Tensor flat() const { return in_bucket() ? place_in_bucket_ : whole_->flat(); }
  void make_shard(bool offload);
  at::Tensor to_send();
  void take_reduced();

  enum class Stage { kIdle, kScattering, kAveraging };

  ShardContext& context_;
  DataRanks ranks_;
  const FlatLayout& layout_;
  at::ScalarType travels_as_;
  at::ScalarType dtype_;
  std::string label_;
  bool offload_ = false;
  bool offload_next_ = false;  ///< after the next reset()
  at::Tensor place_in_bucket_;
  std::unique_ptr<FlatBuffer> whole_;
  std::unique_ptr<FlatBuffer> shard_;
  std::unique_ptr<FlatBuffer> sent_;  ///< while the whole buffer is reduced in another dtype than its own
  bool closed_ = false;
  bool shard_holds_sum_ = false;  ///< of earlier reductions
  std::vector<bool> written_;     ///< in the whole buffer
  std::vector<bool> used_;
  Stage stage_ = Stage::kIdle;
  at::Tensor target_;
  WorkPtr work_;
};

}  // namespace assay::engine
