#include "cli/tune_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/terminal.h"
#include "base/text.h"
#include "cli/event_list.h"
#include "measure/statistics.h"

namespace assay::cli {
namespace {

struct Totals {
  int64_t samples = 0;
  int64_t real_tokens = 0;
  int64_t padded_tokens = 0;
  int64_t supervised_tokens = 0;
  double median_step_seconds = 0;
  double real_tokens_per_second = 0;
  double max_rss_gib = 0;
};

std::vector<double> StepSeconds(const std::vector<job::Step>& steps) {
  std::vector<double> seconds;
  for (const job::Step& step : steps) {
    seconds.push_back(step.seconds);
  }
  return seconds;
}

Totals Summarise(const job::RunRecord& record) {
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  Totals totals;
  const std::vector<job::Step> steps = job::Steps(record);
  for (const job::Step& step : steps) {
    totals.samples += step.samples;
    totals.real_tokens += step.real_tokens;
    totals.padded_tokens += step.padded_tokens;
    totals.supervised_tokens += step.supervised_tokens;
  }
  if (!steps.empty()) {
    std::vector<double> seconds = StepSeconds(steps);
    if (seconds.size() > 1) {
      seconds.erase(seconds.begin());
    }
    totals.median_step_seconds = measure::Median(seconds);
    totals.real_tokens_per_second =
        static_cast<double>(totals.real_tokens) / static_cast<double>(steps.size()) / totals.median_step_seconds;
  }
  totals.max_rss_gib = static_cast<double>(record.max_rss_bytes) / kGib;
  return totals;
}

int64_t SkippedSteps(const std::vector<job::Step>& steps) {
  return std::count_if(steps.begin(), steps.end(), [](const job::Step& step) { return step.skipped; });
}

/// Of the steps that bore any.
std::string DescribeLoss(std::vector<job::Step> steps) {
  std::erase_if(steps, [](const job::Step& step) { return step.supervised_tokens == 0; });
  return steps.empty() ? "none: no step had supervised tokens"
                       : fmt::format("{:.4f} at first, {:.4f} at last", steps.front().loss, steps.back().loss);
}

/// Empty when the loss was never scaled.
std::string DescribeLossScale(const std::vector<job::Step>& steps) {
  const auto scaled = [](const job::Step& step) { return step.loss_scale != 1; };
  if (std::none_of(steps.begin(), steps.end(), scaled)) {
    return "";
  }
  return fmt::format("{} at first, {} at last; {} of {} steps skipped: gradients overflowed", steps.front().loss_scale,
                     steps.back().loss_scale, SkippedSteps(steps), steps.size());
}

template <typename Field>
nlohmann::json Column(const std::vector<job::Step>& steps, Field field) {
  nlohmann::json column = nlohmann::json::array();
  for (const job::Step& step : steps) {
    column.push_back(step.*field);
  }
  return column;
}

int64_t PeakTensorBytes(const job::RunRecord& record) {
  int64_t peak = 0;
  if (const auto* loaded = job::FindEvent<job::Loaded>(record)) {
    peak = loaded->peak_tensor_bytes;
  }
  for (const job::Step& step : job::Steps(record)) {
    peak = std::max({peak, step.forward_peak_bytes, step.backward_peak_bytes, step.optimizer_peak_bytes});
  }
  for (const auto& ledger : job::EventsOf<job::MemoryLedger>(record)) {
    peak = std::max(peak, ledger.peak_bytes);  // another rank's may be higher
  }
  return peak;
}

std::string DescribeCheckpointing(const job::Loaded& loaded) {
  const std::string layers = fmt::format("{} of {} layers", loaded.checkpointed_layers, loaded.layers);
  return loaded.available_bytes == 0 ? layers
                                     : fmt::format("{}, chosen for {} of memory", layers,
                                                   FormatBytes(static_cast<double>(loaded.available_bytes)));
}

}  // namespace

nlohmann::json TuneResultJson(const job::TunePlan& plan, const job::RunRecord& record) {
  const std::vector<job::Step> steps = job::Steps(record);
  const Totals totals = Summarise(record);
  nlohmann::json json = {
      {"outcome", record.end == job::RunEnd::kDone ? "done" : job::ToString(record.end)},
      {"reason", record.reason},
      {"method", plan.method},
      {"model", plan.model_dir},
      {"tokenizer", plan.tokenizer},
      {"dtype", plan.dtype},
      {"batch_size", plan.batch_size},
      {"plugin", plan.plugin},
      {"number_ranks", plan.number_ranks},
      {"steps", steps.size()},
      {"losses", Column(steps, &job::Step::loss)},
      {"grad_norms", Column(steps, &job::Step::grad_norm)},
      {"learning_rates", Column(steps, &job::Step::learning_rate)},
      {"loss_scales", Column(steps, &job::Step::loss_scale)},
      {"skipped_steps", SkippedSteps(steps)},
      {"step_seconds", StepSeconds(steps)},
      {"median_step_seconds", totals.median_step_seconds},
      {"real_tokens_per_second", totals.real_tokens_per_second},
      {"samples", totals.samples},
      {"real_tokens", totals.real_tokens},
      {"padded_tokens", totals.padded_tokens},
      {"supervised_tokens", totals.supervised_tokens},
      {"max_rss_gib", totals.max_rss_gib},
      {"peak_tensor_bytes", PeakTensorBytes(record)},
      {"wall_seconds", record.wall_seconds},
  };
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
  if (job::IsOverRanks(plan)) {
    json["rank_steps"] = EventList<job::RankStep>(record);
    json["memory"] = EventList<job::MemoryLedger>(record);
    json["collectives"] = EventList<job::CollectiveTotals>(record);
  }
  if (!plan.trace_dir.empty() && record.end == job::RunEnd::kDone) {
    json["trace"] = plan.trace_dir + "/trace.json";
  }
  return json;
}

std::string TuneResultTable(const job::TunePlan& plan, const job::RunRecord& record) {
  const auto* loaded = job::FindEvent<job::Loaded>(record);
  if (loaded == nullptr) {
    return "";
  }
  const std::vector<job::Step> steps = job::Steps(record);
  const Totals totals = Summarise(record);
  TextTable table({"fine-tune", plan.method});
  table.AddRow({"model", fmt::format("{}, {} weights", plan.model_dir, loaded->weights)});
  table.AddRow({"tokenizer", plan.tokenizer.empty() ? "none: the rows are token ids" : plan.tokenizer});
  table.AddRow({"parameters", fmt::format("{}, {} trained", loaded->parameters, loaded->trainable_parameters)});
  if (job::IsOverRanks(plan)) {
    table.AddRow({"ranks", fmt::format("{}, {}", plan.number_ranks, plan.plugin)});
  }
  if (loaded->checkpointed_layers > 0 || loaded->available_bytes > 0) {
    table.AddRow({"checkpointing", DescribeCheckpointing(*loaded)});
  }
  if (!steps.empty()) {
    table.AddRow({"steps", fmt::format("{}", steps.size())});
    table.AddRow({"loss", DescribeLoss(steps)});
    if (const std::string scale = DescribeLossScale(steps); !scale.empty()) {
      table.AddRow({"loss scale", scale});
    }
    table.AddRow({"step time, median", FormatSeconds(totals.median_step_seconds)});
    table.AddRow({"throughput", fmt::format("{} real tokens/s", FormatNumber(totals.real_tokens_per_second))});
    table.AddRow({"tokens", fmt::format("{} real, {} supervised; a padded batch would have added {}",
                                        totals.real_tokens, totals.supervised_tokens, totals.padded_tokens)});
  }
  table.AddRow({"peak memory", fmt::format("{} of tensors, {:.2f} GiB of the {}",
                                           FormatBytes(static_cast<double>(PeakTensorBytes(record))),
                                           totals.max_rss_gib, plan.number_ranks > 1 ? "largest process" : "process")});
  return table.Render();
}

}  // namespace assay::cli
