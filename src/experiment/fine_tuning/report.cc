#include "experiment/fine_tuning/fine_tuning.h"

namespace assay::experiment {
namespace {

constexpr double kGib = 1.0 / (1024.0 * 1024.0 * 1024.0);

Breakdown MemoryByPhase() {
  return {.id = "memory_phases",
          .title = "Memory by phase",
          .text = "The most live tensor memory within each phase.",
          .target = "backward_peak_tensor_bytes",
          .columns = {{"load", "GiB", "load_peak_tensor_bytes", kGib},
                      {"forward", "GiB", "forward_peak_tensor_bytes", kGib},
                      {"backward", "GiB", "backward_peak_tensor_bytes", kGib},
                      {"optimiser", "GiB", "optimizer_peak_tensor_bytes", kGib}}};
}

Prediction PeakOfMemory() {
  return {.title = "Peak tensor memory",
          .text =
              "The peak of the rank with most, foretold before anything is loaded, and as the counting allocator "
              "saw it.",
          .target = "peak_tensor_bytes",
          .predicted = "predicted_peak_bytes",
          .unit = "GiB",
          .factor = kGib};
}

}  // namespace

const ReportSections& FineTuningReport() {
  static const ReportSections sections = {.loss_of = "supervised tokens",
                                          .breakdowns = {MemoryByPhase()},
                                          .charts = FineTuningCharts(),
                                          .predictions = {PeakOfMemory()}};
  return sections;
}

}  // namespace assay::experiment
