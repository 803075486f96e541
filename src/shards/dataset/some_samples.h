// Some samples of a shard, read and proven without the rest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "shards/dataset/content.h"
#include "shards/dataset/dataset.h"
#include "shards/format/sample_table.h"

namespace assay::shards {

/// Whether samples of the shard can be had alone: a manifest says where each is and what it sums to, and its file is
/// stored as it is.
bool HasLoneSamples(const Dataset& dataset, size_t shard);

/// Where the samples of such a shard are and what they sum to, in one request.
Result<std::vector<SampleRecord>> ReadRecords(const Dataset& dataset, size_t shard);

/// The shard with `samples` alone, which are sorted and not empty; `records` of all. Near ones are fetched in one
/// request. InvalidArgument where one is damaged, or the table that says where they are.
Result<ShardContent> LoadSamples(const Dataset& dataset, size_t shard, std::span<const SampleRecord> records,
                                 std::span<const uint32_t> samples);

}  // namespace assay::shards
