// Figures that somebody else published, apart from ours.
#include "report/report_sections.h"

namespace assay::report {
namespace {

void WritePublishedTable(Markup& html, const PublishedTable& table) {
  html.Element("h3", table.title).Element("p", table.note);
  html.Open("div", {{"class", "scroll"}, {"role", "region"}, {"aria-label", table.title}, {"tabindex", "0"}});
  html.Open("table", {{"class", "grid"}}).Open("thead").Open("tr");
  for (const std::string& column : table.columns) {
    html.Element("th", column, {{"scope", "col"}, {"class", &column == &table.columns.front() ? "" : "n"}});
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
  if (content.input.published.empty()) {
    return;
  }
  html.Open("section", {{"id", "published"}}).Element("h2", "Published by others");
  for (const PublishedTable& table : content.input.published) {
    WritePublishedTable(html, table);
  }
  html.Close();
}

}  // namespace assay::report
