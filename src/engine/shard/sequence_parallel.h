// Sequence parallelism: tensor ranks divide the tokens too, between the blocks of a layer (Korthikanti et al. 2022,
// "Reducing Activation Recomputation in Large Transformer Models").
#pragma once

#include "engine/shard/tensor_parallel.h"

namespace assay::engine {

/// As TensorParallel, but the sum that ends a block leaves each rank its tokens alone, and what begins the next one
/// gathers them: an all-reduce is a reduce-scatter and an all-gather. Residual stream and norms take 1/n of the memory
/// and work; the input of a block's first products, which backward wants, is gathered a second time.
class SequenceParallel : public TensorParallel {
 public:
  using TensorParallel::TensorParallel;

  at::Tensor enter_parts(const at::Tensor& input, int64_t tokens, std::string_view label) override;
  at::Tensor sum_parts(const at::Tensor& part, int64_t tokens, Output output, std::string_view label) override;
  int64_t token_parts() const override { return ranks().size(); }
  at::Tensor split_tokens(const at::Tensor& x_TH, std::string_view label) override;
  at::Tensor join_tokens(const at::Tensor& x_CH, int64_t tokens, std::string_view label) override;

  /// What works between the blocks has on each rank the gradient of its tokens.
  std::vector<ParameterUnit> units() override;
};

}  // namespace assay::engine
