#include "engine/model/causal_lm.h"

namespace assay::engine {

bool Linear::trains() const {
  return weight_OI.requires_grad() || (bias_O && bias_O->requires_grad()) ||
         (lora && (lora->a_rI.requires_grad() || lora->b_Or.requires_grad()));
}

at::Tensor Linear::forward(const Recomputable& x_TI, Output output) const {
  if (!lora) {
    return engine::linear(x_TI.value, weight_OI, bias_O, x_TI.again, output, packed);
  }
  LoraTensors active = *lora;
  if (!training) {
    active.dropout = 0.0;
  }
  return engine::lora_linear(x_TI.value, weight_OI, bias_O, active, x_TI.again, output, packed);
}

}  // namespace assay::engine
