// One run: what its ranks did when, its loss, what it used of the machine, where its memory went, all its values.

import { sum } from "d3-array";
import { useMemo } from "preact/hooks";
import { Chart } from "../chart.js";
import { choose, h, pairs, section } from "../dom.js";
import { exact, joined, moment, samples, spread, withUnit } from "../format.js";
import { Lanes } from "../lanes.js";
import { aligned, SeriesFigure } from "../series.js";
import { state } from "../state.js";
import { stateBadge } from "../table.js";
import { useDetails } from "./details.js";

const MOST_SIBLINGS = 8;

/** What the figures of these series are made of. */
const figuresOf = (series, figures) => figures.flatMap(({ id, scale, text, ...figure }) => {
  const drawn = Object.values(series).filter((one) => one.figure === id);
  const scaled = (value) => (value === null ? null : value / scale);
  const curves = drawn.map(({ label, x, y }) => ({ label, x, y: y.map(scaled) }));
  const isThinned = drawn.some(({ of, y }) => of > y.filter((value) => value !== null).length);
  const [missing, known] = ["missing", "of"].map((part) => sum(drawn, (one) => one[part]));
  const told = joined([text, isThinned && "thinned; extremes are kept",
    missing > 0 && `${missing} of ${missing + known} have no value`]);
  return drawn.length > 0 ? [{ ...figure, text: told, curves, data: aligned(curves) }] : [];
});

/** The charts of parts of one configuration alone. */
function partCharts(page, i) {
  const { breakdowns, model: { charts } } = page.report;
  const tables = breakdowns.filter(({ columns }) => columns.some(({ value }) => value(i) !== null));
  return charts.filter(({ breakdown }) => tables.some(({ id }) => id === breakdown)).map((chart) =>
    h(Chart, { key: chart.id, chart: { ...chart, id: `run_${chart.id}` }, page, rows: [i] }));
}

/** Parts of the configuration's memory or time as text: every column of a table of parts. */
function partsTables(report, i) {
  return report.breakdowns.map(({ title, columns }) => {
    const known = columns.filter(({ value }) => value(i) !== null);
    const estimates = known.map(({ estimate }) => estimate(i));
    const interval = (estimate) => (estimate.low === null ? "" : ` ${spread(estimate)}`);
    const row = ({ label, unit }, at) => [label, withUnit(estimates[at].value, unit) + interval(estimates[at])];
    return known.length > 0 && section(title, "section.card", pairs(known.map(row), samples(estimates)));
  });
}

function head(report, i, uid, at) {
  const others = report.runsOf[i].map((run) => report.model.runs.uid[run]).filter((other) => other !== uid);
  const link = (run, place) => [place > 0 && ", ", h("a", { href: state.link("run", { run }) }, run.slice(0, 8))];
  return h("section.card.head", { "aria-label": "The run" },
    h("h2", {}, report.nameOf(i), " ", stateBadge(report, i)),
    report.reason(i) && h("p.reason", {}, report.reason(i)),
    h("p.note", {}, `measured ${moment(at)} UTC, ${uid}`,
      others.length > 0 && [" · other runs: ", others.slice(0, MOST_SIBLINGS).map(link)]),
    pairs(report.metrics.map(({ title, value, text }) => [title, value(i) !== null && text(i)]),
      "Of its configuration"));
}

function values({ model: { runs: { units, shared } } }, details) {
  const exactly = ([name, value]) => [name, value === null ? "" : `${exact(value)} ${units[name] ?? ""}`.trim()];
  const told = Object.entries({ ...details.told, ...shared }).sort(([a], [b]) => (a < b ? -1 : 1));
  return h("div.twin", {}, section("Values", "section.card", pairs(Object.entries(details.values).map(exactly))),
    section("Provenance", "section.card", pairs(told)));
}

function Details({ page, uid, details }) {
  const { report, source } = page;
  const { runs, figures: all } = report.model;
  const number = runs.uid.indexOf(uid);
  const figures = useMemo(() => figuresOf(details?.series ?? {}, all), [details]);
  const i = runs.configuration[number];
  if (i === undefined) return null;
  const missing = source.live ? "The store did not give the values and curves of this run."
    : "The page holds the values and curves of the runs on the fronts and the fastest; "
      + "those of this one are in the store: assay serve shows them.";
  return h("div", {}, head(report, i, uid, runs.at[number]), !details && h("p.empty", {}, missing),
    h("div.charts", {}, details?.lanes && h(Lanes, { lanes: details.lanes }),
      figures.map((series) => h(SeriesFigure, { key: series.title, ...series })), partCharts(page, i)),
    h("div.twin", {}, partsTables(report, i)), details && values(report, details));
}

/** The run that the address names, by itself or as what is picked, else the best. */
function wanted(report) {
  const named = [state.get("run"), state.get("pick")].find((uid) => report.configurationOf(uid) >= 0);
  const found = report.model.findings.list.find(({ configurations }) => configurations.length);
  return named ?? (report.count > 0 ? report.uid(found?.configurations[0] ?? 0) : "");
}

/**
 * Where the address names no run of what it shows, it names what is picked, or the best: another may be that while it
 * is read, or when a link is opened. One that the report does not have may come yet.
 */
export function nameRun(report) {
  const isAsked = state.get("subject", report.subject) === report.subject;
  if (isAsked && !state.get("run")) state.set({ run: wanted(report) });
}

export function Run({ page }) {
  const options = page.report.runOptions();
  const uid = wanted(page.report);
  const { uids: [shown], details: [details] } = useDetails(page, uid ? [uid] : []);
  if (!uid) return h("div.view", {}, h("p.empty", {}, "Nothing has been measured yet."));
  return h("div.view", {}, h("div.tools", {}, choose("run", "run", options, uid)),
    shown && h(Details, { key: shown, page, uid: shown, details }));
}
