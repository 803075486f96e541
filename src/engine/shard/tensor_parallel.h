// Tensor parallelism of transformer layers, applied from outside: weights are cut, and what the ranks' parts give is
// added up (Shoeybi et al. 2019, "Megatron-LM").
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/model/parameter_source.h"
#include "engine/model/split_hooks.h"
#include "engine/model/unit.h"

namespace assay::engine {

/// How the tensor ranks have a parameter.
enum class TensorSplit {
  kReplicated,  ///< all have it whole; their gradients are the same
  kRows,        ///< column-parallel: query, key, value and the MLP's first product make part of the features
  kColumns,     ///< row-parallel: the products after them sum over part of the features
  kFirstRank,   ///< the bias of a row-parallel product, which must be added once
};

/// Of a parameter of an encoder layer (or any other: replicated) by its name in the Hugging Face checkpoint.
TensorSplit tensor_split_of(std::string_view name);

/// What rank `rank` of `ranks` has of the parameter `name`: a copy of its part, `whole` itself where it is replicated,
/// undefined where it has nothing. Throws std::invalid_argument when the parameter does not divide.
at::Tensor cut_for_rank(std::string_view name, const at::Tensor& whole, int64_t rank, int64_t ranks);

/// The whole of what each rank has, in order of rank: the inverse of cut_for_rank(). Ranks that have nothing, or only
/// what rank 0 has too, are undefined.
at::Tensor join_parts(std::string_view name, const std::vector<at::Tensor>& parts);

/// One rank's side: the sums over ranks inside the model's layers, and its units for the sharding engine.
class TensorParallel : public SplitHooks, public Shardable {
 public:
  /// `model` has the parameters that cut_for_rank() left it. Both outlive this.
  TensorParallel(Shardable& model, Communicator& ranks) : model_(model), ranks_(ranks) {}

  at::Tensor enter_parts(const at::Tensor& input, std::string_view label) override;
  at::Tensor sum_parts(const at::Tensor& part, Output output, std::string_view label) override;

  /// The model's; what is replicated counts in the norm on the first rank only.
  std::vector<ParameterUnit> units() override;
  void set_unit_hooks(UnitHooks* hooks) override { model_.set_unit_hooks(hooks); }

 private:
  Shardable& model_;
  Communicator& ranks_;
};

}  // namespace assay::engine
