// The low-rank adapters that are on a model or one of its layers, whatever they are on.
#pragma once

#include <string>
#include <vector>

#include "engine/kernels/ops.h"
#include "engine/model/causal_lm.h"
#include "engine/model/expert_stack.h"

namespace assay::engine {

/// An adapter that is on.
struct Adapter {
  std::string path;  ///< that peft's files have for what it is on, without "base_model.model."
  LoraTensors* tensors;
  DoraTensors* dora = nullptr;  ///< null: directions and lengths are updated together

  std::string a_name() const { return "base_model.model." + path + ".lora_A.weight"; }
  std::string b_name() const { return "base_model.model." + path + ".lora_B.weight"; }
  std::string magnitude_name() const { return "base_model.model." + path + ".lora_magnitude_vector"; }
};

/// Those of whole layers: of tensors of the same module peft puts each adapter around those of the ones before it.
std::vector<Adapter> adapters_of(const std::vector<Linear*>& linears, const std::vector<ExpertStack*>& stacks);

}  // namespace assay::engine
