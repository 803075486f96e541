// Points as ado names them in its ids, and as experiments here know them.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "experiment/point.h"

namespace assay::samplestore {

/// "finetune_full_benchmark-v1.0.0" with the parameters behind it, out of
/// "SFTTrainer.finetune_full_benchmark-v1.0.0-stop_after_seconds.30".
struct PublishedExperiment {
  const experiment::Experiment* experiment = nullptr;
  space::Entity parameters;  ///< as they stand there
};
Result<PublishedExperiment> ReadExperimentId(std::string_view id);

/// "model_name.m-number_gpus.1" as properties of `experiment`, whose names tell where each value ends. InvalidArgument
/// for a text that does not begin with one.
Result<space::Entity> ReadEntityId(const experiment::Experiment& experiment, std::string_view id);

/// The inverse of ReadExperimentId().
std::string PublishedExperimentId(std::string_view parameterized_id);

}  // namespace assay::samplestore
