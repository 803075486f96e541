// finetune_full_benchmark-v1.0.0: how fast full fine-tuning is, and what it uses.
#pragma once

#include "experiment/fine_tuning_experiment.h"

namespace assay::experiment {

FineTuningDefinition FinetuneFullBenchmark();

}  // namespace assay::experiment
