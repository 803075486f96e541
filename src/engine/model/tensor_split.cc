#include "engine/model/tensor_split.h"

#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string>

namespace assay::engine {
namespace {

/// The factors of an adapter beside the weight W [O, I] that they are added to, as B [O, r] A [r, I].
struct AdapterRule {
  std::string_view ending;
  TensorSplit beside_rows;
  TensorSplit beside_columns;
};

constexpr std::array kAdapterRules = {
    AdapterRule{".lora_A.weight", TensorSplit::kShared, TensorSplit::kColumns},
    AdapterRule{".lora_B.weight", TensorSplit::kRows, TensorSplit::kShared},
};

TensorSplit split_by_rules(SplitRules rules, std::string_view name) {
  const auto rule = std::ranges::find_if(rules, [&](const SplitRule& row) { return name.ends_with(row.ending); });
  return rule == rules.end() ? TensorSplit::kReplicated : rule->split;
}

/// The dimension that is cut; none where a rank has all or nothing.
std::optional<int64_t> cut_dimension(TensorSplit split) {
  switch (split) {
    case TensorSplit::kRows:
      return 0;
    case TensorSplit::kColumns:
      return 1;
    default:
      return std::nullopt;
  }
}

}  // namespace

TensorSplit split_of(SplitRules rules, std::string_view name) {
  const auto* adapter =
      std::ranges::find_if(kAdapterRules, [&](const auto& row) { return name.ends_with(row.ending); });
  if (adapter == kAdapterRules.end()) {
    return split_by_rules(rules, name);
  }
  const std::string path(name.substr(0, name.size() - adapter->ending.size()));
  const TensorSplit of_weight = split_by_rules(rules, path + ".weight");
  if (of_weight == TensorSplit::kReplicated) {
    return TensorSplit::kReplicated;
  }
  return of_weight == TensorSplit::kRows ? adapter->beside_rows : adapter->beside_columns;
}

std::vector<int64_t> part_shape(SplitRules rules, std::string_view name, std::vector<int64_t> whole, int64_t ranks) {
  if (const std::optional<int64_t> dim = cut_dimension(split_of(rules, name))) {
    int64_t& features = whole[static_cast<size_t>(*dim)];
    if (features % ranks != 0) {
      throw std::invalid_argument(
          fmt::format("{}: its {} features do not divide over {} tensor ranks", name, features, ranks));
    }
    features /= ranks;
  }
  return whole;
}

at::Tensor cut_for_rank(SplitRules rules, std::string_view name, const at::Tensor& whole, const TensorPlace& place,
                        bool in_place) {
  const TensorSplit split = split_of(rules, name);
  if (split == TensorSplit::kFirstRank && place.rank > 0) {
    return {};
  }
  const std::optional<int64_t> dim = cut_dimension(split);
  if (!dim || place.ranks == 1) {
    return whole;
  }
  const int64_t part = part_shape(rules, name, whole.sizes().vec(), place.ranks)[static_cast<size_t>(*dim)];
  const at::Tensor own = whole.narrow(*dim, place.rank * part, part);
  return in_place ? own.contiguous() : own.clone(at::MemoryFormat::Contiguous);
}

std::vector<int64_t> whole_shape(SplitRules rules, std::string_view name, std::vector<int64_t> part, int64_t ranks) {
  if (const std::optional<int64_t> dim = cut_dimension(split_of(rules, name))) {
    part[static_cast<size_t>(*dim)] *= ranks;
  }
  return part;
}

at::Tensor join_parts(SplitRules rules, std::string_view name, const std::vector<at::Tensor>& parts) {
  const std::optional<int64_t> dim = cut_dimension(split_of(rules, name));
  return !dim || parts.size() == 1 ? parts.front() : at::cat(parts, *dim);
}

}  // namespace assay::engine
