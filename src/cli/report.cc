// assay report: a store's measurements as one HTML file.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "base/files.h"
#include "cli/selection.h"
#include "cli/verb.h"
#include "experiment/point.h"
#include "experiment/published.h"
#include "report/html_report.h"

namespace assay::cli {
namespace {

struct ReportOptions {
  Selection selection;
  std::string output;
};

report::PublishedTable PublishedVit() {
  report::PublishedTable table;
  table.title = "Colossal-AI's ViT benchmark, ViT-B/16 with gradient checkpointing, 20 steps on one GPU";
  table.note = fmt::format(
      "Hardware: {}. Measured without warm-up, once, with a memory peak that includes initialisation; compare shapes "
      "and ratios with the rows above, not seconds.",
      experiment::kPublishedVitHardware);
  table.columns = {"plugin, batch size", "images/s", "peak GiB", "s for 20 steps"};
  for (const experiment::PublishedVitRow& row : experiment::PublishedVitRows()) {
    table.rows.push_back({fmt::format("{}, {}", row.plugin, row.batch_size),
                          fmt::format("{:.2f}", row.images_per_second), fmt::format("{:.2f}", row.peak_gib),
                          fmt::format("{:.1f}", row.seconds)});
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

Status Run(const ReportOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const auto measurements, Select(options.selection, /*with_series=*/true));
  report::ReportInput input;
  input.title = options.selection.experiment;
  if (!options.selection.space.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const space::DiscoverySpace space, space::ReadDiscoverySpace(options.selection.space));
    input.title = space.name.empty() ? options.selection.space : space.name;
    input.space_description = space.description;
  }
  input.measurements = measurements;
  if (std::ranges::any_of(measurements,
                          [](const auto& m) { return m.experiment.starts_with("vit_plugin_benchmark"); })) {
    input.published.push_back(PublishedVit());
    input.published_fixed_costs = PublishedVitFixedCosts();
  }
  ASSAY_RETURN_IF_ERROR(WriteFileAtomically(options.output, report::RenderHtmlReport(input)));
  fmt::print("report of {} measurements: {}\n", measurements.size(), options.output);
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
