// assay report: a store's measurements as one page, or what the page shows as data.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/files.h"
#include "cli/selection.h"
#include "cli/space_store.h"
#include "cli/verb.h"
#include "report/format.h"
#include "report/report_form.h"
#include "samplestore/sample_store.h"

namespace assay::cli {
namespace {

struct ReportOptions {
  Selection selection;
  std::vector<std::string> beside;  ///< further stores
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
  // Into a device or a pipe nothing is written: a file takes the place of what has the name.
  std::error_code ignored;
  if (!std::filesystem::is_directory(options.file, ignored) &&
      !std::filesystem::is_regular_file(options.file, ignored)) {
    return Status::InvalidArgument(fmt::format("{} is no file: name another one", options.file));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string old, ReadFile(options.file));
  return old.empty() || report::IsReport(old)
             ? Status::Ok()
             : Status::InvalidArgument(
                   fmt::format("{} is there and is no report of assay: name another file, or remove it", options.file));
}

void NameStore(const std::string& url, std::span<samplestore::Measurement> measurements) {
  for (samplestore::Measurement& measurement : measurements) {
    measurement.provenance["store"] = samplestore::StoreName(url);
  }
}

/// Of a space, a point is missing where no store has it.
void KeepMissing(const std::vector<report::UnmeasuredPoint>& elsewhere, std::vector<report::UnmeasuredPoint>& points) {
  std::erase_if(points, [&](const report::UnmeasuredPoint& point) {
    return std::ranges::none_of(elsewhere, [&](const report::UnmeasuredPoint& other) {
      return other.parameterized_id == point.parameterized_id && other.entity == point.entity;
    });
  });
}

/// What all stores have, told apart by their names where there are several.
Result<Selected> SelectOfStores(const ReportOptions& options) {
  // Of some targets the report's figures are those of series, in every form.
  ASSAY_ASSIGN_OR_RETURN(Selected selected, Select(options.selection, /*with_series=*/true));
  if (!options.beside.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const std::string url, StoreOfSpace(options.selection.store, options.selection.space));
    NameStore(url, selected.measurements);
  }
  for (const std::string& url : options.beside) {
    Selection there = options.selection;
    there.store = url;
    ASSAY_ASSIGN_OR_RETURN(Selected more, Select(there, /*with_series=*/true));
    NameStore(url, more.measurements);
    std::ranges::move(more.measurements, std::back_inserter(selected.measurements));
    KeepMissing(more.unmeasured, selected.unmeasured);
  }
  return selected;
}

Status Run(const ReportOptions& options) {
  const report::Form form = FormOf(options);
  ASSAY_RETURN_IF_ERROR(CheckTarget(options, form));
  ASSAY_ASSIGN_OR_RETURN(const Selected selected, SelectOfStores(options));
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
  app.add_option("--beside", options->beside,
                 "A further store, whose measurements stand beside those of --store and are told apart by it; may be "
                 "repeated")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->type_name("URL");
  app.add_option("-o,--output-file", options->file, "File to write; csv and json are printed without one")
      ->type_name("FILE");
  app.add_option("--output", options->form,
                 "A page (html), what it is made of (json), or what it shows of each configuration (csv, parquet) [by "
                 "the file's ending, else html]")
      ->check(CLI::IsMember({"html", "json", "csv", "parquet"}));
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
