#include "engine/model/recomputable.h"

#include "engine/kernels/ops.h"

namespace assay::engine {

Recomputable recomputable_swiglu(const at::Tensor& gate_TI, const at::Tensor& up_TI) {
  return {swiglu(gate_TI, up_TI),
          c10::make_intrusive<Recompute>([gate = gate_TI.detach(), up = up_TI.detach()] { return swiglu(gate, up); })};
}

Recomputable recomputable_swiglu(const at::Tensor& gate_TI, const at::Tensor& up_TI, const at::Tensor& weights_T) {
  return {weighted_swiglu(gate_TI, up_TI, weights_T),
          c10::make_intrusive<Recompute>([gate = gate_TI.detach(), up = up_TI.detach(), weights = weights_T.detach()] {
            return weighted_swiglu(gate, up, weights);
          })};
}

Recomputable recomputable_gelu(const at::Tensor& x_TI, GeluForm form) {
  return {gelu(x_TI, form), c10::make_intrusive<Recompute>([x = x_TI.detach(), form] { return gelu(x, form); })};
}

}  // namespace assay::engine
