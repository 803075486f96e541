// Shards as ranges of sample numbers, dealt to canonical nodes: what py1s, py1br and py1e begin with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shards/order/generator.h"
#include "shards/order/shuffle.h"

namespace assay::shards {

/// A shard, or the part of one that a canonical node has.
struct SampleSpan {
  uint32_t begin = 0;
  uint32_t end = 0;

  uint32_t size() const { return end - begin; }
  SampleSpan TakeFront(uint32_t count) {
    begin += count;
    return {begin - count, begin};
  }
};

/// One span a unit, in order.
std::vector<SampleSpan> SpansOf(std::span<const int64_t> units);

/// Cuts `spans` into `parts` of the same number of samples, as far as that divides; a span that lies in two is cut.
std::vector<std::vector<SampleSpan>> DivideSpans(std::vector<SampleSpan> spans, int64_t parts);

/// The spans of each canonical node, in the order of the epoch.
struct DealtSpans {
  std::vector<std::vector<SampleSpan>> nodes;
  int64_t samples = 0;
  Generator epoch;  ///< of seed + epoch, as far as the dealing has drawn from it
};

/// Shards shuffled by the seed alone, cut where canonical nodes end, and shuffled within each node by the epoch.
DealtSpans DealSpans(const ShuffleTask& task);

}  // namespace assay::shards
