#include "report/plain_grid.h"

namespace assay::report {

void OpenGrid(Markup& html, std::string_view label, std::string_view first, std::span<const GridColumn> columns) {
  html.Open("div", {{"class", "scroll"}, {"role", "region"}, {"aria-label", std::string(label)}, {"tabindex", "0"}});
  html.Open("table", {{"class", "grid"}}).Open("thead").Open("tr").Element("th", first, {{"scope", "col"}});
  for (const GridColumn& column : columns) {
    html.Open("th", {{"scope", "col"}, {"class", "n"}}).Element("span", column.label, {{"class", "label"}});
    if (!column.unit.empty()) {
      html.Text(" ").Element("span", column.unit, {{"class", "unit"}});
    }
    html.Close();
  }
  html.Close().Close().Open("tbody");
}

void CloseGrid(Markup& html) {
  html.Close().Close().Close();
}

void WriteNumberCell(Markup& html, std::string_view text) {
  html.Element("td", text, {{"class", "n"}});
}

void WriteEmptyCell(Markup& html) {
  html.Element("td", "\u2013", {{"class", "n none"}});
}

}  // namespace assay::report
