// assay checkpoint merge: a LoRA adapter made part of the model that it was trained on.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/checkpoint_verb.h"
#include "cli/live_progress.h"
#include "cli/options.h"
#include "data/model_catalogue.h"
#include "launch/launchers.h"

namespace assay::cli {
namespace {

struct MergeOptions {
  std::string model;
  std::string dtype;
  job::MergePlan plan;  ///< output_dir is where the result belongs
};

/// What the model's config.json says its weights are of; float32 where it does not.
Result<std::string> DtypeOf(const std::string& model_dir) {
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json config, ReadJsonFile(model_dir + "/config.json"));
  std::string dtype = "float32";
  ASSAY_RETURN_IF_ERROR(ReadField(config, "torch_dtype", dtype));
  ASSAY_RETURN_IF_ERROR(ReadField(config, "dtype", dtype));
  return dtype;
}

Status CheckMergeTarget(const std::string& target) {
  std::error_code error;
  if (FileExists(target) || (IsDirectory(target) && !std::filesystem::is_empty(target, error))) {
    return Status::InvalidArgument(
        fmt::format("{} is there already and not empty: name a folder that is not there yet", target));
  }
  return Status::Ok();
}

Result<job::MergePlan> MakeMergePlan(const MergeOptions& options) {
  job::MergePlan plan = options.plan;
  ASSAY_RETURN_IF_ERROR(CheckMergeTarget(plan.output_dir));
  ASSAY_ASSIGN_OR_RETURN(const data::ModelRef model, data::ResolveModel(options.model, ShareDirectory()));
  if (!model.has_weights) {
    return Status::InvalidArgument(fmt::format(
        "{} has no weights that an adapter could be merged into: give the folder that has them", model.dir));
  }
  plan.model_dir = model.dir;
  plan.method = "lora";
  plan.device = "cpu";
  plan.dtype = options.dtype;
  if (plan.dtype.empty()) {
    ASSAY_ASSIGN_OR_RETURN(plan.dtype, DtypeOf(model.dir));
  }
  return plan;
}

/// Carries out the plan beside its output_dir, which then appears as a whole or not at all.
Status Carry(const job::MergePlan& plan) {
  const std::filesystem::path target = std::filesystem::absolute(plan.output_dir).lexically_normal();
  const std::string name = (target.has_filename() ? target : target.parent_path()).string();
  job::MergePlan beside = plan;
  beside.output_dir = fmt::format("{}.partial-{}", name, ::getpid());
  LiveProgress progress;
  launch::LaunchOptions launch;
  launch.on_event = [&progress](const job::Event& event) {
    if (!std::holds_alternative<job::Saved>(event)) {
      progress.OnEvent(event);
    }
  };
  ASSAY_ASSIGN_OR_RETURN(const auto launcher, launch::OpenLauncher({}));
  ASSAY_ASSIGN_OR_RETURN(const job::RunRecord record, launcher->Run(beside, launch));
  Status ended = launch::EndStatus(record);
  std::error_code error;
  if (ended.ok()) {
    std::filesystem::rename(beside.output_dir, name, error);
    ended = error ? ErrnoStatus(error.value(), "rename", beside.output_dir) : Status::Ok();
  }
  if (!ended.ok()) {
    std::filesystem::remove_all(beside.output_dir, error);
  }
  return ended;
}

Status Run(const MergeOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const job::MergePlan plan, MakeMergePlan(options));
  ASSAY_RETURN_IF_ERROR(Carry(plan));
  fmt::print("{} with the adapter in {} is in {}, {}\n", plan.model_dir, plan.lora.adapter_dir, plan.output_dir,
             plan.dtype);
  return Status::Ok();
}

}  // namespace

Action AddCheckpointMerge(CLI::App& app) {
  auto options = std::make_shared<MergeOptions>();
  app.add_option("model", options->model, "Model folder (Hugging Face layout)")->required();
  app.add_option("adapter", options->plan.lora.adapter_dir, "The peft folder of a LoRA adapter of it")->required();
  app.add_option("target", options->plan.output_dir, "The folder that is made")->required();
  app.add_option("--dtype", options->dtype, "Of the weights [as the model's config.json says]")
      ->check(CLI::IsMember({"float32", "bfloat16", "float16"}));
  app.add_option("--max-shard-mib", options->plan.max_shard_mib, "Of the files that the weights are saved in")
      ->check(WholeNumber(1))
      ->capture_default_str();
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
