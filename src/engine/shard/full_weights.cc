#include "engine/shard/full_weights.h"

#include <ATen/core/grad_mode.h>

namespace assay::engine {
namespace {

/// The whole of what the ranks have shards of.
at::Tensor whole_of(const ShardContext& context, const FlatLayout& layout, const at::Tensor& shard) {
  if (layout.ranks() == 1) {
    return shard;
  }
  at::Tensor whole = context.allocate(layout.elements(), shard.scalar_type());
  context.groups.shard->all_gather(whole, shard.to(context.device), "full weights")->wait();
  return whole;
}

}  // namespace

std::vector<NamedTensor> full_weights(ShardEngine& engine, bool want) {
  const at::NoGradGuard no_grad;
  std::vector<NamedTensor> result;
  for (const auto& unit : engine.units()) {
    for (const auto& group : unit->groups) {
      const FlatLayout& layout = group->weights.layout();
      const at::Tensor whole = whole_of(engine.context(), layout, group->weights.resting_shard());
      for (const FlatParameter& p : layout.parameters()) {
        if (want) {
          const at::Tensor part = whole.narrow(0, p.offset, p.elements).view(p.shape);
          result.emplace_back(p.name, part.to(part.options().device(at::kCPU), false, /*copy=*/true));
        }
      }
    }
  }
  return result;
}

}  // namespace assay::engine
