#include "engine/optim/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "base/json.h"
#include "base/text.h"

namespace assay::engine {
namespace {

double ratio(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(1, whole));
}

double cosine(int64_t made, int64_t warmup, int64_t total) {
  if (made < warmup) {
    return ratio(made, warmup);
  }
  return std::max(0.0, 0.5 * (1.0 + std::cos(std::numbers::pi * ratio(made - warmup, total - warmup))));
}

/// ColossalAI's CosineAnnealingWarmupLR: the first step has a rate, and warm-up ends at its full one.
double cosine_annealing_warmup(int64_t made, int64_t warmup, int64_t total) {
  return made < warmup ? ratio(made + 1, warmup) : cosine(made, warmup, total);
}

double linear(int64_t made, int64_t warmup, int64_t total) {
  return made < warmup ? ratio(made, warmup) : std::max(0.0, ratio(total - made, total - warmup));
}

double constant(int64_t, int64_t, int64_t) {
  return 1.0;
}

double constant_with_warmup(int64_t made, int64_t warmup, int64_t) {
  return made < warmup ? ratio(made, warmup) : 1.0;
}

}  // namespace

struct Schedule::Entry {
  std::string_view name;
  Factor factor;
  double (*whole)(double steps);  ///< of a warm-up
};

const std::vector<Schedule::Entry>& Schedule::table() {
  static const std::vector<Entry> entries = {
      {"cosine", &cosine, std::ceil},
      {"linear", &linear, std::ceil},
      {"constant", &constant, std::ceil},
      {"constant_with_warmup", &constant_with_warmup, std::ceil},
      {"cosine_annealing_warmup", &cosine_annealing_warmup, std::floor},
  };
  return entries;
}

Result<Schedule> Schedule::create(std::string_view name, double learning_rate, double warmup_ratio,
                                  int64_t total_steps) {
  if (!(warmup_ratio >= 0 && warmup_ratio <= 1)) {
    return Status::InvalidArgument(fmt::format("warmup_ratio is {}: it must lie between 0 and 1", warmup_ratio));
  }
  if (!(learning_rate >= 0) || !std::isfinite(learning_rate)) {
    return Status::InvalidArgument(
        fmt::format("learning_rate is {}: it must be zero or a positive number", learning_rate));
  }
  std::vector<std::string> known;
  for (const Entry& entry : table()) {
    if (entry.name == name) {
      const auto warmup_steps = static_cast<int64_t>(entry.whole(static_cast<double>(total_steps) * warmup_ratio));
      return Schedule(entry.factor, learning_rate, warmup_steps, total_steps);
    }
    known.emplace_back(entry.name);
  }
  const std::string nearest = NearestName(name, known);
  return Status::InvalidArgument(
      nearest.empty() ? fmt::format("unknown lr_scheduler_type '{}' (choose one of {})", name, Join(known, ", "))
                      : fmt::format("unknown lr_scheduler_type '{}' (did you mean '{}'?)", name, nearest));
}

double Schedule::learning_rate(int64_t step) const {
  return learning_rate_ * factor_(step - 1, warmup_steps_, total_steps_);
}

}  // namespace assay::engine
