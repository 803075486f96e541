// assay tune: a training for its own sake, of whatever kind of model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/options.h"
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

template <typename Plan>
Status Train(const TuneOptions& options, Plan plan) {
  TakeShared(options, plan);
  job::RunRecord record;
  {
    LiveProgress progress(plan.stop_after_seconds);
    ASSAY_RETURN_IF_ERROR(CompletePlan(options, progress, plan));
    if (!options.write_plan.empty()) {
      return WritePlan(plan, options.write_plan);
    }
    launch::LaunchOptions launch;
    launch.on_event = [&progress](const job::Event& event) { progress.OnEvent(event); };
    ASSAY_ASSIGN_OR_RETURN(const auto launcher, launch::OpenLauncher(options.launcher));
    ASSAY_ASSIGN_OR_RETURN(record, launcher->Run(plan, launch));
  }
  ASSAY_RETURN_IF_ERROR(CompleteSaved(plan, record));
  if (options.output == "json") {
    fmt::print("{}\n", DumpJson(TuneResultJson(plan, record)));
  } else {
    fmt::print("{}", TuneResultTable(plan, record));
  }
  return launch::EndStatus(record);
}

Status Run(const CLI::App& app, const TuneOptions& options) {
  if (data::IsVisionModel(options.model)) {
    ASSAY_RETURN_IF_ERROR(
        RefuseGroup(app, kLanguageGroup, options.model + " is a vision transformer, not a language model"));
    return Train(options, options.vision.plan);
  }
  ASSAY_RETURN_IF_ERROR(RefuseGroup(app, kVisionGroup, options.model + " is no vision transformer"));
  return Train(options, options.language.plan);
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
