#include "experiment/measured_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/statistics.h"

namespace assay::experiment {

std::string DescribeDivergence(const std::vector<job::Step>& steps) {
  for (const job::Step& step : steps) {
    if (!std::isfinite(step.loss)) {
      return fmt::format("the loss of step {} is {}: the run diverged", step.step, step.loss);
    }
    if (!step.skipped && !std::isfinite(step.grad_norm)) {
      return fmt::format("the gradient norm of step {} is {}: the run diverged", step.step, step.grad_norm);
    }
  }
  if (std::ranges::all_of(steps, &job::Step::skipped)) {
    return fmt::format("the gradients of all {} steps overflowed at their loss scales, so nothing was trained",
                       steps.size());
  }
  return "";
}

double LoadedAt(const job::RunRecord& record) {
  double at = 0;
  for (size_t i = 0; i < record.event_seconds.size(); ++i) {
    if (std::holds_alternative<job::Loaded>(record.events[i])) {
      at = record.event_seconds[i];
    }
  }
  return at;
}

void AddStepTimes(const std::vector<job::Step>& all, const std::vector<job::Step>& measured, Measured& values) {
  const std::vector<double> seconds = Column(measured, &job::Step::seconds);
  constexpr double kQuantile = 0.9;
  values.properties["step_seconds_median"] = measure::Median(seconds);
  values.properties["step_seconds_mad"] = measure::MedianAbsoluteDeviation(seconds);
  values.properties["step_seconds_p90"] = measure::Quantile(seconds, kQuantile);
  values.properties["first_step_seconds"] = all.front().seconds;
}

Status CheckFinite(const Measured& values) {
  for (const auto& [name, value] : values.properties) {
    const auto* number = std::get_if<double>(&value);
    if (number != nullptr && !std::isfinite(*number)) {
      return Status::Internal(fmt::format("{} is {}, which is no measurement: run the point again", name, *number));
    }
  }
  return Status::Ok();
}

void AddUnits(const std::vector<TargetSpec>& targets, Measured& values) {
  for (const TargetSpec& target : targets) {
    if (!target.unit.empty() && values.properties.contains(target.name)) {
      values.units[target.name] = target.unit;
    }
  }
}

}  // namespace assay::experiment
