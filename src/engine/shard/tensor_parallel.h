// Tensor parallelism of transformer layers, applied from outside: weights are cut (engine/model/tensor_split.h), and
// what the ranks' parts give is added up (Shoeybi et al. 2019, "Megatron-LM").
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/model/split_hooks.h"
#include "engine/model/unit.h"

namespace assay::engine {

/// One rank's side: the sums over ranks inside the model's layers, and its units for the sharding engine.
class TensorParallel : public SplitHooks, public Shardable {
 public:
  /// `model` has the parameters that cut_for_rank() left it, and gets these hooks. Both outlive this.
  TensorParallel(Splittable& model, Communicator& ranks) : model_(model), ranks_(ranks) {
    model_.set_split_hooks(this);
  }
  ~TensorParallel() override { model_.set_split_hooks(nullptr); }
  TensorParallel(const TensorParallel&) = delete;
  TensorParallel& operator=(const TensorParallel&) = delete;

  int64_t part() const override { return ranks_.rank(); }
  at::Tensor enter_parts(const at::Tensor& input, int64_t tokens, std::string_view label) override;
  at::Tensor sum_parts(const at::Tensor& part, int64_t tokens, Output output, std::string_view label) override;

  /// The model's. What all ranks have counts in the norm on the first one only; the engine adds up the gradients of
  /// what they share.
  std::vector<ParameterUnit> units() override;
  void set_unit_hooks(UnitHooks* hooks) override { model_.set_unit_hooks(hooks); }

 protected:
  Communicator& ranks() const { return ranks_; }

 private:
  Splittable& model_;
  Communicator& ranks_;
};

}  // namespace assay::engine
