#include "engine/train/row_packs.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace assay::engine {

std::vector<std::vector<int64_t>> pack_by_length(std::span<const int64_t> lengths, int64_t most) {
  std::vector<int64_t> longest_first(lengths.size());
  std::iota(longest_first.begin(), longest_first.end(), 0);
  std::ranges::stable_sort(longest_first, std::ranges::greater(),
                           [&](int64_t row) { return lengths[static_cast<size_t>(row)]; });
  std::vector<std::vector<int64_t>> packs;
  std::set<std::pair<int64_t, size_t>> room;  ///< of each pack, with its place
  for (const int64_t row : longest_first) {
    const int64_t length = lengths[static_cast<size_t>(row)];
    const auto best = room.lower_bound({length, 0});
    const size_t pack = best == room.end() ? packs.size() : best->second;
    const int64_t before = best == room.end() ? std::max(most, length) : best->first;
    if (best == room.end()) {
      packs.emplace_back();
    } else {
      room.erase(best);
    }
    packs[pack].push_back(row);
    room.insert({before - length, pack});
  }
  std::ranges::for_each(packs, [](std::vector<int64_t>& pack) { std::ranges::sort(pack); });
  std::ranges::sort(packs);
  return packs;
}

}  // namespace assay::engine
