// Facets, charts and the table over one selection: what is done in one shows in all.

import { chipsOf, Facets } from "../filters.js";
import { h, replace } from "../dom.js";
import { Table } from "../table.js";

export function explore(report, page) {
  const charts = page.chartsOf("explore");
  const table = new Table(report);
  const chips = h("div", {});
  const facets = new Facets(report);
  const side = h("details.side", { open: innerWidth > 900 }, h("summary", {}, "Filter"), facets.element);
  const figures = (which) => h("div.charts", {}, charts.filter(({ chart }) => which(chart)).map(({ element: figure }) => figure));
  const element = h("div.view.explore", {}, side,
    h("div.main", {}, chips, figures((chart) => chart.data !== "parts"), table.element, figures((chart) => chart.data === "parts")));
  return {
    element, charts,
    finish: () => table.finish(),
    update() {
      replace(chips, chipsOf(report, page.selection));
      facets.update(page.selection);
      table.update(page.selection.rows);
    },
  };
}
