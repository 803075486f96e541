// Says whether a data set is whole.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "shards/dataset/dataset.h"

namespace assay::shards {

struct DatasetReport {
  std::vector<std::string> damages{};  ///< a line each, in order of the shards
  int64_t shards = 0;
  int64_t samples = 0;  ///< that were read, and whose values can be
  int64_t bytes = 0;    ///< of files, as they are stored
  std::string reach{};  ///< what it was held against
};

/// Reads every file: sizes, every hash of the index, the manifest's checksums of files and samples, offsets, and each
/// sample's values. An error is what keeps it from being read (the network, rights), not damage. `threads` shards at a
/// time are in memory; `progress` is called from them.
Result<DatasetReport> VerifyDataset(const Dataset& dataset, int threads,
                                    const std::function<void(int64_t bytes)>& progress);

}  // namespace assay::shards
