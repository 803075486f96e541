#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "shards/order/generator.h"
#include "shards/order/shard_spans.h"
#include "shards/order/shuffle_algorithms.h"

namespace assay::shards {
namespace {

/// Shuffles one node's samples, which stand at [0, size) of `ids`, in blocks that begin `stagger` early.
void ShuffleBlocks(std::span<uint32_t> ids, int64_t least, int64_t bound, int64_t stagger, Generator& generator) {
  const auto size = static_cast<int64_t>(ids.size());
  std::vector<std::pair<int64_t, int64_t>> blocks;  // all are drawn before the first is shuffled
  for (int64_t end = 0; end < size;) {
    const int64_t drawn = generator.Integers(least, bound);
    const int64_t begin = std::max<int64_t>(end - stagger, 0);
    blocks.emplace_back(begin, std::min(end + drawn - stagger, size));
    end += blocks.back().second - begin;
  }
  for (const auto& [begin, end] : blocks) {
    if (begin < end) {
      generator.Shuffle(ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    }
  }
}

}  // namespace

std::vector<uint32_t> ShufflePy1br(const ShuffleTask& task) {
  const auto least = static_cast<int64_t>(0.75 * static_cast<double>(task.block));
  const auto bound = static_cast<int64_t>(1.25 * static_cast<double>(task.block));
  DealtSpans dealt = DealSpans(task);
  std::vector<int64_t> staggers;
  for (size_t node = 0; node < dealt.nodes.size(); ++node) {
    staggers.push_back(dealt.epoch.Integers(0, least));
  }
  std::vector<uint32_t> ids(static_cast<size_t>(dealt.samples));
  auto out = ids.begin();
  for (size_t node = 0; node < dealt.nodes.size(); ++node) {
    const auto begin = out;
    for (const SampleSpan& span : dealt.nodes[node]) {
      std::iota(out, out + span.size(), span.begin);
      out += span.size();
    }
    ShuffleBlocks(std::span(begin, out), least, bound, staggers[node], dealt.epoch);
  }
  return ids;
}

}  // namespace assay::shards
