#include "experiment/finetune_full.h"

namespace assay::experiment {
namespace {

void SpecializeFull(const space::Entity& point, job::TunePlan& plan) {
  plan.method = "full";
}

}  // namespace

FineTuningDefinition FinetuneFullBenchmark() {
  return {.id = "finetune_full_benchmark-v1.0.0",
          .description = "Speed, memory and utilisation of full fine-tuning: every parameter is trained",
          .method = "full",
          .is_baseline = true,
          .properties = {},
          .specialize = &SpecializeFull};
}

}  // namespace assay::experiment
