// Facets, charts and the table over one selection: what is done in one shows in all.

import { useState } from "preact/hooks";
import { charts } from "../chart.js";
import { h } from "../dom.js";
import { facets } from "../filters.js";
import { Table } from "../table.js";

export function Explore({ page }) {
  const [isOpen] = useState(innerWidth > 900);
  return h("div.view.explore", {},
    h("details.side", { open: isOpen }, h("summary", {}, "Filter"), facets(page.report, page.selection)),
    h("div.main", {}, charts(page, "explore", ({ data }) => data !== "parts"),
      h(Table, { page, rows: page.selection.rows }), charts(page, "explore", ({ data }) => data === "parts")));
}
