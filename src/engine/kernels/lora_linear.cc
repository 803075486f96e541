#include "engine/kernels/kept_input.h"
#include "engine/kernels/low_rank.h"
#include "engine/kernels/ops.h"
#include "engine/kernels/products.h"

namespace assay::engine {
namespace {

/// The dtype in which the thin products run: float32 unless the layer is float64.
at::Tensor thin(const at::Tensor& adapter) {
  return adapter.to(compute_dtype(adapter)).contiguous();
}

/// A mask is a byte for each element of x: drawn again it costs less than kept.
void save_draw(AutogradContext* ctx, const std::optional<DropoutDraw>& draw) {
  ctx->saved_data["drops"] = draw.has_value();
  if (draw) {
    ctx->saved_data["stream"] = static_cast<int64_t>(draw->stream);
    ctx->saved_data["chance"] = draw->chance;
    ctx->saved_data["first_feature"] = draw->first_feature;
    ctx->saved_data["features"] = draw->features;
  }
}

std::optional<DropoutDraw> saved_draw(AutogradContext* ctx, const at::Tensor& keys_T) {
  const auto saved = [ctx](const char* name) { return ctx->saved_data[name]; };
  if (!saved("drops").toBool()) {
    return std::nullopt;
  }
  return DropoutDraw{.keys_T = keys_T,
                     .stream = static_cast<uint64_t>(saved("stream").toInt()),
                     .chance = saved("chance").toDouble(),
                     .first_feature = saved("first_feature").toInt(),
                     .features = saved("features").toInt()};
}

Dropped dropped(const at::Tensor& data_TI, const std::optional<DropoutDraw>& draw) {
  return draw ? Dropped{data_TI, dropout_mask(*draw), 1.0 / (1.0 - draw->chance)} : Dropped{data_TI, {}};
}

struct LoraLinear : torch::autograd::Function<LoraLinear> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight_OI,
                            const at::Tensor& a_rI, const at::Tensor& b_Or, const std::optional<at::Tensor>& bias_O,
                            const std::optional<DropoutDraw>& draw, double scale, const RecomputePtr& again,
                            Output output, const FrozenWeightPtr& frozen) {
    keep_frozen(ctx, frozen);
    const at::Tensor x_TI = x.contiguous();
    const at::Tensor low_Tr = project_down(dropped(x_TI, draw), thin(a_rI), 1.0);
    const bool wants_x = weight_OI.requires_grad() || a_rI.requires_grad();
    const at::Tensor keys_T = draw ? draw->keys_T : at::Tensor();
    ctx->save_for_backward({keep_input(ctx, x_TI, again, wants_x), keys_T, weight_OI, a_rI, b_Or, low_Tr});
    save_draw(ctx, draw);
    ctx->saved_data["has_bias"] = bias_O.has_value();
    ctx->saved_data["scale"] = scale;
    if (output == Output::kUnset) {
      return at::empty({x.size(0), weight_OI.size(0)}, x.options());
    }
    const at::Tensor bias = bias_O.value_or(at::Tensor());
    const at::Tensor y_TO = frozen ? frozen->product_nt(x_TI, bias) : product_nt(x_TI, weight_OI, bias);
    project_up(low_Tr, thin(b_Or.t()), scale, {y_TO, {}});
    return y_TO;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &weight_OI = saved[2], &a_rI = saved[3], &b_Or = saved[4], &low_Tr = saved[5];
    const double scale = ctx->saved_data["scale"].toDouble();
    const Dropped grad_TO{grads[0].contiguous(), {}};
    variable_list result(11);
    const bool want_x = ctx->needs_input_grad(0);
    const bool want_weight = ctx->needs_input_grad(1);
    const bool want_a = ctx->needs_input_grad(2);
    const Dropped x_TI = dropped(want_weight || want_a ? kept_input(ctx, saved[0]) : at::Tensor(),
                                 want_x || want_a ? saved_draw(ctx, saved[1]) : std::nullopt);
    at::Tensor grad_low_Tr;
    if (want_x || want_a) {
      grad_low_Tr = project_down(grad_TO, thin(b_Or.t()), scale);
    }
    if (want_x) {
      const FrozenWeightPtr frozen = kept_frozen(ctx);
      result[0] = frozen ? frozen->product_nn(grad_TO.data_TI) : product_nn(grad_TO.data_TI, weight_OI);
      project_up(grad_low_Tr, thin(a_rI), 1.0, {result[0], x_TI.mask_TI, x_TI.keep_scale});
    }
    if (want_weight) {
      result[1] = product_tn(grad_TO.data_TI, x_TI.data_TI);
    }
    if (want_a) {
      result[2] = outer_sum(grad_low_Tr, x_TI, 1.0).to(a_rI.scalar_type());
    }
    if (ctx->needs_input_grad(3)) {
      result[3] = outer_sum(low_Tr, grad_TO, scale).t().to(b_Or.scalar_type());
    }
    // An absent bias is no input of the graph: its index exists only with it.
    if (ctx->saved_data["has_bias"].toBool() && ctx->needs_input_grad(4)) {
      result[4] = column_sums(grad_TO.data_TI, grad_TO.data_TI.scalar_type());
    }
    return result;
  }
};

}  // namespace

at::Tensor lora_linear(const at::Tensor& x_TI, const at::Tensor& weight_OI, const std::optional<at::Tensor>& bias_O,
                       const LoraTensors& lora, const RecomputePtr& again, Output output,
                       const FrozenWeightPtr& frozen) {
  return LoraLinear::apply(x_TI, weight_OI, lora.a_rI, lora.b_Or, bias_O, lora.drops, lora.scale, again, output,
                           frozen);
}

}  // namespace assay::engine
