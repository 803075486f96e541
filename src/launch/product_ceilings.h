// The fastest matrix products of this machine, as its worker measures them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"

namespace assay::launch {

/// What `assay-worker --ceilings` says, on `threads` CPU threads (0: all): {"device", "threads", "products": [{"dtype",
/// "tflops", "m", "k", "n"}], "device_copy_gb_per_s" of a GPU}. Takes a few seconds.
Result<nlohmann::json> MeasureProductCeilings(int64_t threads = 0);

}  // namespace assay::launch
