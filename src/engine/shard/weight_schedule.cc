#include "engine/shard/weight_schedule.h"

#include <utility>

namespace assay::engine {

WeightSchedule::WeightSchedule(ShardContext& context, std::vector<std::unique_ptr<ShardUnit>>& units,
                               ShardedAdamw& optimizer, WeightBudget::Probe probe)
    : context_(context), units_(units) {
  if (context.policy.placement == WeightPlacement::kBudget) {
    budget_.emplace(context, units, optimizer, std::move(probe));
  }
}

int64_t WeightSchedule::time_of(int64_t unit, Pass pass) const {
  return pass == Pass::kForward ? budget_->forward_time(unit) : budget_->backward_time(unit);
}

void WeightSchedule::use(int64_t unit, Pass pass) {
  const std::vector<int64_t>& reads = units_[unit]->reads;
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
  const auto count = static_cast<int64_t>(units_.size());
  for (int64_t ahead = 1; ahead <= context_.policy.prefetch; ++ahead) {
    const int64_t next = pass == Pass::kForward ? unit + ahead : unit - ahead;
    if (next < 0 || next >= count || (budgeted() && !budget_->fits(time_of(unit, pass), next))) {
      return;
    }
    units_[next]->begin_gather();
  }
}

void WeightSchedule::forward_done(int64_t unit) {
  // Backward begins with the last unit.
  const bool last = unit + 1 == static_cast<int64_t>(units_.size());
  if (context_.policy.reshard_after_forward && !budgeted() && !last && !units_[unit]->shared) {
    units_[unit]->release();
  }
}

void WeightSchedule::backward_done(int64_t unit, bool keep) {
  const bool stays = units_[unit]->shared || (keep && (budgeted() || !context_.policy.reshard_after_forward));
  if (!stays) {
    units_[unit]->release();
  }
}

void WeightSchedule::backward_over(bool keep) {
  if (keep && (budgeted() || !context_.policy.reshard_after_forward)) {
    return;
  }
  for (const auto& unit : units_) {
    unit->release();
  }
  if (budget_ && !budget_->warm()) {
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
