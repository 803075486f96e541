// assay results: what a store holds for a space or an experiment.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "cli/selection.h"
#include "cli/verb.h"
#include "report/results_table.h"
#include "report/virtual_properties.h"

namespace assay::cli {
namespace {

using samplestore::Measurement;

struct ResultsOptions {
  Selection selection;
  std::string output;
  int64_t limit = 0;
  std::vector<std::string> aggregations;  ///< names
};

constexpr int64_t kLimit = 10'000;

Status Print(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size()
             ? Status::Ok()
             : ErrnoStatus(errno, "write", "standard output");
}

Status PrintCsv(const Selection& selection, samplestore::SampleStore& store) {
  report::ResultsCsv csv;
  int64_t newest = 0;
  ASSAY_RETURN_IF_ERROR(
      ForEachOfExperiment(selection, store, 0, /*with_series=*/false, [&](const Measurement& measurement) {
        csv.AddColumns(measurement);
        newest = measurement.arrival;
        return Status::Ok();
      }));
  ASSAY_RETURN_IF_ERROR(Print(csv.Header()));
  // What has come in meanwhile may have other columns.
  return ForEachOfExperiment(selection, store, newest + 1, /*with_series=*/false,
                             [&](const Measurement& measurement) { return Print(csv.Line(measurement)); });
}

Status PrintJson(const Selection& selection, samplestore::SampleStore& store) {
  report::ResultsJson list;
  ASSAY_RETURN_IF_ERROR(
      ForEachOfExperiment(selection, store, 0, /*with_series=*/true, [&](const Measurement& measurement) {
        std::string json;
        list.Add(measurement, json);
        return Print(json);
      }));
  return Print(list.End());
}

Status PrintTable(const ResultsOptions& options, samplestore::SampleStore& store) {
  ASSAY_ASSIGN_OR_RETURN(const Newest newest, NewestOfExperiment(options.selection, store, options.limit));
  fmt::print("{}", report::RenderResultsTable(newest.measurements));
  if (std::ssize(newest.measurements) < newest.count) {
    fmt::print("These are the newest {} measurements of {}: --limit shows more, --output csv all\n",
               newest.measurements.size(), newest.count);
  }
  return Status::Ok();
}

Status PrintExperiment(const ResultsOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckSelection(options.selection));
  ASSAY_ASSIGN_OR_RETURN(const auto store, OpenUserStore(options.selection.store, samplestore::StoreAccess::kReadOnly));
  if (options.output == "csv") {
    return PrintCsv(options.selection, *store);
  }
  return options.output == "json" ? PrintJson(options.selection, *store) : PrintTable(options, *store);
}

std::string RenderAggregates(const Selected& selected, const ResultsOptions& options) {
  const std::vector<const report::Aggregation*> rows = report::AggregationsOf(options.aggregations);
  if (options.output == "table") {
    return report::RenderAggregatesTable(selected.measurements, rows, selected.planned_points);
  }
  const std::vector<samplestore::Measurement> aggregated =
      report::Aggregated(report::ResultSet(selected.measurements), rows);
  return options.output == "csv" ? report::RenderResultsCsv(aggregated) : report::RenderResultsJson(aggregated);
}

Status Run(const ResultsOptions& options) {
  if (options.selection.space.empty() && options.aggregations.empty()) {
    return PrintExperiment(options);
  }
  const bool with_series = options.output == "json";
  ASSAY_ASSIGN_OR_RETURN(const Selected selected, Select(options.selection, with_series));
  if (!options.aggregations.empty()) {
    fmt::print("{}", RenderAggregates(selected, options));
  } else if (options.output == "csv") {
    fmt::print("{}", report::RenderResultsCsv(selected.measurements));
  } else if (options.output == "json") {
    fmt::print("{}", report::RenderResultsJson(selected.measurements));
  } else {
    fmt::print("{}", report::RenderResultsTable(selected.measurements, selected.planned_points));
  }
  return Status::Ok();
}

}  // namespace

Action AddResults(CLI::App& app) {
  auto options = std::make_shared<ResultsOptions>();
  AddSelectionOptions(app, options->selection);
  AddOutputOption(app, options->output, {"table", "csv", "json"});
  app.add_option("--limit", options->limit, "Of an experiment, how many measurements the table has: the newest")
      ->type_name("NUMBER")
      ->default_val(kLimit)
      ->check(WholeNumber(1));
  std::vector<std::string> names;
  for (const report::Aggregation& aggregation : report::Aggregations()) {
    names.emplace_back(aggregation.name);
  }
  app.add_option("--aggregate", options->aggregations,
                 "One row a point: the values of its runs made one; may be repeated. In csv and json a target is then "
                 "called TARGET-mean and so on")
      ->check(CLI::IsMember(names))
      ->take_all();
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
