#include "shards/order/shard_spans.h"

#include <utility>

namespace assay::shards {

std::vector<SampleSpan> SpansOf(std::span<const int64_t> units) {
  std::vector<SampleSpan> spans;
  spans.reserve(units.size());
  uint32_t end = 0;
  for (const int64_t unit : units) {
    spans.push_back({end, end + static_cast<uint32_t>(unit)});
    end = spans.back().end;
  }
  return spans;
}

std::vector<std::vector<SampleSpan>> DivideSpans(std::vector<SampleSpan> spans, int64_t parts) {
  int64_t samples = 0;
  for (const SampleSpan& span : spans) {
    samples += span.size();
  }
  std::vector<std::vector<SampleSpan>> divided(static_cast<size_t>(parts));
  int64_t taken = 0;
  size_t next = 0;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t end = samples * (part + 1) / parts;
    std::vector<SampleSpan>& own = divided[static_cast<size_t>(part)];
    for (; next < spans.size() && taken + spans[next].size() <= end; ++next) {
      own.push_back(spans[next]);
      taken += spans[next].size();
    }
    if (next < spans.size() && taken < end) {
      own.push_back(spans[next].TakeFront(static_cast<uint32_t>(end - taken)));
      taken = end;
    }
  }
  return divided;
}

DealtSpans DealSpans(const ShuffleTask& task) {
  std::vector<SampleSpan> spans = SpansOf(task.units);
  const int64_t samples = spans.empty() ? 0 : spans.back().end;
  Generator(task.seed).Shuffle(spans);
  DealtSpans dealt{DivideSpans(std::move(spans), task.canonical_nodes), samples, Generator(task.seed + task.epoch)};
  for (std::vector<SampleSpan>& node : dealt.nodes) {
    dealt.epoch.Shuffle(node);
  }
  return dealt;
}

}  // namespace assay::shards
