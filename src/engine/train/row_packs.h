// Rows that share a sequence, where a plan asks for sequences of about as many tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay::engine {

/// Puts rows of `lengths` tokens together so that each pack has at most `most`, a longer row alone: the longest first,
/// each into the pack that it leaves the least room in (best fit decreasing, as TRL's packing strategy "bfd"; Johnson
/// 1973, "Near-Optimal Bin Packing Algorithms"). Rows of a pack are in their order, packs in that of their first rows.
std::vector<std::vector<int64_t>> pack_by_length(std::span<const int64_t> lengths, int64_t most);

}  // namespace assay::engine
