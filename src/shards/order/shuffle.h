// The orders of an epoch's samples, as mosaicml-streaming makes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::shards {

enum class ShuffleAlgorithm {
  kNaive,  ///< all samples among all
  kPy1s,   ///< shards, and samples within each part of a shard
  kPy1br,  ///< shards, and samples within blocks of changing size
  kPy1e,   ///< shards, and samples each within a range around its place
  kPy2s,   ///< as py1s, with samples of whole shards shuffled once more before shards are cut
};

/// What the algorithms read.
struct ShuffleTask {
  std::span<const int64_t> units;  ///< samples of each shard, in order; of one that is taken n times, n units
  int64_t canonical_nodes = 1;     ///< parts of the order that share no samples
  uint64_t seed = 0;
  uint64_t epoch = 0;
  int64_t block = int64_t{1} << 18;  ///< samples over which py1br and py1e mix
};

/// More samples than numbers of 32 bits name are refused.
inline constexpr int64_t kMostSamples = (int64_t{1} << 32) - 1;

/// Where place i of the epoch takes its sample from: equal to streaming.base.shuffle.get_shuffle() of
/// mosaicml-streaming 0.13 with numpy's generators. InvalidArgument where that has none: a block too small, more
/// canonical nodes than samples (py1e), more than kMostSamples.
///
/// py1e sorts places that are doubles: where two are equal, which of some 10^8 samples a few are, numpy's order depends
/// on the processor, and is that of the shards here.
Result<std::vector<uint32_t>> Shuffle(ShuffleAlgorithm algorithm, const ShuffleTask& task);

/// "naive", "py1s", "py1br", "py1e", "py2s".
std::string_view NameOf(ShuffleAlgorithm algorithm);
Result<ShuffleAlgorithm> ParseShuffleAlgorithm(std::string_view name);
std::vector<std::string> ShuffleNames();

}  // namespace assay::shards
