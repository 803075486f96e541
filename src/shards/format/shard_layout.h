// Where the samples of a shard lie in its file, and what they hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "shards/format/field.h"
#include "shards/format/index.h"

namespace assay::shards {

/// Offsets of samples: sample i is [offsets[i], offsets[i + 1]).
using Offsets = std::vector<uint64_t>;

/// How many bytes at the beginning of a file hold the offsets of `samples` samples.
inline int64_t OffsetTableBytes(int64_t samples) {
  return static_cast<int64_t>(sizeof(uint32_t)) * (samples + 2);
}

/// The table that MDS, litdata and the offsets of split shards begin with: u32 samples, u32 offset[samples + 1].
/// InvalidArgument where it is cut short, counts other samples than the index, or has offsets that fall, begin before
/// `least` or do not end at `end`.
Result<Offsets> ReadOffsets(std::span<const std::byte> table, int64_t samples, uint64_t least, uint64_t end);

/// Where the samples of a shard lie. `data` is its file, decompressed (of litdata as UnpackLitdata() leaves it), `meta`
/// its file of offsets, where the format has one.
Result<Offsets> FindSamples(const ShardEntry& shard, std::span<const std::byte> data, std::span<const std::byte> meta);

/// What precedes the samples of a file of `sizes`: MDS's head with the schema in it, or the table and the schema that a
/// split shard's file of offsets consists of, whose samples begin at `first`. InvalidArgument for 4 GiB and more.
Result<std::string> MdsHead(std::span<const uint32_t> sizes, std::string_view schema);
Result<std::string> SplitMeta(std::span<const uint32_t> sizes, std::string_view schema, uint64_t first);

/// InvalidArgument where samples of `sizes`, the first of which begins at `first`, end behind what 32 bits can say.
Status CheckShardEnd(std::span<const uint32_t> sizes, uint64_t first);

/// Values of a sample, by column; views into `sample` and `scratch`, which is overwritten.
Status DecodeSample(const ShardSchema& schema, std::span<const std::byte> sample, Row& row, std::string& scratch);

/// The bytes of an MDS sample's columns.
Status SplitMdsSample(const ShardSchema& schema, std::span<const std::byte> sample,
                      std::vector<std::span<const std::byte>>& columns);

/// Appends `row` as a sample of the schema: of all formats but kLitdata. `key`: of kWebDataset, what the sample is
/// called. An error names the column.
Status EncodeSample(const ShardSchema& schema, const Row& row, std::string& out, std::string_view key = {});

}  // namespace assay::shards
