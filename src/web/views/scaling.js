// What ranks, batch sizes and lengths do, and what a step costs at any batch size.

import { charts } from "../chart.js";
import { grid, h } from "../dom.js";
import { count, readable } from "../format.js";

const MOST_LINES = 200;
const MOST_CROSSINGS = 10;
const HEADS = ["series", "batch sizes", { title: "fixed", unit: "ms" }, { title: "each", unit: "ms" },
  { title: "limit", unit: "samples/s" }, { title: "fit", unit: "R²" }, { title: "memory, fixed", unit: "GiB" },
  { title: "each", unit: "MiB" }];

const milliseconds = (value, range) =>
  readable(1000 * value) + (range ? ` ± ${readable(500 * (range[1] - range[0]))}` : "");

function lineRow(line) {
  const known = (value, text) => (value === null ? "–" : text(value));
  return [line.label || "all", `${line.from} to ${line.to}`, milliseconds(line.fixed_seconds, line.fixed_interval),
    milliseconds(line.each_seconds, line.each_interval),
    line.each_seconds > 0 ? readable(line.samples_per_batch / line.each_seconds) : "–",
    line.fitted ? known(line.r_squared, (squared) => squared.toFixed(4)) : h("small", {}, "two points"),
    known(line.memory_fixed_gib, readable), known(line.memory_each_gib, (gib) => readable(1024 * gib))];
}

function linesTable(report, rows) {
  const kept = new Set(rows);
  const lines = report.model.lines.list.filter(({ configurations }) => configurations.some((i) => kept.has(i)));
  if (lines.length === 0) return null;
  return h("section", { "aria-label": "Lines over the batch size" }, h("h2", {}, "Lines over the batch size"),
    h("p.note", {}, "Of three batch sizes or more with 95 % intervals; through two every line goes, so that nothing "
      + "is said of how well it fits."),
    grid("Lines", HEADS, lines.slice(0, MOST_LINES).map(lineRow)),
    lines.length > MOST_LINES && h("p.note", {}, `${MOST_LINES} of ${lines.length}: filter to see others.`));
}

function crossings({ crossings: list, crossings_found: found }) {
  if (list.length === 0) return null;
  const text = ({ winner, loser, batch_size: batch }) =>
    `From batch size ${batch} on, ${winner} is faster than ${loser}.`;
  return h("section", { "aria-label": "Crossings" }, h("h2", {}, "Where one overtakes another"), h("ul", {},
    list.slice(0, MOST_CROSSINGS).map((crossing) => h("li", {}, text(crossing))),
    found > MOST_CROSSINGS && h("li", {}, `${count(found - MOST_CROSSINGS, "more pair")} cross.`)));
}

export function Scaling({ page: { report, selection }, page }) {
  const isEmpty = !report.model.charts.some(({ view }) => view === "scaling");
  return h("div.view.wide", {}, isEmpty && h("p.empty", {}, "No number of ranks, batch size or length varies here."),
    charts(page, "scaling"), linesTable(report, selection.rows), crossings(report.model.lines));
}
