// finetune_pt_benchmark-v1.0.0: how fast prompt tuning is, and what it uses.
#include "experiment/fine_tuning/fine_tuning.h"

namespace assay::experiment {
namespace {

// The defaults of the reference's trainer, which its experiment leaves as they are.
constexpr int64_t kLength = 8;
constexpr char kInitText[] = "Classify if the tweet is a complaint or not:";

template <auto kField>
Status PromptField(const space::Value& value, job::TunePlan& plan) {
  Assign(value, plan.prompt.*kField);
  return Status::Ok();
}

Status TakeInit(const space::Value& value, job::TunePlan& plan) {
  plan.prompt.init = value == space::Value(std::string("TEXT")) ? "text" : "random";
  return Status::Ok();
}

std::vector<TuneProperty> PromptProperties() {
  return {{As({.label = "prompt length"},
              Own(Optional("num_virtual_tokens", Integers(1, 1025), kLength, "trained embeddings before each row"))),
           &PromptField<&job::PromptOptions::length>},
          {Own(Optional("prompt_tuning_init", Texts({"TEXT", "RANDOM"}), std::string("TEXT"),
                        "what they start as: the embeddings of prompt_tuning_init_text, or drawn from N(0, 1)")),
           &TakeInit},
          {Own(Optional("prompt_tuning_init_text", space::Domain::AnyTextOrNone(), std::string(kInitText),
                        "of TEXT: its tokens, cut or repeated to num_virtual_tokens")),
           &PromptField<&job::PromptOptions::init_text>}};
}

void MakePrompt(const space::Entity& point, job::TunePlan& plan) {
  plan.method = "prompt";
}

}  // namespace

const Experiment& FinetunePromptBenchmark() {
  static const FineTuningExperiment experiment(
      {.id = "finetune_pt_benchmark-v1.0.0",
       .description = "Speed, memory and utilisation of prompt tuning: the model is frozen, embeddings that stand "
                      "before each row are trained",
       .method = "prompt",
       .properties = PromptProperties(),
       .specialize = &MakePrompt});
  return experiment;
}

}  // namespace assay::experiment
