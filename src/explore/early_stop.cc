#include "explore/early_stop.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace assay::explore {
namespace {

constexpr char kLosses[] = "loss";
constexpr char kSeconds[] = "step_seconds";
constexpr char kTokens[] = "step_real_tokens";

/// Of a language model's step all tokens may be masked.
bool HasLoss(const job::Step& step) {
  return step.supervised_tokens > 0 || step.real_tokens == 0;
}

std::string_view NameOf(Shown shown) {
  return shown == Shown::kLoss ? "loss" : "rate";
}

const std::vector<double>& SeriesOf(const samplestore::Measurement& measurement, const char* name) {
  static const std::vector<double> kNone;
  const auto found = measurement.series.find(name);
  return found == measurement.series.end() ? kNone : found->second;
}

}  // namespace

std::string Describe(const EarlyStopOptions& options) {
  return fmt::format("{} of the {}{} from step {}", ToString(options.rule.kind), NameOf(options.shown),
                     options.shown == Shown::kRate ? " without the first step" : "", options.rule.first_step);
}

void AddStepSeries(const job::RunRecord& record, std::map<std::string, std::vector<double>>& series) {
  for (const job::Step& step : job::Steps(record)) {
    series[kLosses].push_back(HasLoss(step) ? step.loss : std::nan(""));
    series[kSeconds].push_back(step.seconds);
    series[kTokens].push_back(static_cast<double>(step.real_tokens));
  }
}

void EarlyStop::Take(Running& run, int64_t step, double loss, double amount, double seconds) const {
  const bool warms_up = run.last_step == 0;
  run.last_step = step;
  run.seconds += warms_up ? 0 : seconds;
  run.amount += warms_up ? 0 : amount;
  // Series of images do not say how many a step had.
  const double rate = run.amount > 0 ? run.amount / run.seconds : std::nan("");
  const double value = options_.shown == Shown::kLoss ? loss : -rate;
  if (std::isfinite(value)) {
    run.seen.curve[step] = value;
  }
}

std::vector<const OtherRun*> EarlyStop::OthersThan(int64_t index) const {
  std::vector<const OtherRun*> others;
  for (const OtherRun& run : ended_) {
    others.push_back(&run);
  }
  for (const auto& [running, run] : running_) {
    if (running != index) {
      others.push_back(&run.seen);
    }
  }
  return others;
}

std::string EarlyStop::OnStep(int64_t index, const job::Step& step) {
  const std::lock_guard lock(mutex_);
  Running& run = running_[index];
  if (step.step <= run.last_step) {
    run = {};  // it is made again
  }
  const auto amount = static_cast<double>(step.real_tokens > 0 ? step.real_tokens : step.samples);
  Take(run, step.step, HasLoss(step) ? step.loss : std::nan(""), amount, step.seconds);
  const Curve& curve = run.seen.curve;
  const auto now = curve.find(step.step);
  if (now == curve.end() || !EndsNow(options_.rule, curve, OthersThan(index))) {
    return "";
  }
  return fmt::format("behind at step {}, with a {} of {:.6g}", step.step, NameOf(options_.shown),
                     std::abs(now->second));
}

Curve EarlyStop::CurveOf(const samplestore::Measurement& measurement) const {
  const std::vector<double>& losses = SeriesOf(measurement, kLosses);
  const std::vector<double>& seconds = SeriesOf(measurement, kSeconds);
  const std::vector<double>& tokens = SeriesOf(measurement, kTokens);
  Running run;
  for (size_t i = 0; i < losses.size(); ++i) {
    const bool timed = i < seconds.size() && i < tokens.size();
    Take(run, static_cast<int64_t>(i) + 1, losses[i], timed ? tokens[i] : std::nan(""), timed ? seconds[i] : 0);
  }
  return std::move(run.seen.curve);
}

void EarlyStop::OnDone(int64_t index, const PointResult& result) {
  const std::lock_guard lock(mutex_);
  const auto run = running_.extract(index);
  const bool whole = result.measurement.outcome == samplestore::Outcome::kValid;
  if (!whole && !EndedEarly(result.measurement)) {
    return;
  }
  const bool was_seen = run && result.source == Source::kMeasured;
  Curve curve = was_seen ? std::move(run.mapped().seen.curve) : CurveOf(result.measurement);
  if (!curve.empty()) {
    ended_.push_back({std::move(curve), whole});
  }
}

}  // namespace assay::explore
