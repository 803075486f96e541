// assay report: a store's measurements as one HTML file.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/files.h"
#include "cli/selection.h"
#include "cli/verb.h"
#include "experiment/point.h"
#include "report/html_report.h"

namespace assay::cli {
namespace {

struct ReportOptions {
  Selection selection;
  std::string output;
};

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
