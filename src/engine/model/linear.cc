#include "engine/model/causal_lm.h"
#include "engine/model/random_normal.h"

namespace assay::engine {

bool Linear::trains() const {
  return weight_OI.requires_grad() || (bias_O && bias_O->requires_grad()) ||
         (lora && (lora->a_rI.requires_grad() || lora->b_Or.requires_grad()));
}

at::Tensor Linear::forward(const Recomputable& x_TI, Output output, const DropoutPlace& place) const {
  if (!lora) {
    return engine::linear(x_TI.value, weight_OI, bias_O, x_TI.again, output, frozen);
  }
  LoraTensors active = *lora;
  if (training && lora->dropout > 0.0) {
    const int64_t features = x_TI.value.size(1);
    active.drops = {.keys_T = place.keys_T,
                    .stream = stream_key(0, path),
                    .chance = lora->dropout,
                    .first_feature = place.part * features,
                    .features = features};
  }
  if (dora) {
    return engine::dora_linear(x_TI.value, weight_OI, bias_O, active, *dora, x_TI.again, frozen);
  }
  return engine::lora_linear(x_TI.value, weight_OI, bias_O, active, x_TI.again, output, frozen);
}

}  // namespace assay::engine
