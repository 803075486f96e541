#include "engine/shard/flat_layout.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace assay::engine {

FlatLayout::FlatLayout(std::vector<std::pair<std::string, std::vector<int64_t>>> names_and_shapes, int64_t ranks,
                       int64_t at_least)
    : ranks_(ranks) {
  int64_t offset = 0;
  int64_t end = 0;
  const auto gap_up_to = [&](int64_t next) {
    if (next > end) {
      gaps_.push_back({end, next - end});
    }
  };
  for (auto& [name, shape] : names_and_shapes) {
    gap_up_to(offset);
    const int64_t elements = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    parameters_.push_back({std::move(name), std::move(shape), offset, elements});
    end = offset + elements;
    offset = place_of(end);
  }
  const int64_t padded = round_up(std::max(offset, at_least), kAlignment * ranks);
  shard_elements_ = padded / ranks;
  gap_up_to(padded);
}

std::vector<ShardSlice> FlatLayout::slices(int64_t rank) const {
  const int64_t begin = rank * shard_elements_;
  const int64_t end = begin + shard_elements_;
  std::vector<ShardSlice> slices;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const FlatParameter& p = parameters_[i];
    const int64_t from = std::max(begin, p.offset);
    const int64_t to = std::min(end, p.offset + p.elements);
    if (from < to) {
      slices.push_back({i, from - p.offset, from - begin, to - from});
    }
  }
  return slices;
}

}  // namespace assay::engine
