// finetune_lora_benchmark-v1.0.0: how fast LoRA fine-tuning is, and what it uses.
#include "base/text.h"
#include "data/model_catalogue.h"
#include "experiment/fine_tuning/fine_tuning.h"

namespace assay::experiment {
namespace {

/// The default of the reference's trainer, which its experiments leave as it is.
constexpr double kReferenceDropout = 0.05;

template <auto kField>
Status LoraField(const space::Value& value, job::TunePlan& plan) {
  Assign(value, plan.lora.*kField);
  return Status::Ok();
}

}  // namespace

std::vector<TuneProperty> LoraProperties() {
  return {{As({.label = "LoRA rank"}, Optional("r", Integers(1, 33), int64_t{4}, "rank of the adapter")),
           &LoraField<&job::LoraOptions::rank>},
          {As({.label = "LoRA alpha"},
              Optional("lora_alpha", Integers(1, 33), int64_t{16}, "the adapter's output is scaled by lora_alpha / r")),
           &LoraField<&job::LoraOptions::alpha>},
          {Own(Optional("lora_dropout", *space::Domain::Range(0, 1, std::nullopt), kReferenceDropout,
                        "of the adapter's input; experts have none, so adapters on them take 0")),
           &LoraField<&job::LoraOptions::dropout>},
          {Own(Optional("target_modules", space::Domain::AnyTextOrNone(), space::Value(),
                        "modules that get an adapter, with commas between them; None: the reference's choice for the "
                        "model, q_proj,v_proj for most"))}};
}

void MakeLora(const space::Entity& point, job::TunePlan& plan) {
  plan.method = "lora";
  const std::string modules = TextOf(point, "target_modules");
  plan.lora.target_modules =
      modules.empty() ? data::DefaultLoraTargets(TextOf(point, "model_name")) : Split(modules, ',');
}

const Experiment& FinetuneLoraBenchmark() {
  static const FineTuningExperiment experiment(
      {.id = "finetune_lora_benchmark-v1.0.0",
       .description = "Speed, memory and utilisation of LoRA fine-tuning: the model is frozen, an adapter is trained",
       .method = "lora",
       .properties = LoraProperties(),
       .specialize = &MakeLora});
  return experiment;
}

}  // namespace assay::experiment
