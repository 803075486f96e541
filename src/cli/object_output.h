// Objects to standard output.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "cli/object_options.h"

namespace assay::cli {

/// `length` bytes of the object `place` from `offset` on; below 0: to its end. Ctrl-C ends it.
Status PrintObject(const ObjectPlace& place, int64_t offset = 0, int64_t length = -1);

}  // namespace assay::cli
