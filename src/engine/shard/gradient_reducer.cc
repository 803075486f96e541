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
  std::vector<FlatGroup*> in_buckets;
  for (const ShardUnit* unit : order_) {
    for (const auto& group : unit->groups) {
      if (group->gradients != nullptr && group->gradients->in_bucket()) {
        in_buckets.push_back(group.get());
      }
    }
  }
  buckets_.emplace(context, in_buckets);
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
      buckets_->ready(*group);
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
  buckets_->wait();
  under_way_.clear();
  next_ = 0;
}

std::vector<at::Tensor> GradientReducer::reduced() const {
  std::vector<at::Tensor> tensors;
  for (const FlatGroup* group : groups_) {
    if (group->counts_in_norm) {
      tensors.push_back(group->gradients->reduced());
    }
  }
  return tensors;
}

}  // namespace assay::engine
