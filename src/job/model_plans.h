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

/// JSON both ways: a TunePlan's with its "kind".
nlohmann::json ToJson(const GeneratePlan& plan);
/// Of either kind.
template <typename Plan>
Result<Plan> ModelPlanFromJson(const nlohmann::json& json);

}  // namespace assay::job
