// assay report: a store's measurements as one HTML file.
#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <string>

#include "base/files.h"
#include "cli/selection.h"
#include "cli/verb.h"
#include "report/format.h"
#include "report/html_report.h"

namespace assay::cli {
namespace {

struct ReportOptions {
  Selection selection;
  std::string output;
};

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
