// assay recommend: of what was measured over batch sizes, the fastest that fits the memory; --run checks the answer.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/live_progress.h"
#include "cli/options.h"
#include "cli/selection.h"
#include "cli/verb.h"
#include "experiment/catalogue.h"
#include "experiment/point.h"
#include "explore/measure_point.h"
#include "report/cost_model.h"
#include "report/estimate.h"
#include "report/format.h"

namespace assay::cli {
namespace {

struct RecommendOptions {
  Selection selection;
  std::string memory_cap;
  int64_t batch_size = 0;  ///< 0: the best
  bool run = false;
  std::string output;
};

constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;

Result<report::Demand> DemandOf(const RecommendOptions& options) {
  report::Demand demand;
  if (options.batch_size > 0) {
    demand.batch_size = static_cast<double>(options.batch_size);
  }
  if (!options.memory_cap.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const int64_t bytes, ParseBytes(options.memory_cap));
    demand.memory_gib = static_cast<double>(bytes) / kBytesPerGib;
  }
  return demand;
}

std::string LabelOf(const report::Prediction& prediction) {
  return prediction.line->label.empty() ? "all" : prediction.line->label;
}

std::string MemoryText(const std::optional<double>& gib) {
  return gib ? report::Readable(*gib) : "-";
}

void PrintTable(const std::vector<report::Prediction>& predictions) {
  TextTable table({"series", "batch size", "step s", "samples/s", "tensor GiB", ""});
  for (const report::Prediction& prediction : predictions) {
    const bool none = prediction.batch_size < 1;
    table.AddRow({LabelOf(prediction), none ? "-" : report::Whole(prediction.batch_size),
                  none ? "-" : report::Readable(prediction.step_seconds),
                  none ? "-" : report::Readable(prediction.samples_per_second),
                  none ? "-" : MemoryText(prediction.memory_gib),
                  !prediction.objection.empty() ? "no: " + prediction.objection
                  : prediction.extrapolated     ? "beyond what was measured"
                                                : ""});
  }
  fmt::print("{}", table.Render());
}

nlohmann::json ToJson(const report::Prediction& prediction) {
  nlohmann::json json = {
      {"series", LabelOf(prediction)},           {"batch_size", prediction.batch_size},
      {"step_seconds", prediction.step_seconds}, {"samples_per_second", prediction.samples_per_second},
      {"extrapolated", prediction.extrapolated}, {"objection", prediction.objection}};
  if (prediction.memory_gib) {
    json["tensor_gib"] = *prediction.memory_gib;
  }
  return json;
}

/// The recommended point: the line's own first one, with another batch size.
Result<experiment::BoundPoint> PointOf(const report::Prediction& prediction) {
  const samplestore::Measurement& measured = *prediction.line->points.front()->runs.front();
  ASSAY_ASSIGN_OR_RETURN(const experiment::Experiment* experiment, experiment::FindExperiment(measured.experiment));
  space::Entity entity = measured.entity;
  entity[std::string(report::kBatchSizeProperty)] = std::llround(prediction.batch_size);
  if (experiment::ParameterizedId(*experiment, measured.parameters) != measured.parameterized_id) {
    return Status::FailedPrecondition(
        fmt::format("the parameters of {} cannot be told from its id: measure it again", measured.parameterized_id));
  }
  return experiment::BindPoint(*experiment, entity, measured.parameters);
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
Status CheckByRunning(const RecommendOptions& options, const report::Prediction& best) {
  ASSAY_ASSIGN_OR_RETURN(const experiment::BoundPoint point, PointOf(best));
  ASSAY_ASSIGN_OR_RETURN(const auto store, samplestore::OpenStore(options.selection.store));
  LiveProgress progress;
  explore::MeasureOptions measure;
  measure.context = DefaultPlanContext();
  measure.on_phase = [&](std::string_view phase) { progress.OnPhase(phase); };
  measure.launch.on_event = [&](const job::Event& event) { progress.OnEvent(event); };
  ASSAY_ASSIGN_OR_RETURN(const explore::PointResult result, explore::MeasurePoint(point, *store, measure));
  const samplestore::Measurement& measured = result.measurement;
  fmt::print("\n{}: {}\n", point.entity_id, samplestore::ToString(measured.outcome));
  if (measured.outcome != samplestore::Outcome::kValid) {
    return Status::Internal("the recommended point has no values: " + measured.reason);
  }
  const report::ResultSet results({&measured, 1});
  const auto metrics = report::ResolveMetrics(results);
  const auto value_of = [&](report::MetricKind kind) -> std::optional<double> {
    const report::Metric* metric = report::FindMetric(metrics, kind);
    return metric == nullptr ? std::nullopt : metric->ValueOf(measured);
  };
  fmt::print("{}", AgainstPredicted("step time", best.step_seconds, value_of(report::MetricKind::kStepSeconds), "s"));
  if (best.memory_gib) {
    fmt::print("{}", AgainstPredicted("tensor memory", *best.memory_gib,
                                      value_of(report::MetricKind::kPeakTensorMemory), "GiB"));
  }
  return Status::Ok();
}

Status Run(const RecommendOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const report::Demand demand, DemandOf(options));
  ASSAY_ASSIGN_OR_RETURN(const auto measurements, Select(options.selection, /*with_series=*/true));
  const report::ResultSet results(measurements);
  const std::vector<report::CostLine> lines = report::FitCostLines(results, report::ResolveMetrics(results));
  if (lines.empty()) {
    return Status::InvalidArgument(
        "there is nothing to recommend from: measure a series at two batch sizes or more (assay explore)");
  }
  const std::vector<report::Prediction> predictions = report::Recommend(lines, demand);
  if (options.output == "json") {
    nlohmann::json all = nlohmann::json::array();
    for (const report::Prediction& prediction : predictions) {
      all.push_back(ToJson(prediction));
    }
    fmt::print("{}", DumpJsonPretty(all));
  } else {
    PrintTable(predictions);
  }
  const report::Prediction& best = predictions.front();
  if (!best.objection.empty()) {
    return Status::FailedPrecondition("nothing that was measured fits: " + LabelOf(best) + ": " + best.objection);
  }
  return options.run ? CheckByRunning(options, best) : Status::Ok();
}

}  // namespace

Action AddRecommend(CLI::App& app) {
  auto options = std::make_shared<RecommendOptions>();
  AddSelectionOptions(app, options->selection);
  app.add_option("--memory-cap", options->memory_cap, "Tensor memory that there is, for example 4GiB")
      ->check(ByteSize())
      ->type_name("BYTES");
  app.add_option("--batch-size", options->batch_size, "The batch size asked for; 0: the best of each series")
      ->check(NotNegative());
  app.add_flag("--run", options->run, "Measure the answer and compare it with the prediction");
  AddOutputOption(app, options->output, {"table", "json"});
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
