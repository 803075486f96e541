// The table of configurations: only the rows in sight are made, so that ten thousand are as quick as ten.

import { sort } from "d3-array";
import { csvFormatRows } from "d3-dsv";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { choose, download, h } from "./dom.js";
import { basis, readable, sampleText, share, spread, STATES } from "./format.js";
import { state } from "./state.js";

const ROW_HEIGHT = 31;
const EXTRA_ROWS = 12;
const MOST_PRINTED = 1000;

export function stateBadge(report, i) {
  const title = report.state[i] === "valid" ? null : report.reason(i);
  return h(`span.badge.${report.state[i]}`, { title },
    STATES[report.state[i]] + (report.starved.has(i) ? " (starved)" : ""));
}

/** Columns that stand in every table: by value(i) is sorted, cell(i) is shown, saved(i) or else value(i) saved. */
function coordinatesOf(report) {
  const run = (i, tabindex) => h("a", {
    tabindex, href: state.link("run", { run: report.uid(i) }), "aria-label": `run of configuration ${i + 1}`,
  }, String(i + 1));
  const order = Object.keys(STATES);
  const coordinate = ({ field, label, numeric, place, codes, texts }) => {
    const cell = (i) => texts[codes[i]] ?? "–";
    return { key: field, label, number: numeric, value: place, cell, saved: numeric ? place : cell };
  };
  return [{ key: "#", label: "#", number: true, value: (i) => i, cell: run, saved: (i) => i + 1 },
    ...report.axes.map(coordinate), {
      key: "state", label: "state", value: (i) => order.indexOf(report.state[i]), cell: (i) => stateBadge(report, i),
      saved: (i) => report.state[i],
    }];
}

/** A column of what has estimates, of which what was foretold has no samples. */
function measured(column) {
  const cell = (i) => {
    const estimate = column.estimate(i);
    if (!estimate) return "–";
    const told = (estimate.low === null ? "" : `${spread(estimate)}, `) + sampleText(estimate);
    return [readable(estimate.value), column.hasSamples && [" ", h("small", { title: basis(estimate) }, told)]];
  };
  return { ...column, number: true, cell };
}

/** What the columns beside the coordinates may be, by name: metrics, then tables of parts, then predictions. */
function groupsOf({ metrics, breakdowns, predictions }) {
  const groups = [["metrics", "metrics", metrics], ...breakdowns.map(({ id, title, columns }) => [id, title, columns]),
    ...predictions.map((one) => [one.field, `foretold: ${one.title}`, [one, one.predicted, one.off]])];
  return new Map(groups.map(([id, title, columns]) => [id, { title, columns: columns.map(measured) }]));
}

/** The rows and columns in sight, as they are shown but exact. */
function save(columns, rows) {
  download("configurations.csv", "text/csv", csvFormatRows([
    columns.map(({ label, unit }) => (unit ? `${label}, ${unit}` : label)),
    ...rows.map((i) => columns.map(({ value, saved = value }) => saved(i)))]));
}

function head(columns, key, direction) {
  return h("thead", {}, h("tr", {}, columns.map((column) => {
    const isSorted = column.key === key;
    const next = !isSorted ? column.key : direction > 0 ? `-${key}` : "";
    return h(column.number ? "th.n" : "th",
      { scope: "col", "aria-sort": !isSorted ? "none" : direction > 0 ? "ascending" : "descending" },
      h("button", { type: "button", onclick: () => state.set({ sort: next }) }, h("span.label", {}, column.label)),
      column.unit && h("span.unit", {}, column.unit));
  })));
}

/** The place of an element's scroll and its height, as far as was told: to ask it lays out the page. */
function useSight() {
  const scroller = useRef();
  const [[top, height], setSight] = useState([0, 600]);
  useEffect(() => {
    const observer = new ResizeObserver(([{ contentRect: { height: now } }]) =>
      now > 0 && setSight(([at]) => [at, now]));
    observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  // Sideways nothing else comes into sight.
  const see = (at) => setSight((now) => (now[0] === at ? now : [at, now[1]]));
  return [top, height, { ref: scroller, onscroll: ({ target }) => see(target.scrollTop) }];
}

export function Table({ page: { report, isPrinted }, rows, fallback = "metrics", caption = "Configurations" }) {
  const groups = useMemo(() => groupsOf(report), [report]);
  const coordinates = useMemo(() => coordinatesOf(report), [report]);
  const asked = state.get("columns", fallback);
  const group = groups.has(asked) ? asked : "metrics";
  const columns = [...coordinates, ...groups.get(group).columns];
  const idOf = (id) => (id === fallback ? "" : id);
  const options = [...groups].map(([id, { title }]) => [idOf(id), title]);
  const [, minus, key] = /^(-?)(.*)$/.exec(state.get("sort"));
  const direction = minus ? -1 : 1;
  const by = columns.find((column) => column.key === key);
  // What has no value stays last.
  const place = (i) => by.value(i) ?? NaN;
  const all = useMemo(() => (by ? sort(rows, (i, j) => direction * (place(i) - place(j))) : rows),
    [report, rows, group, key, direction]);
  const [top, height, attributes] = useSight();
  const made = isPrinted ? MOST_PRINTED : Math.ceil(height / ROW_HEIGHT) + 2 * EXTRA_ROWS;
  const first = isPrinted ? 0 : Math.max(0, Math.min(Math.floor(top / ROW_HEIGHT) - EXTRA_ROWS, all.length - made));
  const last = Math.min(all.length, first + made);
  const picked = report.configurationOf(state.get("pick"));
  const space = (count) => count > 0 && !isPrinted
    && h("tr.space", { "aria-hidden": "true" }, h("td", { colspan: columns.length, height: count * ROW_HEIGHT }));
  // Tab stops at one row, and arrows lead on from it: beyond those in sight some more are made.
  const [stop, setStop] = useState(0);
  const indexOf = (element) => Number(element.closest("tr").ariaRowIndex);
  const move = (event) => {
    const index = indexOf(event.target) + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] ?? NaN);
    const next = event.currentTarget.querySelector(`[aria-rowindex="${index}"] ${event.target.tagName}`);
    if (next) event.preventDefault();
    next?.focus();
  };
  // The click of the button is that of its row.
  const pick = (i, tabindex) => h("button.pick",
    { tabindex, "aria-label": `pick configuration ${i + 1}`, "aria-pressed": i === picked });
  const row = (i, at) => {
    const tabindex = first + at === Math.max(first, Math.min(stop, last - 1)) ? 0 : -1;
    return h(i === picked ? "tr.picked" : "tr", {
      key: report.uid(i), "aria-rowindex": first + at + 2,
      onclick: ({ target }) => target.closest("a")
        || (i === picked ? state.set({ pick: "" }) : state.pick(report.uid(i))),
    }, columns.map((column, place) =>
      h(column.number ? "td.n" : "td", {}, place === 0 && pick(i, tabindex), column.cell(i, tabindex))));
  };

  return h("section.table", { "aria-label": caption },
    h("div.tools", {}, h("p.note", { role: "status" }, share(rows.length, report.count)),
      groups.size > 1 && choose("columns", "columns", options, idOf(group)),
      h("button.plain", { onclick: () => save(columns, all) }, "Save as CSV")),
    h("div.scroll.tall", { role: "region", "aria-label": `${caption}, scrolls`, tabindex: "0", ...attributes },
      h("table.grid.rows", { "aria-label": caption, "aria-rowcount": rows.length + 1 }, head(columns, key, direction),
        h("tbody", { onkeydown: move, onfocusin: ({ target }) => setStop(indexOf(target) - 2) },
          space(first), all.slice(first, last).map(row), space(all.length - last)))),
    isPrinted && last < all.length && h("p.note", {}, `The first ${share(last, all.length)} rows.`));
}
