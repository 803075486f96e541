// assay report: a store's measurements as one HTML file.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "cli/selection.h"
#include "cli/verb.h"
#include "experiment/published.h"
#include "report/format.h"
#include "report/html_report.h"
#include "report/published.h"
#include "report/result_set.h"

namespace assay::cli {
namespace {

struct ReportOptions {
  Selection selection;
  std::string output;
};

/// Ours stands in the columns of the published one.
std::vector<report::PublishedTable> PublishedVit(const report::ResultSet& results) {
  report::PublishedTable frame;
  frame.title = "Colossal-AI's ViT benchmark, ViT-B/16 with gradient checkpointing, 20 steps on one GPU";
  frame.note = fmt::format(
      "Published on: {}. Measured without warm-up, once, with a memory peak that includes initialisation; compare "
      "shapes and ratios, not seconds. Here: the mean of the runs with that plugin and batch size; the model may be "
      "another.",
      experiment::kPublishedVitHardware);
  frame.columns = {"plugin, batch size", "published images/s", "peak GiB",      "s for 20 steps",
                   "here images/s",      "peak GiB",           "s for 20 steps"};
  std::vector<report::PublishedRow> rows;
  for (const experiment::PublishedVitRow& row : experiment::PublishedVitRows()) {
    rows.push_back(
        {.point = {{"plugin", std::string(row.plugin)}, {"batch_size", int64_t{row.batch_size}}},
         .cells = {fmt::format("{}, {}", row.plugin, row.batch_size), fmt::format("{:.2f}", row.images_per_second),
                   fmt::format("{:.2f}", row.peak_gib), fmt::format("{:.1f}", row.seconds)}});
  }
  constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;
  constexpr double kSteps = 20;
  return report::BesidePublished(results, frame, rows,
                                 {{.property = "images_per_second", .factor = 1},
                                  {.property = "peak_tensor_bytes", .factor = 1 / kBytesPerGib},
                                  {.property = "step_seconds_median", .factor = kSteps}});
}

report::PublishedFixedCosts PublishedVitFixedCosts() {
  constexpr char kBaseline[] = "torch_ddp";
  constexpr int kBatchSize = 8;
  return {.property = "plugin",
          .baseline = kBaseline,
          .baseline_batch_size = kBatchSize,
          .baseline_step_seconds = experiment::PublishedStepSeconds(kBaseline, kBatchSize),
          .fixed_seconds = {{"low_level_zero", experiment::PublishedFixedSeconds("low_level_zero")},
                            {"gemini", experiment::PublishedFixedSeconds("gemini")}}};
}

/// A report ends with these words; whatever else stands there is somebody's data.
Status CheckMayWrite(const std::string& path) {
  constexpr std::string_view kHtml = "<!DOCTYPE html>";
  if (!FileExists(path)) {
    return Status::Ok();
  }
  std::string begin(kHtml.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  bool ours = file.gcount() == 0;
  if (begin == kHtml) {
    ASSAY_ASSIGN_OR_RETURN(const std::string old, ReadFile(path));
    ours = old.find(report::kSignature) != std::string::npos;
  }
  return ours ? Status::Ok()
              : Status::InvalidArgument(
                    fmt::format("{} is there and is no report of assay: name another file, or remove it", path));
}

Status Run(const ReportOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckMayWrite(options.output));
  ASSAY_ASSIGN_OR_RETURN(const Selected selected, Select(options.selection, /*with_series=*/true));
  const std::vector<samplestore::Measurement>& measurements = selected.measurements;
  report::ReportInput input;
  input.title = selected.title;
  input.space_description = selected.description;
  input.measurements = measurements;
  input.planned_points = static_cast<size_t>(selected.planned_points);
  if (std::ranges::any_of(measurements,
                          [](const auto& m) { return m.experiment.starts_with("vit_plugin_benchmark"); })) {
    input.published = PublishedVit(report::ResultSet(measurements));
    input.published_fixed_costs = PublishedVitFixedCosts();
  }
  ASSAY_RETURN_IF_ERROR(WriteFileAtomically(options.output, report::RenderHtmlReport(input)));
  fmt::print("report of {}: {}\n", report::Count(measurements.size(), "measurement"), options.output);
  return Status::Ok();
}

}  // namespace

Action AddReport(CLI::App& app) {
  auto options = std::make_shared<ReportOptions>();
  AddSelectionOptions(app, options->selection);
  app.add_option("-o,--output-file", options->output, "HTML file to write")->required()->type_name("FILE.html");
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
