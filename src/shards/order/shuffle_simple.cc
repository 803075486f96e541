// The algorithms without blocks: naive, py1s, py2s.
#include <numeric>
#include <span>

#include "shards/order/generator.h"
#include "shards/order/shard_spans.h"
#include "shards/order/shuffle_algorithms.h"

namespace assay::shards {

std::vector<uint32_t> ShuffleNaive(const ShuffleTask& task) {
  std::vector<uint32_t> ids(std::accumulate(task.units.begin(), task.units.end(), size_t{0}));
  std::iota(ids.begin(), ids.end(), 0u);
  Generator(task.seed + task.epoch).Shuffle(ids);
  return ids;
}

std::vector<uint32_t> ShufflePy1s(const ShuffleTask& task) {
  DealtSpans dealt = DealSpans(task);
  std::vector<uint32_t> ids(static_cast<size_t>(dealt.samples));
  auto out = ids.begin();
  for (const std::vector<SampleSpan>& node : dealt.nodes) {
    for (const SampleSpan& span : node) {
      const auto begin = out;
      out += span.size();
      std::iota(begin, out, span.begin);
      dealt.epoch.Shuffle(std::span(begin, out));
    }
  }
  return ids;
}

std::vector<uint32_t> ShufflePy2s(const ShuffleTask& task) {
  std::vector<SampleSpan> shards = SpansOf(task.units);
  std::vector<uint32_t> fixed(shards.empty() ? 0 : shards.back().end);
  std::iota(fixed.begin(), fixed.end(), 0u);
  // Spans are places of `fixed` from here on.
  const auto shuffle_within = [&fixed](Generator& generator, const SampleSpan& span) {
    generator.Shuffle(std::span(fixed).subspan(span.begin, span.size()));
  };
  Generator run(task.seed);
  run.Shuffle(shards);
  for (const SampleSpan& shard : shards) {
    shuffle_within(run, shard);
  }
  Generator epoch(task.seed + task.epoch);
  std::vector<uint32_t> ids;
  ids.reserve(fixed.size());
  for (std::vector<SampleSpan>& node : DivideSpans(std::move(shards), task.canonical_nodes)) {
    epoch.Shuffle(node);
    for (const SampleSpan& span : node) {
      shuffle_within(epoch, span);
    }
    for (const SampleSpan& span : node) {
      ids.insert(ids.end(), fixed.begin() + span.begin, fixed.begin() + span.end);
    }
  }
  return ids;
}

}  // namespace assay::shards
