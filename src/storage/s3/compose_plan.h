// How objects become parts of another without their bytes passing through here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay::storage {

/// A run of bytes of source number `source`.
struct SourceRange {
  size_t source = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// One part of the result: copied within the store when it is one range that is large enough, else read and sent.
struct ComposedPart {
  std::vector<SourceRange> ranges;
  bool copied = false;
};

/// Parts for the concatenation of sources of those sizes. All but the last have `min_part_bytes` at least, none has
/// more than `max_part_bytes`; what is too small to be copied is joined with the beginning of what follows.
std::vector<ComposedPart> PlanCompose(std::span<const int64_t> sizes, int64_t min_part_bytes, int64_t max_part_bytes);

}  // namespace assay::storage
