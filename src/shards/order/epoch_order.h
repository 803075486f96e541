// The order of an epoch's samples over any number of ranks: a function of settings, epoch and place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "shards/order/partition.h"
#include "shards/order/sampling.h"
#include "shards/order/shuffle.h"

namespace assay::shards {

/// What a batch is made of where there are several streams.
enum class Batching {
  kRandom,           ///< samples of any
  kStratified,       ///< of each its proportion, in every global batch
  kPerStream,        ///< a global batch of one
  kDevicePerStream,  ///< a rank's batch of one
};

std::string_view NameOf(Batching batching);
Result<Batching> ParseBatching(std::string_view name);
std::vector<std::string> BatchingNames();

/// All that decides the order besides the shards, the epoch and the world. Zero where a documented rule decides.
struct OrderSettings {
  std::optional<ShuffleAlgorithm> shuffle = ShuffleAlgorithm::kPy1e;  ///< nothing: in order of the shards
  uint64_t seed = 9176;
  /// Samples over which py1br and py1e mix; 0: 4,000,000 / canonical nodes, but 2^18 at least.
  int64_t block = 0;
  /// 0: the nodes; of py1s and py2s 64 times as many.
  int64_t canonical_nodes = 0;
  int64_t batch = 1;  ///< samples of a rank
  Batching batching = Batching::kRandom;
  bool balanced_sampling = true;  ///< else "fixed": SamplingSettings::balanced
  int64_t granularity = 1;
  bool relaxed_partition = true;  ///< any number of nodes may go on; else ("orig") those that divide
  int64_t epoch_size = 0;         ///< samples of an epoch; 0: by the weights
};

/// `settings` with what its rules come to for `world`. Refuses what has no meaning.
Result<OrderSettings> ResolveOrder(OrderSettings settings, const World& world);

struct EpochPosition {
  uint64_t epoch = 0;
  int64_t samples = 0;  ///< of the epoch that all ranks together have had
  /// Machines that the run began with; 0: it begins here.
  int64_t initial_nodes = 0;
};

/// The samples of an epoch from a position on, as generate_work() of mosaicml-streaming 0.13 gives them: places as
/// Partition numbers them, of resolved settings. A copy shares all state; immutable, safe from several threads.
///
/// It takes 4 bytes a sample, and 4 more where samples repeat or are left out; making it takes about twice that.
class EpochOrder {
 public:
  /// Refuses, in one line, what streaming refuses: nodes that do not divide, weights that contradict, streams too small
  /// for a batch, blocks too small, positions behind the end.
  static Result<EpochOrder> Make(std::span<const StreamShape> streams, const OrderSettings& settings,
                                 const World& world, const EpochPosition& position);

  /// Samples of an epoch from its beginning, padding left out.
  int64_t epoch_size() const;
  /// The position behind all of them: where canonical nodes repeat samples, behind these too.
  int64_t end() const;
  /// Places, padding included: the same number for each rank.
  int64_t size() const;
  /// The sample at `place`, numbered over all streams; -1 for padding, which only follows a rank's last sample.
  int64_t At(int64_t place) const;

  int64_t per_rank() const { return size() / world_.ranks(); }
  /// Sample `index` of `rank`, in the order in which a loader takes batches from its workers in turn.
  int64_t OfRank(int64_t rank, int64_t index) const { return At(PlaceOf(rank, index)); }
  int64_t PlaceOf(int64_t rank, int64_t index) const {
    return (index / batch_ * world_.ranks() + rank) * batch_ + index % batch_;
  }

  /// A way to fill places; see batching.cc.
  class Traversal;

 private:
  EpochOrder(std::shared_ptr<const Traversal> traversal, const World& world, int64_t batch)
      : traversal_(std::move(traversal)), world_(world), batch_(batch) {}

  std::shared_ptr<const Traversal> traversal_;
  World world_;
  int64_t batch_;
};

}  // namespace assay::shards
