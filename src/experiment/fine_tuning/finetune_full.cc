// finetune_full_benchmark-v1.0.0: how fast full fine-tuning is, and what it uses.
#include "experiment/fine_tuning/fine_tuning.h"

namespace assay::experiment {

const Experiment& FinetuneFullBenchmark() {
  static const FineTuningExperiment experiment(
      {.id = "finetune_full_benchmark-v1.0.0",
       .description = "Speed, memory and utilisation of full fine-tuning: every parameter is trained",
       .method = "full",
       .is_baseline = true});
  return experiment;
}

}  // namespace assay::experiment
