// What was foretold beside what was measured, here and by others.

import { max, mean, median } from "d3-array";
import { useState } from "preact/hooks";
import { charts } from "../chart.js";
import { grid, h } from "../dom.js";
import { count, readable } from "../format.js";
import { state } from "../state.js";
import { Table } from "../table.js";

const FIRST_PUBLISHED = 6;

function summary({ off }, rows) {
  const values = rows.map((i) => off[i]).filter((value) => value !== null);
  if (values.length === 0) return null;
  const [middle, sizes] = [mean(values), values.map(Math.abs)];
  const half = `${count(values.length, "configuration")}: half are off by ${readable(median(sizes))} % or less`;
  const average = `on average ${middle >= 0 ? "+" : "−"}${readable(Math.abs(middle))} %`;
  return h("p.lead", {}, `${half}, the worst by ${readable(max(sizes))} %; ${average}.`);
}

/** Tables of others; of many the first, and the rest once they are asked for. */
function Published({ tables }) {
  const [isOpen, setOpen] = useState(false);
  const made = (list) => list.map(({ title, note, columns, rows }) =>
    h("div", {}, h("h2", {}, title), h("p.note", {}, note), grid(title, columns, rows)));
  const rest = tables.slice(FIRST_PUBLISHED);
  return [made(tables.slice(0, FIRST_PUBLISHED)),
    rest.length > 0 && h("details", { ontoggle: () => setOpen(true) },
      h("summary", {}, `${rest.length} more such tables`), isOpen && made(rest))];
}

export function Predicted({ page }) {
  const { predictions, model } = page.report;
  const { rows } = page.selection;
  const published = h(Published, { tables: model.published });
  if (predictions.length === 0) {
    return h("div.view", {}, h("p.empty", {},
      "Nothing here was foretold: it takes a memory forecast, or three batch sizes of a series."), published);
  }
  const chosen = predictions.find(({ field }) => field === state.get("foretold.what")) ?? predictions[0];
  const foretold = rows.filter((i) => chosen.measured[i] !== null && chosen.predicted[i] !== null);
  return h("div.view", {}, h("p.note", {}, chosen.text), summary(chosen, rows), charts(page, "predicted"),
    h(Table, { page, rows: foretold, fallback: chosen.field, caption: "Foretold and measured" }), published);
}
