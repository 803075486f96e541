#include "experiment/phase_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <variant>
#include <vector>

namespace assay::experiment {
namespace {

constexpr std::string_view kRank = "rank";
constexpr std::string_view kPhase = ".phase.";
constexpr std::string_view kSpan = "span.";

/// How far the clock of the run's events is behind the machine's: an event comes when its step is over, or a little
/// later, so that the least that is between the two is theirs.
double ClockOffset(const job::RunRecord& record) {
  double offset = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < record.event_seconds.size(); ++i) {
    if (const auto* step = std::get_if<job::RankStep>(&record.events[i])) {
      offset = std::min(offset, record.event_seconds[i] - step->began_seconds - step->seconds);
    }
  }
  return offset;
}

void AddStep(const job::RankStep& step, double offset, Measured& values) {
  const auto add = [&](std::string_view phase, double seconds) {
    values.series[PhaseSeries(step.rank, phase)].push_back(std::max(0.0, seconds));
  };
  values.series[StepBeganSeries(step.rank)].push_back(step.began_seconds + offset);
  values.series[StepSecondsSeries(step.rank)].push_back(step.seconds);
  add("data", step.data_seconds + step.transfer_seconds);
  add("forward", step.forward_seconds - step.forward_exposed_seconds);
  add("backward", step.backward_seconds - step.backward_exposed_seconds);
  add("communication", step.forward_exposed_seconds + step.backward_exposed_seconds + step.optimizer_exposed_seconds);
  add("optimizer", step.optimizer_seconds - step.optimizer_exposed_seconds);
}

/// Something that ended with its event and took so long.
void AddSpan(std::string_view name, double end, double seconds, Measured& values) {
  std::vector<double>& span = values.series[SpanSeries(name)];
  span.insert(span.end(), {std::max(0.0, end - seconds), end});
}

}  // namespace

std::string StepBeganSeries(int64_t rank) {
  return fmt::format("{}{}.step_began_s", kRank, rank);
}

std::string StepSecondsSeries(int64_t rank) {
  return fmt::format("{}{}.step_seconds", kRank, rank);
}

std::string PhaseSeries(int64_t rank, std::string_view phase) {
  return fmt::format("{}{}{}{}", kRank, rank, kPhase, phase);
}

std::string SpanSeries(std::string_view name) {
  return fmt::format("{}{}", kSpan, name);
}

std::optional<int> RankOf(std::string_view series) {
  int rank = 0;
  if (!series.starts_with(kRank)) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(series.data() + kRank.size(), series.data() + series.size(), rank);
  return error == std::errc() && end != series.data() + series.size() && *end == '.' ? std::optional(rank)
                                                                                     : std::nullopt;
}

std::string_view PhaseOf(std::string_view series) {
  const size_t at = series.find(kPhase);
  return !RankOf(series) || at == std::string_view::npos ? std::string_view() : series.substr(at + kPhase.size());
}

void AddPhaseSeries(const job::RunRecord& record, Measured& values) {
  const double offset = ClockOffset(record);
  for (size_t i = 0; i < record.event_seconds.size(); ++i) {
    const double at = record.event_seconds[i];
    if (const auto* step = std::get_if<job::RankStep>(&record.events[i]); step != nullptr && step->began_seconds > 0) {
      AddStep(*step, offset, values);
    } else if (const auto* loaded = std::get_if<job::Loaded>(&record.events[i])) {
      AddSpan("load", at, loaded->seconds, values);
    } else if (const auto* evaluation = std::get_if<job::Evaluation>(&record.events[i])) {
      AddSpan("evaluation", at, evaluation->seconds, values);
    } else if (const auto* written = std::get_if<job::Checkpointed>(&record.events[i])) {
      AddSpan("checkpoint", at, written->stall_seconds, values);
    } else if (const auto* saved = std::get_if<job::Saved>(&record.events[i])) {
      AddSpan("checkpoint", at, saved->seconds, values);
    }
  }
}

std::string_view SpanOf(std::string_view series) {
  return series.starts_with(kSpan) ? series.substr(kSpan.size()) : std::string_view();
}

}  // namespace assay::experiment
