// assay train-vit: trains a vision transformer on images, over one rank or several.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/live_progress.h"
#include "cli/options.h"
#include "cli/parallel_options.h"
#include "cli/train_vit_result.h"
#include "cli/verb.h"
#include "data/prepare_images.h"
#include "data/vision_models.h"
#include "launch/local_launcher.h"

namespace assay::cli {
namespace {

struct TrainVitOptions {
  job::VitPlan plan;
  std::string model = "google/vit-base-patch16-224";
  std::string data;
  std::string precision;  ///< empty: the plugin's own
  GivenKnobs knobs;
  std::string memory_cap;
  std::string write_plan;
  std::string output;
  bool skip_corrupt = false;
  bool trace = false;
};

/// What the plugin brings along, and what was asked for on top of it.
Status CompletePlugin(const TrainVitOptions& options, job::VitPlan& plan) {
  ASSAY_ASSIGN_OR_RETURN(const job::PluginInfo* plugin, CompleteKnobs(options.knobs, plan));
  plan.precision = options.precision.empty() ? std::string(plugin->precision) : options.precision;
  plan.loss_scale = plugin->loss_scale;
  return Status::Ok();
}

/// Makes the images ready and says which were left out.
Status CompleteData(const TrainVitOptions& options, int64_t side, LiveProgress& progress, job::VitPlan& plan) {
  if (plan.synthetic) {
    return Status::Ok();
  }
  progress.OnPhase("preparing " + options.data);
  const data::ImageSpec spec{.data = options.data,
                             .width = side,
                             .height = side,
                             .skip_corrupt = options.skip_corrupt,
                             .share_dir = {},
                             .cache_dir = {}};
  ASSAY_ASSIGN_OR_RETURN(const data::PreparedImages images, data::PrepareImages(spec));
  for (const data::PreparedPart* part : {&images.train, &images.eval}) {
    for (const std::string& reason : part->reasons) {
      progress.Print("left out: " + reason);
    }
    if (part->skipped > 0 && part->cached) {
      progress.Print(fmt::format("{} images that cannot be decoded were left out", part->skipped));
    }
  }
  plan.train_file = images.train.file;
  plan.eval_file = images.eval.file;
  plan.num_labels = static_cast<int64_t>(images.classes.size());
  return Status::Ok();
}

Status CompletePlan(const TrainVitOptions& options, LiveProgress& progress, job::VitPlan& plan) {
  if (plan.synthetic != options.data.empty()) {
    return Status::InvalidArgument(plan.synthetic ? "--synthetic takes no --data"
                                                  : "there is no data: give --data DIR, --data digits or --synthetic");
  }
  if (plan.output_dir.empty() && (plan.save != "none" || options.trace)) {
    return Status::InvalidArgument("--save and --trace need a folder: add --output-dir DIR");
  }
  plan.trace_dir = options.trace ? plan.output_dir : "";
  if (!plan.output_dir.empty()) {
    ASSAY_RETURN_IF_ERROR(CheckWritableDirectory(plan.output_dir));
  }
  if (!options.memory_cap.empty()) {
    ASSAY_ASSIGN_OR_RETURN(plan.memory_cap_bytes, ParseBytes(options.memory_cap));
  }
  ASSAY_RETURN_IF_ERROR(CompletePlugin(options, plan));
  ASSAY_ASSIGN_OR_RETURN(const data::VisionModelRef model, data::ResolveVisionModel(options.model, ShareDirectory()));
  plan.model_dir = model.dir;
  plan.image_mean.assign(model.image_mean.begin(), model.image_mean.end());
  plan.image_std.assign(model.image_std.begin(), model.image_std.end());
  ASSAY_RETURN_IF_ERROR(CompleteData(options, model.shape.image_size, progress, plan));
  return job::CheckVitPlan(plan);
}

void FollowEvent(const job::Event& event, LiveProgress& progress) {
  progress.OnEvent(event);
  if (const auto* evaluation = std::get_if<job::Evaluation>(&event)) {
    progress.Print(fmt::format("epoch {}: loss {:.4f}, accuracy {:.2f} % of {} images", evaluation->epoch,
                               evaluation->loss, 100 * evaluation->accuracy, evaluation->samples));
  }
}

Status Run(const TrainVitOptions& options) {
  job::VitPlan plan = options.plan;
  job::RunRecord record;
  {
    LiveProgress progress;
    ASSAY_RETURN_IF_ERROR(CompletePlan(options, progress, plan));
    if (!options.write_plan.empty()) {
      return WritePlan(plan, options.write_plan);
    }
    launch::LaunchOptions launch;
    launch.on_event = [&progress](const job::Event& event) { FollowEvent(event, progress); };
    ASSAY_ASSIGN_OR_RETURN(record, launch::RunWorker(plan, launch));
  }
  if (options.output == "json") {
    fmt::print("{}\n", DumpJson(VitResultJson(plan, record)));
  } else {
    fmt::print("{}", VitResultTable(plan, record));
  }
  return launch::EndStatus(record);
}

void AddDataOptions(CLI::App& app, TrainVitOptions& options) {
  app.add_option("--model", options.model, "Model folder (Hugging Face layout), or a name: see docs/data.md")
      ->type_name("DIR|NAME")
      ->capture_default_str();
  app.add_option("--data", options.data,
                 "A folder with train/CLASS/*.jpg and validation/CLASS/*.jpg, or digits (handwritten, built in)")
      ->type_name("DIR|digits");
  app.add_flag("--synthetic", options.plan.synthetic, "Random images instead of data; needs --max-steps");
  app.add_flag("--skip-corrupt", options.skip_corrupt, "Leave out images that cannot be decoded, and name them");
  app.add_flag("--shuffle,!--no-shuffle", options.plan.shuffle, "Another order each epoch (the default)");
}

void AddTrainingOptions(CLI::App& app, TrainVitOptions& options) {
  job::VitPlan& plan = options.plan;
  const auto positive = WholeNumber(1);
  app.add_option("--batch-size", plan.batch_size, "Images a data rank and step")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--gradient-accumulation-steps", plan.gradient_accumulation_steps, "Pieces that a batch is cut into")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--num-train-epochs", plan.num_train_epochs, "Passes over the data")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--max-steps", plan.max_steps, "Optimiser steps; -1: as many as the epochs have")
      ->check(WholeNumber(-1))
      ->capture_default_str();
  app.add_option("--learning-rate", plan.learning_rate, "Peak learning rate, for any number of ranks")
      ->check(NotNegative())
      ->capture_default_str();
  app.add_option("--warmup-ratio", plan.warmup_ratio, "Share of the steps over which the rate rises")
      ->check(Number(0, 1))
      ->capture_default_str();
  app.add_option("--lr-scheduler-type", plan.lr_scheduler_type, "Learning rate after the warm-up")
      ->check(CLI::IsMember({"cosine", "constant"}))
      ->capture_default_str();
  app.add_option("--weight-decay", plan.weight_decay, "Decoupled, as AdamW's")
      ->check(NotNegative())
      ->capture_default_str();
  app.add_option("--max-grad-norm", plan.max_grad_norm, "Gradients are clipped to this norm; 0: never")
      ->check(NotNegative())
      ->capture_default_str();
  app.add_option("--precision", options.precision, "Of arithmetic and weights; the plugin's own when not given")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16", "amp_bf16", "amp_fp16", "fp8"}));
  app.add_option("--gradient-checkpointing", plan.gradient_checkpointing,
                 "Layers that run again in backward instead of keeping activations: off, on, auto or how many")
      ->type_name("off|on|auto|N")
      ->check([](const std::string& text) { return job::CheckpointedLayers(text).status().message(); })
      ->capture_default_str();
  app.add_option("--optim", plan.optimizer, "Optimiser")->capture_default_str();
  app.add_option("--seed", plan.seed, "Of random weights, synthetic images and the order")
      ->check(WholeNumber(0, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
}

void AddMachineOptions(CLI::App& app, TrainVitOptions& options) {
  app.add_option("--memory-cap,--memory-budget", options.memory_cap,
                 "A rank's tensor memory beyond it is an out-of-memory outcome")
      ->check(ByteSize())
      ->type_name("BYTES");
  app.add_option("--device", options.plan.device, "Where it runs")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--threads", options.plan.threads, "CPU threads a rank; 0: its share of all")
      ->check(WholeNumber(0, 4096))
      ->capture_default_str();
}

void AddOutputOptions(CLI::App& app, TrainVitOptions& options) {
  app.add_option("--output-dir", options.plan.output_dir, "Where --save and --trace put their files")->type_name("DIR");
  app.add_option("--save", options.plan.save, "What is written at the end: the model")
      ->check(CLI::IsMember({"none", "final"}))
      ->capture_default_str();
  app.add_flag("--trace", options.trace, "Write what every rank did when to trace.json, for Chrome's trace viewer");
  AddWritePlanOption(app, options.write_plan);
  AddOutputOption(app, options.output, {"table", "json"});
}

}  // namespace

Action AddTrainVit(CLI::App& app) {
  auto options = std::make_shared<TrainVitOptions>();
  AddDataOptions(app, *options);
  AddTrainingOptions(app, *options);
  AddMachineOptions(app, *options);
  AddParallelOptions(app, options->plan, options->knobs);
  AddOutputOptions(app, *options);
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
