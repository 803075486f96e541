// A data set of shards as what a training reads.
#pragma once

#include <string>

#include "base/status.h"
#include "data/model_catalogue.h"
#include "job/tune_plan.h"
#include "job/vit_plan.h"

namespace assay::cli {

/// Whether --data names one: a URI, or a folder with an index or a manifest.
bool NamesShards(const std::string& data);

/// Puts the data set into `plan`, whose worker streams it. Refuses one whose columns are no rows to train on, or whose
/// text the model has no tokeniser for.
Status StreamShards(const std::string& data, const data::ModelRef& model, job::TunePlan& plan);
/// Likewise of one whose columns are no images with labels.
Status StreamShards(const std::string& data, job::VitPlan& plan);

/// Refuses what is of data sets of shards alone.
Status CheckNoShards(const job::TrainingPlan& plan);

}  // namespace assay::cli
