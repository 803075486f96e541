// assay tune of a vision transformer: its options, and its plan made ready.
#include <fmt/format.h>

#include "base/files.h"
#include "cli/options.h"
#include "cli/tune_kinds.h"
#include "cli/tune_shards.h"
#include "data/prepare_images.h"
#include "data/vision_models.h"

namespace assay::cli {
namespace {

/// What the plugin brings along, and what was asked for on top of it.
Status CompletePrecision(const VisionOptions& options, job::VitPlan& plan) {
  ASSAY_ASSIGN_OR_RETURN(const job::PluginInfo* plugin, job::FindPlugin(plan.plugin));
  plan.precision = options.precision.empty() ? std::string(plugin->precision) : options.precision;
  plan.loss_scale = plugin->loss_scale;
  return Status::Ok();
}

/// Says which images were left out.
void TellSkipped(const data::PreparedPart& part, LiveProgress& progress) {
  for (const std::string& reason : part.reasons) {
    progress.Print("left out: " + reason);
  }
  if (part.skipped > 0 && part.cached) {
    progress.Print(fmt::format("{} images that cannot be decoded were left out", part.skipped));
  }
}

Status CompleteImages(const TuneOptions& options, int64_t side, LiveProgress& progress, job::VitPlan& plan) {
  if (plan.synthetic != options.data.empty()) {
    return Status::InvalidArgument(plan.synthetic ? "--synthetic takes no --data"
                                                  : "there is no data: give --data DIR, --data digits or --synthetic");
  }
  if (plan.synthetic) {
    return CheckNoShards(plan);
  }
  progress.OnPhase("preparing " + options.data);
  if (NamesShards(options.data)) {
    if (options.vision.skip_corrupt) {
      return Status::InvalidArgument("--skip-corrupt is of images in files: leave it out with a data set of shards");
    }
    plan.num_labels = options.vision.classes;
    return StreamShards(options.data, plan);
  }
  if (options.vision.classes > 0) {
    return Status::InvalidArgument(
        "--classes is of a data set of shards: other data say themselves what classes they have");
  }
  ASSAY_RETURN_IF_ERROR(CheckNoShards(plan));
  const data::ImageSpec spec{.data = options.data,
                             .width = side,
                             .height = side,
                             .skip_corrupt = options.vision.skip_corrupt,
                             .share_dir = {},
                             .cache_dir = {}};
  ASSAY_ASSIGN_OR_RETURN(const data::PreparedImages images, data::PrepareImages(spec));
  TellSkipped(images.train, progress);
  TellSkipped(images.eval, progress);
  plan.train_file = images.train.file;
  plan.eval_file = images.eval.file;
  plan.num_labels = static_cast<int64_t>(images.classes.size());
  return Status::Ok();
}

}  // namespace

Status CompletePlan(const TuneOptions& options, LiveProgress& progress, job::VitPlan& plan) {
  ASSAY_RETURN_IF_ERROR(CompleteShared(options, plan));
  ASSAY_RETURN_IF_ERROR(CompletePrecision(options.vision, plan));
  ASSAY_ASSIGN_OR_RETURN(const data::VisionModelRef model, data::ResolveVisionModel(options.model, ShareDirectory()));
  plan.model_dir = model.dir;
  plan.image_mean.assign(model.image_mean.begin(), model.image_mean.end());
  plan.image_std.assign(model.image_std.begin(), model.image_std.end());
  ASSAY_RETURN_IF_ERROR(CompleteImages(options, model.shape.image_size, progress, plan));
  return job::CheckVitPlan(plan);
}

void AddVisionOptions(CLI::App& app, TuneOptions& options) {
  app.add_option("--precision", options.vision.precision, "Of arithmetic and weights; the plugin's own when not given")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16", "amp_bf16", "amp_fp16", "fp8"}));
  app.add_flag("--synthetic", options.vision.plan.synthetic, "Random images instead of data; needs --max-steps");
  app.add_option("--classes", options.vision.classes,
                 "Of a data set of shards: labels are below it; without: those of the model's config.json")
      ->check(WholeNumber(1));
  app.add_flag("--skip-corrupt", options.vision.skip_corrupt, "Leave out images that cannot be decoded, and name them");
}

}  // namespace assay::cli
