// Collectives over several machines, made of those within each and those between them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/comm/base_communicator.h"
#include "engine/comm/call.h"
#include "engine/comm/hierarchy/node_layout.h"

namespace assay::engine {

/// Runs collectives of one rank, one at a time. An all-reduce reduces within each machine until every rank has the
/// machine's sum of its slice, all-reduces each slice between the machines' ranks that have it, and gathers within each
/// machine: what goes between machines is the buffer once for each machine, spread over all its ranks. The others
/// likewise. Sums are made in order of rank within a machine, then in order of machines, 16-bit ones in float32 all the
/// way and rounded once.
///
/// Where machines have unequally many ranks, those of smaller ones exchange several slices; reduce-scatter is an
/// all-reduce then, and all-gather sends the parts of one machine after the other.
class HierarchicalCollectives {
 public:
  /// `intra`: this machine's ranks of the group, in order. `inter`: by slice, the owners of it on all machines, in
  /// order of machines; null where this rank is none. Both run on the thread that calls, and outlive this.
  HierarchicalCollectives(NodeLayout layout, BaseCommunicator& intra, std::vector<BaseCommunicator*> inter);

  void run(const Call& call);

 private:
  void dispatch(const Call& call);
  void all_reduce(const at::Tensor& buffer, ReduceOp op);
  void all_reduce_rounded(const at::Tensor& buffer, ReduceOp op);
  void round_slice(BaseCommunicator& owners, const at::Tensor& sums, const at::Tensor& rounded, ReduceOp op) const;
  void reduce_scatter(const Call& call);
  void reduce_scatter_regular(const at::Tensor& shard, const at::Tensor& full, ReduceOp op);
  void reduce_scatter_rounded(const Call& call);
  void all_gather(const Call& call);
  void all_gather_regular(const Call& call);
  void all_gather_by_machines(const Call& call);
  void broadcast(const at::Tensor& buffer, int root);
  void barrier();

  /// Runs `body` for each slice that this rank owns.
  void exchange(const Slices& slices, const std::function<void(BaseCommunicator& owners, int slice)>& body) const;
  /// Brings this machine's sum (or maximum) of each slice to the slice's owner.
  void reduce_to_owners(const Slices& slices, ReduceOp op);
  /// Brings each slice from its owner to all ranks of this machine.
  void spread(const Slices& slices);
  /// A copy of `buffer` from `machine`, where all ranks have it, to all others.
  void copy_from_machine(const at::Tensor& buffer, int machine);
  /// What a sum over all ranks is multiplied with.
  double scale_of(ReduceOp op) const { return op == ReduceOp::kAverage ? 1.0 / ranks_ : 1.0; }
  bool alone() const { return layout_.ranks_here() == 1; }
  /// Whether each rank of this machine owns one slice.
  bool one_slice_each() const { return layout_.ranks_here() == layout_.slices; }

  NodeLayout layout_;
  int ranks_ = 0;
  BaseCommunicator& intra_;
  std::vector<BaseCommunicator*> inter_;
  std::string_view label_;  ///< of the call under way
};

}  // namespace assay::engine
