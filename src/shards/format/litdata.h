// Chunks of litdata, read: samples are the leaves of a tree, in the order of its walk.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "shards/format/index.h"

namespace assay::shards {

/// A chunk's file as one that is not compressed: u32 samples, u32 offset[samples + 1], samples. `file` is it as it is
/// fetched, but for whole-file compression. Refuses frames that would come to more than the 4 GiB that offsets reach.
Result<std::vector<std::byte>> UnpackLitdata(const ShardSchema& schema, std::span<const std::byte> file);

/// Whether UnpackLitdata() changes anything.
bool IsPackedLitdata(const ShardSchema& schema);

/// The leaves of a sample: u32 size[leaves], then their bytes. Views into `sample` and `scratch`.
Status DecodeLitdata(const ShardSchema& schema, std::span<const std::byte> sample, Row& row, std::string& scratch);

}  // namespace assay::shards
