// Plans of one rank that take the model of a fine-tune, with its adapter, for something else than training.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "job/tune_plan.h"

namespace assay::job {

/// The model goes on with the plan's sample, once; of the rest its adapter, quantisation, dtype, device and threads
/// count. The worker writes a `generated` for each token as it comes.
struct GeneratePlan : TunePlan {
  static constexpr char kKind[] = "generate";
};

/// The LoRA adapter in lora.adapter_dir goes into the model's weights, of `dtype`, which are saved to output_dir in
/// files of max_shard_mib.
struct MergePlan : TunePlan {
  static constexpr char kKind[] = "merge";
};

/// JSON both ways: a TunePlan's with its "kind".
nlohmann::json ToJson(const GeneratePlan& plan);
nlohmann::json ToJson(const MergePlan& plan);
/// Of either kind.
template <typename Plan>
Result<Plan> ModelPlanFromJson(const nlohmann::json& json);

}  // namespace assay::job
