// The dict that Lightning's Trainer keeps in a .ckpt (lightning/pytorch/trainer/connectors/checkpoint_connector.py).
#pragma once

#include <cstdint>

#include "checkpoint/value/value.h"

namespace assay::checkpoint {

/// Whether a Trainer wrote it.
bool IsLightning(const Value& root);

/// What Trainer.fit(ckpt_path=...) takes: `root` as it is where a Trainer wrote it; else its "state_dict", or all of
/// it, as weights at that step, without states of optimisers, schedulers and loops, which start anew.
Value AsLightning(Value root, int64_t step);

}  // namespace assay::checkpoint
