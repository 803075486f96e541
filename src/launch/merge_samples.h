// One series of samples out of those of several machines.
#pragma once

#include <vector>

#include "measure/sample_series.h"

namespace assay::launch {

/// On the first machine's samples in time: what the processes use is the sum over machines, each at its last sample
/// before; what is told of a machine as a whole is the mean; what is told of one process is the first machine's. GPUs
/// stand one machine behind another, numbered on. All `time_s` must be on one clock. The first is taken alone where it
/// has no samples.
measure::SampleSeries MergeSamples(std::vector<measure::SampleSeries> machines);

}  // namespace assay::launch
