#include "experiment/published.h"

#include <algorithm>
#include <array>
#include <vector>

#include "measure/linear_fit.h"

namespace assay::experiment {
namespace {

// clang-format off
constexpr std::array kRows = {
    PublishedVitRow{"torch_ddp", 8, 23.87, 1.74, 6.7},
    PublishedVitRow{"torch_ddp", 32, 25.16, 2.11, 25.4},
    PublishedVitRow{"torch_ddp", 64, 23.62, 2.68, 54.2},
    PublishedVitRow{"torch_ddp", 128, 24.46, 4.02, 104.7},
    PublishedVitRow{"torch_ddp", 256, 23.87, 6.69, 214.5},
    PublishedVitRow{"torch_ddp_fp16", 8, 54.60, 1.73, 2.9},
    PublishedVitRow{"torch_ddp_fp16", 32, 74.08, 2.03, 8.6},
    PublishedVitRow{"torch_ddp_fp16", 64, 76.93, 2.50, 16.6},
    PublishedVitRow{"torch_ddp_fp16", 128, 75.69, 3.64, 33.8},
    PublishedVitRow{"torch_ddp_fp16", 256, 75.85, 5.91, 67.5},
    PublishedVitRow{"low_level_zero", 8, 32.87, 1.66, 4.9},
    PublishedVitRow{"low_level_zero", 32, 72.96, 1.67, 8.8},
    PublishedVitRow{"low_level_zero", 64, 82.93, 1.88, 15.4},
    PublishedVitRow{"low_level_zero", 128, 86.57, 2.59, 29.6},
    PublishedVitRow{"low_level_zero", 256, 89.26, 4.00, 57.4},
    PublishedVitRow{"gemini", 8, 22.41, 0.65, 7.1},
    PublishedVitRow{"gemini", 32, 60.20, 0.65, 10.6},
    PublishedVitRow{"gemini", 64, 75.02, 0.91, 17.1},
    PublishedVitRow{"gemini", 128, 81.89, 1.61, 31.3},
    PublishedVitRow{"gemini", 256, 86.21, 3.02, 59.4},
};
// clang-format on

/// Speeds were printed with more digits than times.
double StepSeconds(const PublishedVitRow& row) {
  return row.batch_size / row.images_per_second;
}

}  // namespace

std::span<const PublishedVitRow> PublishedVitRows() {
  return kRows;
}

double PublishedStepSeconds(std::string_view plugin, int batch_size) {
  const auto* row = std::ranges::find_if(
      kRows, [&](const PublishedVitRow& row) { return row.plugin == plugin && row.batch_size == batch_size; });
  return StepSeconds(*row);
}

double PublishedFixedSeconds(std::string_view plugin) {
  std::vector<double> batch;
  std::vector<double> seconds;
  for (const PublishedVitRow& row : kRows) {
    if (row.plugin == plugin) {
      batch.push_back(row.batch_size);
      seconds.push_back(StepSeconds(row));
    }
  }
  const auto fit = measure::FitLine(batch, seconds);
  return fit ? fit->intercept : 0;
}

}  // namespace assay::experiment
