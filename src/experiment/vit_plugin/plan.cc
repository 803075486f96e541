#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "data/vision_models.h"
#include "experiment/model_hash.h"
#include "experiment/property_spec.h"
#include "experiment/training_ranks.h"
#include "experiment/vit_plugin/vit_plugin.h"

namespace assay::experiment {
namespace {

Result<data::VisionModelRef> ImageModel(const space::Entity& point, const PlanContext& context) {
  return data::ResolveVisionModel(TextOf(point, "model_name"), context.ShareFolder());
}

/// kFailedPrecondition where this model cannot be divided as the point asks for, or this machine not so often.
Status CheckDivides(const job::VitPlan& plan, const data::VitShape& shape, const PlanContext& context) {
  const Status status = job::CheckModelDivides(plan, {.attention_heads = shape.num_attention_heads,
                                                      .intermediate_features = shape.intermediate_size,
                                                      .layers = shape.num_hidden_layers});
  return status.ok() ? CheckRanksFitHere(plan, context) : Status::FailedPrecondition(status.message());
}

/// What the gate holds a plugin against: the same training on the same images by one rank, in fp32. One rank, since
/// several could share with the plugin what they do wrong between them. It sees the images of a data rank at a time.
job::VitPlan ReferencePlan(const job::VitPlan& plan, int64_t steps) {
  job::VitPlan reference = plan;
  reference.plugin = "torch_ddp";
  reference.knobs = (*job::FindPlugin(reference.plugin))->defaults;
  reference.number_ranks = 1;
  reference.batch_size *= job::DataRanks(plan);
  reference.gradient_accumulation_steps *= job::DataRanks(plan);
  reference.threads *= plan.number_ranks;
  reference.precision = "fp32";
  reference.loss_scale = 1;
  reference.protocol = "train";
  reference.max_steps = steps;
  reference.memory_budget_bytes = 0;
  reference.trace_dir.clear();
  return reference;
}

/// What products of this precision are made in.
std::string ProductDtype(const std::string& precision) {
  if (precision == "fp32") {
    return "float32";
  }
  return precision == "fp16" || precision == "amp_fp16" ? "float16" : "bfloat16";
}

CeilingNeed CeilingOf(const job::VitPlan& plan, const PlanContext& context) {
  const bool on_gpu = plan.device == "cuda";
  return {.dtype = ProductDtype(plan.precision),
          .threads = on_gpu ? 0 : plan.threads * plan.number_ranks,
          .devices = on_gpu ? plan.number_ranks : 1,
          .on_gpu = on_gpu,
          .cache_dir = context.CacheFolder() + "/ceilings" + (context.runs_here() ? "" : "/" + context.elsewhere)};
}

}  // namespace

Status VitPluginExperiment::CheckInputs(const space::Entity& point, const PlanContext& context) const {
  ASSAY_RETURN_IF_ERROR(CheckSupported(*this, point));
  ASSAY_RETURN_IF_ERROR(ImageModel(point, context).status());
  return CheckVisibleGpus(IntegerOf(point, "number_gpus"), context);
}

Result<std::map<std::string, std::string>> VitPluginExperiment::Contents(const space::Entity& point,
                                                                         const PlanContext& context) const {
  ASSAY_ASSIGN_OR_RETURN(const data::VisionModelRef model, ImageModel(point, context));
  ASSAY_ASSIGN_OR_RETURN(const std::string model_hash, HashModel(model.dir, context.CacheFolder()));
  return std::map<std::string, std::string>{{"model_hash", model_hash}};
}

Result<RunPlan> VitPluginExperiment::Plan(const space::Entity& point, const PlanContext& context) const {
  const double start = MonotonicSeconds();
  ASSAY_RETURN_IF_ERROR(CheckInputs(point, context));
  ASSAY_ASSIGN_OR_RETURN(job::VitPlan vit, VitPlanOf(point));
  ASSAY_ASSIGN_OR_RETURN(const data::VisionModelRef model, ImageModel(point, context));
  ASSAY_RETURN_IF_ERROR(CheckDivides(vit, model.shape, context));
  vit.model_dir = model.dir;
  vit.trace_dir = context.trace_dir;
  vit.threads = ThreadsOfRank(vit.threads, vit.number_ranks, context);
  RunPlan plan;
  ASSAY_ASSIGN_OR_RETURN(const std::string model_hash, HashModel(model.dir, context.CacheFolder()));
  if (const int64_t steps = IntegerOf(point, "gate_steps"); steps > 0) {
    plan.reference =
        ReferenceRun{.work = ReferencePlan(vit, steps), .cache_dir = context.CacheFolder() + "/references"};
    plan.reference->key = model_hash;
  }
  plan.ceiling = CeilingOf(vit, context);
  plan.provenance = {{"model", model.name},
                     {"model_hash", model_hash},
                     {"weights", model.has_weights ? "file" : "random"},
                     {"dataset", "synthetic"},
                     {"precision", vit.precision}};
  if (!vit.trace_dir.empty()) {
    plan.provenance["trace"] = vit.trace_dir + "/trace.json";
  }
  plan.work = std::move(vit);
  plan.seconds = MonotonicSeconds() - start;
  return plan;
}

}  // namespace assay::experiment
