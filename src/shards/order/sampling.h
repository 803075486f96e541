// How often each sample of each stream comes in an epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace assay::shards {

/// How much of a stream an epoch takes; one of the three, or none: each sample once.
struct StreamWeight {
  std::optional<double> proportion{};  ///< of the epoch, relative to the other streams'
  std::optional<double> repeat{};      ///< times its samples
  std::optional<int64_t> choose{};     ///< samples
};

/// What of a stream decides the order.
struct StreamShape {
  std::string name{};  ///< for messages
  std::vector<int64_t> shard_samples{};
  StreamWeight weight{};

  int64_t samples() const;
};

struct StreamShares {
  std::vector<int64_t> choose;     ///< samples of each stream in an epoch
  std::vector<double> proportion;  ///< of the epoch
  int64_t epoch_size = 0;
};

/// What the weights come to, as Stream.apply_weights() of mosaicml-streaming 0.13. `epoch_size` (0: none) needs
/// proportions, or no weights at all.
Result<StreamShares> ApplyWeights(std::span<const StreamShape> streams, int64_t epoch_size, uint64_t seed);

struct SamplingSettings {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  bool balanced = true;     ///< other samples are left out each epoch; else ("fixed") always the same
  bool shuffle = true;      ///< shards' shares change with the epoch only where the order does
  int64_t granularity = 1;  ///< samples that are taken of a shard at a time
};

/// The samples of an epoch before they are shuffled.
struct SampledEpoch {
  std::vector<int64_t> units{};  ///< shards as the shuffle sees them: a shard that comes twice is two units
  int64_t samples = 0;
  uint32_t first = 0;           ///< sample i is first + i where `ids` is empty,
  std::vector<uint32_t> ids{};  ///< else ids[i]; over all streams, each numbered behind the one before it

  uint32_t IdOf(uint32_t place) const { return ids.empty() ? first + place : ids[place]; }
};

/// Samples of streams [begin, end), `choose` of each, as resample_streams() and get_sampling() of mosaicml-streaming
/// 0.13.
SampledEpoch SampleStreams(std::span<const StreamShape> streams, std::span<const int64_t> choose, size_t begin,
                           size_t end, const SamplingSettings& settings);

}  // namespace assay::shards
