#include <algorithm>
#include <numeric>
#include <span>

#include "base/huge_pages.h"
#include "shards/order/generator.h"
#include "shards/order/shard_spans.h"
#include "shards/order/shuffle_algorithms.h"

namespace assay::shards {
namespace {

/// A sample and where it wants to stand among those of its node.
struct Placed {
  double place;
  uint32_t sample;
};

/// Sorts samples that come about in order of their places: what no later one can stand before goes out at once, so that
/// what is held is a block and not an epoch. Equal places keep the order in which they came.
class PlaceSorter {
 public:
  /// `most` are held at a time, as a rule.
  PlaceSorter(std::vector<uint32_t>& out, size_t most) : out_(out) {
    ReserveInHugePages(held_, most);
    ReserveInHugePages(sorted_, most);
  }

  void Add(double place, uint32_t sample) { held_.push_back({place, sample}); }

  /// No sample that is added from now on has a place below `bound`.
  void Settle(double bound) {
    constexpr size_t kWorthwhile = size_t{1} << 16;
    if (held_.size() < std::max(kWorthwhile, 2 * left_over_)) {
      return;
    }
    const auto settled =
        std::stable_partition(held_.begin(), held_.end(), [bound](const Placed& one) { return one.place < bound; });
    Emit(std::span(held_.begin(), settled));
    held_.erase(held_.begin(), settled);
    left_over_ = held_.size();
  }
  void Finish() {
    Emit(held_);
    held_.clear();
    left_over_ = 0;
  }

 private:
  /// Places are spread about one a whole number: counted by that, and few within each.
  void Emit(std::span<Placed> some) {
    if (some.empty()) {
      return;
    }
    const auto by_place = [](const Placed& a, const Placed& b) { return a.place < b.place; };
    const auto [least, most] = std::minmax_element(some.begin(), some.end(), by_place);
    const double first = least->place;
    const auto bucket = [first](const Placed& one) { return static_cast<size_t>(one.place - first); };
    ends_.assign(bucket(*most) + 2, 0);
    for (const Placed& one : some) {
      ++ends_[bucket(one) + 1];
    }
    std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
    sorted_.resize(some.size());
    for (const Placed& one : some) {
      sorted_[ends_[bucket(one)]++] = one;
    }
    InsertionSort(sorted_);
    for (const Placed& one : sorted_) {
      out_.push_back(one.sample);
    }
  }

  static void InsertionSort(std::vector<Placed>& values) {
    for (size_t i = 1; i < values.size(); ++i) {
      const Placed one = values[i];
      size_t at = i;
      for (; at > 0 && one.place < values[at - 1].place; --at) {
        values[at] = values[at - 1];
      }
      values[at] = one;
    }
  }

  std::vector<uint32_t>& out_;
  std::vector<Placed> held_;
  size_t left_over_ = 0;
  std::vector<uint32_t> ends_;
  std::vector<Placed> sorted_;
};

class NodeShuffle {
 public:
  NodeShuffle(const ShuffleTask& task, Generator& generator)
      : least_(static_cast<int64_t>(0.75 * static_cast<double>(task.block))),
        bound_(static_cast<int64_t>(1.25 * static_cast<double>(task.block))),
        generator_(generator) {}

  void Append(std::span<const SampleSpan> spans, std::vector<uint32_t>& out) {
    ShuffleWithin(spans);
    PlaceSorter sorter(out, std::min(samples_.size(), 2 * static_cast<size_t>(bound_)));
    const double widest = static_cast<double>(bound_) / 2;
    size_t offset = 0;
    for (const SampleSpan& span : spans) {
      sorter.Settle(static_cast<double>(offset) - widest);
      Place(offset, span.size(), sorter);
      offset += span.size();
    }
    sorter.Finish();
  }

 private:
  void ShuffleWithin(std::span<const SampleSpan> spans) {
    samples_.clear();
    ReserveInHugePages(samples_, std::accumulate(spans.begin(), spans.end(), size_t{0},
                                                 [](size_t sum, const SampleSpan& span) { return sum + span.size(); }));
    for (const SampleSpan& span : spans) {
      const size_t begin = samples_.size();
      samples_.resize(begin + span.size());
      std::iota(samples_.begin() + static_cast<std::ptrdiff_t>(begin), samples_.end(), span.begin);
      generator_.Shuffle(std::span(samples_).subspan(begin));
    }
  }

  void Place(size_t offset, uint32_t size, PlaceSorter& sorter) {
    const auto before = static_cast<double>(offset);
    const auto behind = static_cast<double>(samples_.size() - offset - size);
    const int64_t drawn = generator_.Integers(least_, bound_);
    const double cut = std::max(static_cast<double>(drawn - int64_t{size}) / 2, 0.0);
    const double low = std::max(-cut, -before);
    const double range = std::min(cut, behind) - low;
    for (size_t i = offset; i < offset + size; ++i) {
      sorter.Add(static_cast<double>(i) + generator_.Uniform(low, range), samples_[i]);
    }
  }

  const int64_t least_;
  const int64_t bound_;
  Generator& generator_;
  std::vector<uint32_t> samples_;
};

}  // namespace

std::vector<uint32_t> ShufflePy1e(const ShuffleTask& task) {
  DealtSpans dealt = DealSpans(task);
  std::vector<uint32_t> ids;
  ReserveInHugePages(ids, static_cast<size_t>(dealt.samples));
  NodeShuffle shuffle(task, dealt.epoch);
  for (const std::vector<SampleSpan>& node : dealt.nodes) {
    shuffle.Append(node, ids);
  }
  return ids;
}

}  // namespace assay::shards
