// What was foretold beside what was measured, here and by others.

import { figures, grid, h, replace } from "../dom.js";
import { count, readable } from "../format.js";
import { state } from "../state.js";
import { Table } from "../table.js";

function summary(prediction, rows) {
  const off = rows.map((i) => prediction.off[i]).filter((value) => value !== null).sort((a, b) => Math.abs(a) - Math.abs(b));
  if (off.length === 0) return null;
  const mean = off.reduce((total, value) => total + value, 0) / off.length;
  const middle = Math.abs(off[Math.floor(off.length / 2)]);
  return h("p.lead", {}, `${count(off.length, "configuration")}: half are off by ${readable(middle)} % or less, the worst by ${readable(off.at(-1))} %; on average ${mean >= 0 ? "+" : "−"}${readable(Math.abs(mean))} %.`);
}

const FIRST_PUBLISHED = 6;

function published(report) {
  const tables = report.model.published;
  const rest = tables.slice(FIRST_PUBLISHED);
  const more = rest.length > 0 && h("details", { ontoggle: () => more.childElementCount > 1 || more.append(...publishedTables(rest)) },
    h("summary", {}, `${rest.length} more such tables`));
  return [...publishedTables(tables.slice(0, FIRST_PUBLISHED)), more];
}

function publishedTables(tables) {
  return tables.map(({ title, note, columns, rows }) => h("div", {}, h("h2", {}, title), h("p.note", {}, note), grid(title, columns, rows)));
}

export function predicted(report, page) {
  const any = report.predictions.length > 0;
  const charts = any ? page.chartsOf("predicted") : [];
  const chosen = () => report.predictions.find(({ field }) => field === state.get("foretold.what")) ?? report.predictions[0];
  const words = h("div", {});
  const table = any ? new Table(report, { group: report.predictions[0].field, caption: "Foretold and measured" }) : null;
  return {
    element: h("div.view", {}, !any && h("p.empty", {}, "Nothing here was foretold: it takes a memory forecast, or three batch sizes of a series."),
      words, figures(charts), table?.element, published(report)),
    charts,
    finish: () => table?.finish(),
    update() {
      if (!any) return;
      const prediction = chosen();
      replace(words, h("p.note", {}, prediction.text), summary(prediction, page.selection.rows));
      table.fallback = prediction.field;
      table.update(page.selection.rows.filter((i) => prediction.measured[i] !== null && prediction.predicted[i] !== null));
    },
  };
}
