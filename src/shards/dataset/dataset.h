// A data set as it stands: its index, and what proves its bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "shards/dataset/place.h"
#include "shards/format/index.h"
#include "shards/format/manifest.h"
#include "shards/format/sample_table.h"

namespace assay::shards {

/// Below "assay/": what a conversion that has not ended remembers.
inline constexpr char kUnfinishedFolder[] = "assay/unfinished/";
inline constexpr char kUnfinishedPlanName[] = "assay/unfinished/plan.json";

struct Dataset {
  DatasetPlace place{};
  DatasetIndex index{};
  std::string index_text{};            ///< as it stands
  std::optional<Manifest> manifest{};  ///< of the version that was opened, where assay wrote it

  /// What tells it from any other content: its content hash, or else the hash of its index.
  std::string fingerprint() const;
  const ShardProof* proof(size_t shard) const { return manifest ? &manifest->shards[shard] : nullptr; }
  /// Of the files that are fetched for shard `shard`, stored.
  int64_t stored_bytes(size_t shard) const;
};

/// Opens the newest version, or `version` where it is not 0. NotFound where nothing stands there; FailedPrecondition
/// where a conversion has not ended; InvalidArgument, naming the file, where what stands there contradicts itself.
Result<Dataset> OpenDataset(const DatasetPlace& place, int64_t version = 0);

/// Sizes, checksums and tokens of all samples, in order. Needs a manifest. An error names the table that is not what
/// the manifest says.
Result<std::vector<SampleRecord>> ReadSampleTables(const Dataset& dataset);

}  // namespace assay::shards
