// Figures that somebody else published, apart from ours.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "report/published.h"
#include "report/report_sections.h"

namespace assay::report {
namespace {

/// Whether a column is of numbers: texts stand at its left and go over several lines.
bool IsNumeric(const PublishedTable& table, size_t column) {
  return std::ranges::all_of(table.rows, [&](const std::vector<std::string>& row) {
    const std::string_view cell = column < row.size() ? row[column] : std::string_view();
    return cell.empty() || cell == "\u2013" ||
           std::string_view("0123456789+-.").find(cell.front()) != std::string_view::npos;
  });
}

void WritePublishedTable(Markup& html, const experiment::PublishedFigures& published, const PublishedTable& table) {
  html.Element("h3", table.title).Element("p", published.note);
  html.Open("div", {{"class", "scroll"}, {"role", "region"}, {"aria-label", table.title}, {"tabindex", "0"}});
  html.Open("table", {{"class", "grid"}}).Open("thead").Open("tr");
  const auto class_of = [&](size_t column) { return column == 0 ? "series" : IsNumeric(table, column) ? "n" : ""; };
  for (size_t column = 0; column < published.columns.size(); ++column) {
    html.Element("th", published.columns[column], {{"scope", "col"}, {"class", column == 0 ? "" : class_of(column)}});
  }
  html.Close().Close().Open("tbody");
  for (const std::vector<std::string>& row : table.rows) {
    html.Open("tr");
    for (size_t column = 0; column < row.size(); ++column) {
      html.Element("td", row[column], {{"class", class_of(column)}});
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
  html.Open("section", {{"id", "published"}}).Element("h2", "Beside the measurements");
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
