// Which shard holds which sample, over all data sets of a stream.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shards/dataset/dataset.h"
#include "shards/order/sampling.h"

namespace assay::shards {

/// A data set and how much of it an epoch takes.
struct StreamSource {
  Dataset dataset;
  StreamWeight weight{};
};

/// Samples and shards numbered over all sources, each behind the one before it, as the order numbers them. Immutable.
class ShardTable {
 public:
  explicit ShardTable(std::span<const StreamSource> sources);

  struct Place {
    uint32_t shard = 0;
    uint32_t index = 0;  ///< in the shard
  };
  Place PlaceOf(int64_t sample) const;

  struct Shard {
    uint32_t source = 0;
    uint32_t number = 0;  ///< in its source
  };
  const Shard& shard(uint32_t shard) const { return shards_[shard]; }
  uint32_t size() const { return static_cast<uint32_t>(shards_.size()); }
  int64_t samples() const { return first_.back(); }

 private:
  std::vector<Shard> shards_;
  std::vector<int64_t> first_;  // sample of each shard, and behind the last
  /// The shard of every 2^kStepBits-th sample: the search begins there.
  static constexpr int kStepBits = 10;
  std::vector<uint32_t> step_;
};

/// What the order is made of.
std::vector<StreamShape> ShapesOf(std::span<const StreamSource> sources);

}  // namespace assay::shards
