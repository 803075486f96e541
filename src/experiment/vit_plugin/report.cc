#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "experiment/vit_plugin/vit_plugin.h"
#include "measure/linear_fit.h"

namespace assay::experiment {
namespace {

constexpr double kMib = 1.0 / (1024 * 1024);
constexpr double kGib = kMib / 1024;
constexpr double kMilli = 1000;

Breakdown WhereMemoryGoes() {
  return {
      "memory",
      "Where the memory goes",
      "Tensor memory of a rank: the peak before the first step, the peak of the measured steps (the largest of all "
      "ranks), what the engine predicted for it without running, and by how much that is off; then what rank 0 held at "
      "its peak.",
      "ledger_parameters_bytes",
      {{"initial peak", "MiB", "init_peak_tensor_bytes", kMib},
       {"peak", "MiB", "peak_tensor_bytes", kMib},
       {"predicted", "MiB", "predicted_peak_bytes", kMib},
       {"off by", "%", "predicted_peak_bytes", 1, "peak_tensor_bytes"},
       {"parameters", "MiB", "ledger_parameters_bytes", kMib},
       {"gradients", "MiB", "ledger_gradients_bytes", kMib},
       {"masters", "MiB", "ledger_master_bytes", kMib},
       {"moments", "MiB", "ledger_moments_bytes", kMib},
       {"buckets", "MiB", "ledger_buckets_bytes", kMib},
       {"activations", "MiB", "ledger_activations_bytes", kMib},
       {"temporaries", "MiB", "ledger_temporaries_bytes", kMib},
       {"of it offloaded", "MiB", "host_offload_bytes", kMib}}};
}

Breakdown WhereTimeGoes() {
  return {
      "time",
      "Where the time goes",
      "A step's median time and that of its phases on rank 0; all collectives and the part of them that computation "
      "waited for (exposed), as means over ranks; what a rank sends in a step, and the bandwidth of the bus while it "
      "does, as nccl-tests define it.",
      "exposed_communication_seconds",
      {{"step", "ms", "step_seconds_median", kMilli},
       {"data", "ms", "data_seconds", kMilli},
       {"forward", "ms", "forward_seconds", kMilli},
       {"backward", "ms", "backward_seconds", kMilli},
       {"optimiser", "ms", "optimizer_seconds", kMilli},
       {"collectives", "ms", "communication_seconds", kMilli},
       {"exposed", "ms", "exposed_communication_seconds", kMilli},
       {"hidden", "%", "overlap_percent", 1},
       {"sent", "MiB", "communication_bytes_per_step", kMib},
       {"all-gather", "GB/s", "all_gather_bus_gb_per_s", 1},
       {"reduce-scatter", "GB/s", "reduce_scatter_bus_gb_per_s", 1},
       {"all-reduce", "GB/s", "all_reduce_bus_gb_per_s", 1},
       {"energy", "images/J", "images_per_joule", 1}}};
}

/// One row of the ViT benchmark's tables on one GPU.
struct Row {
  std::string_view plugin;
  int batch_size = 0;
  double images_per_second = 0;
  double peak_gib = 0;  ///< since the start of the process, initialisation included
  double seconds = 0;   ///< of kSteps
};

constexpr double kSteps = 20;
constexpr char kBaseline[] = "torch_ddp";
constexpr int kBaselineBatchSize = 8;

// Four plugins at five batch sizes. The figures are those that the authors printed; "batches/s" in their text is
// images/s. An independent run on one NVIDIA Tesla T4 has the same, so that is taken to be the hardware.
// clang-format off
constexpr std::array kRows = {
    Row{"torch_ddp", 8, 23.87, 1.74, 6.7},
    Row{"torch_ddp", 32, 25.16, 2.11, 25.4},
    Row{"torch_ddp", 64, 23.62, 2.68, 54.2},
    Row{"torch_ddp", 128, 24.46, 4.02, 104.7},
    Row{"torch_ddp", 256, 23.87, 6.69, 214.5},
    Row{"torch_ddp_fp16", 8, 54.60, 1.73, 2.9},
    Row{"torch_ddp_fp16", 32, 74.08, 2.03, 8.6},
    Row{"torch_ddp_fp16", 64, 76.93, 2.50, 16.6},
    Row{"torch_ddp_fp16", 128, 75.69, 3.64, 33.8},
    Row{"torch_ddp_fp16", 256, 75.85, 5.91, 67.5},
    Row{"low_level_zero", 8, 32.87, 1.66, 4.9},
    Row{"low_level_zero", 32, 72.96, 1.67, 8.8},
    Row{"low_level_zero", 64, 82.93, 1.88, 15.4},
    Row{"low_level_zero", 128, 86.57, 2.59, 29.6},
    Row{"low_level_zero", 256, 89.26, 4.00, 57.4},
    Row{"gemini", 8, 22.41, 0.65, 7.1},
    Row{"gemini", 32, 60.20, 0.65, 10.6},
    Row{"gemini", 64, 75.02, 0.91, 17.1},
    Row{"gemini", 128, 81.89, 1.61, 31.3},
    Row{"gemini", 256, 86.21, 3.02, 59.4},
};
// clang-format on

/// Speeds were printed with more digits than times.
double StepSeconds(const Row& row) {
  return row.batch_size / row.images_per_second;
}

double BaselineStepSeconds() {
  const auto* row = std::ranges::find_if(
      kRows, [](const Row& row) { return row.plugin == kBaseline && row.batch_size == kBaselineBatchSize; });
  return StepSeconds(*row);
}

/// What a step of `plugin` costs however small the batch, by a least-squares line through its rows.
double FixedSeconds(std::string_view plugin) {
  std::vector<double> batch;
  std::vector<double> seconds;
  for (const Row& row : kRows) {
    if (row.plugin == plugin) {
      batch.push_back(row.batch_size);
      seconds.push_back(StepSeconds(row));
    }
  }
  const auto fit = measure::FitLine(batch, seconds);
  return fit ? fit->intercept : 0;
}

/// Ours stands in the columns of the published one.
PublishedFigures PublishedTables() {
  PublishedFigures figures;
  figures.title = "Colossal-AI's ViT benchmark, ViT-B/16 with gradient checkpointing, 20 steps on one GPU";
  figures.note =
      "Published on: one NVIDIA Tesla T4 (16 GiB), fp32 / fp16. Measured without warm-up, once, with a memory peak "
      "that "
      "includes initialisation; compare shapes and ratios, not seconds. Here: the mean of the runs with that plugin "
      "and "
      "batch size; the model may be another.";
  figures.columns = {"plugin, batch size", "published images/s", "peak GiB",      "s for 20 steps",
                     "here images/s",      "peak GiB",           "s for 20 steps"};
  for (const Row& row : kRows) {
    figures.rows.push_back(
        {.point = {{"plugin", std::string(row.plugin)}, {"batch_size", int64_t{row.batch_size}}},
         .cells = {fmt::format("{}, {}", row.plugin, row.batch_size), fmt::format("{:.2f}", row.images_per_second),
                   fmt::format("{:.2f}", row.peak_gib), fmt::format("{:.1f}", row.seconds)}});
  }
  figures.own = {{.target = "images_per_second"},
                 {.target = "peak_tensor_bytes", .factor = kGib},
                 {.target = "step_seconds_median", .factor = kSteps}};
  return figures;
}

}  // namespace

const ReportSections& VitPluginReport() {
  static const ReportSections sections = {
      .loss_of = "images",
      .breakdowns = {WhereMemoryGoes(), WhereTimeGoes()},
      .charts = VitPluginCharts(),
      .predictions = {{"Peak tensor memory",
                       "What the memory ledger predicts for the measured steps before anything runs, and the largest "
                       "peak of a rank.",
                       "peak_tensor_bytes", "predicted_peak_bytes", "GiB", kGib}},
      .published = {PublishedTables()},
      .fixed_costs = PublishedFixedCosts{
          .property = "plugin",
          .baseline = kBaseline,
          .baseline_batch_size = kBaselineBatchSize,
          .baseline_step_seconds = BaselineStepSeconds(),
          .fixed_seconds = {{"low_level_zero", FixedSeconds("low_level_zero")}, {"gemini", FixedSeconds("gemini")}}}};
  return sections;
}

}  // namespace assay::experiment
