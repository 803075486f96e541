// assay run: one point of an experiment.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/actuator_options.h"
#include "cli/launcher_options.h"
#include "cli/live_progress.h"
#include "cli/options.h"
#include "cli/verb.h"
#include "experiment/catalogue.h"
#include "experiment/point.h"
#include "explore/measure_point.h"

namespace assay::cli {
namespace {

struct RunOptions {
  std::string experiment;
  std::vector<std::string> properties;
  std::string store;
  std::string output;
  std::string trace_dir;
  std::string actuator;  ///< file
  bool again = false;
  explore::Reuse reuse = explore::Reuse::kCommit;
  launch::LauncherSettings launcher;
};

Result<std::map<std::string, std::string>> ParseProperties(const std::vector<std::string>& pairs) {
  std::map<std::string, std::string> texts;
  for (const std::string& pair : pairs) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Status::InvalidArgument(fmt::format("'{}' is not a property: write -p name=value", pair));
    }
    if (!texts.emplace(pair.substr(0, equals), pair.substr(equals + 1)).second) {
      return Status::InvalidArgument(fmt::format("property {} is given twice", pair.substr(0, equals)));
    }
  }
  return texts;
}

/// "weights random, tokenizer /models/tiny, tokenizer content 0123456789ab": what the run stood on, as far as it got to
/// know.
std::string StoodOn(const samplestore::Measurement& m) {
  constexpr size_t kHashChars = 12;
  std::vector<std::string> parts;
  for (const auto& [name, key] : {std::pair("weights", "weights"),
                                  {"tokenizer", "tokenizer"},
                                  {"tokenizer content", "tokenizer_hash"},
                                  {"host", "host"},
                                  {"commit", "commit"}}) {
    if (const auto found = m.provenance.find(key); found != m.provenance.end() && !found->second.empty()) {
      const bool hash = std::string_view(key).ends_with("_hash");
      parts.push_back(fmt::format("{} {}", name, hash ? found->second.substr(0, kHashChars) : found->second));
    }
  }
  return Join(parts, ", ");
}

void PrintTable(const explore::PointResult& result) {
  const samplestore::Measurement& m = result.measurement;
  fmt::print("{}  {}\n", m.experiment, m.entity_id);
  fmt::print("{}{}{}\n{}\n\n", samplestore::ToString(m.outcome), m.reason.empty() ? "" : ": " + m.reason,
             result.source == explore::Source::kReplayed ? fmt::format(" (replayed: measured {})", m.measured_at) : "",
             StoodOn(m));
  if (m.properties.empty()) {
    return;
  }
  TextTable table({"property", "value", "unit"});
  for (const auto& [name, value] : m.properties) {
    const auto unit = m.units.find(name);
    table.AddRow({name, space::ToString(value), unit == m.units.end() ? "" : unit->second});
  }
  fmt::print("{}", table.Render());
}

/// A failed point ends the program with the exit code of its cause; an invalid one is a result like any other.
Status OutcomeStatus(const explore::PointResult& result) {
  if (result.measurement.outcome != samplestore::Outcome::kFailed) {
    return Status::Ok();
  }
  return result.cause.ok() ? Status::Internal(result.measurement.reason) : result.cause;
}

Status Run(const RunOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const experiment::Experiment* experiment, experiment::FindExperiment(options.experiment));
  ASSAY_ASSIGN_OR_RETURN(const auto texts, ParseProperties(options.properties));
  ASSAY_ASSIGN_OR_RETURN(const experiment::BoundPoint point, experiment::BindPoint(*experiment, texts));
  ASSAY_ASSIGN_OR_RETURN(const auto store, OpenUserStore(options.store));
  LiveProgress progress;
  explore::MeasureOptions measure;
  measure.context = DefaultPlanContext();
  measure.context.trace_dir = options.trace_dir;
  ASSAY_RETURN_IF_ERROR(UseActuator(options.actuator, measure.context));
  measure.reuse = options.reuse;
  measure.replay = !options.again && options.trace_dir.empty();
  ASSAY_RETURN_IF_ERROR(UseLauncher(options.launcher, measure).status());
  measure.on_phase = [&](std::string_view phase) { progress.OnPhase(phase); };
  measure.launch.on_event = [&](const job::Event& event) { progress.OnEvent(event); };
  ASSAY_ASSIGN_OR_RETURN(const explore::PointResult result, explore::MeasurePoint(point, *store, measure));
  ASSAY_RETURN_IF_ERROR(CheckRecorded(result, point.entity_id, *store));
  if (options.output == "json") {
    fmt::print("{}", DumpJsonPretty(samplestore::ToJson(result.measurement)));
  } else if (result.measurement.outcome != samplestore::Outcome::kFailed) {
    PrintTable(result);
  }
  return OutcomeStatus(result);
}

}  // namespace

Action AddRun(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  app.add_option("experiment", options->experiment, "Id of the experiment (see assay experiments)")->required();
  app.add_option("-p,--property", options->properties, "Value of a property, name=value; may be repeated")
      ->type_name("NAME=VALUE")
      ->take_all();
  app.add_flag("--again", options->again, "Measure again although the store has this point");
  AddReuseOption(app, options->reuse);
  AddActuatorOption(app, options->actuator);
  AddLauncherOptions(app, options->launcher);
  app.add_option("--trace", options->trace_dir,
                 "Measure the point, again if need be, and write what every rank did when to DIR/trace.json, for "
                 "Chrome's trace viewer (experiments over ranks)")
      ->type_name("DIR");
  AddStoreOption(app, options->store);
  AddOutputOption(app, options->output, {"table", "json"});
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
