// What ranks, batch sizes and lengths do, and what a step costs at any batch size.

import { charts } from "../chart.js";
import { grid, h } from "../dom.js";
import { count } from "../format.js";

const MOST_LINES = 200;
const MOST_CROSSINGS = 10;
function linesTable(report, rows) {
  const kept = new Set(rows);
  const { columns, list } = report.model.lines;
  const lines = list.filter(({ configurations }) => configurations.some((i) => kept.has(i)));
  if (lines.length === 0) return null;
  return h("section", { "aria-label": "Lines over the batch size" }, h("h2", {}, "Lines over the batch size"),
    h("p.note", {}, "Of three batch sizes or more with 95 % intervals; through two every line goes, so that nothing "
      + "is said of how well it fits."),
    grid("Lines", columns, lines.slice(0, MOST_LINES).map(({ cells }) => cells)),
    lines.length > MOST_LINES && h("p.note", {}, `${MOST_LINES} of ${lines.length}: filter to see others.`));
}

function crossings({ crossings: list, crossings_found: found }) {
  if (list.length === 0) return null;
  return h("section", { "aria-label": "Crossings" }, h("h2", {}, "Where one overtakes another"), h("ul", {},
    list.slice(0, MOST_CROSSINGS).map(({ text }) => h("li", {}, text)),
    found > MOST_CROSSINGS && h("li", {}, `${count(found - MOST_CROSSINGS, "more pair")} cross.`)));
}

export function Scaling({ page: { report, selection }, page }) {
  const isEmpty = !report.model.charts.some(({ view }) => view === "scaling");
  return h("div.view.wide", {}, isEmpty && h("p.empty", {}, "No number of ranks, batch size or length varies here."),
    charts(page, "scaling"), linesTable(report, selection.rows), crossings(report.model.lines));
}
