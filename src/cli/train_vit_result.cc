#include "cli/train_vit_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/terminal.h"
#include "base/text.h"
#include "cli/event_list.h"

namespace assay::cli {
namespace {

/// Rank 0's steps that count: those after the warm-up.
std::vector<job::Step> MeasuredSteps(const job::RunRecord& record) {
  std::vector<job::Step> steps = job::Steps(record);
  if (const auto* ended = job::FindEvent<job::Ended>(record)) {
    const auto warmup = std::min(ended->warmup_steps, static_cast<int64_t>(steps.size()));
    steps.erase(steps.begin(), steps.begin() + warmup);
  }
  return steps;
}

/// Of all data ranks together; 0 without a step.
double ImagesPerSecond(const job::VitPlan& plan, const std::vector<job::Step>& steps) {
  double seconds = 0;
  for (const job::Step& step : steps) {
    seconds += step.seconds;
  }
  const auto images = static_cast<double>(static_cast<int64_t>(steps.size()) * plan.batch_size * job::DataRanks(plan));
  return seconds > 0 ? images / seconds : 0;
}

int64_t PeakBytes(const job::RunRecord& record) {
  int64_t peak = 0;
  for (const auto& ledger : job::EventsOf<job::MemoryLedger>(record)) {
    peak = std::max(peak, ledger.source == "measured" ? ledger.peak_bytes : 0);
  }
  if (const auto* ended = job::FindEvent<job::Ended>(record)) {
    peak = std::max(peak, ended->peak_tensor_bytes);
  }
  return peak;
}

std::string EvaluationTable(const std::vector<job::Evaluation>& evaluations) {
  TextTable table({"epoch", "step", "loss", "accuracy", "images", "time"});
  for (const job::Evaluation& evaluation : evaluations) {
    table.AddRow({std::to_string(evaluation.epoch), std::to_string(evaluation.step),
                  fmt::format("{:.4f}", evaluation.loss), fmt::format("{:.2f} %", 100 * evaluation.accuracy),
                  std::to_string(evaluation.samples), FormatSeconds(evaluation.seconds)});
  }
  return table.Render();
}

}  // namespace

nlohmann::json VitResultJson(const job::VitPlan& plan, const job::RunRecord& record) {
  const std::vector<job::Step> steps = job::Steps(record);
  nlohmann::json losses = nlohmann::json::array();
  nlohmann::json seconds = nlohmann::json::array();
  for (const job::Step& step : steps) {
    losses.push_back(step.loss);
    seconds.push_back(step.seconds);
  }
  nlohmann::json json = {
      {"outcome", job::ToString(record.end)},
      {"reason", record.reason},
      {"plan", job::ToJson(plan)},
      {"steps", steps.size()},
      {"losses", std::move(losses)},
      {"step_seconds", std::move(seconds)},
      {"images_per_second", ImagesPerSecond(plan, MeasuredSteps(record))},
      {"peak_tensor_bytes", PeakBytes(record)},
      {"evaluations", EventList<job::Evaluation>(record)},
      {"rank_steps", EventList<job::RankStep>(record)},
      {"memory", EventList<job::MemoryLedger>(record)},
      {"collectives", EventList<job::CollectiveTotals>(record)},
      {"wall_seconds", record.wall_seconds},
  };
  if (const auto* loaded = job::FindEvent<job::Loaded>(record)) {
    json["weights"] = loaded->weights;
    json["parameters"] = loaded->parameters;
  }
  if (const auto* saved = job::FindEvent<job::Saved>(record)) {
    json["saved"] = saved->path;
  }
  if (!plan.trace_dir.empty() && record.end == job::RunEnd::kDone) {
    json["trace"] = plan.trace_dir + "/trace.json";
  }
  return json;
}

std::string VitResultTable(const job::VitPlan& plan, const job::RunRecord& record) {
  const auto* loaded = job::FindEvent<job::Loaded>(record);
  if (loaded == nullptr) {
    return "";
  }
  const std::vector<job::Step> steps = job::Steps(record);
  TextTable table({"training", plan.plugin});
  table.AddRow({"model", fmt::format("{}, {} weights", plan.model_dir, loaded->weights)});
  table.AddRow({"parameters", fmt::format("{}", loaded->parameters)});
  const int64_t data_ranks = job::DataRanks(plan);
  const std::string groups = data_ranks == plan.number_ranks ? "" : fmt::format(" in {} data groups", data_ranks);
  table.AddRow({"ranks", fmt::format("{}{}, {} images each a step, {}", plan.number_ranks, groups, plan.batch_size,
                                     plan.precision)});
  if (!steps.empty()) {
    table.AddRow({"steps", fmt::format("{}", steps.size())});
    table.AddRow({"loss", fmt::format("{:.4f} at first, {:.4f} at last", steps.front().loss, steps.back().loss)});
    const double rate = ImagesPerSecond(plan, MeasuredSteps(record));
    table.AddRow({"speed", fmt::format("{} images/s", FormatNumber(rate))});
  }
  table.AddRow({"peak memory", FormatBytes(static_cast<double>(PeakBytes(record)))});
  if (const auto* saved = job::FindEvent<job::Saved>(record)) {
    table.AddRow({"saved", saved->path});
  }
  if (!plan.trace_dir.empty() && record.end == job::RunEnd::kDone) {
    table.AddRow({"trace", plan.trace_dir + "/trace.json"});
  }
  std::string text = table.Render();
  if (const auto evaluations = job::EventsOf<job::Evaluation>(record); !evaluations.empty()) {
    text += '\n';
    text += EvaluationTable(evaluations);
  }
  return text;
}

}  // namespace assay::cli
