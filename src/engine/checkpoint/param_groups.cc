#include "engine/checkpoint/param_groups.h"

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "engine/optim/one_state.h"

namespace assay::engine {
namespace {

using checkpoint::Value;
using Items = std::vector<std::pair<Value, Value>>;

void put(Items& items, const char* key, Value value) {
  items.emplace_back(Value::Text(key), std::move(value));
}

void put_off(Items& items, std::initializer_list<const char*> flags) {
  for (const char* flag : flags) {
    put(items, flag, Value(Value::Data(false)));
  }
}

/// What any class of torch.optim leaves to it.
void put_unset(Items& items, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    put(items, key, Value());
  }
}

void put_zeros(Items& items, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    put(items, key, Value(int64_t{0}));
  }
}

void put_betas(Items& items, const OptimizerOptions& options) {
  put(items, "betas", Value::Tuple({Value(options.beta1), Value(options.beta2)}));
}

void put_adamw(Items& items, const OptimizerOptions& options) {
  put_betas(items, options);
  put(items, "eps", Value(options.eps));
  put_off(items, {"amsgrad", "capturable"});
  put_unset(items, {"fused"});
  put(items, "decoupled_weight_decay", Value(Value::Data(true)));
}

void put_sgd(Items& items) {
  put_zeros(items, {"momentum", "dampening"});
  put_off(items, {"nesterov"});
  put_unset(items, {"fused"});
}

void put_adagrad(Items& items) {
  put_zeros(items, {"lr_decay", "initial_accumulator_value"});
  put(items, "eps", Value(kAdagradEps));
  put_unset(items, {"fused"});
}

void put_rmsprop(Items& items) {
  put_zeros(items, {"momentum"});
  put(items, "alpha", Value(kRmspropAlpha));
  put(items, "eps", Value(kRmspropEps));
  put_off(items, {"centered", "capturable"});
}

void put_settings(Items& items, std::string_view optimizer, const OptimizerOptions& options) {
  if (optimizer == "lion_32bit") {
    put_betas(items, options);
    return;
  }
  put_off(items, {"maximize", "differentiable"});
  put_unset(items, {"foreach"});
  if (optimizer == "sgd") {
    put_sgd(items);
  } else if (optimizer == "adagrad") {
    put_adagrad(items);
  } else if (optimizer == "rmsprop") {
    put_rmsprop(items);
  } else {
    put_adamw(items, options);
  }
}

}  // namespace

Value param_groups(const TrainingState& state, const std::vector<std::string>& parameters) {
  std::vector<Value> groups;
  for (const bool decays : {true, false}) {
    std::vector<Value> names;
    for (const std::string& name : parameters) {
      if (applies_weight_decay(name) == decays) {
        names.push_back(Value::Text(name));
      }
    }
    if (names.empty()) {
      continue;
    }
    Items group;
    put(group, "lr", Value(state.learning_rate));
    put(group, "weight_decay", Value(decays ? state.optimizer.weight_decay : 0.0));
    put_settings(group, state.optimizer_name, state.optimizer);
    put(group, "params", Value::List(std::move(names)));
    groups.push_back(Value::MakeDict(std::move(group)));
  }
  return Value::List(std::move(groups));
}

}  // namespace assay::engine
