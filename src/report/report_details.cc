// Every configuration with all values of its runs and where they come from.
#include <fmt/format.h>

#include <map>
#include <set>

#include "report/conditions.h"
#include "report/estimate.h"
#include "report/facts.h"
#include "report/format.h"
#include "report/report_sections.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using samplestore::Outcome;

std::string ValueText(const space::Value& value) {
  const auto* real = std::get_if<double>(&value);
  return real != nullptr ? fmt::format("{:.7g}", *real) : space::ToString(value);
}

void WritePair(Markup& html, std::string_view name, std::string_view value, std::string_view unit = "") {
  html.Open("tr").Element("th", name, {{"scope", "row"}}).Open("td").Text(value);
  if (!unit.empty()) {
    html.Text(" ").Element("span", unit, {{"class", "unit"}});
  }
  html.Close().Close();
}

// Entries that every measurement has alike stand once, above the configurations.
std::map<std::string, std::string> SharedProvenance(const ResultSet& results) {
  std::map<std::string, std::string> shared;
  for (const auto& [key, value] : results.measurements().front().provenance) {
    if (ProvenanceValues(results, key).size() == 1) {
      shared.emplace(key, value);
    }
  }
  return shared;
}

void WriteRun(Markup& html, const Measurement& run, const std::map<std::string, std::string>& shared) {
  html.Open("div", {{"class", "run"}});
  html.Open("table", {{"class", "pairs"}}).Element("caption", "Values").Open("tbody");
  for (const auto& [name, value] : run.properties) {
    const auto unit = run.units.find(name);
    WritePair(html, name, ValueText(value), unit == run.units.end() ? "" : unit->second);
  }
  html.Close().Close();
  html.Open("table", {{"class", "pairs"}}).Element("caption", "Provenance").Open("tbody");
  WritePair(html, "measured at", run.measured_at);
  WritePair(html, "experiment", run.parameterized_id);
  WritePair(html, "entity", run.entity_id);
  WritePair(html, "uid", run.uid);
  for (const auto& [name, value] : run.provenance) {
    if (!shared.contains(name)) {
      WritePair(html, name, value);
    }
  }
  html.Close().Close().Close();
}

/// Why a run has no values, or why they are to be doubted.
std::string NoteOn(const Measurement& run, const Configuration& configuration) {
  if (!run.reason.empty() || !WasStarved(run)) {
    return run.reason;
  }
  return fmt::format("starved: {}{}", ProvenanceOf(run, "starved"),
                     configuration.IsStarved() ? "" : "; left out of the means");
}

void WriteConfiguration(Markup& html, const Configuration& configuration, const ResultSet& results,
                        const std::map<std::string, std::string>& shared) {
  const std::string number = fmt::format("{}", configuration.index + 1);
  html.Open("details", {{"id", "p" + number}, {"class", "point"}});
  html.Open("summary").Element("span", number, {{"class", "number"}});
  html.Element("span", results.Label(configuration, " \u00b7 "), {{"class", "label"}});
  WriteOutcome(html, configuration.outcome);
  html.Close();
  for (const Measurement* run : configuration.runs) {
    if (configuration.runs.size() > 1) {
      html.Open("h4").Text(run->measured_at + " ");
      WriteOutcome(html, run->outcome);
      html.Close();
    }
    if (const std::string note = NoteOn(*run, configuration); !note.empty()) {
      html.Element("p", note, {{"class", "reason"}});
    }
    WriteRun(html, *run, shared);
  }
  html.Close();
}

void WriteNotMeasured(Markup& html, const ResultSet& results) {
  html.Element("h3", "Without values").Open("ul", {{"class", "unmeasured"}});
  for (const Configuration& configuration : results.configurations()) {
    if (configuration.outcome != Outcome::kValid) {
      html.Open("li");
      WriteOutcome(html, configuration.outcome);
      html.Text(" ").Element("a", results.Label(configuration, " \u00b7 "),
                             {{"href", fmt::format("#p{}", configuration.index + 1)}});
      html.Element("p", configuration.reason(), {{"class", "reason"}}).Close();
    }
  }
  html.Close();
}

std::string BasisText(const ResultSet& results, const std::vector<Metric>& metrics) {
  std::set<Basis> bases;
  for (const Metric& metric : metrics) {
    for (const Configuration& configuration : results.configurations()) {
      if (const std::optional<Estimate> estimate = EstimateOf(configuration, metric)) {
        bases.insert(estimate->basis);
      }
    }
  }
  std::string text;
  if (bases.contains(Basis::kRuns)) {
    text += "Where a configuration was run three times or more, the interval is Student's t over the runs. ";
  }
  if (bases.contains(Basis::kReported)) {
    text +=
        "Where there is one run of eight steps or more after its warm-up, the interval comes from the spread of its "
        "steps: it says how well this run is known, not how much another run would differ. ";
  }
  return text + "A value without an interval stands on too few steps or runs to tell how sure it is.";
}

}  // namespace

void WriteDetails(Markup& html, const ReportContent& content) {
  const ResultSet& results = content.results;
  if (results.configurations().empty()) {
    return;
  }
  html.Open("section", {{"id", "details"}}).Element("h2", "Details");
  if (results.CountOf(Outcome::kValid) < results.configurations().size()) {
    WriteNotMeasured(html, results);
    html.Element("h3", "Every configuration");
  }
  const std::map<std::string, std::string> shared = SharedProvenance(results);
  if (!shared.empty()) {
    html.Open("details", {{"class", "point"}}).Element("summary", "Provenance that all measurements share");
    html.Open("table", {{"class", "pairs"}}).Open("tbody");
    for (const auto& [name, value] : shared) {
      WritePair(html, name, value);
    }
    html.Close().Close().Close();
  }
  for (const Configuration& configuration : results.configurations()) {
    WriteConfiguration(html, configuration, results, shared);
  }
  html.Close();
}

void WriteReadingHelp(Markup& html, const ReportContent& content) {
  html.Open("section", {{"id", "help"}}).Element("h2", "How to read this page");
  html.Element("p", BasisText(content.results, content.metrics));
  html.Element("p",
               "Invalid: a rule, or the memory, forbids the configuration; it is recorded and not repeated. Failed: "
               "anything else went wrong; the next exploration tries again.");
  html.Element(
      "p",
      "Findings are clear when their intervals exclude the opposite, and within the noise when they do not; clear in "
      "these runs where the intervals come from within single runs, which do not tell how much another run "
      "would differ. A matched pair is two configurations that differ in the named property alone; three pairs or more "
      "make "
      "an interval of their own (Student's t over the logarithms of their ratios).");
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
