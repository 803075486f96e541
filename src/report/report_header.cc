// The head of the page: title, what was asked, what it was measured on and when, and the findings.
#include <fmt/format.h>

#include "base/text.h"
#include "report/facts.h"
#include "report/format.h"
#include "report/report_sections.h"

namespace assay::report {
namespace {

void WriteFact(Markup& html, std::string_view label, std::string_view value) {
  html.Open("div").Element("dt", label).Element("dd", value).Close();
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

}  // namespace

void WriteHeader(Markup& html, const ReportContent& content) {
  html.Open("header").Element("h1", content.input.title);
  for (const std::string& line : Split(content.input.space_description, '\n')) {
    if (!Trim(line).empty()) {
      html.Element("p", Trim(line), {{"class", "lead"}});
    }
  }
  html.Open("dl", {{"class", "facts"}});
  for (const auto& [name, text] : FactsOf(content)) {
    WriteFact(html, name, text);
  }
  html.Close();
  WriteConstants(html, content.results);
  html.Close();
}

void WriteFindings(Markup& html, const ReportContent& content) {
  const std::vector<Finding>& findings = content.findings.list;
  html.Open("section", {{"id", "findings"}}).Element("h2", "Findings");
  if (findings.empty()) {
    html.Element("p", content.results.configurations().empty() ? "Nothing has been measured yet."
                                                               : "No value that this page knows how to compare.");
  }
  if (content.findings.comparisons > 1) {
    html.Element("p",
                 fmt::format("{} were looked at. What is called clear is so at 95 % among all of them (Holm).",
                             Count(content.findings.comparisons, "comparison")),
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
