// How products of one layer are split over ranks from outside: the model says where the parts begin and end.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "engine/kernels/ops.h"
#include "engine/model/recomputable.h"
#include "engine/model/tensor_split.h"
#include "engine/model/unit.h"

namespace assay::engine {

/// Called by a model around each block (attention, MLP) whose first products may make part of the features only, and
/// whose last product then sums over that part. A model with whole weights computes the same without them.
///
/// Hooks may divide the tokens too: what lies between the blocks (norms, residual sums) then has this rank's tokens, as
/// many on every rank, with zeros after the last one. `tokens` are those of the batch; 0: of what lies there all ranks
/// have all.
class SplitHooks {
 public:
  virtual ~SplitHooks() = default;
  /// What the first products read: `input` as it is, of all tokens. Its gradient is the sum of what all parts give.
  virtual at::Tensor enter_parts(const at::Tensor& input, int64_t tokens, std::string_view label) = 0;
  /// The sum over all parts of what the last product made of each, of this rank's tokens. `output` kUnset: its numbers
  /// do not count.
  virtual at::Tensor sum_parts(const at::Tensor& part, int64_t tokens, Output output, std::string_view label) = 0;

  /// Which of the equal parts of the features this is.
  virtual int64_t part() const = 0;
  /// Among how many ranks the tokens are divided.
  virtual int64_t token_parts() const { return 1; }
  /// This rank's tokens of what all ranks have.
  virtual at::Tensor split_tokens(const at::Tensor& x_TH, std::string_view /*label*/) { return x_TH; }
  /// The inverse. All ranks go on alike with the result, and have the same gradient of it.
  virtual at::Tensor join_tokens(const at::Tensor& x_CH, int64_t /*tokens*/, std::string_view /*label*/) {
    return x_CH;
  }
};

/// A model whose layers may have parts of their features.
class Splittable : public Shardable {
 public:
  /// Which of its parameters have parts.
  virtual SplitRules split_rules() const = 0;
  /// `hooks` must outlive the model's use; nullptr takes them off.
  virtual void set_split_hooks(SplitHooks* hooks) = 0;
};

/// The hooks of a model, or none, as its layers call them.
class SplitProducts {
 public:
  void set(SplitHooks* hooks) { hooks_ = hooks; }

  at::Tensor enter(const at::Tensor& input, int64_t tokens, std::string_view label) const {
    return hooks_ == nullptr ? input : hooks_->enter_parts(input, tokens, label);
  }
  /// What is made again is of this rank's tokens, and goes to all ranks again.
  Recomputable enter(const Recomputable& input, int64_t tokens, std::string_view label) const;
  at::Tensor sum(const at::Tensor& part, int64_t tokens, std::string_view label,
                 Output output = Output::kComputed) const {
    return hooks_ == nullptr ? part : hooks_->sum_parts(part, tokens, output, label);
  }
  int64_t part() const { return hooks_ == nullptr ? 0 : hooks_->part(); }
  int64_t token_parts() const { return hooks_ == nullptr ? 1 : hooks_->token_parts(); }
  at::Tensor split_tokens(const at::Tensor& x_TH, std::string_view label) const {
    return hooks_ == nullptr ? x_TH : hooks_->split_tokens(x_TH, label);
  }
  at::Tensor join_tokens(const at::Tensor& x_CH, int64_t tokens, std::string_view label) const {
    return hooks_ == nullptr ? x_CH : hooks_->join_tokens(x_CH, tokens, label);
  }
  /// What is made again there is of this rank's tokens: the joined ones are kept.
  Recomputable join_tokens(const Recomputable& x_CH, int64_t tokens, std::string_view label) const {
    return token_parts() == 1 ? x_CH : Recomputable(join_tokens(x_CH.value, tokens, label));
  }

 private:
  SplitHooks* hooks_ = nullptr;
};

}  // namespace assay::engine
