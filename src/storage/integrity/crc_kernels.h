// The kernels behind crc.h, one translation unit an instruction set. `crc` is the register itself: callers invert it
// before and after.
#pragma once

#include <cstddef>

#include "storage/integrity/polynomial.h"

namespace assay::storage {

template <typename P>
typename P::Word UpdateByTable(typename P::Word crc, const std::byte* data, size_t size);

/// Any size; short ones go to the table.
template <typename P>
typename P::Word UpdateByPclmul(typename P::Word crc, const std::byte* data, size_t size);
template <typename P>
typename P::Word UpdateByVpclmul(typename P::Word crc, const std::byte* data, size_t size);

}  // namespace assay::storage
