// Batching methods that know streams: stratified, per_stream, device_per_stream.
//
// Each begins with one order a stream, whose places it gives to batches. What is left of a stream when it fills no
// batch any more is dropped, as streaming does; a run goes on at the beginning of a global batch.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "shards/order/generator.h"
#include "shards/order/traversal.h"

namespace assay::shards {
namespace {

/// A batch, or a rank's: `index` is its number among those of its stream.
struct StreamBatch {
  uint32_t stream = 0;
  uint32_t index = 0;
};

/// Places in rows of a global batch each, some of which were had already.
class RowTraversal : public EpochOrder::Traversal {
 public:
  explicit RowTraversal(const TraversalTask& task)
      : global_batch_(task.global_batch()),
        workers_(task.world.workers_per_rank),
        first_row_(task.position.samples / global_batch_) {}

  int64_t epoch_size() const final { return samples_; }
  int64_t end() const final { return rows_ * global_batch_; }
  int64_t size() const final {
    const int64_t rows = std::max<int64_t>(rows_ - first_row_, 0);
    return (rows + workers_ - 1) / workers_ * workers_ * global_batch_;
  }
  int64_t At(int64_t place) const final {
    const int64_t row = first_row_ + place / global_batch_;
    return row < rows_ ? InRow(row, place % global_batch_) : -1;
  }

 protected:
  virtual int64_t InRow(int64_t row, int64_t column) const = 0;

  const int64_t global_batch_;
  int64_t rows_ = 0;     // from the beginning of the epoch
  int64_t samples_ = 0;  // likewise, without padding

 private:
  const int64_t workers_;
  const int64_t first_row_;
};

/// The stream's part of the shuffle block.
int64_t BlockOf(const TraversalTask& task, size_t stream) {
  return static_cast<int64_t>(static_cast<double>(task.settings.block) * task.shares.proportion[stream]);
}

/// One order a stream, over `world` in batches of `batch`.
Result<std::vector<StreamOrder>> MakeStreamOrders(const TraversalTask& task, const World& world, int64_t batch) {
  std::vector<StreamOrder> orders;
  for (size_t stream = 0; stream < task.streams.size(); ++stream) {
    const auto named = [&](const Status& status) {
      return status.WithContext(fmt::format("stream '{}'", task.streams[stream].name));
    };
    SampledEpoch sampled = task.Sample(stream, stream + 1);
    const auto partition = MakePartition(task, sampled.samples, world, batch, 0);
    if (!partition.ok()) {
      return named(partition.status());
    }
    auto order = StreamOrder::Make(task, std::move(sampled), *partition, BlockOf(task, stream));
    if (!order.ok()) {
      return named(order.status());
    }
    orders.push_back(*std::move(order));
  }
  return orders;
}

/// `counts` batches of each stream in random order; those of a stream keep theirs.
std::vector<StreamBatch> MixBatches(std::span<const int64_t> counts, Generator& generator) {
  std::vector<StreamBatch> batches;
  for (size_t stream = 0; stream < counts.size(); ++stream) {
    batches.insert(batches.end(), static_cast<size_t>(counts[stream]), {static_cast<uint32_t>(stream), 0});
  }
  generator.Shuffle(batches);
  std::vector<uint32_t> next(counts.size());
  for (StreamBatch& batch : batches) {
    batch.index = next[batch.stream]++;
  }
  return batches;
}

Generator MixingGenerator(const TraversalTask& task) {
  const bool by_epoch = task.settings.shuffle && task.settings.balanced_sampling;
  return Generator(task.settings.seed + (by_epoch ? task.position.epoch : 0));
}

Status TooSmall(const TraversalTask& task, size_t stream, std::string_view what, int64_t batch) {
  return Status::InvalidArgument(fmt::format("stream '{}' has too few samples for {} of {}: make the batch smaller",
                                             task.streams[stream].name, what, batch));
}

/// device_per_stream refuses a block that leaves a stream none, whatever the shuffle.
Status CheckBlocks(const TraversalTask& task) {
  for (size_t stream = 0; task.settings.shuffle && stream < task.streams.size(); ++stream) {
    if (BlockOf(task, stream) == 0) {
      return Status::InvalidArgument(
          fmt::format("of a shuffle block of {} stream '{}' has no sample: make the block or its proportion larger",
                      task.settings.block, task.streams[stream].name));
    }
  }
  return Status::Ok();
}

/// Of each global batch, each stream has a fixed part.
class StratifiedTraversal final : public RowTraversal {
 public:
  StratifiedTraversal(const TraversalTask& task, std::vector<StreamOrder> orders, std::span<const int64_t> portions)
      : RowTraversal(task), orders_(std::move(orders)) {
    rows_ = std::numeric_limits<int64_t>::max();
    for (size_t stream = 0; stream < orders_.size(); ++stream) {
      const int64_t samples = orders_[stream].partition().per_rank() * task.world.ranks_per_node;
      rows_ = std::min(rows_, samples / portions[stream]);
      for (int64_t i = 0; i < portions[stream]; ++i) {
        columns_.push_back({static_cast<uint32_t>(stream), static_cast<uint32_t>(i)});
      }
    }
    portions_.assign(portions.begin(), portions.end());
    samples_ = rows_ * global_batch_;
  }

 private:
  int64_t InRow(int64_t row, int64_t column) const override {
    const StreamBatch& at = columns_[static_cast<size_t>(column)];
    return orders_[at.stream].At(row * portions_[at.stream] + at.index);
  }

  std::vector<StreamOrder> orders_;
  std::vector<int64_t> portions_;
  std::vector<StreamBatch> columns_;
};

/// Samples of each stream in a global batch: what rounding down leaves goes where it took most.
Result<std::vector<int64_t>> PortionsOf(const TraversalTask& task) {
  const auto batch = static_cast<double>(task.global_batch());
  std::vector<int64_t> portions;
  std::vector<double> lost;
  for (const double proportion : task.shares.proportion) {
    portions.push_back(static_cast<int64_t>(proportion * batch));
    lost.push_back(batch * proportion - static_cast<double>(portions.back()));
  }
  std::vector<size_t> by_loss(portions.size());
  std::iota(by_loss.begin(), by_loss.end(), size_t{0});
  std::ranges::stable_sort(by_loss, {}, [&](size_t stream) { return lost[stream]; });
  int64_t left = task.global_batch() - std::accumulate(portions.begin(), portions.end(), int64_t{0});
  for (auto stream = by_loss.rbegin(); stream != by_loss.rend() && left > 0; ++stream, --left) {
    ++portions[*stream];
  }
  for (size_t stream = 0; stream < portions.size(); ++stream) {
    if (portions[stream] < 1) {
      return Status::InvalidArgument(
          fmt::format("stream '{}' has no sample in a global batch of {}: make the batch or its proportion larger",
                      task.streams[stream].name, task.global_batch()));
    }
  }
  return portions;
}

/// Each global batch is of one stream.
class PerStreamTraversal final : public RowTraversal {
 public:
  PerStreamTraversal(const TraversalTask& task, std::vector<StreamOrder> orders, std::vector<StreamBatch> batches)
      : RowTraversal(task), orders_(std::move(orders)), batches_(std::move(batches)) {
    rows_ = static_cast<int64_t>(batches_.size());
    samples_ = rows_ * global_batch_;
  }

 private:
  int64_t InRow(int64_t row, int64_t column) const override {
    const StreamBatch& batch = batches_[static_cast<size_t>(row)];
    return orders_[batch.stream].At(batch.index * global_batch_ + column);
  }

  std::vector<StreamOrder> orders_;
  std::vector<StreamBatch> batches_;
};

/// Each rank's batch is of one stream; nodes have batches of their own canonical nodes, taken in turn.
class DevicePerStreamTraversal final : public RowTraversal {
 public:
  DevicePerStreamTraversal(const TraversalTask& task, std::vector<StreamOrder> orders,
                           std::vector<std::vector<StreamBatch>> batches)
      : RowTraversal(task),
        orders_(std::move(orders)),
        batches_(std::move(batches)),
        batch_(task.settings.batch),
        ranks_per_node_(task.world.ranks_per_node),
        canonical_nodes_(task.settings.canonical_nodes) {
    size_t most = 0;
    for (const std::vector<StreamBatch>& of_node : batches_) {
      most = std::max(most, of_node.size());
      samples_ += static_cast<int64_t>(of_node.size()) * batch_;
    }
    const int64_t ranks = task.world.ranks();
    const int64_t of_node = static_cast<int64_t>(most) / ranks * ranks + ranks;  // one row too many, as streaming has
    rows_ = of_node * task.world.nodes / ranks;
  }

 private:
  int64_t InRow(int64_t row, int64_t column) const override {
    const auto nodes = static_cast<int64_t>(batches_.size());
    const int64_t batch = (row * global_batch_ + column) / batch_;
    const int64_t node = batch % nodes;
    const std::vector<StreamBatch>& own = batches_[static_cast<size_t>(node)];
    if (batch / nodes >= static_cast<int64_t>(own.size())) {
      return -1;
    }
    const StreamBatch& at = own[static_cast<size_t>(batch / nodes)];
    const int64_t sample = at.index * batch_ + column % batch_;  // of the stream and the node
    const int64_t own_ranks = canonical_nodes_ / nodes * ranks_per_node_;
    const int64_t all_ranks = canonical_nodes_ * ranks_per_node_;
    return orders_[at.stream].At(sample / own_ranks * all_ranks + node * own_ranks + sample % own_ranks);
  }

  std::vector<StreamOrder> orders_;
  std::vector<std::vector<StreamBatch>> batches_;  // of each node
  int64_t batch_;
  int64_t ranks_per_node_;
  int64_t canonical_nodes_;
};

}  // namespace

TraversalResult MakeStratifiedTraversal(const TraversalTask& task) {
  World world = task.world;
  world.nodes = 1;
  ASSAY_ASSIGN_OR_RETURN(const std::vector<int64_t> portions, PortionsOf(task));
  ASSAY_ASSIGN_OR_RETURN(std::vector<StreamOrder> orders, MakeStreamOrders(task, world, 1));
  return std::shared_ptr<const EpochOrder::Traversal>(
      std::make_shared<StratifiedTraversal>(task, std::move(orders), portions));
}

TraversalResult MakePerStreamTraversal(const TraversalTask& task) {
  ASSAY_ASSIGN_OR_RETURN(std::vector<StreamOrder> orders, MakeStreamOrders(task, task.world, task.settings.batch));
  std::vector<int64_t> counts;
  for (size_t stream = 0; stream < orders.size(); ++stream) {
    const Partition& partition = orders[stream].partition();
    counts.push_back(partition.full_batches());
    if (counts.back() < 1) {
      return TooSmall(task, stream, "one global batch", task.global_batch());
    }
  }
  Generator generator = MixingGenerator(task);
  std::vector<StreamBatch> batches = MixBatches(counts, generator);
  return std::shared_ptr<const EpochOrder::Traversal>(
      std::make_shared<PerStreamTraversal>(task, std::move(orders), std::move(batches)));
}

TraversalResult MakeDevicePerStreamTraversal(const TraversalTask& task) {
  const int64_t canonical = task.settings.canonical_nodes;
  if (canonical % task.world.nodes != 0) {
    return Status::InvalidArgument(fmt::format(
        "device_per_stream deals {} canonical nodes to {} nodes: they must divide", canonical, task.world.nodes));
  }
  ASSAY_RETURN_IF_ERROR(CheckBlocks(task));
  World world = task.world;
  world.nodes = canonical;
  ASSAY_ASSIGN_OR_RETURN(std::vector<StreamOrder> orders, MakeStreamOrders(task, world, 1));
  std::vector<int64_t> counts;
  for (size_t stream = 0; stream < orders.size(); ++stream) {
    const int64_t of_node = canonical / task.world.nodes * world.ranks_per_node * orders[stream].partition().per_rank();
    counts.push_back(of_node / task.settings.batch);
    if (counts.back() < 1) {
      return TooSmall(task, stream, "one batch of a rank", task.settings.batch);
    }
  }
  Generator generator = MixingGenerator(task);
  std::vector<std::vector<StreamBatch>> batches;
  for (int64_t node = 0; node < task.world.nodes; ++node) {
    batches.push_back(MixBatches(counts, generator));
  }
  return std::shared_ptr<const EpochOrder::Traversal>(
      std::make_shared<DevicePerStreamTraversal>(task, std::move(orders), std::move(batches)));
}

}  // namespace assay::shards
