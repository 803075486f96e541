// Which part of each parameter a rank has where ranks divide the features of a model's layers between them (Shoeybi et
// al. 2019, "Megatron-LM").
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace assay::engine {

/// How the tensor ranks have a parameter.
enum class TensorSplit {
  kReplicated,  ///< all have it whole; their gradients are the same
  kShared,      ///< all have it whole, and each uses it for its part of the features: the sum of their gradients counts
  kRows,        ///< column-parallel: the first products of a block make part of the features
  kColumns,     ///< row-parallel: the product after them sums over part of the features
  kFirstRank,   ///< the bias of a row-parallel product, which must be added once
};

/// For parameters whose names in the Hugging Face checkpoint end so.
struct SplitRule {
  std::string_view ending;
  TensorSplit split;
};

/// A model's own table; what none of them names is replicated.
using SplitRules = std::span<const SplitRule>;

/// A rank among those that divide the features.
struct TensorPlace {
  int64_t rank = 0;
  int64_t ranks = 1;
};

/// By the first rule that names it. An adapter on a linear layer, under peft's name, goes with the layer's weight: of
/// B A it has the rows or the columns, and shares the other factor.
TensorSplit split_of(SplitRules rules, std::string_view name);

/// The shape of what each of `ranks` has of a parameter of the shape `whole`, where it has any of it. Throws
/// std::invalid_argument when the parameter does not divide.
std::vector<int64_t> part_shape(SplitRules rules, std::string_view name, std::vector<int64_t> whole, int64_t ranks);

/// What the rank at `place` has of the parameter `name`: a copy of its part, `whole` itself where it has all of it,
/// undefined where it has nothing. `in_place`: rows are a view of `whole`, whose memory is shared anyway. Throws
/// std::invalid_argument when the parameter does not divide.
at::Tensor cut_for_rank(SplitRules rules, std::string_view name, const at::Tensor& whole, const TensorPlace& place,
                        bool in_place = false);

/// The shape of the whole of which each of `ranks` has a part of the shape `part`.
std::vector<int64_t> whole_shape(SplitRules rules, std::string_view name, std::vector<int64_t> part, int64_t ranks);

/// The whole of what each rank has, in order of rank: the inverse of cut_for_rank(). Ranks that have nothing, or only
/// what rank 0 has too, are left out.
at::Tensor join_parts(SplitRules rules, std::string_view name, const std::vector<at::Tensor>& parts);

}  // namespace assay::engine
