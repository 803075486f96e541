// What a step costs: the lines over the batch size, where they cross, and how much memory a sample takes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "report/cost_model.h"
#include "report/fixed_cost.h"
#include "report/format.h"
#include "report/plain_grid.h"
#include "report/report_sections.h"

namespace assay::report {
namespace {

constexpr size_t kMaxCrossovers = 8;

// "211 \u00b1 20" in ms; without an interval, two points make the line.
std::string InMilliseconds(double value, const measure::Interval& interval) {
  const std::string text = Readable(1000 * value);
  return std::isfinite(interval.high) ? fmt::format("{} \u00b1 {}", text, Readable(1000 * (interval.high - value)))
                                      : text;
}

void WriteLine(Markup& html, const CostLine& line) {
  html.Open("tr").Element("td", line.label.empty() ? "all" : line.label, {{"class", "series"}});
  const measure::LinearFit& fit = line.step_seconds;
  WriteNumberCell(html, fmt::format("{} to {}", Whole(line.smallest_batch), Whole(line.largest_batch)));
  WriteNumberCell(html, InMilliseconds(fit.intercept, fit.intercept_interval));
  WriteNumberCell(html, InMilliseconds(fit.slope, fit.slope_interval));
  WriteNumberCell(html, fit.slope > 0 ? Readable(line.limit_throughput()) : "\u2013");
  WriteNumberCell(html, fmt::format("{}", line.sizes));
  const bool fitted = line.sizes >= kFewestForFit && std::isfinite(fit.r_squared);
  WriteNumberCell(html, fitted ? fmt::format("{:.4f}", fit.r_squared) : "\u2013");
  if (line.memory_gib) {
    WriteNumberCell(html, Readable(line.memory_gib->intercept));
    WriteNumberCell(html, Readable(1024 * line.memory_gib->slope));
  } else {
    WriteEmptyCell(html);
    WriteEmptyCell(html);
  }
  html.Close();
}

void WriteLines(Markup& html, const std::vector<CostLine>& lines) {
  constexpr GridColumn kColumns[] = {{"batch sizes", ""},      {"fixed", "ms"}, {"each", "ms"},
                                     {"limit", "samples/s"},   {"sizes", ""},   {"fit", "R\u00b2"},
                                     {"memory, fixed", "GiB"}, {"each", "MiB"}};
  OpenGrid(html, "Cost model", "series", kColumns);
  for (size_t i = 0; i < std::min(kMostRows, lines.size()); ++i) {
    WriteLine(html, lines[i]);
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

void WriteCrossings(Markup& html, const std::vector<Crossing>& crossings) {
  if (crossings.empty()) {
    return;
  }
  html.Open("ul");
  for (size_t i = 0; i < std::min(crossings.size(), kMaxCrossovers); ++i) {
    const Crossing& crossing = crossings[i];
    html.Element("li",
                 fmt::format("From batch size {} on, {} is faster than {}.", Whole(std::ceil(crossing.batch_size)),
                             crossing.winner->label, crossing.loser->label));
  }
  if (crossings.size() > kMaxCrossovers) {
    html.Element("li", fmt::format("{} more pairs cross.", crossings.size() - kMaxCrossovers));
  }
  html.Close();
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
  WriteCrossings(html, FindCrossings(content.results, lines));
  html.Close();
}

}  // namespace assay::report
