#include "shards/order/traversal.h"

#include <fmt/format.h>

namespace assay::shards {

SampledEpoch TraversalTask::Sample(size_t begin, size_t end) const {
  const SamplingSettings sampling{.seed = settings.seed,
                                  .epoch = position.epoch,
                                  .balanced = settings.balanced_sampling,
                                  .shuffle = settings.shuffle.has_value(),
                                  .granularity = settings.granularity};
  return SampleStreams(streams, shares.choose, begin, end, sampling);
}

Result<StreamOrder> StreamOrder::Make(const TraversalTask& task, SampledEpoch sampled, const Partition& partition,
                                      int64_t block) {
  StreamOrder order(std::move(sampled), partition);
  if (task.settings.shuffle) {
    const ShuffleTask shuffle{.units = order.sampled_.units,
                              .canonical_nodes = task.settings.canonical_nodes,
                              .seed = task.settings.seed,
                              .epoch = task.position.epoch,
                              .block = block};
    ASSAY_ASSIGN_OR_RETURN(order.order_, Shuffle(*task.settings.shuffle, shuffle));
  }
  return order;
}

Result<Partition> MakePartition(const TraversalTask& task, int64_t samples, const World& world, int64_t batch,
                                int64_t drop_first) {
  PartitionSpec spec{samples, task.settings.canonical_nodes, world, batch, drop_first};
  const int64_t canonical = spec.canonical_nodes;
  const bool divides = canonical % world.nodes == 0 || world.nodes % canonical == 0;
  const int64_t initial = task.position.initial_nodes;
  if (!task.settings.relaxed_partition || initial == 0 || divides) {
    return Partition::Make(spec);
  }
  // As it began: places are the same, whoever takes them.
  const int64_t global_batch = world.ranks() * batch;
  const int64_t initial_ranks = initial * world.ranks_per_node;
  if (global_batch % initial_ranks != 0) {
    return Status::InvalidArgument(
        fmt::format("a global batch of {} samples was not that of the {} ranks that began: keep the global batch",
                    global_batch, initial_ranks));
  }
  spec.world.nodes = initial;
  spec.batch = global_batch / initial_ranks;
  return Partition::Make(spec);
}

namespace {

/// All streams as one.
class RandomTraversal final : public EpochOrder::Traversal {
 public:
  RandomTraversal(StreamOrder order, int64_t epoch_size) : order_(std::move(order)), epoch_size_(epoch_size) {}

  int64_t epoch_size() const override { return epoch_size_; }
  int64_t end() const override { return order_.partition().dealt(); }
  int64_t size() const override { return order_.partition().size(); }
  int64_t At(int64_t place) const override { return order_.At(place); }

 private:
  StreamOrder order_;
  int64_t epoch_size_;
};

}  // namespace

TraversalResult MakeRandomTraversal(const TraversalTask& task) {
  ASSAY_ASSIGN_OR_RETURN(const Partition partition, MakePartition(task, task.shares.epoch_size, task.world,
                                                                  task.settings.batch, task.position.samples));
  ASSAY_ASSIGN_OR_RETURN(StreamOrder order,
                         StreamOrder::Make(task, task.Sample(0, task.streams.size()), partition, task.settings.block));
  return std::shared_ptr<const EpochOrder::Traversal>(
      std::make_shared<RandomTraversal>(std::move(order), task.shares.epoch_size));
}

}  // namespace assay::shards
