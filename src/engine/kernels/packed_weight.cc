#include "engine/kernels/packed_weight.h"

#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>

#include <optional>
#include <utility>

#include "engine/kernels/cpu/cpu_kernels.h"

namespace assay::engine {
namespace {

/// libtorch registers these two without a C++ interface of their own.
at::Tensor call(const char* name, torch::jit::Stack stack) {
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(&stack);
  return stack.front().toTensor();
}

at::Tensor reorder(const at::Tensor& weight_OI) {
  return call("mkldnn::_reorder_linear_weight", {weight_OI, c10::IValue()});
}

at::Tensor packed_linear(const at::Tensor& x_MI, const at::Tensor& packed, const at::Tensor& bias_O) {
  const c10::IValue bias = bias_O.defined() ? c10::IValue(bias_O) : c10::IValue();
  return call("mkldnn::_linear_pointwise",
              {x_MI, packed, bias, "none", c10::List<std::optional<at::Scalar>>(), c10::IValue("")});
}

}  // namespace

PackedWeight::PackedWeight(at::Tensor weight_OI, std::function<void(const at::Tensor&)> both_packed)
    : weight_OI_(weight_OI.detach()), both_packed_(std::move(both_packed)) {}

bool PackedWeight::suits(const at::Tensor& weight_OI) {
  return (weight_OI.is_cpu() || weight_OI.is_meta()) && weight_OI.scalar_type() == at::kBFloat16 &&
         weight_OI.dim() == 2 && weight_OI.is_contiguous() && !weight_OI.requires_grad() && has_fast_bfloat16_matmul();
}

void PackedWeight::pack(at::Tensor& packed, const at::Tensor& weight) {
  if (packed.defined()) {
    return;
  }
  packed = reorder(weight);
  if (forward_.defined() && backward_.defined() && both_packed_) {
    std::exchange(both_packed_, nullptr)(weight_OI_);
  }
}

at::Tensor PackedWeight::product_nt(const at::Tensor& x_MI, const at::Tensor& bias_O) {
  const at::NoGradGuard no_grad;
  pack(forward_, weight_OI_);
  return packed_linear(x_MI, forward_, bias_O);
}

at::Tensor PackedWeight::product_nn(const at::Tensor& y_MO) {
  const at::NoGradGuard no_grad;
  // A contiguous copy first: oneDNN reorders a transposed view four times more slowly.
  if (!backward_.defined()) {
    pack(backward_, weight_OI_.t().contiguous());
  }
  return packed_linear(y_MO, backward_, {});
}

}  // namespace assay::engine
