// What ranks, batch sizes and lengths do, and what a step costs at any batch size.

import { figures, grid, h, replace } from "../dom.js";
import { count, readable } from "../format.js";

const MOST_LINES = 200;

const interval = (value, range, factor) =>
  readable(value * factor) + (range ? ` ± ${readable(((range[1] - range[0]) / 2) * factor)}` : "");

function lineRow(line) {
  return [line.label || "all", `${line.from} to ${line.to}`, interval(line.fixed_seconds, line.fixed_interval, 1000),
    interval(line.each_seconds, line.each_interval, 1000),
    line.each_seconds > 0 ? readable(line.samples_per_batch / line.each_seconds) : "–",
    line.fitted ? (line.r_squared === null ? "–" : line.r_squared.toFixed(4)) : h("small", {}, "two points"),
    line.memory_fixed_gib === null ? "–" : readable(line.memory_fixed_gib),
    line.memory_each_gib === null ? "–" : readable(1024 * line.memory_each_gib)];
}

function linesTable(report, rows) {
  const kept = new Set(rows);
  const lines = report.model.lines.list.filter(({ configurations }) => configurations.some((i) => kept.has(i)));
  if (lines.length === 0) return null;
  const heads = ["series", "batch sizes", { title: "fixed", unit: "ms" }, { title: "each", unit: "ms" }, { title: "limit", unit: "samples/s" },
    { title: "fit", unit: "R²" }, { title: "memory, fixed", unit: "GiB" }, { title: "each", unit: "MiB" }];
  return h("section", { "aria-label": "Lines over the batch size" }, h("h2", {}, "Lines over the batch size"),
    h("p.note", {}, "Of three batch sizes or more with 95 % intervals; through two every line goes, so that nothing is said of how well it fits."),
    grid("Lines", heads, lines.slice(0, MOST_LINES).map(lineRow)),
    lines.length > MOST_LINES && h("p.note", {}, `${MOST_LINES} of ${lines.length}: filter to see others.`));
}

function crossings(report) {
  const { crossings: list, crossings_found: found } = report.model.lines;
  if (list.length === 0) return null;
  return h("section", { "aria-label": "Crossings" }, h("h2", {}, "Where one overtakes another"), h("ul", {},
    list.slice(0, 10).map(({ winner, loser, batch_size: batch }) => h("li", {}, `From batch size ${batch} on, ${winner} is faster than ${loser}.`)),
    found > 10 && h("li", {}, `${count(found - 10, "more pair")} cross.`)));
}

export function scaling(report, page) {
  const charts = page.chartsOf("scaling");
  const lines = h("div", {});
  const empty = charts.length === 0 && h("p.empty", {}, "No number of ranks, batch size or length varies here.");
  return {
    element: h("div.view.wide", {}, empty, figures(charts), lines, crossings(report)),
    charts,
    update: () => replace(lines, linesTable(report, page.selection.rows)),
  };
}
