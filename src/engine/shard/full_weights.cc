#include "engine/shard/full_weights.h"

#include <ATen/core/grad_mode.h>

#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "engine/comm/gather_text.h"

namespace assay::engine {
namespace {

/// The whole of what `ranks` have equal parts of.
at::Tensor gather(const ShardContext& context, Communicator& ranks, const at::Tensor& part) {
  at::Tensor whole = context.allocate(part.numel() * ranks.size(), part.scalar_type());
  ranks.all_gather(whole, part.to(context.device), "full weights")->wait();
  return whole;
}

std::vector<std::string> names_of(const FlatLayout& layout) {
  std::vector<std::string> names;
  for (const FlatParameter& p : layout.parameters()) {
    names.push_back(p.name);
  }
  return names;
}

/// What comes together on the rank that wants it.
struct Result {
  std::optional<at::ScalarType> dtype;
  std::vector<NamedTensor> weights;

  void add(const std::string& name, const at::Tensor& tensor, bool copy) {
    const at::ScalarType wanted = dtype.value_or(tensor.scalar_type());
    weights.emplace_back(name, tensor.detach().to(at::kCPU, wanted, /*non_blocking=*/false, copy));
  }
};

void append(const std::vector<std::string>& names, const FlatLayout& layout, const at::Tensor& whole, Result& result) {
  for (size_t i = 0; i < names.size(); ++i) {
    const FlatParameter& p = layout.parameters()[i];
    result.add(names[i], whole.narrow(0, p.offset, p.elements).view(p.shape), /*copy=*/true);
  }
}

/// Experts of all ranks that divide them: those of `group` are `own` here.
void append_experts(const ShardContext& context, const FlatGroup& group, const at::Tensor& own, bool want,
                    Result& result) {
  const FlatLayout& layout = group.weights.layout();
  Communicator& ranks = *context.groups.experts;
  const std::vector<std::string> names = gather_text(ranks, Join(names_of(layout), "\n"), "names of experts");
  const at::Tensor all = gather(context, ranks, own);
  for (int rank = 0; want && rank < ranks.size(); ++rank) {
    append(Split(names[static_cast<size_t>(rank)], '\n'), layout,
           all.narrow(0, rank * layout.elements(), layout.elements()), result);
  }
}

/// Frozen ones that were left where they were.
void append_untouched(const ShardUnit& unit, Result& result) {
  for (const ParameterRef& p : unit.untouched) {
    result.add(p.name, *p.tensor, /*copy=*/false);
  }
}

}  // namespace

std::vector<NamedTensor> full_weights(ShardEngine& engine, bool want, WeightKinds kinds,
                                      std::optional<at::ScalarType> dtype) {
  const at::NoGradGuard no_grad;
  const ShardContext& context = engine.context();
  const bool frozen_too = kinds == WeightKinds::kAll;
  Result result{.dtype = dtype, .weights = {}};
  for (const auto& unit : engine.units()) {
    if (want && frozen_too) {
      append_untouched(*unit, result);
    }
    for (const auto& group : unit->groups) {
      if (!group->weights.trainable() && !frozen_too) {
        continue;
      }
      const FlatLayout& layout = group->weights.layout();
      const at::Tensor shard = group->weights.resting_shard();
      const at::Tensor whole = layout.ranks() == 1 ? shard : gather(context, *group->weights.ranks().shard, shard);
      if (group->expert) {
        append_experts(context, *group, whole, want, result);
      } else if (want) {
        append(names_of(layout), layout, whole, result);
      }
    }
  }
  return result.weights;
}

}  // namespace assay::engine
