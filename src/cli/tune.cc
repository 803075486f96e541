// assay tune: a training for its own sake, of whatever kind of model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "cli/options.h"
#include "cli/run_config.h"
#include "cli/run_log.h"
#include "cli/tune_kinds.h"
#include "cli/tune_result.h"
#include "data/vision_models.h"
#include "launch/launchers.h"

namespace assay::cli {
namespace {

constexpr char kLanguageGroup[] = "Of language models alone";
constexpr char kVisionGroup[] = "Of vision transformers alone";

/// What was asked for and would not be done is a mistake.
Status RefuseGroup(const CLI::App& app, const char* group, const std::string& model) {
  std::vector<std::string> given;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() == group && option->count() > 0) {
      given.push_back(option->get_name());
    }
  }
  if (given.empty()) {
    return Status::Ok();
  }
  return Status::InvalidArgument(fmt::format("{}: leave {} out", model, fmt::join(given, " and ")));
}

/// Beside what the run writes, where that is a folder.
Status WriteConfig(const job::TrainingPlan& plan, const std::string& config) {
  const bool is_folder = !plan.output_dir.empty() && plan.output_dir.find("://") == std::string::npos;
  return is_folder ? WriteFileAtomically(plan.output_dir + "/run.yaml", config) : Status::Ok();
}

/// `config`: the file that asks for the same.
template <typename Plan>
Status Train(const TuneOptions& options, const std::string& config, Plan plan) {
  TakeShared(options, plan);
  job::RunRecord record;
  std::optional<RunLog> log;
  std::optional<Status> config_written;
  {
    LiveProgress progress(plan.stop_after_seconds);
    ASSAY_RETURN_IF_ERROR(CompletePlan(options, progress, plan));
    if (!options.write_plan.empty()) {
      return WritePlan(plan, options.write_plan);
    }
    if (!options.log_dir.empty()) {
      ASSAY_ASSIGN_OR_RETURN(RunLog opened, RunLog::Open(options.log_dir));
      log.emplace(std::move(opened));
    }
    launch::LaunchOptions launch;
    launch.on_event = [&](const job::Event& event) {
      progress.OnEvent(event);
      // What is refused before leaves the file of the run that stands there.
      if (!config_written &&
          (std::holds_alternative<job::Resumed>(event) || std::holds_alternative<job::Step>(event))) {
        config_written = WriteConfig(plan, config);
      }
      if (log) {
        log->OnEvent(event);
      }
    };
    ASSAY_ASSIGN_OR_RETURN(const auto launcher, launch::OpenLauncher(options.launcher));
    ASSAY_ASSIGN_OR_RETURN(record, launcher->Run(plan, launch));
  }
  ASSAY_RETURN_IF_ERROR(CompleteSaved(plan, record));
  if (options.output == "json") {
    fmt::print("{}\n", DumpJson(TuneResultJson(plan, record)));
  } else {
    fmt::print("{}", TuneResultTable(plan, record));
  }
  ASSAY_RETURN_IF_ERROR(launch::EndStatus(record));
  ASSAY_RETURN_IF_ERROR(config_written.value_or(Status::Ok()));
  return log ? log->status() : Status::Ok();
}

Status Run(const CLI::App& app, const TuneOptions& options) {
  const std::string config = ConfigText(app);
  if (options.config.print) {
    fmt::print("{}", config);
    return Status::Ok();
  }
  if (data::IsVisionModel(options.model)) {
    ASSAY_RETURN_IF_ERROR(
        RefuseGroup(app, kLanguageGroup, options.model + " is a vision transformer, not a language model"));
    return Train(options, config, options.vision.plan);
  }
  ASSAY_RETURN_IF_ERROR(RefuseGroup(app, kVisionGroup, options.model + " is no vision transformer"));
  return Train(options, config, options.language.plan);
}

}  // namespace

Action AddTune(CLI::App& app) {
  auto options = std::make_shared<TuneOptions>();
  AddSharedOptions(app, *options);
  app.option_defaults()->group(kLanguageGroup);
  AddLanguageOptions(app, *options);
  app.option_defaults()->group(kVisionGroup);
  AddVisionOptions(app, *options);
  return [options, &app] { return Run(app, *options); };
}

}  // namespace assay::cli
