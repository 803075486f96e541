// One run: what its ranks did when, its loss, what it used of the machine, where its memory went, all its values.

import { figures, h, pairs, replace, select } from "../dom.js";
import { estimateText, exact, moment, readable } from "../format.js";
import { lanesFigure } from "../lanes.js";
import { seriesFigure } from "../series.js";
import { state } from "../state.js";
import { stateBadge } from "../table.js";

const GIB = 1024 ** 3;
const RANK_STEPS = /^rank\d+\.step_seconds$/;
const perGpu = (suffix) => new RegExp(`^gpu\\d+\\.${suffix}$`);

/** Figures over the run: what series they draw, in which unit. */
const FIGURES = [
  { title: "Loss", over: "step", match: /^(loss|reference_loss)$/, zero: false },
  { title: "Step time", unit: "s", over: "step", match: /^step_seconds$/, of: "run" },
  { title: "Step time", unit: "s", over: "step", match: RANK_STEPS, of: "ranks" },
  { title: "Norm of the gradients", over: "step", match: /^(grad_norm|reference_grad_norm)$/ },
  { title: "CPU", unit: "% (100 = one core)", over: "seconds", match: /^cpu_(tree|process)_percent$/ },
  { title: "Resident memory", unit: "GiB", scale: GIB, over: "seconds", match: /^rss_(tree|process)_bytes$/ },
  { title: "Disk, since the start", unit: "GiB", scale: GIB, over: "seconds", match: /^disk_(read|write)_bytes$/ },
  { title: "GPU", unit: "%", over: "seconds", match: perGpu("utilization_percent") },
  { title: "GPU memory", unit: "GiB", scale: GIB, over: "seconds", match: perGpu("memory_used_bytes") },
  { title: "GPU power", unit: "W", over: "seconds", match: perGpu("power_watts") },
];

function curvesOf(series, lossOf) {
  const found = [];
  const ranks = Object.keys(series).filter((name) => RANK_STEPS.test(name)).length;
  for (const figure of FIGURES) {
    // Of several ranks their own times say more, of one the same.
    if (figure.of === (ranks > 1 ? "run" : "ranks")) continue;
    const names = Object.keys(series).filter((name) => figure.match.test(name));
    if (names.length === 0) continue;
    const curves = names.map((name) => ({ label: /^rank\d+/.exec(name)?.[0].replace("rank", "rank ") ?? name.replaceAll("_", " "), x: series[name].x, y: series[name].y.map((value) => (value === null ? null : value / (figure.scale ?? 1))) }));
    const thinned = names.some((name) => series[name].of > series[name].x.length);
    const text = [figure.title === "Loss" && lossOf && `mean over a step's ${lossOf}`, thinned && "thinned; extremes are kept"].filter(Boolean).join("; ");
    found.push(seriesFigure({ ...figure, text, unit: figure.unit ?? "", curves, sync: figure.over, over: figure.over === "step" ? "step" : "seconds since the start" }));
  }
  return found;
}

/** Parts of the configuration's memory or time as bars of text: every column of a table of parts. */
function partsTables(report, i) {
  return report.model.breakdowns.map((table) => {
    const rows = table.columns.filter(({ values }) => values[i] !== null).map(({ label, unit, values }) => [label, `${readable(values[i])} ${unit}`]);
    return rows.length > 0 && h("section.card", { "aria-label": table.title }, h("h2", {}, table.title), pairs(rows));
  });
}

function head(report, i, uid, run) {
  const metrics = report.metrics.map((metric) => [metric.title, estimateText(report.estimate(metric, i), metric.unit)]);
  const siblings = report.runsOf[i].map((other) => report.model.runs.uid[other]).filter((other) => other !== uid);
  return h("section.card.head", { "aria-label": "The run" },
    h("h2", {}, report.labels[i] || "the only configuration", " ", stateBadge(report, i)),
    report.reason(i) && h("p.reason", {}, report.reason(i)),
    h("p.note", {}, `measured ${moment(report.model.runs.at[run])} UTC, ${uid}`,
      siblings.length > 0 && [" · other runs: ", siblings.slice(0, 8).map((other, at) => [at ? ", " : "", h("a", { href: state.link("run", { run: other }) }, other.slice(0, 8))])].flat(2)),
    pairs(metrics.filter(([, text]) => text !== "no value"), "Of its configuration"));
}

function values(report, details) {
  const { targets, units, provenance, shared } = report.model.runs;
  return h("div.twin", {},
    h("section.card", { "aria-label": "Values" }, h("h2", {}, "Values"), pairs(targets.map((name, at) => [name, details.values[at] === null ? "" : `${exact(details.values[at])}${units[name] ? ` ${units[name]}` : ""}`]))),
    h("section.card", { "aria-label": "Provenance" }, h("h2", {}, "Provenance"), pairs([...provenance.map((name, at) => [name, details.told[at]]), ...Object.entries(shared)].sort(([a], [b]) => (a < b ? -1 : 1)))));
}

export function run(report, page) {
  const [controls, body] = [h("div.tools", {}), h("div", {})];
  let drawn = "";
  let running = [];
  const finish = () => {
    running.forEach((figure) => figure.finish());
    running = [];
  };

  async function draw(uid) {
    const number = report.model.runs.uid.indexOf(uid);
    const i = report.model.runs.configuration[number];
    const details = await page.runDetails(uid);
    if (drawn !== uid) return;
    finish();
    running = [...(details?.lanes ? [lanesFigure(details.lanes)] : []), ...curvesOf(details?.series ?? {}, report.model.loss_of)];
    const parts = page.partsOf(i);
    running.push(...parts);
    replace(body, head(report, i, uid, number),
      !details && h("p.empty", {}, page.source.live ? "The store did not give the values and curves of this run." : "The page holds the values and curves of the runs on the fronts and the fastest; those of this one are in the store: assay serve shows them."),
      figures(running), h("div.twin", {}, partsTables(report, i)), details && values(report, details));
  }

  return {
    element: h("div.view", {}, controls, body), charts: [], finish,
    update() {
      const options = report.runOptions();
      if (options.length === 0) {
        replace(body, h("p.empty", {}, "Nothing has been measured yet."));
        return;
      }
      const best = report.model.findings.list.find(({ configurations }) => configurations.length)?.configurations[0] ?? 0;
      const picked = report.configurationOf(state.get("pick"));
      const fallback = report.uid(picked >= 0 ? picked : best);
      const uid = options.some(([value]) => value === state.get("run")) ? state.get("run") : fallback;
      if (drawn === uid) return;
      drawn = uid;
      const near = nearby(options, uid);
      replace(controls, select("run", near, uid, (value) => state.set({ run: value })));
      draw(uid);
    },
  };
}

/** A list of ten thousand is none: those around the present one. */
function nearby(options, uid) {
  const most = 400;
  if (options.length <= most) return options;
  const at = options.findIndex(([value]) => value === uid);
  const from = Math.max(0, Math.min(at - most / 2, options.length - most));
  return options.slice(from, from + most);
}
