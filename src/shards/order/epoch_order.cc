#include "shards/order/epoch_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "base/text.h"
#include "shards/order/traversal.h"

namespace assay::shards {
namespace {

struct BatchingRow {
  std::string_view name;
  Batching batching;
  TraversalResult (*make)(const TraversalTask& task);
};

constexpr BatchingRow kBatchings[] = {
    {"random", Batching::kRandom, &MakeRandomTraversal},
    {"stratified", Batching::kStratified, &MakeStratifiedTraversal},
    {"per_stream", Batching::kPerStream, &MakePerStreamTraversal},
    {"device_per_stream", Batching::kDevicePerStream, &MakeDevicePerStreamTraversal},
};

const BatchingRow& RowOf(Batching batching) {
  return *std::ranges::find(kBatchings, batching, &BatchingRow::batching);
}

Status CheckAtLeast(std::string_view what, int64_t value, int64_t least) {
  constexpr int64_t kMost = int64_t{1} << 40;
  if (value >= least && value <= kMost) {
    return Status::Ok();
  }
  return Status::InvalidArgument(fmt::format("{} is {}: it is {} or more", what, value, least));
}

Status CheckWorld(const World& world) {
  ASSAY_RETURN_IF_ERROR(CheckAtLeast("the number of nodes", world.nodes, 1));
  ASSAY_RETURN_IF_ERROR(CheckAtLeast("the number of ranks a node", world.ranks_per_node, 1));
  return CheckAtLeast("the number of workers a rank", world.workers_per_rank, 1);
}

}  // namespace

std::string_view NameOf(Batching batching) {
  return RowOf(batching).name;
}

std::vector<std::string> BatchingNames() {
  std::vector<std::string> names;
  for (const BatchingRow& row : kBatchings) {
    names.emplace_back(row.name);
  }
  return names;
}

Result<Batching> ParseBatching(std::string_view name) {
  for (const BatchingRow& row : kBatchings) {
    if (row.name == name) {
      return row.batching;
    }
  }
  return Status::InvalidArgument(
      fmt::format("there is no batching '{}' (there are {})", name, Join(BatchingNames(), ", ")));
}

Result<OrderSettings> ResolveOrder(OrderSettings settings, const World& world) {
  ASSAY_RETURN_IF_ERROR(CheckWorld(world));
  ASSAY_RETURN_IF_ERROR(CheckAtLeast("the number of canonical nodes", settings.canonical_nodes, 0));
  // Shuffles keep something for each.
  constexpr int64_t kMostCanonicalNodes = int64_t{1} << 20;
  if (settings.canonical_nodes > kMostCanonicalNodes) {
    return Status::InvalidArgument(fmt::format("the number of canonical nodes is {}: {} are the most",
                                               settings.canonical_nodes, kMostCanonicalNodes));
  }
  ASSAY_RETURN_IF_ERROR(CheckAtLeast("the batch", settings.batch, 1));
  ASSAY_RETURN_IF_ERROR(CheckAtLeast("the shuffle block", settings.block, 0));
  ASSAY_RETURN_IF_ERROR(CheckAtLeast("the sampling granularity", settings.granularity, 1));
  ASSAY_RETURN_IF_ERROR(CheckAtLeast("the epoch size", settings.epoch_size, 0));
  if (settings.canonical_nodes == 0) {
    const bool by_shards = settings.shuffle == ShuffleAlgorithm::kPy1s || settings.shuffle == ShuffleAlgorithm::kPy2s;
    settings.canonical_nodes = by_shards ? 64 * world.nodes : world.nodes;
  }
  if (settings.block == 0) {
    settings.block = std::max<int64_t>(4'000'000 / settings.canonical_nodes, 1 << 18);
  }
  return settings;
}

Result<EpochOrder> EpochOrder::Make(std::span<const StreamShape> streams, const OrderSettings& settings,
                                    const World& world, const EpochPosition& position) {
  ASSAY_RETURN_IF_ERROR(CheckWorld(world));
  ASSAY_RETURN_IF_ERROR(CheckAtLeast("the sample to go on from", position.samples, 0));
  if (position.epoch > std::numeric_limits<uint64_t>::max() - settings.seed) {
    return Status::InvalidArgument("seed and epoch together need more than 64 bits");
  }
  ASSAY_ASSIGN_OR_RETURN(const StreamShares shares, ApplyWeights(streams, settings.epoch_size, settings.seed));
  const TraversalTask task{streams, shares, settings, world, position};
  ASSAY_ASSIGN_OR_RETURN(std::shared_ptr<const Traversal> traversal, RowOf(settings.batching).make(task));
  return EpochOrder(std::move(traversal), world, settings.batch);
}

int64_t EpochOrder::epoch_size() const {
  return traversal_->epoch_size();
}

int64_t EpochOrder::end() const {
  return traversal_->end();
}

int64_t EpochOrder::size() const {
  return traversal_->size();
}

int64_t EpochOrder::At(int64_t place) const {
  return traversal_->At(place);
}

}  // namespace assay::shards
