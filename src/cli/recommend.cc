// assay recommend: of what was measured over batch sizes, the fastest that fits the memory; --run checks the answer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/actuator_options.h"
#include "cli/live_progress.h"
#include "cli/options.h"
#include "cli/selection.h"
#include "cli/space_store.h"
#include "cli/verb.h"
#include "experiment/catalogue.h"
#include "experiment/point.h"
#include "explore/host_provenance.h"
#include "explore/measure_point.h"
#include "report/conditions.h"
#include "report/cost_model.h"
#include "report/estimate.h"
#include "report/format.h"
#include "report/results_table.h"
#include "samplestore/dependencies.h"

namespace assay::cli {
namespace {

struct RecommendOptions {
  Selection selection;
  std::string memory_cap;
  int64_t batch_size = 0;  ///< 0: the best
  bool run = false;
  std::string actuator;  ///< file
  std::string output;
};

constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;

std::string LabelOf(const report::Prediction& prediction) {
  return prediction.line->label.empty() ? "all" : prediction.line->label;
}

std::string MemoryText(const std::optional<double>& gib) {
  return gib ? report::Readable(*gib) : "-";
}

/// Runs behind the line that waited for a processor: it is slower than the machine, then.
int64_t StarvedRuns(const report::CostLine& line) {
  int64_t starved = 0;
  for (const report::Configuration* point : line.points) {
    starved += std::ranges::count_if(point->CountedRuns(),
                                     [](const samplestore::Measurement* run) { return report::WasStarved(*run); });
  }
  return starved;
}

/// The first that the line stands on: it has two points with values at least, and others may have failed.
const samplestore::Measurement& FirstRunOf(const report::CostLine& line) {
  const auto point = std::ranges::find_if(
      line.points, [](const report::Configuration* candidate) { return !candidate->CountedRuns().empty(); });
  return *(*point)->CountedRuns().front();
}

std::string RemarkOn(const report::Prediction& prediction) {
  std::vector<std::string> remarks;
  if (!prediction.objection.empty()) {
    remarks.push_back("no: " + prediction.objection);
  } else if (prediction.extrapolated) {
    remarks.emplace_back("beyond what was measured");
  }
  if (StarvedRuns(*prediction.line) > 0) {
    remarks.emplace_back("some of its runs waited for processors");
  }
  return Join(remarks, "; ");
}

void PrintTable(const std::vector<report::Prediction>& predictions) {
  TextTable table({"series", "batch size", "step s", "samples/s", "tensor GiB", ""});
  for (const report::Prediction& prediction : predictions) {
    const bool none = prediction.batch_size < 1;
    table.AddRow({LabelOf(prediction), none ? "-" : report::Whole(prediction.batch_size),
                  none ? "-" : report::Readable(prediction.step_seconds),
                  none ? "-" : report::Readable(prediction.samples_per_second),
                  none ? "-" : MemoryText(prediction.memory_gib), RemarkOn(prediction)});
  }
  fmt::print("{}", table.Render());
}

nlohmann::json ToJson(const report::Prediction& prediction) {
  nlohmann::json json = {{"series", LabelOf(prediction)},
                         {"batch_size", prediction.batch_size},
                         {"step_seconds", prediction.step_seconds},
                         {"samples_per_second", prediction.samples_per_second},
                         {"extrapolated", prediction.extrapolated},
                         {"objection", prediction.objection},
                         {"starved_runs", StarvedRuns(*prediction.line)}};
  for (const char* key : {"weights", "tokenizer"}) {
    json[key] = report::ProvenanceOf(FirstRunOf(*prediction.line), key);
  }
  if (prediction.memory_gib) {
    json["tensor_gib"] = *prediction.memory_gib;
  }
  return json;
}

/// That of the line's first run, with another batch size.
Result<experiment::BoundPoint> PointOf(const report::CostLine& line, double batch_size) {
  const samplestore::Measurement& measured = FirstRunOf(line);
  ASSAY_ASSIGN_OR_RETURN(const experiment::Experiment* experiment, experiment::FindExperiment(measured.experiment));
  space::Entity entity = measured.entity;
  entity[FindProperty(*experiment, experiment::Role::kBatchSize)->name] = std::llround(batch_size);
  if (experiment::ParameterizedId(*experiment, measured.parameters) != measured.parameterized_id) {
    return Status::FailedPrecondition(
        fmt::format("the parameters of {} cannot be told from its id: measure it again", measured.parameterized_id));
  }
  return experiment::BindPoint(*experiment, entity, measured.parameters);
}

/// By the experiment's rules; "" too where the point cannot be told, which says so when it is to be measured.
std::string WhyForbidden(const report::CostLine& line, double batch_size) {
  const Result<experiment::BoundPoint> point = PointOf(line, batch_size);
  return point.ok() ? point->experiment->Check(point->complete).reason : "";
}

Result<report::Demand> DemandOf(const RecommendOptions& options) {
  report::Demand demand;
  if (options.batch_size > 0) {
    demand.batch_size = static_cast<double>(options.batch_size);
  }
  if (!options.memory_cap.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const int64_t bytes, ParseBytes(options.memory_cap));
    demand.memory_gib = static_cast<double>(bytes) / kBytesPerGib;
  }
  demand.forbidden = &WhyForbidden;
  return demand;
}

std::string AgainstPredicted(const char* what, double predicted, const std::optional<double>& measured,
                             const char* unit) {
  if (!measured) {
    return "";
  }
  return fmt::format("  {}: predicted {} {}, measured {} {} ({:+.1f} %)\n", what, report::Readable(predicted), unit,
                     report::Readable(*measured), unit, 100 * (*measured / predicted - 1));
}

/// Measures the answer, replayed when it is in the store already.
Result<samplestore::Measurement> MeasureAnswer(const RecommendOptions& options, const report::Prediction& best) {
  ASSAY_ASSIGN_OR_RETURN(const experiment::BoundPoint point, PointOf(*best.line, best.batch_size));
  ASSAY_ASSIGN_OR_RETURN(const std::string url, StoreOfSpace(options.selection.store, options.selection.space));
  ASSAY_ASSIGN_OR_RETURN(const auto store, OpenUserStore(url));
  LiveProgress progress;
  explore::MeasureOptions measure;
  measure.context = DefaultPlanContext();
  ASSAY_RETURN_IF_ERROR(UseActuator(options.actuator, measure.context));
  measure.on_phase = [&](std::string_view phase) { progress.OnPhase(phase); };
  measure.launch.on_event = [&](const job::Event& event) { progress.OnEvent(event); };
  ASSAY_ASSIGN_OR_RETURN(explore::PointResult result, explore::MeasurePoint(point, *store, measure));
  ASSAY_RETURN_IF_ERROR(CheckRecorded(result, point.entity_id, *store));
  return std::move(result.measurement);
}

std::optional<double> ValueOf(const samplestore::Measurement& measured, report::MetricKind kind) {
  const report::ResultSet results({&measured, 1});
  const auto metrics = report::ResolveMetrics(results);
  const report::Metric* metric = report::FindMetric(metrics, kind);
  return metric == nullptr ? std::nullopt : metric->ValueOf(measured);
}

/// What of the conditions is another than when the line was measured that the prediction stands on: "commit", ...
std::vector<std::string> DifferencesFromLine(const report::Prediction& best, const samplestore::Measurement& measured) {
  std::vector<std::string> differences;
  for (const char* key : {"host", samplestore::kCommit, samplestore::kLibtorch, samplestore::kSettings,
                          samplestore::kModelHash, samplestore::kDataHash, samplestore::kTokenizerHash}) {
    const auto differs = [&](const samplestore::Measurement* run) {
      return report::ProvenanceOf(*run, key) != report::ProvenanceOf(measured, key);
    };
    if (std::ranges::any_of(best.line->points, [&](const report::Configuration* point) {
          return std::ranges::any_of(point->CountedRuns(), differs);
        })) {
      differences.emplace_back(key);
    }
  }
  return differences;
}

std::string StarvedText(const samplestore::Measurement& measured) {
  const std::string starved = report::ProvenanceOf(measured, "starved");
  return starved.empty() ? "" : ", " + starved;
}

void PrintMeasured(const report::Prediction& best, const samplestore::Measurement& measured) {
  fmt::print("\n{}: {}{}\n", measured.entity_id, samplestore::ToString(measured.outcome), StarvedText(measured));
  if (const auto differences = DifferencesFromLine(best, measured); !differences.empty()) {
    fmt::print("  the prediction stands on runs with another {}\n", Join(differences, ", "));
  }
  fmt::print(
      "{}", AgainstPredicted("step time", best.step_seconds, ValueOf(measured, report::MetricKind::kStepSeconds), "s"));
  if (best.memory_gib) {
    fmt::print("{}", AgainstPredicted("tensor memory", *best.memory_gib,
                                      ValueOf(measured, report::MetricKind::kPeakTensorMemory), "GiB"));
  }
}

nlohmann::json MeasuredJson(const report::Prediction& best, const samplestore::Measurement& measured) {
  nlohmann::json json = {{"uid", measured.uid},
                         {"entity_id", measured.entity_id},
                         {"outcome", samplestore::ToString(measured.outcome)},
                         {"reason", measured.reason},
                         {"starved", report::ProvenanceOf(measured, "starved")},
                         {"predicted_with_another", DifferencesFromLine(best, measured)}};
  for (const auto& [name, kind] : {std::pair("step_seconds", report::MetricKind::kStepSeconds),
                                   {"tensor_gib", report::MetricKind::kPeakTensorMemory}}) {
    if (const std::optional<double> value = ValueOf(measured, kind)) {
      json[name] = *value;
    }
  }
  return json;
}

/// One JSON document: of the first prediction, with --run, what was measured.
void PrintJson(const std::vector<report::Prediction>& predictions,
               const std::optional<samplestore::Measurement>& measured) {
  nlohmann::json all = nlohmann::json::array();
  for (const report::Prediction& prediction : predictions) {
    all.push_back(ToJson(prediction));
  }
  if (measured) {
    all.front()["measured"] = MeasuredJson(predictions.front(), *measured);
  }
  fmt::print("{}", DumpJsonPretty(all));
}

/// What is measured here says nothing of a line from another kind of machine. By name a container would be a machine of
/// its own each time.
Selection SelectionOf(const RecommendOptions& options) {
  Selection selection = options.selection;
  if (options.run) {
    const explore::Host host = explore::Host::Look(/*look_for_gpus=*/true);
    for (const bool uses_gpus : {false, true}) {
      selection.machines.push_back(host.provenance(uses_gpus).at(samplestore::kMachine));
    }
  }
  return selection;
}

Status Run(const RecommendOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const report::Demand demand, DemandOf(options));
  ASSAY_ASSIGN_OR_RETURN(const Selected selected, Select(SelectionOf(options), /*with_series=*/true));
  const report::ResultSet results(selected.measurements);
  const std::vector<report::CostLine> lines = report::FitCostLines(results, report::ResolveMetrics(results));
  if (lines.empty()) {
    return Status::InvalidArgument(
        "there is nothing to recommend from: measure a series at two batch sizes or more (assay explore)");
  }
  const std::vector<report::Prediction> predictions = report::Recommend(lines, demand);
  const report::Prediction& best = predictions.front();
  const bool as_json = options.output == "json";
  if (!as_json) {
    fmt::print("{}", report::ConstantsLine(results));
    PrintTable(predictions);
  }
  std::optional<samplestore::Measurement> measured;
  if (options.run && best.objection.empty()) {
    ASSAY_ASSIGN_OR_RETURN(measured, MeasureAnswer(options, best));
  }
  if (as_json) {
    PrintJson(predictions, measured);
  } else if (measured) {
    PrintMeasured(best, *measured);
  }
  if (!best.objection.empty()) {
    return Status::FailedPrecondition("nothing that was measured fits: " + LabelOf(best) + ": " + best.objection);
  }
  return measured && measured->outcome != samplestore::Outcome::kValid
             ? Status::Internal("the recommended point has no values: " + measured->reason)
             : Status::Ok();
}

}  // namespace

Action AddRecommend(CLI::App& app) {
  auto options = std::make_shared<RecommendOptions>();
  AddSelectionOptions(app, options->selection);
  app.add_option("--memory-cap,--memory-budget", options->memory_cap, "Tensor memory that there is, for example 4GiB")
      ->check(ByteSize())
      ->type_name("BYTES");
  app.add_option("--batch-size", options->batch_size, "The batch size asked for; 0: the best of each series")
      ->check(NotNegative());
  app.add_flag(
         "--run", options->run,
         "Measure the answer and compare it with the prediction, which then stands on this machine's measurements")
      ->excludes("--host");
  AddActuatorOption(app, options->actuator)->needs("--run");
  AddOutputOption(app, options->output, {"table", "json"});
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
