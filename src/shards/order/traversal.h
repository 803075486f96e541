// The ways to fill the places of an epoch, one a batching method.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "shards/order/epoch_order.h"

namespace assay::shards {

/// What a traversal is made for; settings are resolved.
struct TraversalTask {
  std::span<const StreamShape> streams;
  const StreamShares& shares;
  const OrderSettings& settings;
  World world;
  EpochPosition position;

  int64_t global_batch() const { return world.ranks() * settings.batch; }
  /// Of streams [begin, end).
  SampledEpoch Sample(size_t begin, size_t end) const;
};

class EpochOrder::Traversal {
 public:
  virtual ~Traversal() = default;
  virtual int64_t epoch_size() const = 0;
  virtual int64_t end() const = 0;
  virtual int64_t size() const = 0;
  virtual int64_t At(int64_t place) const = 0;
};

/// The samples of one stream, or of all as one, in the order of the epoch.
class StreamOrder {
 public:
  /// `partition` deals the samples of `sampled`; `block` is the stream's part of the block.
  static Result<StreamOrder> Make(const TraversalTask& task, SampledEpoch sampled, const Partition& partition,
                                  int64_t block);

  const Partition& partition() const { return partition_; }
  /// The sample at a place of the partition, -1 for padding.
  int64_t At(int64_t place) const {
    const int64_t dealt = partition_.At(place);
    if (dealt < 0) {
      return -1;
    }
    return sampled_.IdOf(order_.empty() ? static_cast<uint32_t>(dealt) : order_[static_cast<size_t>(dealt)]);
  }

 private:
  StreamOrder(SampledEpoch sampled, const Partition& partition) : sampled_(std::move(sampled)), partition_(partition) {}

  SampledEpoch sampled_;
  std::vector<uint32_t> order_;  // empty: as they stand
  Partition partition_;
};

/// The partition that the settings ask for: `orig`, or `relaxed`, which goes on as the initial nodes would have.
Result<Partition> MakePartition(const TraversalTask& task, int64_t samples, const World& world, int64_t batch,
                                int64_t drop_first);

using TraversalResult = Result<std::shared_ptr<const EpochOrder::Traversal>>;
TraversalResult MakeRandomTraversal(const TraversalTask& task);
TraversalResult MakeStratifiedTraversal(const TraversalTask& task);
TraversalResult MakePerStreamTraversal(const TraversalTask& task);
TraversalResult MakeDevicePerStreamTraversal(const TraversalTask& task);

}  // namespace assay::shards
