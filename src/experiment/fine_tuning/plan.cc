#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "data/datasets.h"
#include "data/model_catalogue.h"
#include "data/model_size.h"
#include "data/prepare.h"
#include "data/prompt_text.h"
#include "experiment/fine_tuning/fine_tuning.h"
#include "experiment/model_hash.h"
#include "experiment/training_ranks.h"
#include "measure/machine.h"
#include "measure/nvml.h"

namespace assay::experiment {
namespace {

Status CheckDataset(const std::string& id, const std::string& share_dir) {
  if (data::IsKnownDataset(id)) {
    return data::OpenDataset(id, share_dir).status();
  }
  if (FileExists(id)) {
    return Status::Ok();
  }
  if (id.find('/') != std::string::npos || id.ends_with(".jsonl")) {
    return Status::NotFound(fmt::format("there is no data file {}: check the path", id));
  }
  return data::OpenDataset(id, share_dir).status();
}

/// "NVIDIA A100-SXM4-80GB" and "NVIDIA-A100-SXM4-80GB" are one name.
std::string PlainName(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

Status CheckGpu(const space::Entity& point, const PlanContext& context) {
  const int64_t gpus = IntegerOf(point, "number_gpus");
  if (gpus == 0 || !context.runs_here()) {
    return Status::Ok();
  }
  ASSAY_RETURN_IF_ERROR(CheckVisibleGpus(gpus, context));
  const auto nvml = measure::Nvml::Load();
  const std::vector<int> visible = measure::VisibleGpus(nvml->gpus());
  for (int64_t i = 0; i < gpus; ++i) {
    const std::string name = PlainName(nvml->gpus()[visible[i]].name);
    if (name != PlainName(TextOf(point, "gpu_model"))) {
      return Status::InvalidArgument(
          fmt::format("gpu_model is {}, but GPU {} of this machine is {}", TextOf(point, "gpu_model"), i, name));
    }
  }
  return Status::Ok();
}

/// What the reference hard-codes for all its experiments.
job::TunePlan ReferenceTraining() {
  job::TunePlan plan;
  plan.method = "full";
  plan.learning_rate = 1e-5;
  plan.weight_decay = 0.0;
  plan.warmup_ratio = 0.03;
  plan.lr_scheduler_type = "cosine";
  plan.max_grad_norm = 1.0;
  plan.shuffle = true;
  plan.save = "none";
  return plan;
}

/// Of a model that is quantised already: its weights are used as they are, where they have the bits that are asked for.
Status UseStoredBits(const data::ModelRef& model, job::TunePlan& plan) {
  if (plan.quantize_bits == 0 || model.quantized_bits == 0) {
    return Status::Ok();
  }
  if (plan.quantize_bits != model.quantized_bits) {
    return Status::FailedPrecondition(fmt::format("the weights of {} have {} bits, not {}: set bits to {}", model.name,
                                                  model.quantized_bits, plan.quantize_bits, model.quantized_bits));
  }
  plan.quantize_bits = 0;
  return Status::Ok();
}

Result<data::ModelRef> ModelOf(const space::Entity& point, const PlanContext& context) {
  return data::ResolveModel(context.ModelNamed(TextOf(point, "model_name")), context.ShareFolder());
}

data::DataSpec DataOf(const space::Entity& point, const data::ModelRef& model, const PlanContext& context) {
  data::DataSpec spec;
  spec.data = context.DataNamed(TextOf(point, "dataset_id"));
  spec.tokenizer_dir = model.tokenizer_dir;
  spec.no_tokenizer = model.no_tokenizer;
  spec.max_length = IntegerOf(point, "model_max_length");
  spec.model_vocab_size = model.vocab_size;
  spec.share_dir = context.ShareFolder();
  spec.cache_dir = context.CacheFolder();
  spec.threads = context.threads;
  return spec;
}

}  // namespace

Status FineTuningExperiment::CheckInputs(const space::Entity& point, const PlanContext& context) const {
  ASSAY_RETURN_IF_ERROR(CheckSupported(*this, point));
  ASSAY_ASSIGN_OR_RETURN(const job::TunePlan plan, TrainingOf(point, context));
  if (context.runs_here()) {
    // Not for good, as what a plan refuses is: another launcher may have the machines.
    ASSAY_RETURN_IF_ERROR(job::CheckMachinesFit(plan));
  }
  ASSAY_RETURN_IF_ERROR(ModelOf(point, context).status());
  ASSAY_RETURN_IF_ERROR(CheckDataset(context.DataNamed(TextOf(point, "dataset_id")), context.ShareFolder()));
  return CheckGpu(point, context);
}

Result<std::map<std::string, std::string>> FineTuningExperiment::Contents(const space::Entity& point,
                                                                          const PlanContext& context) const {
  ASSAY_ASSIGN_OR_RETURN(const data::ModelRef model, ModelOf(point, context));
  ASSAY_ASSIGN_OR_RETURN(const std::string model_hash, HashModel(model.dir, context.CacheFolder()));
  ASSAY_ASSIGN_OR_RETURN(const data::DataContent data, data::HashData(DataOf(point, model, context)));
  return std::map<std::string, std::string>{
      {"model_hash", model_hash}, {"data_hash", data.data_hash}, {"tokenizer_hash", data.tokenizer_hash}};
}

Result<job::TunePlan> FineTuningExperiment::TrainingOf(const space::Entity& point, const PlanContext& context) const {
  job::TunePlan plan = ReferenceTraining();
  ASSAY_RETURN_IF_ERROR(TakeAll(properties_, point, plan));
  ASSAY_RETURN_IF_ERROR(SpreadOverRanks(point, plan));
  plan.threads = ThreadsOfRank(plan.threads, plan.number_ranks, context);
  plan.trace_dir = context.trace_dir;
  if (definition_.specialize != nullptr) {
    definition_.specialize(point, plan);
  }
  return plan;
}

Result<RunPlan> FineTuningExperiment::Plan(const space::Entity& point, const PlanContext& context) const {
  const double start = MonotonicSeconds();
  ASSAY_RETURN_IF_ERROR(CheckInputs(point, context));
  RunPlan plan;
  ASSAY_ASSIGN_OR_RETURN(job::TunePlan tune, TrainingOf(point, context));
  ASSAY_ASSIGN_OR_RETURN(const data::ModelRef model, ModelOf(point, context));
  tune.model_dir = model.dir;
  ASSAY_RETURN_IF_ERROR(UseStoredBits(model, tune));
  if (tune.method == "prompt" && tune.prompt.init == "text") {
    ASSAY_ASSIGN_OR_RETURN(tune.prompt.init_ids, data::TokenizePromptText(model, tune.prompt.init_text));
  }
  ASSAY_RETURN_IF_ERROR(CheckWrapped(point, model.family));
  ASSAY_RETURN_IF_ERROR(CheckRanksFitHere(tune, context));

  const data::DataSpec spec = DataOf(point, model, context);
  ASSAY_ASSIGN_OR_RETURN(const data::PreparedTokens tokens, data::PrepareTokens(spec));
  tune.tokens_file = tokens.tokens_file;
  tune.tokenizer = tokens.tokenizer;

  ASSAY_ASSIGN_OR_RETURN(const std::string model_hash, HashModel(model.dir, context.CacheFolder()));
  plan.provenance = {{"model", model.name},
                     {"model_hash", model_hash},
                     {"weights", job::DescribeWeights(model.has_weights, model.quantized_bits, tune)},
                     {"dataset", spec.data},
                     {"data_hash", tokens.data_hash},
                     {"tokenizer_hash", tokens.tokenizer_hash},
                     {"tokenizer", tokens.tokenizer.empty() ? "none" : tokens.tokenizer}};
  if (!tune.trace_dir.empty()) {
    plan.provenance["trace"] = tune.trace_dir + "/trace.json";
  }
  plan.seconds = MonotonicSeconds() - start;
  if (context.runs_here()) {
    // By the machine's size: what is free at the moment says nothing about the point.
    ASSAY_RETURN_IF_ERROR(CheckModelFits(point, tune, context, measure::FindMemoryRoom().total_bytes));
  }
  plan.work = std::move(tune);
  return plan;
}

Status CheckModelFits(const space::Entity& point, const job::TunePlan& plan, const PlanContext& context,
                      int64_t memory_bytes) {
  if (plan.device != "cpu") {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const data::ModelRef model, ModelOf(point, context));
  return data::CheckTrainingFits(
      model,
      {.full = plan.method == "full",
       .dtype = plan.dtype,
       .optimizer = plan.optimizer,
       .quantized_bits = model.quantized_bits > 0 ? model.quantized_bits : plan.quantize_bits},
      memory_bytes);
}

}  // namespace assay::experiment
