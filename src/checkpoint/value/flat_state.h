// State dicts as flat lists of named tensors and values, by the rules of torch.distributed.checkpoint, and back.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "checkpoint/value/value.h"

namespace assay::checkpoint {

/// A key of a dict, or a place in a list.
using PathStep = std::variant<std::string, int64_t>;

/// A tensor, or a value that no further dict or list with tensors is in.
struct Leaf {
  std::string name{};  ///< the steps of the path, joined by dots
  std::vector<PathStep> path{};
  Value value{};
};

/// The name of the only leaf of a root that is no dict.
inline constexpr char kRootLeaf[] = "value";

/// Leaves in order. As traverse_state_dict of torch (distributed/checkpoint/_traverse.py) has it: dicts are always gone
/// into, lists where they hold tensors or dicts, and keys of dicts become texts. InvalidArgument where two leaves get
/// one name, or a key can be no text. A root that is no dict is one leaf.
Result<std::vector<Leaf>> Flatten(const Value& root);

/// Dicts and lists along the leaves' paths, as torch's set_element makes them.
Value Unflatten(const std::vector<Leaf>& leaves);

/// The items of what is a mapping in Python; null for others.
const std::vector<std::pair<Value, Value>>* MappingOf(const Value& value);
/// Whether Flatten() goes no further than `value`.
bool IsLeaf(const Value& value);
/// A key as a step: str() of it; nothing for those whose text would not tell them apart from others.
std::optional<std::string> KeyText(const Value& key);
std::string JoinPath(const std::vector<PathStep>& path);

/// Whether Unflatten() of the leaves makes the same again: only plain dicts with texts as keys, none of them empty, and
/// lists.
bool IsPlainTree(const Value& root);

}  // namespace assay::checkpoint
