// assay report: a store's measurements as one HTML file.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "cli/selection.h"
#include "cli/verb.h"
#include "experiment/published.h"
#include "report/format.h"
#include "report/html_report.h"
#include "report/metric.h"

namespace assay::cli {
namespace {

struct ReportOptions {
  Selection selection;
  std::string output;
};

/// The fastest valid measurement of that plugin and batch size; nullptr when there is none.
const samplestore::Measurement* FastestOf(const std::vector<samplestore::Measurement>& measurements,
                                          const experiment::PublishedVitRow& row) {
  const samplestore::Measurement* fastest = nullptr;
  const auto speed = [](const samplestore::Measurement& m) {
    return report::NumberOf(m, "images_per_second").value_or(0);
  };
  const space::Entity point = {{"plugin", std::string(row.plugin)}, {"batch_size", int64_t{row.batch_size}}};
  for (const samplestore::Measurement& m : measurements) {
    const bool same = std::ranges::all_of(point, [&](const auto& property) {
      const auto found = m.entity.find(property.first);
      return found != m.entity.end() && found->second == property.second;
    });
    if (same && speed(m) > (fastest == nullptr ? 0 : speed(*fastest))) {
      fastest = &m;
    }
  }
  return fastest;
}

/// Ours in the columns of the published ones; dashes where that point was not measured.
std::vector<std::string> OwnCells(const samplestore::Measurement* own) {
  if (own == nullptr) {
    return {"\u2013", "\u2013", "\u2013"};
  }
  constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;
  constexpr double kSteps = 20;
  const auto cell = [&](const char* property, double factor) {
    const std::optional<double> value = report::NumberOf(*own, property);
    return value ? report::Readable(*value * factor) : std::string("\u2013");
  };
  return {cell("images_per_second", 1), cell("peak_tensor_bytes", 1 / kBytesPerGib),
          cell("step_seconds_median", kSteps)};
}

report::PublishedTable PublishedVit(const std::vector<samplestore::Measurement>& measurements) {
  report::PublishedTable table;
  table.title = "Colossal-AI's ViT benchmark, ViT-B/16 with gradient checkpointing, 20 steps on one GPU";
  table.note = fmt::format(
      "Published on: {}. Measured without warm-up, once, with a memory peak that includes initialisation; compare "
      "shapes and ratios, not seconds. Here: the fastest of the configurations above with that plugin and batch size, "
      "on this page's hardware; its model may be another.",
      experiment::kPublishedVitHardware);
  table.columns = {"plugin, batch size", "published images/s", "peak GiB",      "s for 20 steps",
                   "here images/s",      "peak GiB",           "s for 20 steps"};
  for (const experiment::PublishedVitRow& row : experiment::PublishedVitRows()) {
    std::vector<std::string>& cells = table.rows.emplace_back(std::vector<std::string>{
        fmt::format("{}, {}", row.plugin, row.batch_size), fmt::format("{:.2f}", row.images_per_second),
        fmt::format("{:.2f}", row.peak_gib), fmt::format("{:.1f}", row.seconds)});
    std::ranges::move(OwnCells(FastestOf(measurements, row)), std::back_inserter(cells));
  }
  return table;
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
    input.published.push_back(PublishedVit(measurements));
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
