// What ranks, batch sizes and lengths do, and what a step costs at any batch size.

import { chipsOf } from "../filters.js";
import { h, replace } from "../dom.js";
import { count, readable } from "../format.js";

const MOST_LINES = 200;

const interval = (value, range, factor) =>
  readable(value * factor) + (range ? ` ± ${readable(((range[1] - range[0]) / 2) * factor)}` : "");

function lineRow(line) {
  const cells = [`${line.from} to ${line.to}`, interval(line.fixed_seconds, line.fixed_interval, 1000),
    interval(line.each_seconds, line.each_interval, 1000),
    line.each_seconds > 0 ? readable(line.samples_per_batch / line.each_seconds) : "–",
    line.fitted ? (line.r_squared === null ? "–" : line.r_squared.toFixed(4)) : h("small", {}, "two points"),
    line.memory_fixed_gib === null ? "–" : readable(line.memory_fixed_gib),
    line.memory_each_gib === null ? "–" : readable(1024 * line.memory_each_gib)];
  return h("tr", {}, h("td.series", {}, line.label || "all"), cells.map((cell) => h("td.n", {}, cell)));
}

function linesTable(report, rows) {
  const kept = new Set(rows);
  const lines = report.model.lines.list.filter(({ configurations }) => configurations.some((i) => kept.has(i)));
  if (lines.length === 0) return null;
  const heads = [["batch sizes", ""], ["fixed", "ms"], ["each", "ms"], ["limit", "samples/s"], ["fit", "R²"], ["memory, fixed", "GiB"], ["each", "MiB"]];
  return h("section", { "aria-label": "Lines over the batch size" }, h("h2", {}, "Lines over the batch size"),
    h("p.note", {}, "Of three batch sizes or more with 95 % intervals; through two every line goes, so that nothing is said of how well it fits."),
    h("div.scroll", { role: "region", "aria-label": "Lines", tabindex: "0" }, h("table.grid", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "series"), heads.map(([label, unit]) => h("th.n", { scope: "col" }, label, unit && h("span.unit", {}, ` ${unit}`))))),
      h("tbody", {}, lines.slice(0, MOST_LINES).map(lineRow)))),
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
  const chips = h("div", {});
  const lines = h("div", {});
  const empty = charts.length === 0 && h("p.empty", {}, "No number of ranks, batch size or length varies here.");
  return {
    element: h("div.view", {}, chips, empty, h("div.charts.wide", {}, charts.map(({ element }) => element)), lines, crossings(report)),
    charts,
    update() {
      replace(chips, chipsOf(report, page.selection));
      replace(lines, linesTable(report, page.selection.rows));
    },
  };
}
