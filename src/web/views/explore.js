// Facets, charts and the table over one selection: what is done in one shows in all.

import { figures, h } from "../dom.js";
import { Facets } from "../filters.js";
import { Table } from "../table.js";

export function explore(report, page) {
  const charts = page.chartsOf("explore");
  const table = new Table(report);
  const facets = new Facets(report);
  const side = h("details.side", { open: innerWidth > 900 }, h("summary", {}, "Filter"), facets.element);
  const isOfParts = ({ chart }) => chart.data === "parts";
  const element = h("div.view.explore", {}, side,
    h("div.main", {}, figures(charts.filter((chart) => !isOfParts(chart))), table.element, figures(charts.filter(isOfParts))));
  return {
    element, charts,
    finish: () => table.finish(),
    update() {
      facets.update(page.selection);
      table.update(page.selection.rows);
    },
  };
}
