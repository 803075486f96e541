// What the intervals, the badges and the columns mean.
#include <fmt/format.h>

#include <set>

#include "report/format.h"
#include "report/report_sections.h"

namespace assay::report {
namespace {

std::string BasisText(const ReportContent& content) {
  std::set<Basis> bases;
  for (size_t i = 0; i < content.results.configurations().size(); ++i) {
    for (size_t metric = 0; metric < content.metrics.size(); ++metric) {
      if (const std::optional<Estimate>& estimate = content.estimates.At(i, metric)) {
        bases.insert(estimate->basis);
      }
    }
  }
  std::string text;
  if (bases.contains(Basis::kRuns)) {
    text +=
        "Where a configuration was run three times or more, the interval is Student's t over the runs; where they "
        "could end once it was narrow enough (assay explore --interval) it is wider, by the looks at it. ";
  }
  if (bases.contains(Basis::kReported)) {
    text +=
        "Where there is one run of eight steps or more after its warm-up, the interval comes from the spread of its "
        "steps: it says how well this run is known, not how much another run would differ. ";
  }
  return text + "A value without an interval stands on too few steps or runs to tell how sure it is.";
}

}  // namespace

void WriteReadingHelp(Markup& html, const ReportContent& content) {
  html.Open("details", {{"id", "help"}, {"open", "open"}}).Element("summary", "How to read this page");
  html.Element("p", BasisText(content));
  html.Element(
      "p",
      "Invalid: a rule, a gate or the model forbids the configuration; out of memory: it needs more than there "
      "is. Both are recorded and not repeated. Failed: anything else went wrong; the next exploration tries "
      "again.");
  html.Element(
      "p",
      "A comparison is clear where a test excludes that there is no difference, at 95 % among all comparisons "
      "that were looked at (Welch's test of two configurations, Student's of three matched pairs or more, both "
      "of the logarithms; Holm's correction). It is clear in these runs where a side was run once, which does "
      "not tell how much another run would differ. A matched pair is two configurations that differ in the "
      "named property alone; pairs that differ from each other in machine, commit or the like alone count as one, with "
      "their mean. Runs of different machines, commits, libtorch, settings or contents are never taken together.");
  html.Open("ul");
  for (const Metric& metric : content.metrics) {
    html.Open("li").Text(fmt::format("{}{}: ", metric.title, metric.unit.empty() ? "" : ", " + metric.unit));
    if (metric.property.empty()) {
      html.Text("from the run's series.");
    } else {
      html.Element("code", metric.property);
    }
    html.Close();
  }
  html.Close().Close();
}

}  // namespace assay::report
