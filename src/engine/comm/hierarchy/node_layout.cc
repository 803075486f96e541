#include "engine/comm/hierarchy/node_layout.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <map>

namespace assay::engine {

NodeLayout::NodeLayout(const std::vector<int>& machine_of, int rank) {
  std::map<int, size_t> places;
  for (int each = 0; each < static_cast<int>(machine_of.size()); ++each) {
    const auto [found, is_new] = places.try_emplace(machine_of[static_cast<size_t>(each)], nodes.size());
    if (is_new) {
      nodes.emplace_back();
    }
    nodes[found->second].push_back(each);
  }
  const Place own = place_of(rank);
  node = own.machine;
  local = own.local;
  for (int machine = 0; machine < machines(); ++machine) {
    slices = std::max(slices, ranks_of(machine));
    regular = regular && ranks_of(machine) == ranks_of(0) && consecutive(machine);
  }
}

bool NodeLayout::consecutive(int machine) const {
  const std::vector<int>& ranks = nodes[static_cast<size_t>(machine)];
  return ranks.back() - ranks.front() + 1 == ranks_of(machine);
}

NodeLayout::Place NodeLayout::place_of(int rank) const {
  for (int machine = 0; machine < machines(); ++machine) {
    const std::vector<int>& ranks = nodes[static_cast<size_t>(machine)];
    if (const auto found = std::ranges::find(ranks, rank); found != ranks.end()) {
      return {.machine = machine, .local = static_cast<int>(found - ranks.begin())};
    }
  }
  TORCH_CHECK(false, "rank ", rank, " is on no machine of its group");
}

at::Tensor Slices::of(int slice) const {
  const int64_t begin = slice * length();
  return buffer.narrow(0, begin, slice == count - 1 ? buffer.numel() - begin : length());
}

}  // namespace assay::engine
