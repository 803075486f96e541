#include "checkpoint/torch/lightning.h"

#include <utility>
#include <vector>

namespace assay::checkpoint {
namespace {

constexpr char kVersionKey[] = "pytorch-lightning_version";
constexpr char kStateDictKey[] = "state_dict";
/// Whose layout this is.
constexpr char kLightningVersion[] = "2.6.0";

}  // namespace

bool IsLightning(const Value& root) {
  return root.Find(kVersionKey) != nullptr && root.Find(kStateDictKey) != nullptr;
}

Value AsLightning(Value root, int64_t step) {
  if (IsLightning(root)) {
    return root;
  }
  const Value* weights = root.Find(kStateDictKey);
  std::vector<std::pair<Value, Value>> items;
  items.emplace_back(Value::Text("epoch"), Value(int64_t{0}));
  items.emplace_back(Value::Text("global_step"), Value(step));
  items.emplace_back(Value::Text(kVersionKey), Value::Text(kLightningVersion));
  items.emplace_back(Value::Text(kStateDictKey), weights != nullptr ? *weights : std::move(root));
  items.emplace_back(Value::Text("callbacks"), Value::MakeDict({}));
  items.emplace_back(Value::Text("optimizer_states"), Value::List({}));
  items.emplace_back(Value::Text("lr_schedulers"), Value::List({}));
  return Value::MakeDict(std::move(items));
}

}  // namespace assay::checkpoint
