#include "engine/shard/tensor_parallel.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <string>

namespace assay::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The sum over `ranks`, in memory that they reach without a copy.
at::Tensor sum_over(Communicator& ranks, const at::Tensor& part, const std::string& label) {
  const at::Tensor sum = part.is_meta() ? at::empty({part.numel()}, part.options())  // of a forecast
                                        : ranks.allocate(part.numel(), part.scalar_type());
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

at::Tensor TensorParallel::enter_parts(const at::Tensor& input, int64_t /*tokens*/, std::string_view label) {
  if (!input.requires_grad() || !at::GradMode::is_enabled()) {
    return input;
  }
  return EnterParts::apply(input, reinterpret_cast<int64_t>(&ranks_), std::string(label));
}

at::Tensor TensorParallel::sum_parts(const at::Tensor& part, int64_t /*tokens*/, Output output,
                                     std::string_view label) {
  // Where the numbers do not count, the gradient passes unchanged all the same.
  return output == Output::kUnset ? part
                                  : SumParts::apply(part, reinterpret_cast<int64_t>(&ranks_), std::string(label));
}

std::vector<ParameterUnit> TensorParallel::units() {
  std::vector<ParameterUnit> units = model_.units();
  for (ParameterUnit& unit : units) {
    for (ParameterRef& parameter : unit.parameters) {
      const TensorSplit split = split_of(model_.split_rules(), parameter.name);
      const bool on_all_ranks = split == TensorSplit::kReplicated || split == TensorSplit::kShared;
      parameter.counts_in_norm &= ranks_.rank() == 0 || !on_all_ranks;
      parameter.sums_gradient = split == TensorSplit::kShared && parameter.tensor->requires_grad();
    }
  }
  return units;
}

}  // namespace assay::engine
