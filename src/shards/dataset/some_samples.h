// Some samples of a shard, read and proven without the rest.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "shards/dataset/content.h"
#include "shards/dataset/dataset.h"

namespace assay::shards {

/// Whether samples of the shard can be had alone: a manifest says where each is and what it sums to, and its file is
/// stored as it is.
bool HasLoneSamples(const Dataset& dataset, size_t shard);

/// The shard with `samples` alone, which are sorted and not empty. Near ones are fetched in one request.
/// InvalidArgument where one is damaged, or the table that says where they are.
Result<ShardContent> LoadSamples(const Dataset& dataset, size_t shard, std::span<const uint32_t> samples);

}  // namespace assay::shards
