// The page: a report's model, its views, and what the address says of them.

import "./failure.js";
import { render } from "preact";
import { prepare } from "./chart.js";
import { h, piece } from "./dom.js";
import { chips } from "./filters.js";
import { Follower } from "./live.js";
import { Report } from "./report.js";
import { filterOf, select } from "./selection.js";
import { recolour } from "./series.js";
import { embeddedSource, Server } from "./source.js";
import { state } from "./state.js";
import { Compare } from "./views/compare.js";
import { Explore } from "./views/explore.js";
import { Overview } from "./views/overview.js";
import { Predicted } from "./views/predicted.js";
import { nameRun, Run } from "./views/run.js";
import { Scaling } from "./views/scaling.js";

const VIEWS = [["overview", "Overview", Overview], ["explore", "Explore", Explore], ["scaling", "Scaling", Scaling],
  ["predicted", "Predicted", Predicted], ["compare", "Compare", Compare], ["run", "Run", Run]];

const SHORT_WAIT_MS = 60;

const navigation = (current) => h("nav", { "aria-label": "Views" }, h("ul", {}, VIEWS.map(([view, title]) =>
  h("li", {}, h("a", { href: state.link(view), "aria-current": view === current ? "page" : null }, title)))));

/** What is picked, in every view, and what can be done with it. */
function pickedBar(report) {
  const uid = state.get("pick");
  const i = report.configurationOf(uid);
  if (i < 0) return null;
  const values = report.metrics.slice(0, 2).filter(({ value }) => value(i) !== null);
  return h("div.picked", {}, h("strong", {}, report.labels[i] || "picked"),
    values.map(({ text }) => h("span", {}, text(i))),
    h("a", { href: state.link("run", { run: report.uid(i) }) }, "Its run"),
    h("a", { href: state.link("compare", { by: "run", a: report.uid(i) }) }, "Compare it"),
    h("button.plain", { onclick: () => state.pick(uid) }, "Let go"));
}

/** What is shown, in `host`. Views get the page: {source, report, filter, its selection, isPrinted}. */
class Page {
  host = document.createElement("div");
  roots = new Map();
  isPrinted = false;

  constructor(source) {
    this.source = source;
    state.listen(() => this.draw());
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  }

  /**
   * Takes a model, or another one, of the subject that the address may name; null: `text` stands in its place. Of one
   * that cannot be drawn nothing stays.
   */
  adopt(model, text, subject = "") {
    const { report: before } = this;
    try {
      this.report = model && Object.assign(new Report(model), { subject });
      if (!model) render([h("h1", {}, "assay"), h("p.empty", {}, text)], this.host);
      this.draw();
    } catch (error) {
      this.report = before;
      this.draw();
      throw error;
    }
    document.title = model?.title ?? "assay";
  }

  /** What the address says now. A view that was seen stays as it was left. */
  draw() {
    if (!this.report) return;
    if (state.view === "run") nameRun(this.report);
    this.filter = filterOf(this.report);
    this.selection = select(this.report, this.filter);
    const [name, , View] = VIEWS.find(([view]) => view === state.view) ?? VIEWS[0];
    if (!this.roots.has(name)) this.roots.set(name, document.createElement("div"));
    const root = this.roots.get(name);
    render(h(View, { page: this }), root);
    const place = (body) => body && body.firstChild !== root && body.replaceChildren(root);
    render([this.report.model.page.header.map(piece), navigation(name), h("div", {}, name !== "run" && chips(this)),
      h("div", { id: "body", ref: place }), pickedBar(this.report)], this.host);
    document.documentElement.dataset.view = name;
  }

  print(isPrinted) {
    this.isPrinted = isPrinted;
    // Before the style sheets' "print" holds: what is drawn for paper needs its colours by then.
    document.documentElement.toggleAttribute("data-printed", isPrinted);
    this.draw();
    recolour();
  }
}

/** Shows `parts` in place of what stands without script, of which the help stays. */
function show(...parts) {
  const app = Object.assign(document.createElement("main"), { id: "app" });
  const help = document.getElementById("help");
  document.getElementById("static").replaceWith(app);
  if (help) help.open = false;
  app.append(...parts, help ?? "");
}

/** The page of a file, or with `api` one that follows a store: before there is anything to show it says so. */
async function start(api) {
  // A server that was just started reads its store meanwhile; where it did before, the views come first.
  if (api) setTimeout(prepare, SHORT_WAIT_MS);
  const source = api ? new Server(api) : embeddedSource();
  const page = new Page(source);
  const follower = api && new Follower(source, page);
  if (!api) page.adopt(source.model);
  show(follower?.host ?? "", page.host);
  await follower?.start();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
  setTimeout(prepare);
}

const { api } = document.body.dataset;
// Once the script is through: where a request comes from, as who watches them asks, V8 tells by parsing what still runs
// a second time, which is all of it.
if (api) queueMicrotask(() => start(api)); else start();
