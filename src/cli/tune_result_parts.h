// What the result of `assay tune` has of one kind of model alone: a file each, overloaded by its plan.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "job/plan.h"
#include "job/run_record.h"

namespace assay::cli {

/// Median without the first step, which warms up, where there are several; 0 without any.
double MedianStepSeconds(const std::vector<job::Step>& steps);

/// `total` of all steps as so much a second: what a mean step has over the median time.
double PerSecond(int64_t total, const std::vector<job::Step>& steps);

/// What a data set of shards cost the training: how long the first rank's steps waited for it, the first step, which
/// warms up, left out where there are several; and of all ranks what was asked for, received and used.
nlohmann::json StreamedDataJson(const job::TrainingPlan& plan, const job::RunRecord& record);
/// `total` of all steps as so much a second, had no step waited for data.
double PerSecondWithoutStalls(int64_t total, const job::RunRecord& record);

/// Adds the kind's own keys.
void AddToJson(const job::TunePlan& plan, const job::RunRecord& record, nlohmann::json& json);
void AddToJson(const job::VitPlan& plan, const job::RunRecord& record, nlohmann::json& json);

/// Adds the kind's own rows on what was loaded.
void AddModelRows(const job::TunePlan& plan, const job::Loaded& loaded, TextTable& table);
void AddModelRows(const job::VitPlan& plan, const job::Loaded& loaded, TextTable& table);

/// Adds the kind's own rows on its steps, of which there is one at least.
void AddStepRows(const job::TunePlan& plan, const std::vector<job::Step>& steps, TextTable& table);
void AddStepRows(const job::VitPlan& plan, const std::vector<job::Step>& steps, TextTable& table);

/// A table of its own behind the first one, or empty.
std::string MoreTables(const job::TunePlan& plan, const job::RunRecord& record);
std::string MoreTables(const job::VitPlan& plan, const job::RunRecord& record);

}  // namespace assay::cli
