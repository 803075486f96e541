#include "engine/model/gradient_checkpointing.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace assay::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What backward needs to run the layer again; owned by the graph.
struct Replay : torch::CustomClassHolder {
  LayerFunction layer;
  bool has_block = false;
  at::TensorOptions block_options;  ///< a residual stream in float32 may have 16-bit blocks
  bool input_requires_grad = false;
};

/// A leaf to run the layer on again.
at::Tensor leaf(const at::Tensor& value, bool requires_grad) {
  return value.detach().requires_grad_(requires_grad);
}

struct CheckpointedLayer : torch::autograd::Function<CheckpointedLayer> {
  // `anchor` always requires grad, so that the output does even where only the layer's own parameters do.
  static variable_list forward(AutogradContext* ctx, const at::Tensor& residual_TH, const at::Tensor& block_TH,
                               const at::Tensor& /*anchor*/, const c10::intrusive_ptr<Replay>& replay) {
    LayerResult result = replay->layer({residual_TH, replay->has_block ? block_TH : at::Tensor()});
    ctx->set_materialize_grads(false);
    ctx->save_for_backward({result.entry_TH});
    ctx->saved_data["replay"] = c10::IValue::make_capsule(replay);
    return {result.state.residual_TH, result.state.block_TH};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto replay = c10::static_intrusive_pointer_cast<Replay>(ctx->saved_data["replay"].toCapsule());
    const at::Tensor entry_TH = ctx->get_saved_variables()[0];
    LayerState input{leaf(entry_TH, replay->input_requires_grad), {}};
    if (replay->has_block) {
      input.block_TH = leaf(at::zeros(entry_TH.sizes(), replay->block_options), replay->input_requires_grad);
    }
    LayerResult result;
    {
      const at::AutoGradMode with_grad(true);
      result = replay->layer(input);
    }
    propagate(result.state, grads);
    return {input.residual_TH.grad(), replay->has_block ? input.block_TH.grad() : at::Tensor(), {}, {}};
  }

  static void propagate(const LayerState& output, const variable_list& grads) {
    variable_list roots;
    variable_list root_grads;
    const at::Tensor outputs[] = {output.residual_TH, output.block_TH};
    for (size_t i = 0; i < grads.size(); ++i) {
      if (grads[i].defined() && outputs[i].requires_grad()) {
        roots.push_back(outputs[i]);
        root_grads.push_back(grads[i]);
      }
    }
    if (!roots.empty()) {
      torch::autograd::backward(roots, root_grads);
    }
  }
};

}  // namespace

LayerState checkpointed(LayerFunction layer, const LayerState& input) {
  auto replay = c10::make_intrusive<Replay>();
  replay->layer = std::move(layer);
  replay->has_block = input.block_TH.defined();
  if (replay->has_block) {
    replay->block_options = input.block_TH.options();
  }
  replay->input_requires_grad =
      input.residual_TH.requires_grad() || (replay->has_block && input.block_TH.requires_grad());
  const at::Tensor anchor = at::empty({0}, input.residual_TH.options()).requires_grad_();
  const at::Tensor block_TH = replay->has_block ? input.block_TH : anchor;
  variable_list outputs = CheckpointedLayer::apply(input.residual_TH, block_TH, anchor, replay);
  return {outputs[0], outputs[1]};
}

}  // namespace assay::engine
