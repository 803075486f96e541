#include "engine/adapter/merge.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/mm.h>

#include <cstdint>

#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

void merge_into(Linear& linear) {
  if (linear.frozen != nullptr) {
    throw_invalid_argument(linear.path +
                           " has quantised weights, which an update would not fit into: take the model that they were "
                           "made of");
  }
  if (linear.dora) {
    throw_invalid_argument(
        "the adapter is DoRA's, whose merging is not supported: train one without use_dora, or merge " + linear.path +
        " and the others with peft");
  }
  linear.weight_OI.add_(at::mm(linear.lora->b_Or, linear.lora->a_rI) * linear.lora->scale);
  linear.lora.reset();
}

/// [E, O, I]: of each expert.
at::Tensor update_of(const ExpertStack& stack) {
  const int64_t rank = stack.lora->a_rI.size(0) / stack.experts;
  const at::Tensor a_ErI = stack.lora->a_rI.view({stack.experts, rank, stack.in});
  const at::Tensor b_EOr = stack.lora->b_Or.view({stack.out, rank, stack.experts}).permute({2, 0, 1});
  return at::bmm(b_EOr, a_ErI) * stack.lora->scale;
}

void merge_into(ExpertStack& stack) {
  const at::Tensor update_EOI = update_of(stack);
  const int64_t rows = stack.out / static_cast<int64_t>(stack.weights.size());
  for (size_t part = 0; part < stack.weights.size(); ++part) {
    const at::Tensor update_ERI = update_EOI.narrow(1, static_cast<int64_t>(part) * rows, rows);
    ExpertWeights& weights = *stack.weights[part];
    for (size_t e = 0; e < weights.size(); ++e) {
      const at::Tensor update = weights[e].dim() == 3 ? update_ERI : update_ERI[static_cast<int64_t>(e)];
      weights[e].add_(update.to(weights[e].scalar_type()));
    }
  }
  stack.lora.reset();
}

}  // namespace

void merge_lora(CausalLM& model) {
  const at::NoGradGuard no_grad;
  for (Linear* linear : model.linears()) {
    if (linear->lora) {
      merge_into(*linear);
    }
  }
  for (ExpertStack* stack : model.expert_stacks()) {
    if (stack->lora) {
      merge_into(*stack);
    }
  }
}

}  // namespace assay::engine
