// What stands under the name of the file that makes a save valid, once its write was answered, or was not.
#pragma once

#include <string>

#include "base/status.h"
#include "checkpoint/file/file_digest.h"
#include "checkpoint/save.h"

namespace assay::checkpoint {

enum class StandingPointer {
  kOurs,      ///< what the save wrote
  kDamaged,   ///< the save's, but with other bytes
  kAsBefore,  ///< what stood there when the save began, or nothing
  kOther,     ///< another save's: the condition of this one's write holds no more
};

/// Asks the store. `digest` is of what was sent; `etag` that of the answer, empty where there was none. Where neither
/// that nor the mark of a save tells whose it is, its bytes do. `is_small`: they are compared in any case. The errors
/// are those of the store.
Result<StandingPointer> LookAtPointer(const Save& save, const FileDigest& digest, const std::string& etag,
                                      bool is_small);

}  // namespace assay::checkpoint
