// What of a model is trained.
#pragma once

#include <vector>

#include "engine/model/causal_lm.h"

namespace assay::engine {

/// No base parameter has a gradient any more.
void freeze_base(const CausalLM& model);

/// Every parameter that requires grad: base parameters under their own names, then what was put on, under peft's
/// ("base_model.model.<module path>.lora_A.weight", "prompt_embeddings"). The handles are the model's own.
std::vector<NamedTensor> trainable_parameters(CausalLM& model);

}  // namespace assay::engine
