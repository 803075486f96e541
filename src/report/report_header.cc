// The head of the page: title, what was asked, what it was measured on and when, and the findings.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>
#include <span>

#include "base/json.h"
#include "base/text.h"
#include "report/facts.h"
#include "report/format.h"
#include "report/model/parts.h"
#include "report/report_sections.h"

namespace assay::report {
namespace {

constexpr size_t kSummaryFacts = 3;
constexpr size_t kFirstFindings = 6;

void WriteFacts(Markup& html, const std::vector<NamedText>& facts) {
  html.Open("dl", {{"class", "facts"}});
  for (const auto& [name, text] : facts) {
    html.Open("div").Element("dt", name).Element("dd", text).Close();
  }
  html.Close();
}

/// The first few facts, beneath which are all.
std::string Summary(const std::vector<NamedText>& facts) {
  std::vector<std::string> texts;
  for (const auto& [name, text] : facts | std::views::take(kSummaryFacts)) {
    texts.push_back(text);
  }
  return Join(texts, " \u00b7 ");
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

/// How sure it is among all comparisons, and the way to what it tells of.
void WriteSide(Markup& html, const ReportContent& content, const Finding& finding) {
  html.Open("div", {{"class", "side"}});
  if (finding.p_value && finding.adjusted_p_value) {
    html.Element("span", Probability(*finding.adjusted_p_value),
                 {{"class", "p"}, {"title", "by itself " + Probability(*finding.p_value)}});
  }
  if (const nlohmann::json link = LinkOf(content, finding); !link.is_null()) {
    html.Element("a", "show", {{"data-to", DumpJson(link)}, {"aria-label", "show: " + finding.headline}});
  }
  html.Close();
}

void WriteList(Markup& html, const ReportContent& content, std::span<const Finding> findings) {
  html.Open("ul");
  for (const Finding& finding : findings) {
    html.Open("li");
    html.Element("span", ToString(finding.strength), {{"class", std::string(CssClass(finding.strength))}});
    html.Open("div").Element("p", finding.headline, {{"class", "headline"}});
    if (!finding.detail.empty()) {
      html.Element("p", finding.detail, {{"class", "sub"}});
    }
    html.Close();
    WriteSide(html, content, finding);
    html.Close();
  }
  html.Close();
}

}  // namespace

void WriteHeader(Markup& html, const ReportContent& content) {
  html.Open("header").Element("h1", content.input.title);
  for (const std::string& line : Split(content.input.space_description, '\n')) {
    if (!Trim(line).empty()) {
      html.Element("p", Trim(line), {{"class", "lead"}});
    }
  }
  const std::vector<NamedText> facts = FactsOf(content);
  html.Open("details", {{"class", "same"}}).Element("summary", Summary(facts));
  WriteFacts(html, facts);
  if (const auto& constants = content.results.constants(); !constants.empty()) {
    html.Element("h2", "The same in every configuration");
    WriteFacts(html, constants);
  }
  html.Close().Close();
}

void WriteStates(Markup& html, const ReportContent& content) {
  html.Open("ul", {{"class", "states"}, {"aria-label", "Points"}});
  for (const auto& [state, count] : CountsOf(content)) {
    const std::string name(ToString(state));
    const nlohmann::json link = {{"view", "explore"}, {"s", name}};
    html.Open("li");
    // The table has what was measured alone.
    html.Open(state == CellState::kMissing ? "span" : "a",
              {{"data-to", state == CellState::kMissing ? "" : DumpJson(link)}});
    html.Element("span", "", {{"class", "dot " + name}, {"aria-hidden", "true"}});
    html.Text(fmt::format("{} {}", count, LabelOf(state))).Close().Close();
  }
  html.Close();
}

void WriteFindings(Markup& html, const ReportContent& content) {
  const std::span<const Finding> findings = content.findings.list;
  html.Open("section", {{"class", "findings"}, {"aria-label", "Findings"}}).Element("h2", "Findings");
  if (findings.empty()) {
    html.Element("p",
                 content.results.configurations().empty() ? "Nothing has been measured yet."
                                                          : "No value that this page knows how to compare.",
                 {{"class", "empty"}});
  }
  if (content.findings.comparisons > 1) {
    html.Element("p",
                 fmt::format("{} were looked at; what is called clear is so at 95 % among all of them (Holm).",
                             Count(content.findings.comparisons, "comparison")),
                 {{"class", "note"}});
  }
  const size_t first = std::min(findings.size(), kFirstFindings);
  WriteList(html, content, findings.first(first));
  if (first < findings.size()) {
    html.Open("details").Element("summary", fmt::format("{} more", findings.size() - first));
    WriteList(html, content, findings.subspan(first));
    html.Close();
  }
  html.Close();
}

}  // namespace assay::report
