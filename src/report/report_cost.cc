// What a step costs: the lines over the batch size, how much memory a sample takes, and where they cross.
#include <fmt/format.h>

#include <ranges>

#include "report/cost_table.h"
#include "report/fixed_cost.h"
#include "report/format.h"
#include "report/report_sections.h"

namespace assay::report {
namespace {

constexpr size_t kMostCrossings = 10;

void WriteLines(Markup& html, const std::vector<CostLine>& lines) {
  OpenGrid(html, "Cost model", "series", kCostColumns);
  for (const CostLine& line : lines | std::views::take(kMostRows)) {
    html.Open("tr").Element("td", LabelOf(line), {{"class", "series"}});
    for (const std::string& cell : CellsOf(line)) {
      WriteNumberCell(html, cell);
    }
    html.Close();
  }
  CloseGrid(html);
}

void WriteFixedCosts(Markup& html, const ResultSet& results, const std::vector<CostLine>& lines,
                     const experiment::PublishedFixedCosts& published) {
  const std::vector<FixedCost> rows = CompareFixedCosts(results, lines, published);
  if (rows.empty()) {
    return;
  }
  html.Element("h3", fmt::format("Fixed cost beyond {}", published.baseline));
  html.Element("p",
               fmt::format("The fixed cost of a step minus that of {} under the same conditions, and the fixed cost "
                           "that follows from the published table, scaled by how long a step of {} takes here at "
                           "batch size {} and took there.",
                           published.baseline, published.baseline, Whole(published.baseline_batch_size)));
  constexpr GridColumn kColumns[] = {
      {"fixed", "ms"}, {"beyond", "ms"}, {"published", "ms"}, {"published, scaled", "ms"}};
  OpenGrid(html, "Fixed costs", "series", kColumns);
  for (const FixedCost& row : rows | std::views::take(kMostRows)) {
    const measure::LinearFit& fit = row.line->step_seconds;
    html.Open("tr").Element("td", row.line->label, {{"class", "series"}});
    WriteNumberCell(html, InMilliseconds(fit.intercept, fit.intercept_interval));
    WriteNumberCell(html, InMilliseconds(row.beyond_seconds, {0, row.beyond_seconds + row.half_width_seconds}));
    WriteNumberCell(html, Readable(1000 * row.published_seconds));
    WriteNumberCell(html, Readable(1000 * row.scaled_seconds));
    html.Close();
  }
  CloseGrid(html);
}

}  // namespace

void WriteCostModel(Markup& html, const ReportContent& content) {
  const std::vector<CostLine>& lines = content.lines;
  if (lines.empty()) {
    return;
  }
  html.Open("section", {{"id", "cost"}}).Element("h2", "What a step costs");
  html.Element("p",
               "A line through the step times of each series, t = fixed + each \u00b7 batch size, by least squares, "
               "with the 95 % interval and R\u00b2 where there are three batch sizes; through two every line goes. The "
               "fixed cost is what a step takes however "
               "small the batch: communication, the optimiser, start-up of kernels. The limit is what large batches "
               "approach, the samples of all data ranks counted.");
  WriteLines(html, lines);
  for (const experiment::Experiment* experiment : content.results.declared().measured()) {
    if (const auto& published = experiment->declaration().report.fixed_costs) {
      WriteFixedCosts(html, content.results, lines, *published);
    }
  }
  html.Close();
}

void WriteCrossings(Markup& html, const ReportContent& content) {
  const std::vector<Crossing> crossings = FindCrossings(content.results, content.lines);
  if (crossings.empty()) {
    return;
  }
  html.Open("section", {{"aria-label", "Crossings"}}).Element("h2", "Where one overtakes another").Open("ul");
  for (const Crossing& crossing : crossings | std::views::take(kMostCrossings)) {
    html.Element("li", TextOf(crossing));
  }
  if (crossings.size() > kMostCrossings) {
    html.Element("li", fmt::format("{} cross.", Count(crossings.size() - kMostCrossings, "more pair")));
  }
  html.Close().Close();
}

}  // namespace assay::report
