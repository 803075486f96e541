// What `assay train-vit` prints when it is done.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "job/run_record.h"
#include "job/vit_plan.h"

namespace assay::cli {

/// Outcome, losses, evaluations, images a second, the memory ledgers and collectives of all ranks.
nlohmann::json VitResultJson(const job::VitPlan& plan, const job::RunRecord& record);

/// The same for people: a summary, and a table of the evaluations. Empty when nothing was loaded.
std::string VitResultTable(const job::VitPlan& plan, const job::RunRecord& record);

}  // namespace assay::cli
