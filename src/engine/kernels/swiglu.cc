#include <algorithm>

#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

struct Swiglu : torch::autograd::Function<Swiglu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up) {
    const at::Tensor gate_TI = gate.contiguous();
    const at::Tensor up_TI = up.contiguous();
    ctx->save_for_backward({gate_TI, up_TI});
    return operations(gate_TI).swiglu_forward(gate_TI, up_TI);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const SwigluGradients result = operations(saved[0]).swiglu_backward(grads[0].contiguous(), saved[0], saved[1]);
    return {result.gate_TI, result.up_TI};
  }
};

/// Rows that are multiplied, or summed up, in float32 at a time: what a core's cache holds, and elsewhere what is worth
/// a launch.
int64_t rows_at_a_time(const at::Tensor& x_TI) {
  const int64_t elements = int64_t{1} << (x_TI.is_cuda() ? 26 : 18);
  return std::max<int64_t>(1, elements / std::max<int64_t>(1, x_TI.size(1)));
}

/// Calls `work(rows)` for stretches of the rows of `x_TI`; `rows` narrows a tensor to them.
template <typename Work>
void by_stretch(const at::Tensor& x_TI, const Work& work) {
  const int64_t stretch = rows_at_a_time(x_TI);
  for (int64_t begin = 0; begin < x_TI.size(0); begin += stretch) {
    const int64_t count = std::min(stretch, x_TI.size(0) - begin);
    work([begin, count](const at::Tensor& all) { return all.narrow(0, begin, count); });
  }
}

struct WeightedSwiglu : torch::autograd::Function<WeightedSwiglu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up,
                            const at::Tensor& weights_T) {
    const at::Tensor gate_TI = gate.contiguous();
    const at::Tensor up_TI = up.contiguous();
    ctx->save_for_backward({gate_TI, up_TI, weights_T});
    const at::Tensor y_TI = operations(gate_TI).swiglu_forward(gate_TI, up_TI);
    const at::Tensor weights_T1 = to_compute(weights_T).unsqueeze(1);
    by_stretch(y_TI, [&](const auto& rows) { rows(y_TI).mul_(rows(weights_T1)); });
    return y_TI;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &gate_TI = saved[0], &up_TI = saved[1];
    const at::Tensor grad_TI = grads[0].contiguous();
    const at::Tensor weights_T1 = to_compute(saved[2]).unsqueeze(1);
    const at::Tensor of_gate_TI = at::empty_like(gate_TI);
    const at::Tensor of_up_TI = at::empty_like(up_TI);
    const at::Tensor of_weights_T = at::empty_like(saved[2]);
    by_stretch(grad_TI, [&](const auto& rows) {
      const Operations& row = operations(gate_TI);
      const at::Tensor y = row.swiglu_forward(rows(gate_TI), rows(up_TI));
      rows(of_weights_T).copy_((to_compute(rows(grad_TI)) * y).sum(1));
      const at::Tensor weighted = (rows(grad_TI) * rows(weights_T1)).to(grad_TI.scalar_type());
      const SwigluGradients result = row.swiglu_backward(weighted, rows(gate_TI), rows(up_TI));
      rows(of_gate_TI).copy_(result.gate_TI);
      rows(of_up_TI).copy_(result.up_TI);
    });
    return {of_gate_TI, of_up_TI, of_weights_T};
  }
};

}  // namespace

at::Tensor weighted_swiglu(const at::Tensor& gate_TI, const at::Tensor& up_TI, const at::Tensor& weights_T) {
  return WeightedSwiglu::apply(gate_TI, up_TI, weights_T);
}

at::Tensor swiglu(const at::Tensor& gate_TI, const at::Tensor& up_TI) {
  return Swiglu::apply(gate_TI, up_TI);
}

}  // namespace assay::engine
