// A copy into memory that nobody reads soon.
#pragma once

#include <cstddef>
#include <span>

namespace assay {

/// Copies `from` to `to`, which do not overlap, with stores that pass the cache by, where the processor has them: the
/// lines of `to` are neither read before they are overwritten nor do they displace others. For megabytes that come from
/// the cache and go to memory; what is read again at once is better copied with std::memcpy. Other threads see the
/// bytes as after std::memcpy.
void StreamingCopy(std::span<const std::byte> from, std::byte* to);

}  // namespace assay
