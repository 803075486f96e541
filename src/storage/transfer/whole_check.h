// What was read of an object, against what the store records of the whole.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "storage/object_store.h"

namespace assay::storage {

/// Of what was read whole, a checksum of that kind: out of those of its ranges where they give it, else by a pass over
/// `content`. Nothing where the ranges do not tell and the pieces are not all of an object of `size` bytes.
std::optional<Checksum> WholeChecksum(ChecksumKind kind, std::vector<PartChecksum> ranges,
                                      std::span<const ReadPiece> content, int64_t size);

}  // namespace assay::storage
