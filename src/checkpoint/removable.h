// Which files go with a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/find.h"

namespace assay::checkpoint {

/// NamesOf() `found`, to be removed. What no save of ours wrote may name any file, and is believed of its own alone:
/// an index of shards beside it, .metadata of .distcp that are in no other checkpoint's folder. FailedPrecondition
/// where it names another file.
Result<std::vector<std::string>> RemovableNamesOf(const Found& found);

}  // namespace assay::checkpoint
