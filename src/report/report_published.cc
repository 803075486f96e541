// Figures that somebody else published, apart from ours.
#include <fmt/format.h>

#include "report/published.h"
#include "report/report_sections.h"

namespace assay::report {
namespace {

void WritePublishedTable(Markup& html, const experiment::PublishedFigures& published, const PublishedTable& table) {
  html.Element("h3", table.title).Element("p", published.note);
  html.Open("div", {{"class", "scroll"}, {"role", "region"}, {"aria-label", table.title}, {"tabindex", "0"}});
  html.Open("table", {{"class", "grid"}}).Open("thead").Open("tr");
  for (const std::string& column : published.columns) {
    html.Element("th", column, {{"scope", "col"}, {"class", &column == &published.columns.front() ? "" : "n"}});
  }
  html.Close().Close().Open("tbody");
  for (const std::vector<std::string>& row : table.rows) {
    html.Open("tr");
    for (const std::string& cell : row) {
      html.Element("td", cell, {{"class", &cell == &row.front() ? "series" : "n"}});
    }
    html.Close();
  }
  html.Close().Close().Close();
}

}  // namespace

void WritePublished(Markup& html, const ReportContent& content) {
  std::vector<experiment::PublishedFigures> all;
  for (const experiment::Experiment* experiment : content.results.declared().measured()) {
    const auto& published = experiment->declaration().report.published;
    all.insert(all.end(), published.begin(), published.end());
  }
  if (all.empty()) {
    return;
  }
  html.Open("section", {{"id", "published"}}).Element("h2", "Published by others");
  size_t tables = 0;
  for (const experiment::PublishedFigures& published : all) {
    for (const PublishedTable& table : BesidePublished(content.results, published)) {
      if (++tables <= kMostPublishedTables) {
        WritePublishedTable(html, published, table);
      }
    }
  }
  if (tables > kMostPublishedTables) {
    html.Element("p",
                 fmt::format("{} of {} tables; assay report --output json writes all.", kMostPublishedTables, tables));
  }
  html.Close();
}

}  // namespace assay::report
