#include "engine/shard/unit_boundary.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>

namespace assay::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Boundary : torch::autograd::Function<Boundary> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& tensor, int64_t events, int64_t unit, bool output) {
    ctx->saved_data["events"] = events;
    ctx->saved_data["unit"] = unit;
    ctx->saved_data["output"] = output;
    return tensor;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto* events = reinterpret_cast<UnitEvents*>(ctx->saved_data["events"].toInt());
    const int64_t unit = ctx->saved_data["unit"].toInt();
    if (ctx->saved_data["output"].toBool()) {
      events->backward_enters(unit);
    } else {
      events->backward_leaves(unit);
    }
    return {grads[0], {}, {}, {}};
  }
};

struct GradientWatch : torch::autograd::PostAccumulateGradHook {
  GradientWatch(UnitEvents& events, int64_t unit, size_t group, size_t parameter)
      : events(events), unit(unit), group(group), parameter(parameter) {}

  void operator()(const at::Tensor& leaf) override {
    const at::Tensor gradient = leaf.grad();
    leaf.mutable_grad().reset();
    events.gradient_ready(unit, group, parameter, gradient);
  }

  UnitEvents& events;
  int64_t unit;
  size_t group;
  size_t parameter;
};

}  // namespace

at::Tensor mark_boundary(const at::Tensor& tensor, UnitEvents& events, int64_t unit, UnitEdge edge) {
  if (!tensor.requires_grad() || !at::GradMode::is_enabled()) {
    return tensor;
  }
  return Boundary::apply(tensor, reinterpret_cast<int64_t>(&events), unit, edge == UnitEdge::kOutput);
}

void watch_gradient(const at::Tensor& leaf, UnitEvents& events, int64_t unit, size_t group, size_t parameter) {
  torch::autograd::impl::set_post_acc_grad_hooks(leaf, std::make_unique<GradientWatch>(events, unit, group, parameter));
}

void unwatch_gradient(const at::Tensor& leaf) {
  torch::autograd::impl::set_post_acc_grad_hooks(leaf, nullptr);
}

}  // namespace assay::engine
