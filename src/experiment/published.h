// What somebody else published for the experiment that one of ours repeats: shown beside ours, never mixed with it.
#pragma once

#include <span>
#include <string_view>

namespace assay::experiment {

/// One row of the ViT benchmark's tables on one GPU.
struct PublishedVitRow {
  std::string_view plugin;
  int batch_size = 0;
  double images_per_second = 0;
  double peak_gib = 0;  ///< since the start of the process, initialisation included
  double seconds = 0;   ///< of 20 steps
};

/// Twenty rows: four plugins at batch sizes 8, 32, 64, 128 and 256. The figures are those that the authors printed;
/// "batches/s" in their text is images/s. An independent run on one NVIDIA Tesla T4 has the same, so that is taken to
/// be the hardware.
std::span<const PublishedVitRow> PublishedVitRows();

/// What a step of `plugin` took at `batch_size`, which is one of the rows.
double PublishedStepSeconds(std::string_view plugin, int batch_size);

/// What a step of `plugin` costs however small the batch, by a least-squares line through its rows: 115 ms for Low
/// Level Zero, 211 ms for Gemini.
double PublishedFixedSeconds(std::string_view plugin);

inline constexpr std::string_view kPublishedVitHardware = "one NVIDIA Tesla T4 (16 GiB), fp32 / fp16";

}  // namespace assay::experiment
