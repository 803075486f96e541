// The head of the page: title, what was asked, what it was measured on and when, and the findings.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "report/conditions.h"
#include "report/format.h"
#include "report/report_sections.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using samplestore::Outcome;

struct Fact {
  std::string_view label;
  std::string_view key;  // of the provenance
};

// clang-format off
constexpr std::array kFacts = {
    Fact{"Host", "host"}, Fact{"CPU", "cpu"}, Fact{"Cores", "cores"}, Fact{"Memory", "memory"}, Fact{"GPU", "gpu"},
    Fact{"System", "os"}, Fact{"Device", "device"}, Fact{"Threads", "threads"}, Fact{"Kernels", "isa"},
    Fact{"libtorch", "libtorch"}, Fact{"assay", "version"}, Fact{"Commit", "commit"},
    Fact{"Weights", "weights"}, Fact{"Tokenizer", "tokenizer"}, Fact{"Data set", "dataset"},
};
// clang-format on

constexpr size_t kMaxFactValues = 3;

void WriteFact(Markup& html, std::string_view label, std::string_view value) {
  html.Open("div").Element("dt", label).Element("dd", value).Close();
}

std::string FactValue(const ResultSet& results, const Fact& fact) {
  std::vector<std::string> values = ProvenanceValues(results, fact.key);
  std::erase(values, "");
  const size_t total = values.size();
  values.resize(std::min(total, kMaxFactValues));
  return Join(values, "; ") + (total > kMaxFactValues ? fmt::format(" and {} more", total - kMaxFactValues) : "");
}

// "7 valid, 1 invalid"
std::string OutcomesText(const ResultSet& results) {
  std::vector<std::string> parts;
  for (Outcome outcome : {Outcome::kValid, Outcome::kInvalid, Outcome::kFailed}) {
    if (const size_t count = results.CountOf(outcome); count > 0) {
      parts.push_back(fmt::format("{} {}", count, samplestore::ToString(outcome)));
    }
  }
  return Join(parts, ", ");
}

std::string MeasuredText(const ReportContent& content) {
  const size_t configurations = content.results.configurations().size();
  const size_t points = content.results.CountOfPoints();
  std::string text = Count(configurations, "configuration");
  if (content.input.planned_points > points) {
    text = fmt::format("{} of {} points", points, content.input.planned_points);
    text += configurations > points ? fmt::format(", {}", Count(configurations, "configuration")) : "";
  }
  return configurations == 0 ? text : fmt::format("{}: {}", text, OutcomesText(content.results));
}

// "2026-01-31 12:00:00 UTC" from "2026-01-31T12:00:00Z"
std::string ReadableTime(std::string time) {
  if (time.size() > 10 && time[10] == 'T' && time.ends_with('Z')) {
    time[10] = ' ';
    time.replace(time.size() - 1, 1, " UTC");
  }
  return time;
}

std::string WhenText(const ResultSet& results) {
  std::set<std::string> times;
  for (const Measurement& measurement : results.measurements()) {
    times.insert(measurement.measured_at);
  }
  times.erase("");
  if (times.empty()) {
    return "";
  }
  const std::string first = ReadableTime(*times.begin());
  return times.size() == 1 ? first : fmt::format("{} to {}", first, ReadableTime(*times.rbegin()));
}

void WriteConstants(Markup& html, const ResultSet& results) {
  if (results.constants().empty()) {
    return;
  }
  const bool only_one = results.configurations().size() == 1;
  html.Open("details", {{"class", "same"}, {"open", only_one ? "open" : ""}});
  html.Element("summary", only_one ? "The configuration"
                                   : fmt::format("The same in every configuration ({})", results.constants().size()));
  html.Open("dl", {{"class", "facts"}});
  for (const auto& [name, value] : results.constants()) {
    WriteFact(html, name, value);
  }
  html.Close().Close();
}

std::string_view CssClass(Strength strength) {
  switch (strength) {
    case Strength::kClear:
    case Strength::kClearInRuns:
      return "badge clear";
    case Strength::kUnclear:
      return "badge unclear";
    case Strength::kNoInterval:
      return "badge single";
    case Strength::kFact:
      break;
  }
  return "badge";
}

bool IsJudged(const Finding& finding) {
  return finding.strength != Strength::kFact && finding.strength != Strength::kNoInterval;
}

}  // namespace

std::vector<std::string> ProvenanceValues(const ResultSet& results, std::string_view key) {
  std::vector<std::string> values;
  for (const Measurement& measurement : results.measurements()) {
    const std::string value = ProvenanceOf(measurement, key);
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      values.push_back(value);
    }
  }
  return values;
}

void WriteHeader(Markup& html, const ReportContent& content) {
  html.Open("header").Element("h1", content.input.title);
  for (const std::string& line : Split(content.input.space_description, '\n')) {
    if (!Trim(line).empty()) {
      html.Element("p", Trim(line), {{"class", "lead"}});
    }
  }
  html.Open("dl", {{"class", "facts"}});
  WriteFact(html, "Measured", MeasuredText(content));
  if (const std::string when = WhenText(content.results); !when.empty()) {
    WriteFact(html, "When", when);
  }
  for (const Fact& fact : kFacts) {
    if (const std::string value = FactValue(content.results, fact); !value.empty()) {
      WriteFact(html, fact.label, value);
    }
  }
  html.Close();
  WriteConstants(html, content.results);
  html.Close();
}

void WriteFindings(Markup& html, const ReportContent& content) {
  const std::vector<Finding> findings = FindFindings(content.results, content.metrics);
  html.Open("section", {{"id", "findings"}}).Element("h2", "Findings");
  if (findings.empty()) {
    html.Element("p", content.results.configurations().empty() ? "Nothing has been measured yet."
                                                               : "No value that this page knows how to compare.");
  }
  if (std::ranges::any_of(findings, &IsJudged)) {
    html.Element(
        "p",
        "Each finding is judged by itself, at 95 %: of twenty comparisons of equals one can be expected to look "
        "clear.",
        {{"class", "note"}});
  }
  html.Open("ul", {{"class", "findings"}});
  for (const Finding& finding : findings) {
    html.Open("li");
    html.Element("span", ToString(finding.strength), {{"class", std::string(CssClass(finding.strength))}});
    html.Open("div").Element("p", finding.headline, {{"class", "headline"}});
    if (!finding.detail.empty()) {
      html.Element("p", finding.detail, {{"class", "sub"}});
    }
    html.Close().Close();
  }
  html.Close().Close();
}

}  // namespace assay::report
