// The table of all configurations, and the same data as a CSV file to keep.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "report/estimate.h"
#include "report/format.h"
#include "report/report_sections.h"
#include "report/results_table.h"

namespace assay::report {
namespace {

using samplestore::Outcome;

constexpr size_t kMaxReasonChars = 90;

// For a data: URL (RFC 3986: all but the unreserved characters).
std::string PercentEncoded(std::string_view text) {
  std::string encoded;
  for (unsigned char c : text) {
    if (c < 0x80 && (std::isalnum(c) || c == '-' || c == '.' || c == '_' || c == '~')) {
      encoded += static_cast<char>(c);
    } else {
      encoded += fmt::format("%{:02X}", c);
    }
  }
  return encoded;
}

// Without a script there is nothing to filter with: the controls show when the script has run.
void WriteTools(Markup& html, const ReportContent& content) {
  html.Open("div", {{"class", "tools"}});
  html.Open("div", {{"class", "filters"}, {"hidden", "hidden"}});
  html.Open("label").Text("Filter ").Empty("input",
                                           {{"type", "search"}, {"id", "filter"}, {"placeholder", "lora 256"}});
  html.Close();
  html.Open("label").Text("Outcome ").Open("select", {{"id", "outcome"}});
  html.Element("option", "all", {{"value", "all"}});
  for (Outcome outcome : {Outcome::kValid, Outcome::kInvalid, Outcome::kFailed}) {
    html.Element("option", samplestore::ToString(outcome));
  }
  html.Close().Close();
  html.Element("span", "", {{"id", "shown"}, {"role", "status"}}).Close();
  html.Element(
      "a", "All values as CSV",
      {{"class", "download"},
       {"download", "results.csv"},
       {"href", "data:text/csv;charset=utf-8," + PercentEncoded(RenderResultsCsv(content.input.measurements))}});
  html.Close();
}

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
  const auto values = results.ValuesOf(property);
  return std::all_of(values.begin(), values.end(), [](const space::Value& value) {
    return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
  });
}

void WriteHead(Markup& html, const ReportContent& content) {
  html.Open("thead").Open("tr");
  WriteHeading(html, "#", "", "number in the details below", true);
  for (const std::string& property : content.results.varying()) {
    WriteHeading(html, content.results.declared().Label(property), "", property, IsNumeric(content.results, property));
  }
  WriteHeading(html, "outcome", "", "", false);
  for (const Metric& metric : content.metrics) {
    WriteHeading(html, metric.short_title, metric.unit, HoverText(metric), true);
  }
  html.Close().Close();
}

void WriteOutcomeCell(Markup& html, const Configuration& configuration) {
  html.Open("td");
  WriteOutcome(html, configuration.outcome);
  if (configuration.outcome != Outcome::kValid) {
    html.Element("small", Shorten(configuration.reason(), kMaxReasonChars),
                 {{"class", "reason"}, {"title", std::string(configuration.reason())}});
  } else if (configuration.IsStarved()) {
    html.Element("small", "waited for processors", {{"class", "reason"}});
  }
  html.Close();
}

// `share`: of the column's greatest value; drawn as a bar behind the first metric.
void WriteValueCell(Markup& html, const Configuration& configuration, const Metric& metric, double greatest) {
  const std::optional<Estimate> estimate = EstimateOf(configuration, metric);
  if (!estimate) {
    html.Element("td", "\u2013", {{"class", "n none"}});
    return;
  }
  const double share = greatest > 0 ? 100 * estimate->value / greatest : 0;
  html.Open("td", {{"class", greatest > 0 ? "n bar" : "n"},
                   {"data-v", fmt::format("{}", estimate->value)},
                   {"style", greatest > 0 ? fmt::format("--share:{:.0f}%", share) : ""}});
  html.Text(metric.Text(estimate->value));
  if (estimate->has_interval()) {
    html.Text(" ").Element("small", fmt::format("\u00b1{}", Readable((estimate->high - estimate->low) / 2)),
                           {{"title", IntervalText(*estimate)}});
  }
  html.Close();
}

double GreatestOf(const ResultSet& results, const Metric& metric) {
  double greatest = 0;
  for (const Configuration& configuration : results.configurations()) {
    const std::optional<Estimate> estimate = EstimateOf(configuration, metric);
    greatest = std::max(greatest, estimate ? estimate->value : 0);
  }
  return greatest;
}

void WriteRow(Markup& html, const ReportContent& content, const Configuration& configuration, double greatest) {
  const std::string number = fmt::format("{}", configuration.index + 1);
  html.Open("tr", {{"data-c", number}, {"data-outcome", std::string(samplestore::ToString(configuration.outcome))}});
  html.Open("td", {{"class", "n"}, {"data-v", number}}).Element("a", number, {{"href", "#p" + number}}).Close();
  for (const std::string& property : content.results.varying()) {
    const std::string text = space::ToString(configuration.At(property));
    const bool number_cell = IsNumeric(content.results, property);
    html.Element("td", text, {{"class", number_cell ? "n" : "name"}, {"data-v", number_cell ? text : ""}});
  }
  WriteOutcomeCell(html, configuration);
  for (const Metric& metric : content.metrics) {
    WriteValueCell(html, configuration, metric, &metric == &content.metrics.front() ? greatest : 0);
  }
  html.Close();
}

}  // namespace

void WriteOutcome(Markup& html, Outcome outcome) {
  const std::string name(samplestore::ToString(outcome));
  html.Element("span", name, {{"class", "badge " + name}});
}

void WriteTable(Markup& html, const ReportContent& content) {
  if (content.results.configurations().empty()) {
    return;
  }
  html.Open("section", {{"id", "results"}}).Element("h2", "Results");
  WriteTools(html, content);
  html.Open("div", {{"class", "scroll"}, {"role", "region"}, {"aria-label", "Results"}, {"tabindex", "0"}});
  html.Open("table", {{"id", "table"}, {"class", "grid"}});
  WriteHead(html, content);
  html.Open("tbody");
  const double greatest = content.metrics.empty() ? 0 : GreatestOf(content.results, content.metrics.front());
  for (const Configuration& configuration : content.results.configurations()) {
    WriteRow(html, content, configuration, greatest);
  }
  html.Close().Close().Close().Close();
}

}  // namespace assay::report
