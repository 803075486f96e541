#include "engine/checkpoint/training_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/checkpoint/param_groups.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using checkpoint::Leaf;
using checkpoint::Value;
using Items = std::vector<std::pair<Value, Value>>;

void put(Items& items, const char* key, Value value) {
  items.emplace_back(Value::Text(key), std::move(value));
}

Value scheduler(const TrainingState& state) {
  Items items;
  const int64_t updates = state.position.counted - state.position.skipped;
  put(items, "last_epoch", Value(updates));
  put(items, "_step_count", Value(updates + 1));
  put(items, "_last_lr", Value::List({Value(state.learning_rate)}));
  return Value::MakeDict(std::move(items));
}

Value loss_scale(const LossScaler::State& state) {
  Items items;
  put(items, "scale", Value(state.scale));
  put(items, "steps_since_overflow", Value(state.steps_since_overflow));
  put(items, "overflows_left", Value(state.overflows_left));
  put(items, "overflows_in_a_row", Value(state.overflows_in_a_row));
  return Value::MakeDict(std::move(items));
}

/// Finds leaves by name, each of the type that it must have.
class LeafReader {
 public:
  LeafReader(const std::vector<Leaf>& leaves, const std::string& uri) : uri_(uri) {
    for (const Leaf& leaf : leaves) {
      by_name_[leaf.name] = &leaf.value;
    }
  }

  bool has(const std::string& name) const { return by_name_.contains(name); }

  template <typename T>
  T get(const std::string& name) const {
    const auto found = by_name_.find(name);
    const T* value = found == by_name_.end() ? nullptr : found->second->get<T>();
    if (value == nullptr) {
      throw_invalid_argument(
          fmt::format("{} has no '{}': it is not the checkpoint of a training of assay", uri_, name));
    }
    return *value;
  }

 private:
  std::map<std::string, const Value*> by_name_;
  const std::string& uri_;
};

constexpr std::string_view kRunPrefix = "run.";

}  // namespace

std::vector<Leaf> leaves_of(const TrainingState& state, const std::vector<std::string>& parameters) {
  Items progress;
  put(progress, "step", Value(state.position.step));
  put(progress, "counted_steps", Value(state.position.counted));
  put(progress, "skipped_steps", Value(state.position.skipped));
  put(progress, "learning_rate", Value(state.learning_rate));
  if (std::isfinite(state.position.evaluations.best_loss)) {
    put(progress, "best_evaluation_loss", Value(state.position.evaluations.best_loss));
    put(progress, "evaluations_since_best", Value(state.position.evaluations.since_best));
  }
  Items run;
  for (const auto& [name, value] : state.run) {
    put(run, name.c_str(), Value::Text(value));
  }
  Items root;
  put(root, "optimizer", Value::MakeDict({{Value::Text("param_groups"), param_groups(state, parameters)}}));
  put(root, "lr_scheduler", scheduler(state));
  if (state.loss_scale) {
    put(root, "loss_scaler", loss_scale(*state.loss_scale));
  }
  put(root, "progress", Value::MakeDict(std::move(progress)));
  put(root, "run", Value::MakeDict(std::move(run)));
  return value_or_throw(checkpoint::Flatten(Value::MakeDict(std::move(root))));
}

TrainingState training_state_of(const std::vector<Leaf>& leaves, const std::string& uri) {
  const LeafReader reader(leaves, uri);
  TrainingState state;
  state.position = {.step = reader.get<int64_t>("progress.step"),
                    .counted = reader.get<int64_t>("progress.counted_steps"),
                    .skipped = reader.get<int64_t>("progress.skipped_steps")};
  state.learning_rate = reader.get<double>("progress.learning_rate");
  if (reader.has("progress.best_evaluation_loss")) {
    state.position.evaluations = {.best_loss = reader.get<double>("progress.best_evaluation_loss"),
                                  .since_best = reader.get<int64_t>("progress.evaluations_since_best")};
  }
  if (reader.has("loss_scaler.scale")) {
    state.loss_scale = {.scale = reader.get<double>("loss_scaler.scale"),
                        .steps_since_overflow = reader.get<int64_t>("loss_scaler.steps_since_overflow"),
                        .overflows_left = reader.get<int64_t>("loss_scaler.overflows_left"),
                        .overflows_in_a_row = reader.get<int64_t>("loss_scaler.overflows_in_a_row")};
  }
  for (const Leaf& leaf : leaves) {
    if (leaf.name.starts_with(kRunPrefix)) {
      state.run[leaf.name.substr(kRunPrefix.size())] = reader.get<std::string>(leaf.name);
    }
  }
  return state;
}

void check_same_settings(const TrainingState& saved, const std::map<std::string, std::string>& run,
                         const std::string& uri) {
  const auto value_of = [](const std::map<std::string, std::string>& settings, const std::string& name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string("none") : found->second;
  };
  std::map<std::string, std::string> all = saved.run;
  all.insert(run.begin(), run.end());
  for (const auto& [name, value] : all) {
    const std::string before = value_of(saved.run, name);
    const std::string now = value_of(run, name);
    if (before != now) {
      throw_invalid_argument(fmt::format(
          "{} is of a training with {} {}, this one has {}: it cannot go on from there (take the same, or another "
          "output folder)",
          uri, name, before, now));
    }
  }
}

}  // namespace assay::engine
