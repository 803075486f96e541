#include "engine/train/vit_parts.h"

#include <ATen/ops/empty.h>

#include "engine/model/status_error.h"

namespace assay::engine {

void check_divides(const job::VitPlan& plan, const VitConfig& config) {
  throw_if_error(job::CheckModelDivides(plan, {.attention_heads = config.num_heads,
                                               .intermediate_features = config.intermediate_size,
                                               .layers = config.num_layers}));
}

void take_part(const PartPlace& place, const VitConfig& config, ImageClassifierOptions& options) {
  options.part = place.part_of(config.num_layers);
  options.tensor = place.tensor;
}

int64_t count_parameters(const VitConfig& config) {
  int64_t count = 0;
  const ParameterSource shapes = [&](const ParameterSpec& spec) {
    const at::Tensor parameter = at::empty(spec.shape, at::TensorOptions(at::kFloat).device(c10::kMeta));
    count += parameter.numel();
    return parameter;
  };
  const Vit model(config, shapes, at::kFloat);
  return count;
}

}  // namespace assay::engine
