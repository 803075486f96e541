#include "engine/comm/hierarchy/hierarchical_collectives.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

namespace assay::engine {
namespace {

/// Of 16-bit values that are held in float32 at a time.
constexpr int64_t kWideElements = int64_t{4} << 20;

bool is_rounded(const at::Tensor& values, ReduceOp op) {
  return values.element_size() == 2 && op != ReduceOp::kMax;
}

/// An average is a sum until it is complete.
ReduceOp partial(ReduceOp op) {
  return op == ReduceOp::kMax ? op : ReduceOp::kSum;
}

void scale(const at::Tensor& sums, double factor) {
  if (factor != 1.0) {
    sums.mul_(factor);
  }
}

/// While it lives, the calls of `groups` are steps of `call`.
class StepsOf {
 public:
  StepsOf(const Call& call, BaseCommunicator& intra, const std::vector<BaseCommunicator*>& inter) : groups_(inter) {
    groups_.push_back(&intra);
    set(&call);
  }
  StepsOf(const StepsOf&) = delete;
  StepsOf& operator=(const StepsOf&) = delete;
  ~StepsOf() { set(nullptr); }

 private:
  void set(const Call* call) {
    for (BaseCommunicator* group : groups_) {
      if (group != nullptr) {
        group->take_steps_of(call);
      }
    }
  }

  std::vector<BaseCommunicator*> groups_;
};

}  // namespace

HierarchicalCollectives::HierarchicalCollectives(NodeLayout layout, BaseCommunicator& intra,
                                                 std::vector<BaseCommunicator*> inter)
    : layout_(std::move(layout)), intra_(intra), inter_(std::move(inter)) {
  for (const std::vector<int>& ranks : layout_.nodes) {
    ranks_ += static_cast<int>(ranks.size());
  }
}

void HierarchicalCollectives::run(const Call& call) {
  const at::NoGradGuard no_grad;
  const StepsOf steps(call, intra_, inter_);
  label_ = call.label;
  dispatch(call);
}

void HierarchicalCollectives::dispatch(const Call& call) {
  switch (call.kind) {
    case CallKind::kAllGather:
      return all_gather(call);
    case CallKind::kReduceScatter:
      return reduce_scatter(call);
    case CallKind::kAllReduce:
      return all_reduce(call.full, call.op);
    case CallKind::kBroadcast:
      return broadcast(call.full, call.peer);
    default:
      return barrier();
  }
}

/// In the same order on all ranks, so that none waits for another in a circle.
void HierarchicalCollectives::exchange(const Slices& slices,
                                       const std::function<void(BaseCommunicator& owners, int slice)>& body) const {
  for (int slice = slices.first(); slice < slices.count; ++slice) {
    if (BaseCommunicator* owners = inter_[static_cast<size_t>(slice)]) {
      body(*owners, slice);
    }
  }
}

void HierarchicalCollectives::reduce_to_owners(const Slices& slices, ReduceOp op) {
  if (alone()) {
    return;
  }
  if (!one_slice_each()) {
    intra_.all_reduce(slices.buffer, op, label_)->wait();
    return;
  }
  if (slices.length() > 0) {
    const at::Tensor own = slices.even().narrow(0, layout_.local * slices.length(), slices.length());
    intra_.reduce_scatter(own, slices.even(), op, label_)->wait();
  }
  if (slices.rest().numel() > 0) {
    intra_.all_reduce(slices.rest(), op, label_)->wait();
  }
}

void HierarchicalCollectives::spread(const Slices& slices) {
  if (alone()) {
    return;
  }
  if (!one_slice_each()) {
    for (int slice = slices.first(); slice < slices.count; ++slice) {
      intra_.broadcast(slices.of(slice), layout_.owner(layout_.node, slice), label_)->wait();
    }
    return;
  }
  if (slices.length() > 0) {
    const at::Tensor own = slices.even().narrow(0, layout_.local * slices.length(), slices.length());
    intra_.all_gather(slices.even(), own, label_)->wait();
  }
  if (slices.rest().numel() > 0) {
    intra_.broadcast(slices.rest(), slices.count - 1, label_)->wait();
  }
}

void HierarchicalCollectives::all_reduce(const at::Tensor& buffer, ReduceOp op) {
  if (is_rounded(buffer, op)) {
    return all_reduce_rounded(buffer, op);
  }
  const Slices slices{.buffer = buffer, .count = layout_.slices};
  reduce_to_owners(slices, partial(op));
  exchange(slices, [&](BaseCommunicator& owners, int slice) {
    owners.all_reduce(slices.of(slice), partial(op), label_)->wait();
    scale(slices.of(slice), scale_of(op));
  });
  spread(slices);
}

/// Between machines go partial sums in float32 and rounded results.
void HierarchicalCollectives::all_reduce_rounded(const at::Tensor& buffer, ReduceOp op) {
  const int64_t unit = int64_t{1} * layout_.slices * layout_.machines();
  const int64_t most = std::max(kWideElements / unit * unit, unit);
  for (int64_t begin = 0; begin < buffer.numel(); begin += most) {
    const at::Tensor chunk = buffer.narrow(0, begin, std::min(most, buffer.numel() - begin));
    const int64_t padded = (chunk.numel() + unit - 1) / unit * unit;
    const Slices sums{.buffer = intra_.allocate(padded, at::kFloat), .count = layout_.slices};
    const Slices rounded{.buffer = intra_.allocate(padded, buffer.scalar_type()), .count = layout_.slices};
    sums.buffer.narrow(0, 0, chunk.numel()).copy_(chunk);
    sums.buffer.narrow(0, chunk.numel(), padded - chunk.numel()).zero_();
    reduce_to_owners(sums, ReduceOp::kSum);
    exchange(sums,
             [&](BaseCommunicator& owners, int slice) { round_slice(owners, sums.of(slice), rounded.of(slice), op); });
    spread(rounded);
    chunk.copy_(rounded.buffer.narrow(0, 0, chunk.numel()));
  }
}

void HierarchicalCollectives::round_slice(BaseCommunicator& owners, const at::Tensor& sums, const at::Tensor& rounded,
                                          ReduceOp op) const {
  const int64_t part = sums.numel() / owners.size();
  const at::Tensor own_sums = sums.narrow(0, owners.rank() * part, part);
  const at::Tensor own_rounded = rounded.narrow(0, owners.rank() * part, part);
  owners.reduce_scatter(own_sums, sums, ReduceOp::kSum, label_)->wait();
  scale(own_sums, scale_of(op));
  own_rounded.copy_(own_sums);
  owners.all_gather(rounded, own_rounded, label_)->wait();
}

void HierarchicalCollectives::reduce_scatter(const Call& call) {
  if (!layout_.regular) {
    all_reduce(call.full, call.op);
    const int64_t rank = layout_.nodes[static_cast<size_t>(layout_.node)][static_cast<size_t>(layout_.local)];
    const at::Tensor own = call.full.narrow(0, rank * call.shard.numel(), call.shard.numel());
    if (own.data_ptr() != call.shard.data_ptr()) {
      call.shard.copy_(own);
    }
  } else if (is_rounded(call.full, call.op)) {
    reduce_scatter_rounded(call);
  } else {
    reduce_scatter_regular(call.shard, call.full, call.op);
  }
}

/// Each machine sums up the parts of every machine's ranks; then the ranks at the same place of all machines share what
/// is theirs.
void HierarchicalCollectives::reduce_scatter_regular(const at::Tensor& shard, const at::Tensor& full, ReduceOp op) {
  const int64_t part = shard.numel();
  const int64_t machine_part = part * layout_.ranks_here();
  const at::Tensor sums = intra_.allocate(part * layout_.machines(), full.scalar_type());
  for (int machine = 0; machine < layout_.machines(); ++machine) {
    intra_
        .reduce_scatter(sums.narrow(0, machine * part, part), full.narrow(0, machine * machine_part, machine_part),
                        partial(op), label_)
        ->wait();
  }
  inter_[static_cast<size_t>(layout_.local)]->reduce_scatter(shard, sums, partial(op), label_)->wait();
  scale(shard, scale_of(op));
}

/// The same elements of every rank's part at a time, in float32.
void HierarchicalCollectives::reduce_scatter_rounded(const Call& call) {
  const int64_t part = call.shard.numel();
  const int64_t most = std::max<int64_t>(kWideElements / ranks_, 1);
  for (int64_t begin = 0; begin < part; begin += most) {
    const int64_t length = std::min(most, part - begin);
    const at::Tensor wide = intra_.allocate(ranks_ * length, at::kFloat);
    wide.view({ranks_, length}).copy_(call.full.view({ranks_, part}).narrow(1, begin, length));
    const at::Tensor sums = at::empty({length}, call.full.options().dtype(at::kFloat));
    reduce_scatter_regular(sums, wide, call.op);
    call.shard.narrow(0, begin, length).copy_(sums);
  }
}

void HierarchicalCollectives::all_gather(const Call& call) {
  if (layout_.regular) {
    all_gather_regular(call);
  } else {
    all_gather_by_machines(call);
  }
}

/// Ranks at the same place of all machines gather theirs, then each machine gathers what its ranks have of every one.
void HierarchicalCollectives::all_gather_regular(const Call& call) {
  const int64_t part = call.shard.numel();
  const int64_t machine_part = part * layout_.ranks_here();
  const at::Tensor gathered = intra_.allocate(part * layout_.machines(), call.full.scalar_type());
  inter_[static_cast<size_t>(layout_.local)]->all_gather(gathered, call.shard, label_)->wait();
  for (int machine = 0; machine < layout_.machines(); ++machine) {
    intra_
        .all_gather(call.full.narrow(0, machine * machine_part, machine_part), gathered.narrow(0, machine * part, part),
                    label_)
        ->wait();
  }
}

void HierarchicalCollectives::all_gather_by_machines(const Call& call) {
  const int64_t part = call.shard.numel();
  for (int machine = 0; machine < layout_.machines(); ++machine) {
    const std::vector<int>& ranks = layout_.nodes[static_cast<size_t>(machine)];
    const int64_t length = part * layout_.ranks_of(machine);
    const bool in_place = layout_.consecutive(machine);
    const at::Tensor parts =
        in_place ? call.full.narrow(0, ranks.front() * part, length) : intra_.allocate(length, call.full.scalar_type());
    if (machine == layout_.node) {
      intra_.all_gather(parts, call.shard, label_)->wait();
    }
    copy_from_machine(parts, machine);
    for (size_t place = 0; !in_place && place < ranks.size(); ++place) {
      call.full.narrow(0, ranks[place] * part, part).copy_(parts.narrow(0, static_cast<int64_t>(place) * part, part));
    }
  }
}

void HierarchicalCollectives::copy_from_machine(const at::Tensor& buffer, int machine) {
  const Slices slices{.buffer = buffer, .count = layout_.slices};
  exchange(slices,
           [&](BaseCommunicator& owners, int slice) { owners.broadcast(slices.of(slice), machine, label_)->wait(); });
  if (machine != layout_.node) {
    spread(slices);
  }
}

void HierarchicalCollectives::broadcast(const at::Tensor& buffer, int root) {
  const NodeLayout::Place from = layout_.place_of(root);
  if (from.machine == layout_.node && !alone()) {
    intra_.broadcast(buffer, from.local, label_)->wait();
  }
  copy_from_machine(buffer, from.machine);
}

void HierarchicalCollectives::barrier() {
  intra_.barrier(label_);
  if (BaseCommunicator* owners = inter_.front()) {
    owners->barrier(label_);
  }
  intra_.barrier(label_);
}

}  // namespace assay::engine
