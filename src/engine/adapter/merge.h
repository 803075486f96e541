// Adapters made part of the weights that they are on.
#pragma once

#include "engine/model/causal_lm.h"

namespace assay::engine {

/// Adds each LoRA of a whole `model` to its weights and takes it off, as peft's merge_and_unload() does: the update is
/// computed in the adapter's dtype and the sum rounded to that of the weight (of experts the update before as well).
/// Throws StatusError where weights are quantised.
void merge_lora(CausalLM& model);

}  // namespace assay::engine
