// What ranks, batch sizes and lengths do, and what a step costs at any batch size.

import { charts } from "../chart.js";
import { grid, h, section } from "../dom.js";
import { count, fewNote } from "../format.js";

const MOST_LINES = 200;
const MOST_CROSSINGS = 10;

function linesTable({ model: { lines: { columns, list } } }, rows) {
  const kept = new Set(rows);
  const lines = list.filter(({ configurations }) => configurations.some((i) => kept.has(i)));
  return lines.length > 0 && section("Lines over the batch size", "section",
    h("p.note", {}, "Of three batch sizes or more with 95 % intervals; through two every line goes, so that nothing "
      + "is said of how well it fits."),
    grid("Lines", columns, lines.slice(0, MOST_LINES).map(({ cells }) => cells)),
    h("p.note", {}, fewNote(MOST_LINES, lines.length, "lines")));
}

function crossings({ crossings: list, crossings_found: found }) {
  const more = found > MOST_CROSSINGS && h("li", {}, `${count(found - MOST_CROSSINGS, "more pair")} cross.`);
  const items = list.slice(0, MOST_CROSSINGS).map(({ text }) => h("li", {}, text));
  return list.length > 0
    && h("section", { "aria-label": "Crossings" }, h("h2", {}, "Where one overtakes another"),
      h("ul", {}, items, more));
}

export function Scaling({ page: { report, selection }, page }) {
  const isEmpty = !report.model.charts.some(({ view }) => view === "scaling");
  return h("div.view.wide", {}, isEmpty && h("p.empty", {}, "No number of ranks, batch size or length varies here."),
    charts(page, "scaling"), linesTable(report, selection.rows), crossings(report.model.lines));
}
