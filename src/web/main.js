// The page: a report's model, its views, and what the address says of them.

import { showStatic } from "./failure.js";
import { Chart, prepare } from "./chart.js";
import { h, replace } from "./dom.js";
import { chipsOf } from "./filters.js";
import { estimateText } from "./format.js";
import { Follower, inPlace } from "./live.js";
import { embeddedSource, servedSource } from "./source.js";
import { readFilter, Report, select, selectWithout } from "./report.js";
import { state } from "./state.js";
import { compare } from "./views/compare.js";
import { explore } from "./views/explore.js";
import { overview } from "./views/overview.js";
import { predicted } from "./views/predicted.js";
import { run } from "./views/run.js";
import { scaling } from "./views/scaling.js";

const VIEWS = [["overview", "Overview", overview], ["explore", "Explore", explore], ["scaling", "Scaling", scaling],
  ["predicted", "Predicted", predicted], ["compare", "Compare", compare], ["run", "Run", run]];

const CHART_PAUSE_MS = 40;

class Page {
  constructor(source, model) {
    this.source = source;
    this.made = new Map();
    this.nav = h("nav", { "aria-label": "Views" });
    this.picked = h("div.picked", { hidden: true });
    this.chips = h("div", {});
    this.body = h("div", { id: "body" });
    this.head = h("header", {});
    this.parts = [this.head, this.nav, this.chips, this.body, this.picked];
    this.adopt(model);
  }

  /** Takes another model: its views are made anew. */
  adopt(model) {
    this.made.forEach((view) => {
      view.charts.forEach((chart) => chart.finish());
      view.finish?.();
    });
    this.made.clear();
    this.report = new Report(model);
    replace(this.head, header(model));
    this.select();
  }

  select() {
    this.filter = readFilter(state);
    this.selection = select(this.report, this.filter);
  }

  /** The charts of a view; `extra` gives what a view itself makes for them. */
  chartsOf(view, extra = () => undefined) {
    const context = () => ({
      rows: this.selection.rows, isAll: this.selection.isAll, extra: extra(),
      rowsWithout: (fields) => selectWithout(this.report, this.filter, fields),
    });
    return this.report.model.charts.filter((chart) => chart.view === view).map((chart) => new Chart(this.report, chart, context));
  }

  /** The charts of parts, of one configuration alone. */
  partsOf(i) {
    const context = () => ({ rows: [i], isAll: false, rowsWithout: () => null });
    return this.report.model.charts.filter(({ data }) => data === "parts")
      .filter(({ breakdown }) => this.report.model.breakdowns.find(({ id }) => id === breakdown).columns.some(({ values }) => values[i] !== null))
      .map((chart) => new Chart(this.report, { ...chart, id: `run_${chart.id}` }, context));
  }

  /** Null where they are not at hand, or cannot be read now. */
  async runDetails(uid) {
    try {
      return await this.source.details(this.report, uid);
    } catch {
      return null;
    }
  }

  viewOf(name) {
    if (!this.made.has(name)) this.made.set(name, VIEWS.find(([view]) => view === name)[2](this.report, this));
    return this.made.get(name);
  }

  forget(name) {
    this.made.get(name)?.finish?.();
    this.made.delete(name);
    if (state.view === name) this.draw();
  }

  /** What the address says now. */
  redraw() {
    this.select();
    this.draw();
  }

  draw() {
    const name = VIEWS.some(([view]) => view === state.view) ? state.view : "overview";
    const view = this.viewOf(name);
    replace(this.nav, h("ul", {}, VIEWS.map(([key, title]) => h("li", {}, h("a", { href: state.link(key), "aria-current": key === name ? "page" : null }, title)))));
    if (view.element.parentNode !== this.body) replace(this.body, view.element);
    replace(this.chips, name !== "run" && chipsOf(this.report, this.selection));
    this.drawPicked();
    view.update();
    this.updateCharts([...view.charts]);
    document.documentElement.dataset.view = name;
  }

  /** One a frame, once the browser painted the rest: neither the table and the facets of a filter nor the next letter of a search wait for charts. */
  updateCharts(charts) {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    const due = charts.filter((chart) => chart.outdate());
    const next = () => {
      due.shift()?.update();
      if (due.length) painted(0);
    };
    const painted = (pause) => { this.frame = requestAnimationFrame(() => { this.timer = setTimeout(next, pause); }); };
    if (due.length) painted(CHART_PAUSE_MS);
  }

  drawPicked() {
    const i = this.report.configurationOf(state.get("pick"));
    this.picked.hidden = i < 0;
    if (i < 0) return;
    const uid = this.report.uid(i);
    const values = this.report.metrics.slice(0, 2).map((metric) => [metric, this.report.estimate(metric, i)]).filter(([, estimate]) => estimate)
      .map(([metric, estimate]) => h("span", {}, estimateText(estimate, metric.unit)));
    replace(this.picked, h("strong", {}, this.report.labels[i] || "picked"), values,
      h("a", { href: state.link("run", { run: uid }) }, "Its run"), h("a", { href: state.link("compare", { by: "run", a: uid }) }, "Compare it"),
      h("button.plain", { onclick: () => state.set({ pick: "" }) }, "Let go"));
  }
}

/** What stands above the views. */
function header(model) {
  const facts = (list) => h("dl.facts", {}, list.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))));
  return [h("h1", {}, model.title), model.description.split("\n").filter((line) => line.trim()).map((line) => h("p.lead", {}, line)),
    h("details.same", {}, h("summary", {}, model.facts.slice(0, 3).map(([, text]) => text).join(" · ")), facts(model.facts),
      model.constants.length > 0 && [h("h2", {}, "The same in every configuration"), facts(model.constants)])].flat();
}

/** Shows `parts` in place of what stands without script, of which the help stays. */
function show(...parts) {
  const still = document.getElementById("static");
  const help = document.getElementById("help");
  still.replaceWith(h("main", { id: "app" }, ...parts, help && h("details.help", {}, h("summary", {}, "How to read this page"), help)));
}

function fail(error) {
  const notice = h("p.notice", { role: "alert" }, `The views of this page could not be made (${error.message}); what stands below is complete.`);
  document.body.prepend(notice);
  showStatic();
  throw error;
}

/** `pageOf()` may be null. */
function listen(pageOf) {
  addEventListener("beforeprint", () => pageOf()?.made.forEach((view) => view.element.isConnected && view.charts.forEach((chart) => chart.show())));
  // What is drawn on canvases has its colours from when it was drawn.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => pageOf()?.forget("run"));
}

function ready() {
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
  setTimeout(prepare);
}

async function startEmbedded() {
  const source = embeddedSource();
  const page = new Page(source, await source.model());
  show(...page.parts);
  page.draw();
  state.listen(() => page.redraw());
  listen(() => page);
  ready();
}

/** A page that follows a store; before there is anything to show it says so. */
async function startServed(api) {
  const source = servedSource(api);
  const host = h("div", { id: "host" });
  let page = null;
  const follower = new Follower(source, (model, text) => {
    if (!model) {
      page = null;
      replace(host, h("h1", {}, "assay"), h("p.empty", {}, text));
    } else if (page) {
      inPlace(host, () => {
        page.adopt(model);
        page.draw();
      });
    } else {
      page = new Page(source, model);
      replace(host, ...page.parts);
      page.draw();
    }
    document.title = model?.title ?? "assay";
  });
  show(follower.element, host);
  listen(() => page);
  state.listen(() => {
    if (follower.subject !== follower.asked) follower.refresh();
    else page?.redraw();
  });
  await follower.start();
  ready();
}

const { api } = document.body.dataset;
(api ? startServed(api) : startEmbedded()).catch(fail);
