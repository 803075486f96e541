// What a model does around each of its units (see unit.h).
#pragma once

#include "engine/model/gradient_checkpointing.h"
#include "engine/model/unit.h"

namespace assay::engine {

/// The hooks of a model, or none, as its layers call them.
class HookedUnits {
 public:
  void set(UnitHooks* hooks) { hooks_ = hooks; }

  at::Tensor enter(int64_t unit, const at::Tensor& input, bool again = false) const {
    return hooks_ == nullptr ? input : hooks_->before_forward(unit, input, again);
  }
  at::Tensor leave(int64_t unit, const at::Tensor& output, bool again = false) const {
    return hooks_ == nullptr ? output : hooks_->after_forward(unit, output, again);
  }

  /// The last block's output goes through the hooks where there is one: it needs a gradient wherever the residual does.
  LayerState enter(int64_t unit, LayerState input, bool again) const {
    at::Tensor& seen = input.block_TH.defined() ? input.block_TH : input.residual_TH;
    seen = enter(unit, seen, again);
    return input;
  }

 private:
  UnitHooks* hooks_ = nullptr;
};

}  // namespace assay::engine
