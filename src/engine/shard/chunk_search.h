// How large Gemini's chunks are.
#pragma once

#include <cstdint>
#include <span>

namespace assay::engine {

/// What the search goes through; the defaults are those of ColossalAI's GeminiPlugin (min_chunk_size_m, search_range_m,
/// hidden_dim).
struct ChunkSearch {
  int64_t min_elements = int64_t{32} << 20;  ///< of a chunk; parameters with fewer in all are one that stays gathered
  int64_t range = int64_t{32} << 20;         ///< elements by which chunks may be larger than need be
  int64_t step = 1024;                       ///< between two sizes that are tried
};

struct ChunkSize {
  int64_t elements = 0;
  bool keep_gathered = false;  ///< all parameters together are smaller than a chunk, and are one
  int64_t waste = 0;           ///< elements that no parameter takes, before the size was rounded up
};

/// The size, of those from the least that any but extreme parameters fit into, that wastes the fewest elements when
/// parameters are put into chunks in their order, each in the last chunk or, where it does not fit, in a new one; the
/// smallest of several, rounded up to a multiple of `multiple`. Parameters beyond three standard deviations from the
/// mean are left out: they have a chunk of their own where they are larger than one. ColossalAI,
/// search_chunk_configuration(), of which this has the outcome.
ChunkSize search_chunk_size(std::span<const int64_t> parameter_elements, const ChunkSearch& search, int64_t multiple);

}  // namespace assay::engine
