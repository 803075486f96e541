// finetune_lora_benchmark-v1.0.0: how fast LoRA fine-tuning is, and what it uses.
#pragma once

#include "experiment/fine_tuning_experiment.h"

namespace assay::experiment {

FineTuningDefinition FinetuneLoraBenchmark();

}  // namespace assay::experiment
