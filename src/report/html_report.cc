#include "report/html_report.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "report/assets.h"
#include "report/charts/figure.h"
#include "report/report_sections.h"

namespace assay::report {
namespace {

void WriteHead(Markup& html, const ReportInput& input) {
  html.Open("head").Empty("meta", {{"charset", "utf-8"}});
  html.Empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  html.Empty("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  html.Element("title", input.title);
  html.Open("style").Raw(ReportStyle()).Close().Close();
}

}  // namespace

void WriteCharts(Markup& html, const ReportContent& content) {
  std::vector<Figure> figures;
  for (const ChartKind& kind : ChartKinds()) {
    if (std::optional<Figure> figure = kind.build(kind, {content.results, content.metrics})) {
      figures.push_back(*std::move(figure));
    }
  }
  if (figures.empty()) {
    return;
  }
  html.Open("section", {{"id", "charts"}}).Element("h2", "Charts").Open("div", {{"class", "charts"}});
  bool left_is_taken = false;
  for (size_t i = 0; i < figures.size(); ++i) {
    const bool right_follows = i + 1 < figures.size() && !figures[i + 1].wide();
    html.Raw(RenderFigure(figures[i], !left_is_taken && !right_follows));
    left_is_taken = !figures[i].wide() && !left_is_taken;
  }
  html.Close().Close();
}

std::string RenderHtmlReport(const ReportInput& input) {
  const ReportContent content(input);
  Markup html;
  html.Raw("<!DOCTYPE html>\n").Open("html", {{"lang", "en"}});
  WriteHead(html, input);
  html.Open("body").Open("main");
  WriteHeader(html, content);
  WriteFindings(html, content);
  WriteCharts(html, content);
  WriteCostModel(html, content);
  WriteTable(html, content);
  WriteBreakdowns(html, content);
  WritePublished(html, content);
  WriteDetails(html, content);
  WriteReadingHelp(html, content);
  html.Open("footer").Element(
      "p", fmt::format("Made by assay on {}.", input.generated_at.empty() ? UtcTimestamp() : input.generated_at));
  html.Close().Close();
  html.Open("script").Raw(ReportScript()).Close().Close().Close();
  return std::move(html).Finish() + "\n";
}

}  // namespace assay::report
