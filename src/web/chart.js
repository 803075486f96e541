// A Vega-Lite chart of the model: what the reader chose put into its specification, its data kept up to date.

import { sort } from "d3-array";
import { Component } from "preact";
import { datasetOf } from "./datasets.js";
import { choose, debounced, download, figure, h } from "./dom.js";
import { selectWithout } from "./selection.js";
import { chosenOf, legendsOf, optionsOf, specificationOf } from "./specification.js";
import { state } from "./state.js";
import { hideTip, showTip } from "./tip.js";

const WIDE = new Set(["cells", "parts", "pairs"]);
const PAUSE_MS = 40;

let vega = null;

/** Makes ready what draws charts: when there is time, or at once for the first of them. */
export function prepare() {
  // As a call, where import() would come after the paper that a reader asks for.
  vega ??= require("./vega.js");
}

// Charts that are to be drawn: a piece of one a frame, once the browser painted the rest. Neither the table and the
// facets of a filter nor the next letter of a search wait for them.
const due = new Set();
let [frame, timer] = [0, 0];

function drawDue(pause) {
  cancelAnimationFrame(frame);
  clearTimeout(timer);
  frame = requestAnimationFrame(() => { timer = setTimeout(drawNext, pause); });
}

function drawNext() {
  const [chart] = due;
  chart?.drawPiece();
  if (due.size > 0) drawDue(0);
}

/** A chart of the model over the rows of the page's filter or `rows`; `pairs` are those of a comparison. */
export class Chart extends Component {
  componentDidMount() {
    this.sight = new IntersectionObserver((entries) => {
      this.isInSight = entries.at(-1).isIntersecting;
      if (this.isInSight) this.draw();
      performance.mark("charts drawn");
    }, { rootMargin: "150px" });
    this.sight.observe(this.plot.parentElement);
    this.resizer = new ResizeObserver(debounced(() => {
      if (!this.view || Math.abs(this.plot.clientWidth - this.width) <= 8) return;
      this.shape = "";
      this.begin();
      this.draw();
    }, 120));
    this.resizer.observe(this.plot);
    this.componentDidUpdate();
  }

  /** What it shows is of before. On paper it is drawn wherever it stands, else once it comes into sight. */
  componentDidUpdate() {
    this.begin();
    if (this.props.page.isPrinted) {
      this.draw();
    } else if (this.isInSight) {
      due.add(this);
      drawDue(PAUSE_MS);
    }
  }

  /** Anew, whatever is half drawn. */
  begin() {
    this.pieces?.return();
    this.pieces = this.drawing();
  }

  componentWillUnmount() {
    due.delete(this);
    this.pieces?.return();
    this.sight.disconnect();
    this.resizer.disconnect();
    this.view?.finalize();
    this.view = null;
  }

  render({ chart, page: { report } }) {
    const choice = (one) => {
      const options = optionsOf(report, one);
      return options.length > 1 && choose(one.label, `${chart.id}.${one.name}`, options, chosenOf(report, chart, one));
    };
    const tag = WIDE.has(chart.data) ? "figure.chart.whole" : "figure.chart";
    return figure(tag, { id: chart.id }, chart.title, chart.text,
      h("div.choices", {}, chart.choices.map(choice), h("button.plain.save", {
        onclick: () => this.save(), title: "this chart with its data, as Vega-Lite",
        "aria-label": `save ${chart.title} as Vega-Lite`,
      }, "Save")),
      h("div.plot", {
        role: "application", tabindex: "0", "aria-label": `points of ${chart.title}`, onfocusout: hideTip,
        onkeydown: (event) => this.walk(event), ref: (element) => { this.plot = element; },
      }),
      h("p.note", { "aria-live": "polite", ref: (element) => { this.note = element; } }));
  }

  /** The columns that its choices stand for, by their names. */
  get chosen() {
    const { chart, page: { report } } = this.props;
    return Object.fromEntries(chart.choices.map((choice) =>
      [choice.name, report.columnOf(chosenOf(report, chart, choice))]));
  }

  get isBrushed() {
    return JSON.stringify(this.props.chart.spec).includes('"brush"');
  }

  /** {records, note, panels, ...}. Of what is brushed, what the brush leaves out stays. */
  data() {
    const { props: { chart, page: { report, selection, filter }, rows = selection.rows, pairs }, chosen } = this;
    const brushed = this.isBrushed && selectWithout(report, filter, [chosen.x.field, chosen.y.field]);
    const data = datasetOf({ report, chart, chosen, rows: brushed || rows, isAll: filter.length === 0, pairs });
    if (!brushed) return data;
    const kept = new Set(rows);
    return { ...data, records: data.records.map((record) => ({ ...record, outside: !kept.has(record.i) })) };
  }

  specification(data) {
    this.width = this.plot.clientWidth;
    return specificationOf(this.props.chart, this.chosen, data, this.width);
  }

  /** What a mounted view cannot change: the panels, what is chosen, and which of its values are there. */
  shapeOf({ panels, columns }) {
    return JSON.stringify([Object.values(this.chosen).map((column) => column?.field), panels, columns]);
  }

  draw() {
    while (this.pieces) this.drawPiece();
  }

  drawPiece() {
    if (!this.pieces.next().done) return;
    due.delete(this);
    this.pieces = null;
  }

  /** Each piece is as long as a reader may wait. */
  *drawing() {
    prepare();
    const data = this.data();
    this.note.textContent = data.note || "";
    yield;
    if (!this.view || this.shape !== this.shapeOf(data) || this.report !== this.props.page.report) {
      yield* this.mounting(data);
    } else {
      this.view.data("records", data.records);
      Object.entries(legendsOf(this.chosen, data.records)).forEach(([name, shown]) => this.view.signal(name, shown));
      this.run();
    }
  }

  *mounting(data) {
    // One picture: the tip says of a point what there is to hear.
    const drawing = Object.assign(document.createElement("div"), { ariaHidden: "true" });
    const view = data.records.length === 0 ? null : yield* this.viewOf(data, drawing);
    if (!view) {
      Object.assign(drawing, { className: "empty", textContent: "Nothing of the filter has these values." });
    }
    this.view?.finalize();
    Object.assign(this, { view, shape: this.shapeOf(data), report: this.props.page.report });
    if (view) {
      this.listen();
      this.run();
    }
    this.plot.replaceChildren(drawing);
  }

  /** Whose listeners of the window go with it where it is not waited for. */
  *viewOf(data, drawing) {
    const { spec } = vega.compile(this.specification(data), { logger: vega.logger(vega.ErrorLevel) });
    yield;
    const view = new vega.View(vega.parse(spec, {}, { ast: true }),
      { expr: vega.expressionInterpreter, renderer: "svg", logLevel: vega.ErrorLevel });
    let isTaken = false;
    try {
      view.data("records", data.records).initialize(drawing);
      yield;
      isTaken = true;
      return view;
    } finally {
      if (!isTaken) view.finalize();
    }
  }

  /** Shows what was set, and what is picked: in charts that have a parameter for it. */
  run() {
    if (this.props.chart.spec.params?.some(({ name }) => name === "picked")) {
      this.view.signal("picked", this.report.configurationOf(state.get("pick")));
    }
    this.view.run();
  }

  /** Arrows lead from point to point, from left to right, and Enter picks as a click does. */
  walk(event) {
    const of = (node) => node.__data__?.datum?.i ?? -1;
    const nodes = [...this.plot.querySelectorAll(".mark-symbol path, .mark-rect path")].filter((node) => of(node) >= 0);
    const each = new Map(nodes.map((node) => [of(node), node])).values();
    const points = sort(each, (node) => node.getBoundingClientRect().x);
    const at = points.findIndex((node) => of(node) === this.walked);
    if (event.key === "Enter" && at >= 0) state.pick(this.report.uid(this.walked));
    const next = points[at + ({ ArrowRight: 1, ArrowLeft: -1 }[event.key] ?? NaN)];
    if (!next) return;
    event.preventDefault();
    this.walked = of(next);
    const { left, bottom } = next.getBoundingClientRect();
    showTip({ clientX: left, clientY: bottom }, this.report.describe(this.walked, next.__data__.datum.told));
  }

  listen() {
    const { report } = this;
    const of = (item) => item?.datum?.i ?? -1;
    this.view.addEventListener("click", (event, item) => of(item) >= 0 && state.pick(report.uid(of(item))));
    this.view.addEventListener("pointermove", (event, item) =>
      showTip(event, of(item) >= 0 && report.describe(of(item), item.datum.told)));
    this.view.addEventListener("pointerout", hideTip);
    if (!this.isBrushed) return;
    const rangeOf = ([field, range]) => [`r.${field}`, range.map((number) => Number(number.toPrecision(6))).join("..")];
    const apply = debounced((ranges) => state.set(Object.fromEntries(Object.entries(ranges).map(rangeOf))), 80);
    this.view.addSignalListener("brush", (name, ranges) => Object.keys(ranges).length && apply(ranges));
  }

  /** The chart with its data as Vega-Lite, with the colours of now, for other programs. */
  save() {
    const data = this.data();
    const whole = { ...this.specification(data), data: { name: "records", values: data.records } };
    const style = getComputedStyle(document.documentElement);
    const valueOf = (text, name) => style.getPropertyValue(name).trim();
    const plain = JSON.stringify(whole, null, 1).replace(/var\((--[a-z0-9-]+)\)/g, valueOf);
    download(`${this.props.chart.id}.vl.json`, "application/json", plain);
  }
}

/** The charts of a view that `isWanted`; `more` are attributes of each. */
export function charts(page, view, isWanted = () => true, more = {}) {
  const shown = page.report.model.charts.filter((chart) => chart.view === view && isWanted(chart));
  return h("div.charts", {}, shown.map((chart) => h(Chart, { key: chart.id, chart, page, ...more })));
}
