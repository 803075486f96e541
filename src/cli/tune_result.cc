#include "cli/tune_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "cli/event_list.h"
#include "cli/tune_result_parts.h"
#include "measure/statistics.h"

namespace assay::cli {
namespace {

template <typename Field>
auto ColumnOf(const std::vector<job::Step>& steps, Field field) {
  std::vector<std::remove_cvref_t<decltype(std::declval<job::Step>().*field)>> column;
  for (const job::Step& step : steps) {
    column.push_back(step.*field);
  }
  return column;
}

int64_t SkippedSteps(const std::vector<job::Step>& steps) {
  return std::ranges::count_if(steps, &job::Step::skipped);
}

double MaxRssGib(const job::RunRecord& record) {
  return static_cast<double>(record.max_rss_bytes) / static_cast<double>(int64_t{1} << 30);
}

/// The highest of all ranks.
int64_t PeakTensorBytes(const job::RunRecord& record) {
  int64_t peak = 0;
  if (const auto* loaded = job::FindEvent<job::Loaded>(record)) {
    peak = loaded->peak_tensor_bytes;
  }
  for (const job::Step& step : job::Steps(record)) {
    peak = std::max({peak, step.forward_peak_bytes, step.backward_peak_bytes, step.optimizer_peak_bytes});
  }
  for (const auto& ledger : job::EventsOf<job::MemoryLedger>(record)) {
    peak = std::max(peak, ledger.source == "measured" ? ledger.peak_bytes : 0);
  }
  if (const auto* ended = job::FindEvent<job::Ended>(record)) {
    peak = std::max(peak, ended->peak_tensor_bytes);
  }
  return peak;
}

/// Where the trace is; empty without one.
std::string TraceFile(const job::TrainingPlan& plan, const job::RunRecord& record) {
  return plan.trace_dir.empty() || record.end != job::RunEnd::kDone ? "" : plan.trace_dir + "/trace.json";
}

void AddStepsToJson(const std::vector<job::Step>& steps, nlohmann::json& json) {
  json["steps"] = steps.size();
  json["losses"] = ColumnOf(steps, &job::Step::loss);
  json["grad_norms"] = ColumnOf(steps, &job::Step::grad_norm);
  json["learning_rates"] = ColumnOf(steps, &job::Step::learning_rate);
  json["loss_scales"] = ColumnOf(steps, &job::Step::loss_scale);
  json["skipped_steps"] = SkippedSteps(steps);
  json["step_seconds"] = ColumnOf(steps, &job::Step::seconds);
  json["median_step_seconds"] = MedianStepSeconds(steps);
  int64_t samples = 0;
  for (const job::Step& step : steps) {
    samples += step.samples;
  }
  json["samples"] = samples;
}

void AddEventsToJson(const job::RunRecord& record, nlohmann::json& json) {
  if (const auto* loaded = job::FindEvent<job::Loaded>(record)) {
    json["weights"] = loaded->weights;
    json["parameters"] = loaded->parameters;
    json["trainable_parameters"] = loaded->trainable_parameters;
    json["model_load_seconds"] = loaded->seconds;
    json["layers"] = loaded->layers;
    json["checkpointed_layers"] = loaded->checkpointed_layers;
  }
  if (const auto* ended = job::FindEvent<job::Ended>(record)) {
    json["train_runtime"] = ended->train_runtime;
    json["stopped_by"] = ended->stopped_by;
  }
  if (const auto* saved = job::FindEvent<job::Saved>(record)) {
    json["saved"] = saved->path;
  }
  if (const auto* resumed = job::FindEvent<job::Resumed>(record)) {
    json["resumed"] = {{"step", resumed->step}, {"uri", resumed->uri}, {"seconds", resumed->seconds}};
  }
  json["checkpoints"] = EventList<job::Checkpointed>(record);
  json["rank_steps"] = EventList<job::RankStep>(record);
  json["memory"] = EventList<job::MemoryLedger>(record);
  json["collectives"] = EventList<job::CollectiveTotals>(record);
}

/// Of the steps that bore any.
std::string DescribeLoss(std::vector<job::Step> steps) {
  std::erase_if(steps, [](const job::Step& step) { return step.real_tokens > 0 && step.supervised_tokens == 0; });
  return steps.empty() ? "none: no step had supervised tokens"
                       : fmt::format("{:.4f} at first, {:.4f} at last", steps.front().loss, steps.back().loss);
}

/// Empty when the loss was never scaled.
std::string DescribeLossScale(const std::vector<job::Step>& steps) {
  if (std::ranges::all_of(steps, [](double scale) { return scale == 1; }, &job::Step::loss_scale)) {
    return "";
  }
  return fmt::format("{} at first, {} at last; {} of {} steps skipped: gradients overflowed", steps.front().loss_scale,
                     steps.back().loss_scale, SkippedSteps(steps), steps.size());
}

std::string DescribeRanks(const job::TrainingPlan& plan) {
  const int64_t groups = job::DataRanks(plan);
  return fmt::format("{}{}, {}", plan.number_ranks,
                     groups == plan.number_ranks ? "" : fmt::format(" in {} data groups", groups), plan.plugin);
}

std::string DescribeCheckpointing(const job::Loaded& loaded) {
  const std::string layers = fmt::format("{} of {} layers", loaded.checkpointed_layers, loaded.layers);
  return loaded.available_bytes == 0 ? layers
                                     : fmt::format("{}, chosen for {} of memory", layers,
                                                   FormatBytes(static_cast<double>(loaded.available_bytes)));
}

/// Empty without any.
std::string DescribeCheckpoints(const job::RunRecord& record) {
  const std::vector<job::Checkpointed> written = job::EventsOf<job::Checkpointed>(record);
  if (written.empty()) {
    return "";
  }
  double stall = 0;
  for (const job::Checkpointed& checkpoint : written) {
    stall += checkpoint.stall_seconds;
  }
  return fmt::format("{}, the last {} of {}; training waited {}", written.size(), written.back().uri,
                     FormatBytes(static_cast<double>(written.back().bytes)), FormatSeconds(stall));
}

/// Rows that have something to say.
void AddRows(const std::vector<std::pair<const char*, std::string>>& rows, TextTable& table) {
  for (const auto& [name, text] : rows) {
    if (!text.empty()) {
      table.AddRow({name, text});
    }
  }
}

template <typename Kind>
std::string TableOf(const Kind& plan, const job::Loaded& loaded, const job::RunRecord& record) {
  const std::vector<job::Step> steps = job::Steps(record);
  const bool checkpointing = loaded.checkpointed_layers > 0 || loaded.available_bytes > 0;
  TextTable table({"training", ""});
  table.AddRow({"model", fmt::format("{}, {} weights", plan.model_dir, loaded.weights)});
  AddModelRows(plan, loaded, table);
  AddRows({{"ranks", job::IsOverRanks(plan) ? DescribeRanks(plan) : ""},
           {"checkpointing", checkpointing ? DescribeCheckpointing(loaded) : ""}},
          table);
  if (!steps.empty()) {
    AddRows({{"steps", fmt::format("{}", steps.size())},
             {"loss", DescribeLoss(steps)},
             {"loss scale", DescribeLossScale(steps)},
             {"step time, median", FormatSeconds(MedianStepSeconds(steps))}},
            table);
    AddStepRows(plan, steps, table);
  }
  const auto* saved = job::FindEvent<job::Saved>(record);
  AddRows({{"peak memory", fmt::format("{} of tensors, {:.2f} GiB of the {}",
                                       FormatBytes(static_cast<double>(PeakTensorBytes(record))), MaxRssGib(record),
                                       plan.number_ranks > 1 ? "largest process" : "process")},
           {"checkpoints", DescribeCheckpoints(record)},
           {"saved", saved == nullptr ? "" : saved->path},
           {"trace", TraceFile(plan, record)}},
          table);
  return table.Render() + MoreTables(plan, record);
}

}  // namespace

double MedianStepSeconds(const std::vector<job::Step>& steps) {
  std::vector<double> seconds = ColumnOf(steps, &job::Step::seconds);
  if (seconds.size() > 1) {
    seconds.erase(seconds.begin());
  }
  return seconds.empty() ? 0 : measure::Median(seconds);
}

double PerSecond(int64_t total, const std::vector<job::Step>& steps) {
  const double median = MedianStepSeconds(steps);
  return median > 0 ? static_cast<double>(total) / static_cast<double>(steps.size()) / median : 0;
}

nlohmann::json TuneResultJson(const job::Plan& plan, const job::RunRecord& record) {
  const job::TrainingPlan& training = job::TrainingOf(plan);
  nlohmann::json json = {
      {"outcome", job::ToString(record.end)},
      {"reason", record.reason},
      {"plan", job::ToJson(plan)},
      {"model", training.model_dir},
      {"batch_size", training.batch_size},
      {"plugin", training.plugin},
      {"number_ranks", training.number_ranks},
      {"max_rss_gib", MaxRssGib(record)},
      {"peak_tensor_bytes", PeakTensorBytes(record)},
      {"predicted_peak_bytes", job::PredictedPeakBytes(record)},
      {"wall_seconds", record.wall_seconds},
  };
  AddStepsToJson(job::Steps(record), json);
  AddEventsToJson(record, json);
  if (const std::string trace = TraceFile(training, record); !trace.empty()) {
    json["trace"] = trace;
  }
  job::VisitTraining(plan, [&](const auto& kind) { AddToJson(kind, record, json); });
  return json;
}

std::string TuneResultTable(const job::Plan& plan, const job::RunRecord& record) {
  const auto* loaded = job::FindEvent<job::Loaded>(record);
  return loaded == nullptr ? ""
                           : job::VisitTraining(plan, [&](const auto& kind) { return TableOf(kind, *loaded, record); });
}

}  // namespace assay::cli
