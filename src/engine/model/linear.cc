#include "engine/model/causal_lm.h"

namespace assay::engine {

at::Tensor Linear::forward(const at::Tensor& x_TI, const RecomputePtr& again, Output output) const {
  if (!lora) {
    return engine::linear(x_TI, weight_OI, bias_O, again, output, packed);
  }
  LoraTensors active = *lora;
  if (!training) {
    active.dropout = 0.0;
  }
  return engine::lora_linear(x_TI, weight_OI, bias_O, active, again, output, packed);
}

}  // namespace assay::engine
