// Whether a checkpoint is whole: every byte where a save of ours wrote it, what its format can tell where not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/find.h"

namespace assay::checkpoint {

struct VerifyReport {
  /// One line each: what is damaged or missing, on which file, and which tensors are concerned. Empty: whole.
  std::vector<std::string> damages{};
  int64_t files = 0;
  int64_t bytes = 0;    ///< that were read and compared with a checksum
  int64_t tensors = 0;  ///< that it holds
  /// How far that reaches: "every byte by its manifest", "records by their CRC-32", "structure alone: the format has no
  /// checksums".
  std::string reach{};
};

/// Reads everything that has a checksum. Of damages as many are told as `most`. Errors are those of the store and of
/// being interrupted; damage is none.
Result<VerifyReport> Verify(const Found& found, const storage::ProgressCallback& progress = {}, size_t most = 20);

}  // namespace assay::checkpoint
