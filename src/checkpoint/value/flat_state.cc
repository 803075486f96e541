#include "checkpoint/value/flat_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace assay::checkpoint {
namespace {

const Value::Sequence* ListOf(const Value& value) {
  const Value::Sequence* sequence = value.sequence();
  return sequence != nullptr && sequence->kind == Value::SequenceKind::kList ? sequence : nullptr;
}

/// repr() of a key that is no text by itself.
std::optional<std::string> PythonText(const Value& key) {
  if (key.is_none() || key.get<bool>() != nullptr || key.get<int64_t>() != nullptr || key.get<double>() != nullptr) {
    return ShortText(key);
  }
  if (const auto* text = key.get<std::string>()) {
    return fmt::format("'{}'", *text);
  }
  const Value::Sequence* tuple = key.sequence();
  if (tuple == nullptr || tuple->kind != Value::SequenceKind::kTuple) {
    return std::nullopt;
  }
  std::string joined;
  for (const Value& item : tuple->items) {
    const std::optional<std::string> text = PythonText(item);
    if (!text) {
      return std::nullopt;
    }
    joined += (joined.empty() ? "" : ", ") + *text;
  }
  return fmt::format("({}{})", joined, tuple->items.size() == 1 ? "," : "");
}

class Flattener {
 public:
  Result<std::vector<Leaf>> Run(const Value& root) {
    if (MappingOf(root) == nullptr) {
      return std::vector<Leaf>{{kRootLeaf, {std::string(kRootLeaf)}, root}};
    }
    ASSAY_RETURN_IF_ERROR(Visit(root));
    return std::move(leaves_);
  }

 private:
  Status Visit(const Value& value) {
    if (const auto* items = MappingOf(value)) {
      for (const auto& [key, item] : *items) {
        std::optional<std::string> text = KeyText(key);
        if (!text) {
          return Status::InvalidArgument(
              fmt::format("the key {} in '{}' can be no part of a name", ShortText(key), JoinPath(path_)));
        }
        ASSAY_RETURN_IF_ERROR(VisitAt(std::move(*text), item));
      }
      return Status::Ok();
    }
    if (!IsLeaf(value)) {
      const std::vector<Value>& items = ListOf(value)->items;
      for (size_t i = 0; i < items.size(); ++i) {
        ASSAY_RETURN_IF_ERROR(VisitAt(static_cast<int64_t>(i), items[i]));
      }
      return Status::Ok();
    }
    std::string name = JoinPath(path_);
    if (!names_.insert(name).second) {
      return Status::InvalidArgument(fmt::format("two values have the name '{}'", name));
    }
    leaves_.push_back({std::move(name), path_, value});
    return Status::Ok();
  }

  Status VisitAt(PathStep step, const Value& value) {
    path_.push_back(std::move(step));
    const Status status = Visit(value);
    path_.pop_back();
    return status;
  }

  std::vector<Leaf> leaves_;
  std::vector<PathStep> path_;
  std::set<std::string> names_;
};

/// A container that is being put together.
struct Branch {
  std::optional<Value> leaf{};
  bool is_list = false;
  std::vector<std::pair<PathStep, std::unique_ptr<Branch>>> children{};
  std::map<PathStep, Branch*> by_step{};

  Branch& Child(const PathStep& step) {
    Branch*& child = by_step[step];
    if (child == nullptr) {
      child = children.emplace_back(step, std::make_unique<Branch>()).second.get();
    }
    return *child;
  }
};

Value ToValue(const Branch& branch) {
  if (branch.leaf) {
    return *branch.leaf;
  }
  if (!branch.is_list) {
    std::vector<std::pair<Value, Value>> items;
    for (const auto& [step, child] : branch.children) {
      const bool is_text = std::holds_alternative<std::string>(step);
      items.emplace_back(is_text ? Value::Text(std::get<std::string>(step)) : Value(std::get<int64_t>(step)),
                         ToValue(*child));
    }
    return Value::MakeDict(std::move(items));
  }
  std::vector<Value> items;
  for (const auto& [step, child] : branch.by_step) {
    const auto* index = std::get_if<int64_t>(&step);
    // What is missing between is None, as in torch, but for an index that no list of leaves can have.
    const size_t at =
        index != nullptr && *index >= 0 && *index < (int64_t{1} << 24) ? static_cast<size_t>(*index) : items.size();
    items.resize(std::max(items.size(), at + 1));
    items[at] = ToValue(*child);
  }
  return Value::List(std::move(items));
}

}  // namespace

const std::vector<std::pair<Value, Value>>* MappingOf(const Value& value) {
  if (const Value::Dict* dict = value.dict()) {
    return &dict->items;
  }
  // Counter and its like are subclasses of dict.
  const Value::Object* object = value.object();
  return object != nullptr && object->made_by.module == "collections" ? &object->items : nullptr;
}

bool IsLeaf(const Value& value) {
  if (MappingOf(value) != nullptr) {
    return false;
  }
  const Value::Sequence* list = ListOf(value);
  return list == nullptr || std::ranges::all_of(list->items, [](const Value& item) {
           return item.tensor() == nullptr && (ListOf(item) == nullptr || IsLeaf(item)) && MappingOf(item) == nullptr;
         });
}

std::optional<std::string> KeyText(const Value& key) {
  const auto* text = key.get<std::string>();
  return text != nullptr ? std::optional(*text) : PythonText(key);
}

std::string JoinPath(const std::vector<PathStep>& path) {
  std::string name;
  for (const PathStep& step : path) {
    name += &step == &path.front() ? "" : ".";
    name += std::holds_alternative<int64_t>(step) ? fmt::format("{}", std::get<int64_t>(step))
                                                  : std::get<std::string>(step);
  }
  return name;
}

Result<std::vector<Leaf>> Flatten(const Value& root) {
  return Flattener().Run(root);
}

Value Unflatten(const std::vector<Leaf>& leaves) {
  Branch root;
  for (const Leaf& leaf : leaves) {
    Branch* branch = &root;
    for (size_t i = 0; i < leaf.path.size(); ++i) {
      if (std::holds_alternative<int64_t>(leaf.path[i]) && branch->children.empty()) {
        branch->is_list = true;
      }
      branch = &branch->Child(leaf.path[i]);
    }
    branch->leaf = leaf.value;
  }
  return ToValue(root);
}

bool IsPlainTree(const Value& root) {
  const Value::Dict* dict = root.dict();
  if (dict == nullptr) {
    const Value::Sequence* list = ListOf(root);
    return MappingOf(root) == nullptr &&
           (list == nullptr || IsLeaf(root) || std::ranges::all_of(list->items, IsPlainTree));
  }
  return !dict->ordered && dict->attributes == nullptr && !dict->items.empty() &&
         std::ranges::all_of(dict->items, [](const auto& item) {
           return item.first.template get<std::string>() != nullptr && IsPlainTree(item.second);
         });
}

}  // namespace assay::checkpoint
