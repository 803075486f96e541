#include "experiment/vit_plugin_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "data/vision_models.h"
#include "experiment/model_hash.h"
#include "experiment/property_spec.h"
#include "experiment/vit_plugin_properties.h"
#include "measure/nvml.h"

namespace assay::experiment {
namespace {

std::string ShareOf(const PlanContext& context) {
  return context.share_dir.empty() ? ShareDirectory() : context.share_dir;
}
std::string CacheOf(const PlanContext& context) {
  return context.cache_dir.empty() ? UserCacheDirectory() : context.cache_dir;
}

Result<data::VisionModelRef> ImageModel(const space::Entity& point, const PlanContext& context) {
  return data::ResolveVisionModel(TextOf(point, "model_name"), ShareOf(context));
}

Status CheckGpus(int64_t gpus) {
  if (gpus == 0) {
    return Status::Ok();
  }
  const auto nvml = measure::Nvml::Load();
  const size_t visible = nvml == nullptr ? 0 : measure::VisibleGpus(nvml->gpus()).size();
  if (visible < static_cast<size_t>(gpus)) {
    return Status::NotFound(fmt::format(
        "number_gpus is {}, but this machine shows {} (check nvidia-smi and CUDA_VISIBLE_DEVICES, or choose 0 and "
        "number_ranks)",
        gpus, visible));
  }
  return Status::Ok();
}

/// What the gate holds a plugin against: the same training on the same images with everything on every rank, in fp32.
job::VitPlan ReferencePlan(const job::VitPlan& plan, int64_t steps) {
  job::VitPlan reference = plan;
  reference.plugin = "torch_ddp";
  reference.knobs = (*job::FindPlugin(reference.plugin))->defaults;
  reference.number_ranks = job::DataRanks(plan);
  reference.precision = "fp32";
  reference.loss_scale = 1;
  reference.protocol = "train";
  reference.max_steps = steps;
  reference.memory_cap_bytes = 0;
  return reference;
}

}  // namespace

Status CheckVitPluginInputs(const Experiment& experiment, const space::Entity& point, const PlanContext& context) {
  ASSAY_RETURN_IF_ERROR(CheckSupported(experiment, point));
  ASSAY_RETURN_IF_ERROR(ImageModel(point, context).status());
  return CheckGpus(IntegerOf(point, "number_gpus"));
}

Result<RunPlan> PlanVitPlugin(const Experiment& experiment, const space::Entity& point, const PlanContext& context) {
  const double start = MonotonicSeconds();
  ASSAY_RETURN_IF_ERROR(CheckVitPluginInputs(experiment, point, context));
  ASSAY_ASSIGN_OR_RETURN(job::VitPlan vit, VitPlanOf(point));
  ASSAY_ASSIGN_OR_RETURN(const data::VisionModelRef model, ImageModel(point, context));
  vit.model_dir = model.dir;
  if (vit.threads == 0 && context.threads > 0) {
    vit.threads = std::max<int64_t>(1, context.threads / vit.number_ranks);
  }
  RunPlan plan;
  ASSAY_ASSIGN_OR_RETURN(const std::string model_hash, HashModel(model.dir, CacheOf(context)));
  if (const int64_t steps = IntegerOf(point, "gate_steps"); steps > 0) {
    plan.reference = ReferenceRun{.work = ReferencePlan(vit, steps), .cache_dir = CacheOf(context) + "/references"};
    plan.reference->key = model_hash;
  }
  plan.provenance = {{"model", model.name},
                     {"model_hash", model_hash},
                     {"weights", model.has_weights ? "file" : "random"},
                     {"dataset", "synthetic"},
                     {"precision", vit.precision}};
  plan.work = std::move(vit);
  plan.seconds = MonotonicSeconds() - start;
  return plan;
}

}  // namespace assay::experiment
