#include "engine/shard/gradient_reducer.h"

namespace assay::engine {

GradientReducer::GradientReducer(ShardContext& context, std::vector<std::unique_ptr<ShardUnit>>& units)
    : context_(context) {
  for (const bool shared : {false, true}) {
    for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
      if ((*unit)->trainable > 0 && (*unit)->shared == shared) {
        order_.push_back(unit->get());
      }
    }
  }
  for (const auto& unit : units) {
    for (const auto& group : unit->groups) {
      if (group->gradients != nullptr) {
        groups_.push_back(group.get());
      }
    }
  }
  std::array<std::vector<FlatGroup*>, 2> in_buckets;
  for (const ShardUnit* unit : order_) {
    for (const auto& group : unit->groups) {
      if (group->gradients != nullptr && group->gradients->in_bucket()) {
        in_buckets[group->expert ? 1 : 0].push_back(group.get());
      }
    }
  }
  buckets_[0].emplace(context, context.ranks_of(false), "gradient bucket", in_buckets[0]);
  if (context.divides_experts()) {
    buckets_[1].emplace(context, context.ranks_of(true), "expert gradient bucket", in_buckets[1]);
  }
}

void GradientReducer::open() {
  for (ShardUnit* unit : order_) {
    unit->expect_gradients();
  }
  for (std::optional<GradientBuckets>& buckets : buckets_) {
    if (buckets) {
      buckets->open();
    }
  }
}

void GradientReducer::ready(ShardUnit& unit) {
  unit.reducible = true;
  while (context_.policy.overlap && next_ < order_.size() && order_[next_]->reducible) {
    begin(*order_[next_++]);
  }
}

void GradientReducer::begin(ShardUnit& unit) {
  for (const auto& group : unit.groups) {
    if (group->gradients == nullptr) {
      continue;
    }
    if (group->gradients->in_bucket()) {
      buckets_[group->expert ? 1 : 0]->ready(*group);
      continue;
    }
    std::erase_if(under_way_, [](FlatGroup* earlier) { return earlier->gradients->advance_reduce(); });
    group->gradients->begin_reduce();
    under_way_.push_back(group.get());
  }
}

void GradientReducer::finish() {
  while (next_ < order_.size()) {
    begin(*order_[next_++]);
  }
  for (FlatGroup* group : under_way_) {
    while (!group->gradients->advance_reduce()) {
    }
  }
  for (std::optional<GradientBuckets>& buckets : buckets_) {
    if (buckets) {
      buckets->wait();
    }
  }
  under_way_.clear();
  next_ = 0;
}

void GradientReducer::step_over() {
  for (FlatGroup* group : groups_) {
    group->gradients->reset();
  }
  for (std::optional<GradientBuckets>& buckets : buckets_) {
    if (buckets) {
      buckets->step_over();
    }
  }
}

std::vector<at::Tensor> GradientReducer::reduced(bool expert) const {
  std::vector<at::Tensor> tensors;
  for (const FlatGroup* group : groups_) {
    if (group->counts_in_norm && group->expert == expert) {
      tensors.push_back(group->gradients->reduced());
    }
  }
  return tensors;
}

}  // namespace assay::engine
