// finetune_gtpq-lora_benchmark-v1.0.0: how fast LoRA fine-tuning of a quantised model is, and what it uses.
#include "experiment/fine_tuning/fine_tuning.h"

namespace assay::experiment {
namespace {

constexpr int64_t kBits = 4;

std::vector<TuneProperty> GptqLoraProperties() {
  std::vector<TuneProperty> properties = LoraProperties();
  properties.push_back({As({.label = "bits", .stands_alone = true},
                           Own(Optional("bits", Choice({int64_t{2}, int64_t{3}, kBits, int64_t{8}}), kBits,
                                        "of the frozen weights: those of a GPTQ checkpoint, or what others are rounded "
                                        "to when they are loaded, in groups of 128 inputs"))),
                        &Field<job::TunePlan, &job::TunePlan::quantize_bits>});
  properties.push_back(
      Changed(FineTuningProperties(), "torch_dtype", Texts({"float16", "bfloat16"}), std::string("float16")));
  // The reference's experiment has its kernels on; ours are always fused.
  properties.push_back(
      Changed(FineTuningProperties(), "fast_kernels", Texts({"True,True,True"}), std::string("True,True,True")));
  return properties;
}

FineTuningDefinition GptqLora(const char* id) {
  return {.id = id,
          .description =
              "Speed, memory and utilisation of LoRA fine-tuning on weights of few bits: the model is frozen "
              "and quantised, an adapter is trained",
          .method = "gptq-lora",
          .properties = GptqLoraProperties(),
          .specialize = &MakeLora};
}

}  // namespace

/// The name that it was published under.
const Experiment& FinetuneGtpqLoraBenchmark() {
  static const FineTuningExperiment experiment(GptqLora("finetune_gtpq-lora_benchmark-v1.0.0"));
  return experiment;
}

/// The name that the reference's code has.
const Experiment& FinetuneGptqLoraBenchmark() {
  static const FineTuningExperiment experiment(GptqLora("finetune_gptq-lora_benchmark-v1.0.0"));
  return experiment;
}

}  // namespace assay::experiment
