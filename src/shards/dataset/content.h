// A shard in memory: checked, decompressed, cut into samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "shards/dataset/dataset.h"
#include "shards/format/shard_layout.h"

namespace assay::shards {

/// The files of a shard as they are stored.
struct StoredShard {
  Blob data;
  Blob meta;  ///< of split shards
};

/// Of shard `shard` of the data set. An error names the file.
Result<StoredShard> FetchShard(const Dataset& dataset, size_t shard);

/// Checks the files by the manifest's checksums, or else by a hash of the index, the quickest of those it has. Ok where
/// there is none.
Status CheckStored(const Dataset& dataset, size_t shard, const StoredShard& stored);

/// Immutable; safe from several threads.
struct ShardContent {
  Blob data;  ///< decompressed
  Offsets offsets;
  int64_t stored_bytes = 0;     ///< of its files; 0 where they did not come from where they are stored
  std::vector<bool> present{};  ///< which samples are there; empty: all are

  bool has(int64_t index) const { return present.empty() || present[static_cast<size_t>(index)]; }

  int64_t samples() const { return static_cast<int64_t>(offsets.size()) - 1; }
  std::span<const std::byte> sample(int64_t index) const {
    const auto i = static_cast<size_t>(index);
    return data.bytes.subspan(offsets[i], offsets[i + 1] - offsets[i]);
  }
};

/// Decompresses and finds the samples. An error names the file.
Result<ShardContent> UnpackShard(const Dataset& dataset, size_t shard, StoredShard stored);

/// All three.
Result<ShardContent> LoadShard(const Dataset& dataset, size_t shard);

}  // namespace assay::shards
