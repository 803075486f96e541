// The table of configurations: only the rows in sight are made, so that ten thousand are as quick as ten.

import { basis, readable, share, STATES } from "./format.js";
import { download, h, replace, select } from "./dom.js";
import { state } from "./state.js";

const ROW_HEIGHT = 31;
const EXTRA_ROWS = 12;
const MOST_PRINTED = 1000;

const text = (value) => (value === null || value === undefined ? "–" : String(value));

const collator = new Intl.Collator(undefined, { numeric: true });

/** Columns that stand in every table: {key, label, unit, number, value(i), cell(i)}. */
function coordinatesOf(report) {
  const columns = [{ key: "#", label: "#", number: true, value: (i) => i, cell: (i) => runLink(report, i) }];
  for (const axis of report.axes) {
    columns.push({
      key: axis.field, label: axis.label, number: axis.numeric, value: (i) => (axis.numeric ? axis.value(i) : axis.codes[i]),
      cell: (i) => text(axis.codes[i] < 0 ? null : axis.texts[axis.codes[i]]),
    });
  }
  columns.push({ key: "state", label: "state", value: (i) => report.state[i], cell: (i) => stateBadge(report, i) });
  return columns;
}

function runLink(report, i) {
  return h("a", { href: state.link("run", { run: report.uid(i) }), "aria-label": `run of configuration ${i + 1}` }, String(i + 1));
}

export function stateBadge(report, i) {
  const title = report.state[i] === "valid" ? null : report.reason(i);
  const starved = report.starved.has(i) ? " (starved)" : "";
  return h(`span.badge.${report.state[i]}`, { title }, STATES[report.state[i]] + starved);
}

function metricColumn(report, metric) {
  const { value, low, high } = metric.estimates;
  return {
    key: metric.field, label: metric.short_title, unit: metric.unit, number: true, value: (i) => value[i],
    cell: (i) => {
      if (value[i] === null) return "–";
      const estimate = report.estimate(metric, i);
      const half = low[i] === null ? null : h("small", { title: basis(estimate) }, `±${readable((high[i] - low[i]) / 2)}`);
      return [readable(value[i]), " ", half ?? h("small", { title: basis(estimate) }, estimate.n > 1 ? `n ${estimate.n}` : "n 1")];
    },
  };
}

const numbers = (key, label, unit, values) => ({
  key, label, unit, number: true, value: (i) => values[i], cell: (i) => (values[i] === null ? "–" : readable(values[i])),
});

/** What the columns beside the coordinates may be: metrics, then tables of parts, then predictions. */
function groupsOf(report) {
  const groups = new Map([["metrics", { title: "metrics", columns: report.metrics.map((metric) => metricColumn(report, metric)) }]]);
  for (const table of report.model.breakdowns) {
    groups.set(table.id, { title: table.title, columns: table.columns.map(({ label, unit, values }, i) => numbers(`${table.id}${i}`, label, unit, values)) });
  }
  for (const { field, title, unit, measured, predicted, off } of report.predictions) {
    groups.set(field, { title: `foretold: ${title}`, columns: [numbers(`${field}m`, "measured", unit, measured),
      numbers(`${field}p`, "predicted", unit, predicted), numbers(`${field}o`, "off by", "%", off)] });
  }
  return groups;
}

function compare(a, b) {
  if (a === null || a === undefined || b === null || b === undefined) return (a ?? null) === (b ?? null) ? 0 : (a ?? null) === null ? 1 : -1;
  return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a, b);
}

export class Table {
  constructor(report, { group = "metrics", caption = "Configurations" } = {}) {
    this.report = report;
    this.fallback = group;
    this.coordinates = coordinatesOf(report);
    this.groups = groupsOf(report);
    this.rows = [];
    this.top = 0;
    this.height = 600;
    this.head = h("thead");
    this.body = h("tbody");
    this.table = h("table.grid.rows", { "aria-label": caption }, this.head, this.body);
    this.scroller = h("div.scroll.tall", { role: "region", "aria-label": `${caption}, scrolls`, tabindex: "0", onscroll: () => this.scroll() }, this.table);
    this.status = h("p.note", { role: "status" });
    this.tools = h("div.tools", {});
    this.element = h("section.table", { "aria-label": caption }, this.tools, this.scroller);
    this.listening = new AbortController();
    const { signal } = this.listening;
    addEventListener("beforeprint", () => this.draw(true), { signal });
    addEventListener("afterprint", () => this.draw(), { signal });
    this.resizer = new ResizeObserver(([{ contentRect }]) => {
      this.height = contentRect.height || this.height;
      this.draw();
    });
    this.resizer.observe(this.scroller);
  }

  finish() {
    this.listening.abort();
    this.resizer.disconnect();
  }

  get group() {
    const asked = state.get("columns", this.fallback);
    return this.groups.has(asked) ? asked : "metrics";
  }

  /** [key of the column, 1 or -1] */
  get order() {
    const sort = state.get("sort");
    return sort.startsWith("-") ? [sort.slice(1), -1] : [sort, 1];
  }

  update(rows) {
    this.columns = [...this.coordinates, ...this.groups.get(this.group).columns];
    const [key, direction] = this.order;
    const column = this.columns.find((candidate) => candidate.key === key);
    this.rows = column ? sorted(rows, column, direction) : rows;
    this.table.setAttribute("aria-rowcount", String(rows.length + 1));
    replace(this.status, share(rows.length, this.report.count));
    const headed = `${this.group} ${key} ${direction}`;
    if (headed !== this.headed) {
      this.headed = headed;
      this.drawTools();
      this.drawHead(key, direction);
    }
    this.drawn = "";
    this.draw();
  }

  drawTools() {
    const options = [...this.groups].map(([name, { title }]) => [name, title]);
    replace(this.tools, this.status,
      options.length > 1 && select("columns", options, this.group, (value) => state.set({ columns: value === this.fallback ? "" : value })),
      h("button.plain", { onclick: () => this.save() }, "Save as CSV"));
  }

  drawHead(key, direction) {
    replace(this.head, h("tr", {}, this.columns.map((column) => {
      const sort = column.key === key ? (direction > 0 ? "ascending" : "descending") : "none";
      const next = column.key === key && direction > 0 ? `-${column.key}` : column.key === key ? "" : column.key;
      return h(column.number ? "th.n" : "th", { scope: "col", "aria-sort": sort },
        h("button", { type: "button", onclick: () => state.set({ sort: next }) }, h("span.label", {}, column.label)),
        column.unit ? h("span.unit", {}, column.unit) : null);
    })));
  }

  scroll() {
    this.top = this.scroller.scrollTop;
    this.draw();
  }

  /** The first row that is made, and the one after the last: by what was told of the scroller, since to ask it lays out the page. */
  inSight() {
    const made = Math.ceil(this.height / ROW_HEIGHT) + 2 * EXTRA_ROWS;
    const first = Math.max(0, Math.min(Math.floor(this.top / ROW_HEIGHT) - EXTRA_ROWS, this.rows.length - made));
    return [first, Math.min(this.rows.length, first + made)];
  }

  draw(all = false) {
    if (!this.columns) return;
    const [first, last] = all ? [0, Math.min(this.rows.length, MOST_PRINTED)] : this.inSight();
    const picked = this.report.configurationOf(state.get("pick"));
    const drawn = `${first} ${last} ${picked}`;
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const spacer = (rows) => (rows > 0 && !all ? h("tr.space", { "aria-hidden": "true" }, h("td", { colspan: this.columns.length, height: rows * ROW_HEIGHT })) : null);
    replace(this.body, spacer(first),
      this.rows.slice(first, last).map((i, at) => this.row(i, first + at, i === picked)), spacer(this.rows.length - last));
  }

  row(i, at, picked) {
    return h(picked ? "tr.picked" : "tr", { "aria-rowindex": String(at + 2), onclick: ({ target }) => target.closest("a") || state.pick(this.report.uid(i)) },
      this.columns.map((column) => h(column.number ? "td.n" : "td", {}, column.cell(i))));
  }

  /** The rows and columns in sight, as they are shown but exact. */
  save() {
    const quoted = (field) => (/[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field);
    const lines = [this.columns.map(({ label, unit }) => (unit ? `${label}, ${unit}` : label))];
    for (const i of this.rows) {
      lines.push(this.columns.map((column) => {
        if (column.key === "#") return String(i + 1);
        const value = column.number || column.key === "state" ? column.value(i) : column.cell(i);
        return value === null || value === undefined ? "" : String(value);
      }));
    }
    download("configurations.csv", "text/csv", lines.map((line) => line.map(quoted).join(",") + "\r\n").join(""));
  }
}

function sorted(rows, column, direction) {
  const keyed = rows.map((i) => [column.value(i), i]);
  const empty = (value) => value === null || value === undefined;
  keyed.sort(([a, i], [b, j]) => (empty(a) || empty(b) ? compare(a, b) : direction * compare(a, b)) || i - j);
  return keyed.map(([, i]) => i);
}
