#include "engine/shard/weight_schedule.h"

#include <algorithm>
#include <utility>

namespace assay::engine {

WeightSchedule::WeightSchedule(ShardContext& context, std::vector<std::unique_ptr<ShardUnit>>& units,
                               std::vector<std::vector<int64_t>> reads, ShardedAdamw& optimizer,
                               WeightBudget::Probe probe)
    : context_(context), units_(units), reads_(std::move(reads)) {
  if (context.policy.placement == WeightPlacement::kBudget) {
    budget_.emplace(context, units, static_cast<int64_t>(reads_.size()), optimizer, std::move(probe));
  }
}

int64_t WeightSchedule::time_of(int64_t unit, Pass pass) const {
  return pass == Pass::kForward ? budget_->forward_time(unit) : budget_->backward_time(unit);
}

void WeightSchedule::use(int64_t unit, Pass pass) {
  const std::vector<int64_t>& reads = reads_[unit];
  if (budgeted()) {
    budget_->make_room(time_of(unit, pass), reads);
  }
  for (const int64_t read : reads) {
    units_[read]->begin_gather();
  }
  for (const int64_t read : reads) {
    units_[read]->wait_gather();
  }
  if (budget_ && !budget_->warm()) {
    budget_->sample(time_of(unit, pass));
  }
  prefetch(unit, pass);
}

void WeightSchedule::prefetch(int64_t unit, Pass pass) {
  const auto count = static_cast<int64_t>(reads_.size());
  const int64_t direction = pass == Pass::kForward ? 1 : -1;
  std::vector<int64_t> ahead = reads_[unit];
  const size_t most = ahead.size() + static_cast<size_t>(context_.policy.prefetch);
  for (int64_t next = unit + direction; next >= 0 && next < count && ahead.size() < most; next += direction) {
    for (const int64_t read : reads_[next]) {
      if (std::ranges::count(ahead, read) || ahead.size() == most) {
        continue;
      }
      if (budgeted() && !budget_->fits(time_of(unit, pass), read)) {
        return;
      }
      units_[read]->begin_gather();
      ahead.push_back(read);
    }
  }
}

void WeightSchedule::forward_done(int64_t unit) {
  // Backward begins with the last unit.
  const bool last = unit + 1 == static_cast<int64_t>(reads_.size());
  if (!context_.policy.reshard_after_forward || budgeted() || last) {
    return;
  }
  for (const int64_t read : reads_[unit]) {
    if (units_[read]->readers.back() == unit) {
      units_[read]->release();
    }
  }
}

void WeightSchedule::backward_done(int64_t unit, bool keep) {
  if (keep && (budgeted() || !context_.policy.reshard_after_forward)) {
    return;
  }
  for (const int64_t read : reads_[unit]) {
    if (units_[read]->readers.front() == unit) {
      units_[read]->release();
    }
  }
}

void WeightSchedule::backward_over(bool keep) {
  if (keep && (budgeted() || !context_.policy.reshard_after_forward)) {
    return;
  }
  for (const auto& unit : units_) {
    unit->release();
  }
  if (budgeted()) {
    budget_->return_states();
  } else if (budget_) {
    budget_->agree();
  }
}

void WeightSchedule::updated() {
  for (const auto& unit : units_) {
    for (const auto& group : unit->groups) {
      if (group->weights.trainable()) {
        group->weights.mark_updated();
      }
    }
  }
  for (const auto& unit : units_) {
    for (const auto& group : unit->groups) {
      if (group->weights.kept()) {
        group->weights.begin_gather();
      }
    }
  }
}

}  // namespace assay::engine
