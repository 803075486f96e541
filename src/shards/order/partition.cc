#include "shards/order/partition.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay::shards {
namespace {

int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

Status CheckNodes(const PartitionSpec& spec) {
  const int64_t canonical = spec.canonical_nodes;
  const int64_t physical = spec.world.nodes;
  if (canonical % physical == 0 || physical % canonical == 0) {
    return Status::Ok();
  }
  return Status::InvalidArgument(fmt::format(
      "{} canonical nodes cannot be dealt to {} nodes: one must be a multiple of the other", canonical, physical));
}

}  // namespace

Partition::Partition(const PartitionSpec& spec)
    : samples_(spec.samples),
      canonical_nodes_(spec.canonical_nodes),
      world_(spec.world),
      batch_(spec.batch),
      dropped_(spec.drop_first - spec.drop_first % spec.world.nodes),
      per_canonical_((samples_ + canonical_nodes_ - 1) / canonical_nodes_) {
  if (canonical_nodes_ < world_.nodes) {
    node_ratio_ = world_.nodes / canonical_nodes_;
    padding_ = RoundUp(per_canonical_, node_ratio_) - per_canonical_;
  }
  repeats_all_ = samples_ < canonical_nodes_ || (samples_ == canonical_nodes_ && canonical_nodes_ < world_.nodes);
  per_node_ = std::max<int64_t>(dealt() - dropped_, 0) / world_.nodes;
  missing_ = RoundUp(per_node_, world_.ranks_per_node) - per_node_;
  per_rank_ = (per_node_ + missing_) / world_.ranks_per_node;
  batches_ = RoundUp(per_rank_, world_.workers_per_rank * batch_) / batch_;
}

Result<Partition> Partition::Make(const PartitionSpec& spec) {
  ASSAY_RETURN_IF_ERROR(CheckNodes(spec));
  if (spec.samples < 1) {
    return Status::InvalidArgument("there are no samples to deal to ranks");
  }
  const int64_t ranks = spec.world.ranks();
  const Partition partition(spec);
  // A state counts whole rounds of all ranks, of the world that it was saved in: with its last, batches of this one.
  const int64_t end =
      std::max(spec.samples + ranks - spec.samples % ranks, RoundUp(partition.dealt(), ranks * spec.batch));
  if (end < spec.drop_first) {
    return Status::InvalidArgument(
        fmt::format("sample {} of an epoch of {} cannot be gone on from", spec.drop_first, spec.samples));
  }
  const bool has_source = partition.per_canonical_ >= partition.padding_ + partition.node_ratio_ - 1;
  if (partition.padding_ > 0 && !partition.repeats_all_ && !has_source) {
    return Status::InvalidArgument(
        fmt::format("{} samples are too few for {} nodes that share {} canonical ones: take more canonical nodes",
                    spec.samples, spec.world.nodes, spec.canonical_nodes));
  }
  return partition;
}

int64_t Partition::OfCanonicalNode(int64_t node, int64_t index) const {
  if (repeats_all_) {
    return (node * (per_canonical_ + padding_) + index) % samples_;
  }
  if (index >= per_canonical_) {
    index -= node_ratio_ - 1 + padding_;
  }
  const int64_t begin = node * samples_ / canonical_nodes_;
  const int64_t end = (node + 1) * samples_ / canonical_nodes_;
  const bool repeats_last = index == per_canonical_ - 1 && end - begin < per_canonical_;
  return begin + index - (repeats_last ? 1 : 0);
}

int64_t Partition::At(int64_t place) const {
  const int64_t rank = place / batch_ % world_.ranks();
  const int64_t of_rank = place / (batch_ * world_.ranks()) * batch_ + place % batch_;
  if (of_rank >= per_rank_) {
    return -1;
  }
  const int64_t node = rank / world_.ranks_per_node;
  int64_t of_node = of_rank * world_.ranks_per_node + rank % world_.ranks_per_node;
  if (of_node >= per_node_) {  // the ranks that lack one repeat others' last
    const bool enough = world_.ranks_per_node + missing_ - 1 <= per_node_;
    of_node = enough ? of_node - world_.ranks_per_node - missing_ + 1 : (of_node - per_node_) % per_node_;
  }
  const int64_t dealt = dropped_ + of_node * world_.nodes + node;
  return OfCanonicalNode(dealt % canonical_nodes_, dealt / canonical_nodes_);
}

}  // namespace assay::shards
