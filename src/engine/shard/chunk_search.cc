#include "engine/shard/chunk_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <vector>

#include "engine/shard/flat_layout.h"

namespace assay::engine {
namespace {

std::vector<int64_t> without_extremes(std::span<const int64_t> sizes) {
  const auto count = static_cast<double>(sizes.size());
  const double mean = std::accumulate(sizes.begin(), sizes.end(), 0.0) / count;
  const double squares = std::accumulate(sizes.begin(), sizes.end(), 0.0, [&](double sum, int64_t size) {
    return sum + (static_cast<double>(size) - mean) * (static_cast<double>(size) - mean);
  });
  const double limit = mean + 3 * std::sqrt(squares / count);
  std::vector<int64_t> usual;
  std::ranges::copy_if(sizes, std::back_inserter(usual),
                       [&](int64_t size) { return static_cast<double>(size) <= limit; });
  return usual;
}

int64_t waste_of(const std::vector<int64_t>& sizes, int64_t chunk) {
  int64_t waste = 0;
  int64_t left = 0;
  for (const int64_t size : sizes) {
    if (size > left) {
      waste += left;
      left = chunk;
    }
    left -= size;
  }
  return waste + left;
}

}  // namespace

ChunkSize search_chunk_size(std::span<const int64_t> parameter_elements, const ChunkSearch& search, int64_t multiple) {
  const int64_t total = std::accumulate(parameter_elements.begin(), parameter_elements.end(), int64_t{0});
  if (total < search.min_elements || total == 0) {
    return {.elements = total, .keep_gathered = true};
  }
  const std::vector<int64_t> sizes = without_extremes(parameter_elements);
  const int64_t first =
      FlatLayout::round_up(std::max(search.min_elements, *std::ranges::max_element(sizes)), search.step);
  // A chunk that holds everything wastes the more the larger it is.
  const int64_t last = std::min(first + search.range, std::max(first, FlatLayout::round_up(total, search.step)));
  ChunkSize best{.elements = first, .waste = waste_of(sizes, first)};
  for (int64_t elements = first + search.step; elements <= last; elements += search.step) {
    if (const int64_t waste = waste_of(sizes, elements); waste < best.waste) {
      best = {.elements = elements, .waste = waste};
    }
  }
  best.elements = FlatLayout::round_up(best.elements, multiple);
  return best;
}

}  // namespace assay::engine
