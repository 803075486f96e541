// assay results: what a store holds for a space or an experiment.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/options.h"
#include "cli/selection.h"
#include "cli/verb.h"
#include "report/results_table.h"

namespace assay::cli {
namespace {

struct ResultsOptions {
  Selection selection;
  std::string output;
};

Status Run(const ResultsOptions& options) {
  const bool with_series = options.output == "json";
  ASSAY_ASSIGN_OR_RETURN(const Selected selected, Select(options.selection, with_series));
  if (options.output == "csv") {
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
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
