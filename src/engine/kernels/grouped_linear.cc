#include "engine/kernels/grouped_linear.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <utility>

#include "engine/kernels/kept_input.h"
#include "engine/kernels/products.h"

namespace assay::engine {
namespace {

bool are_stacked(const ExpertWeights& weights) {
  return weights.size() == 1 && weights.front().dim() == 3;
}

int64_t experts_of(const ExpertWeights& weights) {
  return are_stacked(weights) ? weights.front().size(0) : static_cast<int64_t>(weights.size());
}

at::Tensor weight_of(const ExpertWeights& weights, int64_t expert) {
  return are_stacked(weights) ? weights.front().select(0, expert) : weights[static_cast<size_t>(expert)];
}

at::Tensor rows_of(const at::Tensor& rows_SI, const std::vector<int64_t>& offsets, int64_t expert) {
  const auto e = static_cast<size_t>(expert);
  return rows_SI.narrow(0, offsets[e], offsets[e + 1] - offsets[e]);
}

/// What `product` makes of the rows of each expert, one below the other.
template <typename Product>
at::Tensor by_expert(const at::Tensor& rows_SI, const ExpertWeights& weights, const std::vector<int64_t>& offsets,
                     int64_t width, const Product& product) {
  std::vector<at::Tensor> parts;
  for (int64_t e = 0; e < experts_of(weights); ++e) {
    if (const at::Tensor own = rows_of(rows_SI, offsets, e); own.size(0) > 0) {
      parts.push_back(product(own, weight_of(weights, e)));
    }
  }
  return parts.empty() ? at::empty({0, width}, rows_SI.options()) : at::cat(parts);
}

struct GroupedLinear : torch::autograd::Function<GroupedLinear> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_SI, at::TensorList tensors,
                            const std::vector<int64_t>& offsets, const RecomputePtr& again, Output output) {
    const ExpertWeights weights = tensors.vec();
    ctx->saved_data["offsets"] = offsets;
    variable_list saved = {keep_input(ctx, x_SI, again, weights.front().requires_grad())};
    saved.insert(saved.end(), weights.begin(), weights.end());
    ctx->save_for_backward(std::move(saved));
    const int64_t width = weights.front().size(-2);
    return output == Output::kUnset
               ? at::empty({x_SI.size(0), width}, x_SI.options())
               : by_expert(x_SI, weights, offsets, width,
                           [](const at::Tensor& x, const at::Tensor& w) { return product_nt(x, w); });
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    variable_list saved = ctx->get_saved_variables();
    const ExpertWeights weights(saved.begin() + 1, saved.end());
    const std::vector<int64_t> offsets = ctx->saved_data["offsets"].toIntVector();
    const at::Tensor grad_SO = grads[0].contiguous();
    variable_list result(1 + weights.size() + 3);
    if (ctx->needs_input_grad(0)) {
      result[0] = by_expert(grad_SO, weights, offsets, weights.front().size(-1),
                            [](const at::Tensor& grad, const at::Tensor& w) { return product_nn(grad, w); });
    }
    if (ctx->needs_input_grad(1)) {
      const at::Tensor x_SI = kept_input(ctx, saved[0]);
      for (size_t i = 0; i < weights.size(); ++i) {
        result[1 + i] = at::zeros_like(weights[i]);
      }
      const ExpertWeights gradients(result.begin() + 1,
                                    result.begin() + 1 + static_cast<std::ptrdiff_t>(weights.size()));
      for (int64_t e = 0; e < experts_of(weights); ++e) {
        if (const at::Tensor own_SI = rows_of(x_SI, offsets, e); own_SI.size(0) > 0) {
          weight_of(gradients, e).copy_(product_tn(rows_of(grad_SO, offsets, e), own_SI));
        }
      }
    }
    return result;
  }
};

}  // namespace

at::Tensor grouped_linear(const at::Tensor& x_SI, const ExpertWeights& weights, const std::vector<int64_t>& offsets,
                          const RecomputePtr& again, Output output) {
  TORCH_CHECK(!weights.empty() && static_cast<int64_t>(offsets.size()) == experts_of(weights) + 1 &&
                  offsets.back() == x_SI.size(0),
              "grouped_linear: ", offsets.size(), " offsets for ", experts_of(weights), " experts and ", x_SI.size(0),
              " rows");
  return GroupedLinear::apply(x_SI, at::TensorList(weights), offsets, again, output);
}

}  // namespace assay::engine
