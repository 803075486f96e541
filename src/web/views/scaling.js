// What ranks, batch sizes and lengths do, and what a step costs at any batch size.

import { charts } from "../chart.js";
import { grid, h, piece, section } from "../dom.js";
import { fewNote } from "../format.js";

const MOST_LINES = 200;

function linesTable({ model: { lines: { columns, list } } }, rows) {
  const kept = new Set(rows);
  const lines = list.filter(({ configurations }) => configurations.some((i) => kept.has(i)));
  return lines.length > 0 && section("Lines over the batch size", "section",
    h("p.note", {}, "Of three batch sizes or more with 95 % intervals; through two every line goes, so that nothing "
      + "is said of how well it fits."),
    grid("Lines", columns, lines.slice(0, MOST_LINES).map(({ cells }) => cells)),
    h("p.note", {}, fewNote(MOST_LINES, lines.length, "lines")));
}

export function Scaling({ page: { report, selection }, page }) {
  const isEmpty = !report.model.charts.some(({ view }) => view === "scaling");
  return h("div.view.wide", {}, isEmpty && h("p.empty", {}, "No number of ranks, batch size or length varies here."),
    charts(page, "scaling"), linesTable(report, selection.rows), report.model.page.crossings.map(piece));
}
