// A Vega-Lite chart of the model: what the reader chose put into its specification, its data kept up to date.

import { datasetOf } from "./datasets.js";
import { debounced, download, h, replace, select } from "./dom.js";
import { state } from "./state.js";
import { hideTip, showTip } from "./tip.js";

let vega = null;
let coming = null;

/** Makes ready what draws charts: for the first of them, or before there is one. */
export function prepare() {
  coming ??= import("./vega.js").then((module) => { vega = module; });
  return coming;
}

const COLORS = Array.from({ length: 8 }, (_, i) => `var(--c${i})`);
const WIDE = new Set(["cells", "parts", "pairs"]);
const PANEL_WIDTH = 250;
const AXIS_WIDTH = 64;

const CONFIG = {
  background: "transparent",
  font: "system-ui, sans-serif",
  range: { category: COLORS, ordinal: COLORS },
  view: { stroke: null },
  axis: {
    labelColor: "var(--soft)", titleColor: "var(--soft)", titleFontWeight: 500, gridColor: "var(--hair)",
    domainColor: "var(--rule)", tickColor: "var(--rule)", labelFontSize: 11, titleFontSize: 11, aria: false,
  },
  axisY: { labelLimit: 190 },
  header: { labelColor: "var(--ink)", labelFontSize: 11.5, labelFontWeight: 600, labelAnchor: "start", labelLimit: 320 },
  legend: { orient: "top", labelColor: "var(--ink)", titleColor: "var(--soft)", titleFontWeight: 500, symbolSize: 70, symbolBaseFillColor: "var(--soft)", symbolBaseStrokeColor: "var(--soft)", aria: false, labelLimit: 180 },
  point: { size: 45 }, text: { color: "var(--ink)", font: "system-ui, sans-serif" }, line: { strokeWidth: 2 },
  rule: { strokeWidth: 1.5 }, mark: { aria: false, color: "var(--c0)" },
};

/** What "@name" and "@name.part" stand for; undefined where nothing is chosen. */
function referenceOf(chosen, name, part) {
  const column = chosen[name];
  if (!column) return undefined;
  switch (part) {
    case undefined: return column.field;
    case "low": case "high": return `${column.field}_${part}`;
    case "title": return column.heading ?? column.label;
    case "values": return column.values.filter((value) => typeof value === "number");
    default: return column[`${part}_title`];
  }
}

/** `node` with its references resolved; a channel whose field is not chosen is left out. */
function resolved(node, chosen) {
  if (typeof node === "string") {
    const whole = /^@([a-z]+)(?:\.([a-z]+))?$/.exec(node);
    if (whole) return referenceOf(chosen, whole[1], whole[2]);
    return node.replace(/@([a-z]+)(?:\.([a-z]+))?/g, (text, name, part) => referenceOf(chosen, name, part) ?? "_");
  }
  if (Array.isArray(node)) return node.map((item) => resolved(item, chosen)).filter((item) => item !== undefined);
  if (node === null || typeof node !== "object") return node;
  const result = {};
  for (const [key, value] of Object.entries(node)) {
    const item = resolved(value, chosen);
    if (item === undefined && key === "field") return undefined;
    if (item !== undefined || key === "title") result[key] = item ?? null;
  }
  return result;
}

/** What a choice may be: [field, text]. */
function optionsOf({ metrics, axes, predictions }, { of, may_be_nothing: mayBeNothing }) {
  const numeric = axes.filter((axis) => axis.numeric);
  const columns = { metrics, axes, numeric_axes: numeric, numbers: [...metrics, ...numeric], predictions }[of] ?? [];
  return [...(mayBeNothing ? [["-", "nothing"]] : []), ...columns.map(({ field, heading, label, title }) => [field, heading ?? label ?? title])];
}

/** A value has its colour and its shape in every chart and under every filter; the legend has those that are there. */
function fixDomain(node, column, records) {
  const all = column.values.map((value) => value ?? "none");
  const present = new Set(records.map((record) => record[column.field]));
  for (const [channel, definition] of Object.entries(node)) {
    if (definition === null || typeof definition !== "object") continue;
    if (["color", "shape", "strokeDash"].includes(channel) && definition.field === column.field) {
      definition.scale = { ...definition.scale, domain: all };
      if (definition.legend !== null) definition.legend = { ...definition.legend, values: all.filter((value) => present.has(value)) };
    } else {
      fixDomain(definition, column, records);
    }
  }
}

export class Chart {
  /** `host` takes the figure. `context()` gives {rows, isAll, rowsWithout(fields), extra} of now. */
  constructor(report, chart, context) {
    this.report = report;
    this.chart = chart;
    this.context = context;
    this.view = null;
    this.brushes = JSON.stringify(chart.spec).includes('"brush"');
    this.note = h("p.note", { "aria-live": "polite" });
    this.plot = h("div.plot", {});
    this.controls = h("div.choices", {});
    const title = `chart-${chart.id}`;
    this.element = h(WIDE.has(chart.data) ? "figure.chart.whole" : "figure.chart", { id: chart.id, "aria-labelledby": title },
      h("figcaption", {}, h("h2", { id: title }, chart.title), chart.text && h("p.sub", {}, chart.text)),
      this.controls, this.plot, this.note);
    this.width = 0;
    this.inSight = false;
    this.behind = true;
    this.observer = new IntersectionObserver((entries) => {
      this.inSight = entries.at(-1).isIntersecting;
      if (this.inSight && this.behind) this.update();
    }, { rootMargin: "150px" });
    this.observer.observe(this.element);
    this.resizer = new ResizeObserver(debounced(() => {
      if (this.view && Math.abs(this.plot.clientWidth - this.width) > 8) this.mount();
    }, 120));
    this.resizer.observe(this.plot);
  }

  key(choice) {
    return `${this.chart.id}.${choice.name}`;
  }

  chosenOf(choice) {
    const options = optionsOf(this.report, choice).map(([field]) => field);
    const asked = state.get(this.key(choice));
    if (options.includes(asked)) return asked;
    return choice.chosen || (choice.may_be_nothing ? "-" : options[0] ?? "");
  }

  chosen() {
    const all = {};
    for (const choice of this.chart.choices) {
      const field = this.chosenOf(choice);
      all[choice.name] = this.report.fields.get(field) ?? this.report.predictions.find((entry) => entry.field === field);
    }
    return all;
  }

  drawChoices() {
    replace(this.controls, this.chart.choices.map((choice) => {
      const options = optionsOf(this.report, choice);
      return options.length > 1 && select(choice.label, options, this.chosenOf(choice),
        (value) => state.set({ [this.key(choice)]: value }));
    }), h("button.plain.save", { onclick: () => this.save(), title: "this chart with its data, as Vega-Lite", "aria-label": `save ${this.chart.title} as Vega-Lite` }, "Save"));
  }

  /** Draws it wherever it stands, for paper. */
  show() {
    this.inSight = true;
    if (this.behind) this.update();
  }

  data() {
    const chosen = this.chosen();
    const context = this.context();
    const fields = [chosen.x, chosen.y].map((column) => column?.field);
    const brushed = this.brushes ? context.rowsWithout(fields) : null;
    const data = datasetOf({ ...context, report: this.report, chart: this.chart, chosen, rows: brushed ?? context.rows });
    if (brushed) {
      const kept = new Set(context.rows);
      data.records.forEach((record) => { record.outside = !kept.has(record.i); });
    }
    return data;
  }

  /** The specification as Vega-Lite takes it, with the width that there is. */
  specOf(data) {
    const chosen = this.chosen();
    const spec = resolved(this.chart.spec, chosen);
    for (const column of [chosen.color, chosen.shape]) if (column?.texts) fixDomain(spec, column, data.records);
    this.width = this.plot.clientWidth;
    const config = structuredClone(CONFIG);
    config.legend.columns = Math.max(1, Math.floor(this.width / 150));
    config.axisXQuantitative = { tickCount: Math.max(3, Math.floor(this.width / 95)) };
    config.axisY.labelLimit = Math.min(260, this.width * 0.4);
    const description = `${this.chart.title}. ${this.chart.text}`;
    const result = { $schema: "https://vega.github.io/schema/vega-lite/v6.json", config, description, data: { name: "records" }, ...spec };
    if (spec.facet) {
      const fixed = typeof spec.spec.width === "object";
      const panel = fixed ? Math.max(spec.spec.width.step * data.columns, Math.min(320, 6.6 * (data.longest ?? 0))) + 24 : PANEL_WIDTH;
      result.columns = Math.max(1, Math.min(data.panels || 1, Math.floor((this.width - (fixed ? 110 : AXIS_WIDTH)) / panel)));
      if (!fixed) result.spec = { ...spec.spec, width: Math.max(120, (this.width - AXIS_WIDTH) / result.columns - 34) };
      if (result.facet && (data.panels ?? 0) <= 1) result.facet = { ...result.facet, header: { labels: false } };
    } else {
      result.width = Math.max(160, this.width);
      result.autosize = { type: "fit-x", contains: "padding" };
    }
    return result;
  }

  mount(data = this.data()) {
    this.drawChoices();
    this.behind = false;
    this.view?.finalize();
    replace(this.note, data.note || "");
    if (data.records.length === 0) {
      this.view = null;
      replace(this.plot, h("p.empty", {}, "Nothing of the filter has these values."));
      return;
    }
    const { spec } = vega.compile(this.specOf(data), { logger: quiet });
    silence(spec);
    this.shape = this.shapeOf(data);
    this.view = new vega.View(vega.parse(spec, {}, { ast: true }), { expr: vega.expressionInterpreter, renderer: "svg", logLevel: vega.ErrorLevel });
    replace(this.plot, h("div", {}));
    this.view.data("records", data.records).initialize(this.plot.firstChild);
    this.listen();
    this.pick();
    this.view.run();
  }

  /** What a mounted view cannot change: the panels, and what is chosen. */
  shapeOf(data) {
    const { color, shape } = this.chosen();
    const present = [color, shape].map((column) => column && [...new Set(data.records.map((record) => record[column.field]))].sort());
    return JSON.stringify([this.chart.choices.map((choice) => this.chosenOf(choice)), data.panels ?? 0, data.columns ?? 0, present]);
  }

  /** What it shows is of before. True where it is in sight: anything else is drawn once it comes into it. */
  outdate() {
    this.behind = true;
    return this.inSight;
  }

  update() {
    if (!vega) {
      prepare().then(() => this.behind && this.update());
      return;
    }
    this.behind = false;
    const data = this.data();
    if (!this.view || data.records.length === 0 || this.shape !== this.shapeOf(data)) {
      this.mount(data);
      return;
    }
    replace(this.note, data.note || "");
    this.view.data("records", data.records);
    this.pick();
    this.view.run();
  }

  pick() {
    const picked = this.report.configurationOf(state.get("pick"));
    try {
      this.view?.signal("picked", picked);
    } catch {
      // A chart without that parameter has nothing to stand out.
    }
  }

  listen() {
    this.view.addEventListener("click", (event, item) => {
      const i = item?.datum?.i;
      if (i >= 0) state.pick(this.report.uid(i));
    });
    this.view.addEventListener("pointermove", (event, item) => {
      const i = item?.datum?.i;
      if (i >= 0) showTip(event, this.report.describe(i)); else hideTip();
    });
    this.view.addEventListener("pointerout", hideTip);
    if (!this.brushes) return;
    const apply = debounced((value) => {
      const chosen = this.chosen();
      const changes = {};
      for (const column of [chosen.x, chosen.y]) {
        const range = value[column.field];
        if (range) changes[`r.${column.field}`] = `${Number(range[0].toPrecision(6))}..${Number(range[1].toPrecision(6))}`;
      }
      state.set(changes);
    }, 80);
    this.view.addSignalListener("brush", (name, value) => Object.keys(value).length && apply(value));
  }

  finish() {
    this.behind = false;
    this.view?.finalize();
    this.observer.disconnect();
    this.resizer.disconnect();
  }

  /** The chart with its data as Vega-Lite, with the colours of now, for other programs. */
  save() {
    const data = this.data();
    const spec = JSON.stringify({ ...this.specOf(data), data: { name: "records", values: data.records } }, null, 1);
    const style = getComputedStyle(document.documentElement);
    const plain = spec.replace(/var\((--[a-z0-9-]+)\)/g, (text, name) => style.getPropertyValue(name).trim());
    download(`${this.chart.id}.vl.json`, "application/json", plain);
  }
}

/** A drawing is one picture with a name: the table has its points for who cannot see it. */
function silence(node) {
  for (const mark of node.marks ?? []) {
    mark.aria = false;
    silence(mark);
  }
}

const quiet = { level: () => quiet, error: (...text) => { console.error(...text); return quiet; }, warn: () => quiet, info: () => quiet, debug: () => quiet };
