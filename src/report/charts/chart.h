// Charts as Vega-Lite specifications over data sets that the page makes of the model; one file and one row each.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/report_content.h"

namespace assay::report {

/// Something of the chart that the reader chooses. In the specification "@NAME" stands for the field of what was
/// chosen, "@NAME.low" and "@NAME.high" for its interval, "@NAME.title" for its title with its unit, "@NAME.numbers"
/// for the numbers of an axis; where nothing is chosen, the channel that names it is left out.
struct Choice {
  std::string name;
  std::string label;
  std::string of;      ///< metrics | axes | numeric_axes | numbers (both) | predictions | fixed (nothing else)
  std::string chosen;  ///< field; empty: nothing
  bool may_be_nothing = false;
};

/// The data set of a chart, as src/web/datasets.js makes it.
enum class ChartData {
  kConfigurations,  ///< of the filter, with whether they are on the front of choices x and y
  kRanked,          ///< the best by choice y
  kCells,           ///< a cell for each place of axes row and column, measured or not
  kLines,           ///< configurations, and the ends of the lines over the batch size
  kSpeedups,        ///< configurations with what more ranks give them
  kPredictions,     ///< measured beside predicted
  kPairs,           ///< matched pairs of the comparison
  kParts,           ///< values of the columns of a breakdown
};

struct Chart {
  std::string id;
  std::string view;  ///< overview | explore | scaling | predicted | compare | run
  std::string title;
  std::string text = {};  ///< what is seen, in a sentence
  ChartData data = ChartData::kConfigurations;
  std::string breakdown = {};  ///< of kParts: its id
  std::vector<Choice> choices = {};
  /// Axes whose combinations make the panels of a chart with the facet field "panel"; nothing: no panels.
  std::optional<std::vector<std::string>> panels = {};
  nlohmann::json spec = {};
};

/// One row of the chart table: nothing when the report has nothing to show that way.
struct ChartKind {
  std::string_view id;
  std::optional<Chart> (*build)(const ReportContent& content);
};

/// All kinds, in the order of the page.
std::span<const ChartKind> ChartKinds();

/// Every chart that has something to show, then those that experiments declare.
nlohmann::json ChartsJson(const ReportContent& content);

std::optional<Chart> BuildPareto(const ReportContent& content);
std::optional<Chart> BuildHeatMap(const ReportContent& content);
std::optional<Chart> BuildRanking(const ReportContent& content);
std::optional<Chart> BuildScatter(const ReportContent& content);
std::optional<Chart> BuildSpread(const ReportContent& content);
std::optional<Chart> BuildThroughputByBatch(const ReportContent& content);
std::optional<Chart> BuildMemoryByBatch(const ReportContent& content);
std::optional<Chart> BuildThroughputByLength(const ReportContent& content);
std::optional<Chart> BuildMemoryByLength(const ReportContent& content);
std::optional<Chart> BuildStepCost(const ReportContent& content);
std::optional<Chart> BuildSpeedup(const ReportContent& content);
std::optional<Chart> BuildEfficiency(const ReportContent& content);
std::optional<Chart> BuildPredicted(const ReportContent& content);
std::optional<Chart> BuildPredictionError(const ReportContent& content);
std::optional<Chart> BuildRatios(const ReportContent& content);

}  // namespace assay::report
