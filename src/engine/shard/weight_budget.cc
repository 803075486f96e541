#include "engine/shard/weight_budget.h"

#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

/// Of the cap; the rest is for what lives only within a unit and is not seen at its border. As Gemini's.
constexpr double kUsable = 0.9;

}  // namespace

WeightBudget::WeightBudget(ShardContext& context, std::vector<std::unique_ptr<ShardUnit>>& units, int64_t model_units,
                           ShardedAdamw& optimizer, Probe probe)
    : context_(context),
      units_(units),
      model_units_(model_units),
      optimizer_(optimizer),
      probe_(std::move(probe)),
      beside_(2 * model_units) {}

int64_t WeightBudget::room(int64_t time) const {
  const auto next = std::min<size_t>(static_cast<size_t>(time) + 1, beside_.size() - 1);
  const int64_t beside = std::max(beside_[static_cast<size_t>(time)], beside_[next]);
  const auto usable = static_cast<int64_t>(kUsable * static_cast<double>(context_.policy.memory_cap_bytes));
  return usable - beside - context_.ledger.live_total();
}

int64_t WeightBudget::missing_bytes(const std::vector<int64_t>& needed) const {
  int64_t bytes = 0;
  for (const int64_t unit : needed) {
    bytes += units_[unit]->released() ? units_[unit]->releasable_bytes() : 0;
  }
  return bytes;
}

int64_t WeightBudget::next_use(const ShardUnit& unit, int64_t time) const {
  int64_t next = 2 * model_units_ + unit.readers.front();
  for (const int64_t reader : unit.readers) {
    for (const int64_t use : {forward_time(reader), backward_time(reader)}) {
      next = use > time ? std::min(next, use) : next;
    }
  }
  return next;
}

bool WeightBudget::fits(int64_t time, int64_t unit) const {
  return context_.policy.memory_cap_bytes == 0 || missing_bytes({unit}) <= room(time);
}

/// The unit whose weights can go and are needed last; null: none.
ShardUnit* WeightBudget::farthest_weights(int64_t time, const std::vector<int64_t>& needed) const {
  ShardUnit* farthest = nullptr;
  for (size_t u = 0; u < units_.size(); ++u) {
    ShardUnit& unit = *units_[u];
    const bool free =
        !unit.released() && unit.releasable_bytes() > 0 && !std::ranges::count(needed, static_cast<int64_t>(u));
    if (free && (farthest == nullptr || next_use(unit, time) > next_use(*farthest, time))) {
      farthest = &unit;
    }
  }
  return farthest;
}

/// Of the last unit that still has states that may move. Whether there was one.
bool WeightBudget::offload_states() {
  for (auto unit = units_.rbegin(); unit != units_.rend(); ++unit) {
    bool moved = false;
    for (const auto& group : (*unit)->groups) {
      if (group->weights.trainable() && group->weights.optimizer_may_move()) {
        optimizer_.move_states(*group, /*to_host=*/true);
        moved = true;
      }
    }
    if (moved) {
      return true;
    }
  }
  return false;
}

void WeightBudget::make_room(int64_t time, const std::vector<int64_t>& needed) {
  if (context_.policy.memory_cap_bytes == 0) {
    return;
  }
  const int64_t wanted = missing_bytes(needed);
  const int64_t update_time = 2 * model_units_;
  while (room(time) < wanted) {
    ShardUnit* const farthest = farthest_weights(time, needed);
    const bool after_update = farthest != nullptr && next_use(*farthest, time) >= update_time;
    if (!after_update && offload_states()) {
      continue;
    }
    if (farthest == nullptr) {
      const auto text_of = [](int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); };
      throw StatusError(Status::OutOfMemory(fmt::format(
          "gathering {} needs {} where the memory cap of {} leaves {} (raise the cap, lower the batch size or offload)",
          units_[needed.front()]->name, text_of(wanted), text_of(context_.policy.memory_cap_bytes),
          text_of(std::max<int64_t>(0, room(time))))));
    }
    farthest->release();
  }
  least_room_ = std::min(least_room_, room(time) - wanted);
}

/// Whether all that may return did, or was there.
bool WeightBudget::return_states_of(ShardUnit& unit) {
  for (const auto& group : unit.groups) {
    if (!group->weights.trainable() || !group->weights.optimizer_may_return()) {
      continue;
    }
    constexpr int64_t kCopies = 4;  // master, moments and the gradient
    const int64_t bytes = kCopies * static_cast<int64_t>(group->weights.master().nbytes());
    if (bytes > least_room_) {
      return false;
    }
    least_room_ -= bytes;
    optimizer_.move_states(*group, /*to_host=*/false);
  }
  return true;
}

void WeightBudget::return_states() {
  for (auto unit = units_.begin(); unit != units_.end() && return_states_of(**unit); ++unit) {
  }
  least_room_ = std::numeric_limits<int64_t>::max();
}

void WeightBudget::sample(int64_t time) {
  if (!probe_) {
    return;
  }
  int64_t& most = beside_[static_cast<size_t>(time)];
  most = std::max(most, probe_() - context_.ledger.live_total());
}

void WeightBudget::agree() {
  warm_ = true;
  if (context_.device.is_meta()) {
    return;
  }
  const at::Tensor samples = at::tensor(std::vector<double>(beside_.begin(), beside_.end()), at::kDouble);
  for (Communicator* group : {context_.groups.shard, context_.groups.replicate}) {
    if (group != nullptr && group->size() > 1) {
      const at::Tensor on_device = samples.to(context_.device);
      group->all_reduce(on_device, ReduceOp::kMax, "memory samples")->wait();
      samples.copy_(on_device);
    }
  }
  for (size_t i = 0; i < beside_.size(); ++i) {
    beside_[i] = static_cast<int64_t>(samples[static_cast<int64_t>(i)].item<double>());
  }
}

}  // namespace assay::engine
