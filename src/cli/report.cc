// assay report: a store's measurements as one page, or what the page shows as data.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "base/files.h"
#include "cli/selection.h"
#include "cli/verb.h"
#include "report/format.h"
#include "report/report_form.h"

namespace assay::cli {
namespace {

struct ReportOptions {
  Selection selection;
  std::string file;
  std::string form;
};

/// The form that was asked for, else that of the file's ending, else a page.
report::Form FormOf(const ReportOptions& options) {
  const auto asked = report::FormFromName(options.form);
  return asked ? *asked : report::FormOfFile(options.file).value_or(report::Form::kHtml);
}

Status CheckTarget(const ReportOptions& options, report::Form form) {
  if (options.file.empty()) {
    const bool is_text = form == report::Form::kJson || form == report::Form::kCsv;
    return is_text ? Status::Ok()
                   : Status::InvalidArgument("say where to write it: -o FILE (--output csv and json are printed)");
  }
  if (!FileExists(options.file)) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string old, ReadFile(options.file));
  return old.empty() || report::IsReport(old)
             ? Status::Ok()
             : Status::InvalidArgument(
                   fmt::format("{} is there and is no report of assay: name another file, or remove it", options.file));
}

Status Run(const ReportOptions& options) {
  const report::Form form = FormOf(options);
  ASSAY_RETURN_IF_ERROR(CheckTarget(options, form));
  const bool with_series = form == report::Form::kHtml || form == report::Form::kJson;
  ASSAY_ASSIGN_OR_RETURN(const Selected selected, Select(options.selection, with_series));
  const std::string text = report::RenderReport({.title = selected.title,
                                                 .space_description = selected.description,
                                                 .measurements = selected.measurements,
                                                 .planned_points = static_cast<size_t>(selected.planned_points),
                                                 .unmeasured = selected.unmeasured},
                                                form);
  if (options.file.empty()) {
    fmt::print("{}", text);
    return Status::Ok();
  }
  ASSAY_RETURN_IF_ERROR(WriteFileAtomically(options.file, text));
  fmt::print("report of {}: {}\n", report::Count(selected.measurements.size(), "measurement"), options.file);
  return Status::Ok();
}

}  // namespace

Action AddReport(CLI::App& app) {
  auto options = std::make_shared<ReportOptions>();
  AddSelectionOptions(app, options->selection);
  app.add_option("-o,--output-file", options->file, "File to write; csv and json are printed without one")
      ->type_name("FILE");
  app.add_option("--output", options->form,
                 "A page (html), what it is made of (json), or what it shows of each configuration (csv, parquet) [by "
                 "the file's ending, else html]")
      ->check(CLI::IsMember({"html", "json", "csv", "parquet"}));
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
