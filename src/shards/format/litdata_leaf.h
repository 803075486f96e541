// Formats of litdata's leaves.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "shards/format/encoding.h"

namespace assay::shards {

/// The encoding of a leaf of that format ("str", "no_header_tensor:16"). Arrays have the kind kNdarray, but bytes of
/// their own, which DecodeLitdata() reads by the format's name. Refuses pickles and graphs, which run what they hold,
/// and numbers that no array here holds (bfloat16, complex).
Result<Encoding> LitdataLeaf(std::string_view format);

/// The numbers of a tensor or of a numpy array by their place in litdata's tables.
std::optional<DType> LitdataTorchType(uint32_t index);
std::optional<DType> LitdataNumpyType(uint32_t index);

}  // namespace assay::shards
