// The training loop of a ViT over ranks: steps, each measured, and evaluations.
#pragma once

#include <functional>

#include "engine/train/event_writer.h"
#include "engine/train/phase_meter.h"
#include "engine/train/stop.h"
#include "engine/train/vit_session.h"
#include "job/event.h"

namespace assay::engine {

struct VitLoopResult {
  double train_runtime = 0;  ///< seconds, warm-up included
  Warmup warmup;
  int64_t peak_bytes = 0;  ///< of this rank's tensors in the counted steps
  MemoryByKind at_peak{};  ///< what the sharding engine held at its own peak in them
};

/// Trains as the plan says and writes an event for each step (of rank 0, and one of every rank) and each evaluation.
/// All ranks call it together. Throws Diverged when a loss is not finite and nothing could cure that, on every rank
/// alike.
VitLoopResult run_vit_loop(const job::VitPlan& plan, VitSession& session, PhaseMeter& meter, EventWriter& events,
                           c10::Device device);

}  // namespace assay::engine
