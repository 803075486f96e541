#include "experiment/fine_tuning_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "data/datasets.h"
#include "data/model_catalogue.h"
#include "data/model_size.h"
#include "data/prepare.h"
#include "experiment/model_hash.h"
#include "experiment/property_spec.h"
#include "measure/nvml.h"

namespace assay::experiment {
namespace {

Result<int64_t> MemoryBudget(const space::Entity& point) {
  const std::string text = TextOf(point, "memory_budget");
  if (text.empty()) {
    return 0;
  }
  Result<int64_t> bytes = ParseBytes(text);
  return bytes.ok() ? bytes : bytes.status().WithContext("memory_budget");
}

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

Status CheckGpu(const space::Entity& point) {
  const int64_t gpus = IntegerOf(point, "number_gpus");
  if (gpus == 0) {
    return Status::Ok();
  }
  if (gpus > 1) {
    return Status::Unsupported(fmt::format("number_gpus={} is not supported yet: choose 0 or 1", gpus));
  }
  const auto nvml = measure::Nvml::Load();
  if (nvml == nullptr || nvml->gpus().empty()) {
    return Status::NotFound(
        "number_gpus is 1, but this machine has no GPU that its driver tells of (check nvidia-smi, "
        "or choose number_gpus 0)");
  }
  const std::vector<int> visible = measure::VisibleGpus(nvml->gpus());
  const std::string name = visible.empty() ? "" : nvml->gpus()[visible.front()].name;
  if (PlainName(name) != PlainName(TextOf(point, "gpu_model"))) {
    return Status::InvalidArgument(fmt::format("gpu_model is {}, but this machine's GPU is {}",
                                               TextOf(point, "gpu_model"),
                                               name.empty() ? "hidden by CUDA_VISIBLE_DEVICES" : PlainName(name)));
  }
  return Status::Ok();
}

/// What the reference hard-codes for all its experiments, and what the point says.
job::TunePlan TrainingOf(const space::Entity& point, const PlanContext& context) {
  job::TunePlan plan;
  plan.method = "full";
  plan.learning_rate = 1e-5;
  plan.weight_decay = 0.0;
  plan.warmup_ratio = 0.03;
  plan.lr_scheduler_type = "cosine";
  plan.max_grad_norm = 1.0;
  plan.shuffle = true;
  plan.save = "none";
  plan.batch_size = IntegerOf(point, "batch_size") / std::max<int64_t>(1, IntegerOf(point, "number_gpus"));
  plan.gradient_accumulation_steps = IntegerOf(point, "gradient_accumulation_steps");
  plan.model_max_length = IntegerOf(point, "model_max_length");
  plan.dtype = TextOf(point, "torch_dtype");
  plan.gradient_checkpointing = BoolOf(point, "gradient_checkpointing") ? "on" : "off";
  plan.optimizer = TextOf(point, "optim");
  const int64_t max_steps = IntegerOf(point, "max_steps");
  plan.max_steps = max_steps > 0 ? max_steps : -1;
  plan.num_train_epochs = IntegerOf(point, "num_train_epochs");
  const double stop_after_seconds = NumberOf(point, "stop_after_seconds");
  plan.stop_after_seconds = stop_after_seconds > 0 ? stop_after_seconds : -1;
  plan.auto_stop_method = TextOf(point, "auto_stop_method");
  plan.seed = static_cast<uint64_t>(IntegerOf(point, "seed"));
  plan.device = IntegerOf(point, "number_gpus") == 0 ? "cpu" : "cuda";
  const int64_t threads = IntegerOf(point, "threads");
  plan.threads = threads > 0 ? threads : context.threads;
  return plan;
}

data::DataSpec DataOf(const space::Entity& point, const data::ModelRef& model, const PlanContext& context) {
  data::DataSpec spec;
  spec.data = TextOf(point, "dataset_id");
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

Status CheckFineTuningInputs(const Experiment& experiment, const space::Entity& point, const PlanContext& context) {
  ASSAY_RETURN_IF_ERROR(CheckSupported(experiment, point));
  if (!context.trace_dir.empty()) {
    return Status::Unsupported(fmt::format("{} writes no trace: leave --trace out", experiment.id()));
  }
  ASSAY_RETURN_IF_ERROR(MemoryBudget(point).status());
  ASSAY_RETURN_IF_ERROR(data::ResolveModel(TextOf(point, "model_name"), context.ShareFolder()).status());
  ASSAY_RETURN_IF_ERROR(CheckDataset(TextOf(point, "dataset_id"), context.ShareFolder()));
  return CheckGpu(point);
}

Result<std::map<std::string, std::string>> FineTuningContents(const space::Entity& point, const PlanContext& context) {
  ASSAY_ASSIGN_OR_RETURN(const data::ModelRef model,
                         data::ResolveModel(TextOf(point, "model_name"), context.ShareFolder()));
  ASSAY_ASSIGN_OR_RETURN(const std::string model_hash, HashModel(model.dir, context.CacheFolder()));
  ASSAY_ASSIGN_OR_RETURN(const data::DataContent data, data::HashData(DataOf(point, model, context)));
  return std::map<std::string, std::string>{
      {"model_hash", model_hash}, {"data_hash", data.data_hash}, {"tokenizer_hash", data.tokenizer_hash}};
}

Result<RunPlan> PlanFineTuning(const Experiment& experiment, const space::Entity& point, const PlanContext& context) {
  const double start = MonotonicSeconds();
  ASSAY_RETURN_IF_ERROR(CheckFineTuningInputs(experiment, point, context));
  RunPlan plan;
  job::TunePlan& tune = plan.work.emplace<job::TunePlan>(TrainingOf(point, context));
  ASSAY_ASSIGN_OR_RETURN(tune.memory_budget_bytes, MemoryBudget(point));
  ASSAY_ASSIGN_OR_RETURN(const data::ModelRef model,
                         data::ResolveModel(TextOf(point, "model_name"), context.ShareFolder()));
  tune.model_dir = model.dir;

  const data::DataSpec spec = DataOf(point, model, context);
  ASSAY_ASSIGN_OR_RETURN(const data::PreparedTokens tokens, data::PrepareTokens(spec));
  tune.tokens_file = tokens.tokens_file;
  tune.tokenizer = tokens.tokenizer;

  ASSAY_ASSIGN_OR_RETURN(const std::string model_hash, HashModel(model.dir, context.CacheFolder()));
  plan.provenance = {{"model", model.name},
                     {"model_hash", model_hash},
                     {"weights", model.has_weights ? "file" : "random"},
                     {"dataset", spec.data},
                     {"data_hash", tokens.data_hash},
                     {"tokenizer_hash", tokens.tokenizer_hash},
                     {"tokenizer", tokens.tokenizer.empty() ? "none" : tokens.tokenizer}};
  plan.seconds = MonotonicSeconds() - start;
  return plan;
}

Status CheckModelFits(const space::Entity& point, const job::TunePlan& plan, const PlanContext& context,
                      int64_t memory_bytes) {
  if (plan.device != "cpu") {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const data::ModelRef model,
                         data::ResolveModel(TextOf(point, "model_name"), context.ShareFolder()));
  return data::CheckTrainingFits(
      model, {.full = plan.method == "full", .dtype = plan.dtype, .optimizer = plan.optimizer}, memory_bytes);
}

}  // namespace assay::experiment
