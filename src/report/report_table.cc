// The table of configurations.
#include <fmt/format.h>

#include <algorithm>

#include "report/cell_state.h"
#include "report/estimate.h"
#include "report/format.h"
#include "report/report_sections.h"

namespace assay::report {
namespace {

using samplestore::Outcome;

constexpr size_t kMaxReasonChars = 90;

void WriteHeading(Markup& html, std::string_view label, std::string_view unit, std::string_view name, bool number) {
  html.Open("th", {{"scope", "col"}, {"class", number ? "n" : ""}, {"title", std::string(name)}});
  html.Element("span", label, {{"class", "label"}});
  if (!unit.empty()) {
    html.Text(" ").Element("span", unit, {{"class", "unit"}});
  }
  html.Close();
}

std::string HoverText(const Metric& metric) {
  return metric.property.empty() ? metric.title : fmt::format("{}: {}", metric.title, metric.property);
}

bool IsNumeric(const ResultSet& results, const std::string& property) {
  const Axis* axis = results.AxisOf(property);
  return axis != nullptr && axis->IsNumeric();
}

void WriteHead(Markup& html, const ReportContent& content) {
  html.Open("thead").Open("tr");
  WriteHeading(html, "#", "", "number of the configuration", true);
  for (const std::string& property : content.results.varying()) {
    WriteHeading(html, content.results.declared().Label(property), "", property, IsNumeric(content.results, property));
  }
  WriteHeading(html, "state", "", "", false);
  for (const Metric& metric : content.metrics) {
    WriteHeading(html, metric.short_title, metric.unit, HoverText(metric), true);
  }
  html.Close().Close();
}

void WriteState(Markup& html, CellState state) {
  html.Element("span", LabelOf(state), {{"class", fmt::format("badge {}", ToString(state))}});
}

void WriteStateCell(Markup& html, const Configuration& configuration) {
  html.Open("td");
  WriteState(html, StateOf(configuration));
  if (configuration.outcome != Outcome::kValid) {
    html.Element("small", Shorten(configuration.reason(), kMaxReasonChars),
                 {{"class", "reason"}, {"title", std::string(configuration.reason())}});
  } else if (configuration.IsStarved()) {
    html.Element("small", "waited for processors", {{"class", "reason"}});
  }
  html.Close();
}

void WriteValueCell(Markup& html, const std::optional<Estimate>& estimate, const Metric& metric) {
  if (!estimate) {
    html.Element("td", "\u2013", {{"class", "n none"}});
    return;
  }
  html.Open("td", {{"class", "n"}}).Text(metric.Text(estimate->value)).Text(" ");
  html.Element("small", SureText(*estimate), {{"title", IntervalText(*estimate)}}).Close();
}

void WriteRow(Markup& html, const ReportContent& content, const Configuration& configuration) {
  html.Open("tr", {{"data-state", std::string(ToString(StateOf(configuration)))}});
  html.Element("td", fmt::format("{}", configuration.index + 1), {{"class", "n"}});
  for (const std::string& property : content.results.varying()) {
    const bool is_number = IsNumeric(content.results, property);
    html.Element("td", space::ToString(configuration.At(property)), {{"class", is_number ? "n" : "name"}});
  }
  WriteStateCell(html, configuration);
  for (size_t i = 0; i < content.metrics.size(); ++i) {
    WriteValueCell(html, content.estimates.At(configuration.index, i), content.metrics[i]);
  }
  html.Close();
}

}  // namespace

void WriteLeftOut(Markup& html, size_t rows) {
  if (rows > kMostRows) {
    html.Element("p", fmt::format("The first {} of {}; assay report --output csv writes all.",
                                  Whole(static_cast<double>(kMostRows)), Whole(static_cast<double>(rows))));
  }
}

void WriteTable(Markup& html, const ReportContent& content) {
  const auto& configurations = content.results.configurations();
  if (configurations.empty()) {
    return;
  }
  html.Open("section", {{"class", "results"}}).Element("h2", "Results");
  html.Open("div", {{"class", "scroll"}, {"role", "region"}, {"aria-label", "Results"}, {"tabindex", "0"}});
  html.Open("table", {{"class", "grid"}});
  WriteHead(html, content);
  html.Open("tbody");
  for (size_t i = 0; i < std::min(kMostRows, configurations.size()); ++i) {
    WriteRow(html, content, configurations[i]);
  }
  html.Close().Close().Close();
  WriteLeftOut(html, configurations.size());
  html.Close();
}

}  // namespace assay::report
