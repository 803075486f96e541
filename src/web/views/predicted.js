// What was foretold beside what was measured, here and by others.

import { max, mean, median } from "d3-array";
import { charts } from "../chart.js";
import { Folded, grid, h } from "../dom.js";
import { count, readable } from "../format.js";
import { state } from "../state.js";
import { Table } from "../table.js";

const FIRST_PUBLISHED = 6;

/** How far off forecasts are, `values` in percent. */
function errorText(values) {
  const [middle, sizes] = [mean(values), values.map(Math.abs)];
  const half = `${count(values.length, "configuration")}: half are off by ${readable(median(sizes))} % or less`;
  const average = `on average ${middle >= 0 ? "+" : "−"}${readable(Math.abs(middle))} %`;
  return `${half}, the worst by ${readable(max(sizes))} %; ${average}.`;
}

/** A line for each machine and commit of the first ones: together they say nothing. */
function summary(report, { off }, rows) {
  const { groups, note } = report.groupsOf(rows.filter((i) => off.value(i) !== null));
  return [groups.map(({ name, rows: some }) =>
    h("p.lead", {}, groups.length > 1 && `${name}: `, errorText(some.map(off.value)))), h("p.note", {}, note)];
}

/** Tables of what others published. */
const tablesOf = (tables) => tables.map(({ title, note, columns, rows }) =>
  h("div", {}, h("h2", {}, title), h("p.note", {}, note), grid(title, columns, rows)));

export function Predicted({ page }) {
  const { predictions, model } = page.report;
  const { rows } = page.selection;
  const published = h(Folded, {
    items: model.published, most: FIRST_PUBLISHED, more: "more such tables", list: tablesOf, isWhole: page.isPrinted,
  });
  if (predictions.length === 0) {
    return h("div.view", {}, h("p.empty", {},
      "Nothing here was foretold: it takes a memory forecast, or three batch sizes of a series."), published);
  }
  const chosen = predictions.find(({ field }) => field === state.get("foretold.what")) ?? predictions[0];
  const table = { page, rows: rows.filter(chosen.isKnown), fallback: chosen.field, caption: "Foretold and measured" };
  return h("div.view", {}, h("p.note", {}, chosen.explanation), summary(page.report, chosen, rows),
    charts(page, "predicted"), h(Table, table), published);
}
