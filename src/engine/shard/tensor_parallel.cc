#include "engine/shard/tensor_parallel.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace assay::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct SplitRule {
  std::string_view ending;
  TensorSplit split;
};

constexpr std::array kRules = {
    SplitRule{".query.weight", TensorSplit::kRows},
    SplitRule{".query.bias", TensorSplit::kRows},
    SplitRule{".key.weight", TensorSplit::kRows},
    SplitRule{".key.bias", TensorSplit::kRows},
    SplitRule{".value.weight", TensorSplit::kRows},
    SplitRule{".value.bias", TensorSplit::kRows},
    SplitRule{".intermediate.dense.weight", TensorSplit::kRows},
    SplitRule{".intermediate.dense.bias", TensorSplit::kRows},
    SplitRule{".output.dense.weight", TensorSplit::kColumns},
    SplitRule{".output.dense.bias", TensorSplit::kFirstRank},
};

/// The sum over `ranks`, in memory that they reach without a copy.
at::Tensor sum_over(Communicator& ranks, const at::Tensor& part, const std::string& label) {
  const at::Tensor sum = ranks.allocate(part.numel(), part.scalar_type());
  sum.view(part.sizes()).copy_(part);
  ranks.all_reduce(sum, ReduceOp::kSum, label)->wait();
  return sum.view(part.sizes());
}

Communicator& ranks_of(AutogradContext* ctx) {
  return *reinterpret_cast<Communicator*>(ctx->saved_data["ranks"].toInt());
}

/// Identity; backward sums.
struct EnterParts : torch::autograd::Function<EnterParts> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& input, int64_t ranks, const std::string& label) {
    ctx->saved_data["ranks"] = ranks;
    ctx->saved_data["label"] = label;
    return input;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {sum_over(ranks_of(ctx), grads[0], ctx->saved_data["label"].toStringRef() + " input gradients"), {}, {}};
  }
};

/// Sums; backward is the identity.
struct SumParts : torch::autograd::Function<SumParts> {
  static at::Tensor forward(AutogradContext* /*ctx*/, const at::Tensor& part, int64_t ranks, const std::string& label) {
    return sum_over(*reinterpret_cast<Communicator*>(ranks), part, label + " output");
  }

  static variable_list backward(AutogradContext* /*ctx*/, variable_list grads) { return {grads[0], {}, {}}; }
};

}  // namespace

TensorSplit tensor_split_of(std::string_view name) {
  const auto* rule = std::ranges::find_if(kRules, [&](const SplitRule& row) { return name.ends_with(row.ending); });
  return rule == kRules.end() ? TensorSplit::kReplicated : rule->split;
}

at::Tensor cut_for_rank(std::string_view name, const at::Tensor& whole, int64_t rank, int64_t ranks) {
  const TensorSplit split = tensor_split_of(name);
  if (split == TensorSplit::kReplicated || ranks == 1) {
    return whole;
  }
  if (split == TensorSplit::kFirstRank) {
    return rank == 0 ? whole : at::Tensor();
  }
  const int64_t dim = split == TensorSplit::kRows ? 0 : 1;
  if (whole.size(dim) % ranks != 0) {
    throw std::invalid_argument(
        fmt::format("{}: its {} features do not divide over {} tensor ranks", name, whole.size(dim), ranks));
  }
  const int64_t part = whole.size(dim) / ranks;
  return whole.narrow(dim, rank * part, part).clone(at::MemoryFormat::Contiguous);
}

at::Tensor join_parts(std::string_view name, const std::vector<at::Tensor>& parts) {
  const TensorSplit split = tensor_split_of(name);
  const bool whole = split == TensorSplit::kReplicated || split == TensorSplit::kFirstRank;
  return whole || parts.size() == 1 ? parts.front() : at::cat(parts, split == TensorSplit::kRows ? 0 : 1);
}

at::Tensor TensorParallel::enter_parts(const at::Tensor& input, std::string_view label) {
  if (!input.requires_grad() || !at::GradMode::is_enabled()) {
    return input;
  }
  return EnterParts::apply(input, reinterpret_cast<int64_t>(&ranks_), std::string(label));
}

at::Tensor TensorParallel::sum_parts(const at::Tensor& part, Output output, std::string_view label) {
  // Where the numbers do not count, the gradient passes unchanged all the same.
  return output == Output::kUnset ? part
                                  : SumParts::apply(part, reinterpret_cast<int64_t>(&ranks_), std::string(label));
}

std::vector<ParameterUnit> TensorParallel::units() {
  std::vector<ParameterUnit> units = model_.units();
  for (ParameterUnit& unit : units) {
    for (ParameterRef& parameter : unit.parameters) {
      parameter.counts_in_norm = ranks_.rank() == 0 || tensor_split_of(parameter.name) != TensorSplit::kReplicated;
    }
  }
  return units;
}

}  // namespace assay::engine
