// The checksum of a whole out of those of its parts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/integrity/checksum.h"
#include "storage/object_store.h"

namespace assay::storage {

/// Whether the checksum of a concatenation follows from those of its pieces.
bool IsCombinable(ChecksumKind kind);

/// Of bytes 0 up to `total_bytes`, out of parts in any order; nothing where they do not cover that exactly or cannot be
/// combined. A single part may have any kind.
std::optional<Checksum> CombineParts(std::vector<PartChecksum> parts, int64_t total_bytes);

}  // namespace assay::storage
