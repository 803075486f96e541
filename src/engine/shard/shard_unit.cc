#include "engine/shard/shard_unit.h"

#include <algorithm>
#include <map>
#include <utility>

namespace assay::engine {
namespace {

/// Frozen weights that every rank keeps whole, as they were given, need no copy: they may be pages of a file that all
/// ranks of a machine have mapped.
bool stays_untouched(const ShardContext& context, const ParameterRef& parameter, const UnitPlacement& placement) {
  const ShardPolicy& policy = context.policy;
  const at::Tensor& tensor = *parameter.tensor;
  const bool whole = policy.keep_weights || (policy.split == SplitOver::kNobody && !placement.offload_parameters);
  const bool as_given = policy.param_dtype.value_or(tensor.scalar_type()) == tensor.scalar_type();
  return !tensor.requires_grad() && whole && as_given && !policy.gather_float8 &&
         !FlatGroup::is_divided(context, parameter);
}

}  // namespace

ShardUnit::ShardUnit(ShardContext& context, const StoredUnit& unit, const UnitPlacement& placement)
    : name(unit.name), readers(unit.readers), shared(unit.shared) {
  std::map<FlatKind, std::vector<ParameterRef>> by_kind;
  for (const ParameterRef& p : unit.parameters) {
    if (stays_untouched(context, p, placement)) {
      context.ledger.add(MemoryKind::kParameters, static_cast<int64_t>(p.tensor->nbytes()));
      untouched.push_back(p);
      continue;
    }
    by_kind[flat_kind(context, p)].push_back(p);
  }
  for (const auto& [kind, parameters] : by_kind) {
    groups.push_back(std::make_unique<FlatGroup>(context, name, parameters, placement, unit.elements));
    trainable += std::get<0>(kind) ? 0 : static_cast<int64_t>(parameters.size());
  }
}

void ShardUnit::begin_gather() {
  for (const auto& group : groups) {
    group->weights.begin_gather();
  }
}

void ShardUnit::wait_gather() {
  for (const auto& group : groups) {
    group->weights.begin_gather();
    group->weights.wait_gather();
  }
}

void ShardUnit::release() {
  for (const auto& group : groups) {
    group->weights.release();
  }
}

bool ShardUnit::released() const {
  return std::ranges::any_of(groups, [](const auto& group) { return group->weights.released(); });
}

int64_t ShardUnit::releasable_bytes() const {
  int64_t bytes = 0;
  for (const auto& group : groups) {
    bytes += group->weights.kept() ? 0 : group->weights.gathered_bytes();
  }
  return bytes;
}

void ShardUnit::expect_gradients() {
  gradients_missing = trainable;
  reducible = false;
  for (const auto& group : groups) {
    if (group->gradients != nullptr) {
      group->gradients->open();
    }
  }
}

}  // namespace assay::engine
