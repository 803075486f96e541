// Two sides: runs, hosts, commits, stores or any other coordinate. Only what differs, and how sure.

import { min, range } from "d3-array";
import { charts } from "../chart.js";
import { placeOn } from "../datasets.js";
import { choose, chosen, grid, h, strengthBadge } from "../dom.js";
import { count, exact, joined, probability, ratio } from "../format.js";
import { compare, FEWEST_FOR_INTERVAL, judge } from "../statistics.js";
import { useDetails } from "./details.js";

const MOST_PAIRS = 30;

/** Pairs of valid configurations that differ in `axis` alone, in what always changes with it, and in nothing else. */
function matchedPairs(report, rows, axis, a, b) {
  const sides = [a, b].map((text) => axis.texts.indexOf(text));
  const measured = Map.groupBy(range(report.count), (i) => axis.codes[i]);
  const others = report.axes.filter((other) => other !== axis);
  const together = others.filter(({ codes }) => {
    const [x, y] = sides.map((code) => new Set(measured.get(code)?.map((i) => codes[i])));
    return x.size === 1 && y.size === 1 && x.isDisjointFrom(y);
  });
  const rest = others.filter((other) => !together.includes(other));
  const place = placeOn(rest);
  const [firsts, seconds] = sides.map((code) =>
    rows.filter((i) => report.state[i] === "valid" && axis.codes[i] === code));
  const beside = Map.groupBy(firsts, place);
  const pairs = seconds.flatMap((i) => (beside.get(place(i)) ?? []).map((first) => [first, i]));
  return { pairs, together, rest, placeOf: placeOn(rest.filter(({ condition }) => !condition)) };
}

/** The estimates of a metric of those pairs that have both: {i, both}, i the second. */
const estimatesOf = (metric, pairs) => pairs.map((pair) => ({ i: pair[1], both: pair.map(metric.estimate) }))
  .filter(({ both }) => both.every((estimate) => estimate?.value > 0));

const SURE = { title: "how sure", words: true };
const EFFECT_HEADS = ["target", "second by first", "95 % interval", "pairs", SURE, "among all"];

/** Each metric over all pairs, those of one place as one, judged among all metrics. */
const effectsOf = (report, { pairs, placeOf }) => judge(report.metrics.flatMap((metric) => {
  const known = estimatesOf(metric, pairs);
  const places = [...Map.groupBy(known, ({ i }) => placeOf(i)).values()];
  return places.length > 0 ? [{ metric, ...compare(places.map((some) => some.map(({ both }) => both))) }] : [];
}));

function effectRow({ metric, ratio: value, low, high, adjusted, strength, pairs }) {
  const side = (value > 1) === (metric.better === "higher") ? "strong.better" : "strong.worse";
  const isSure = metric.better && strength.startsWith("clear");
  return [metric.title, h(isSure ? side : "strong", {}, ratio(value)),
    low === null ? "–" : `${ratio(low)} to ${ratio(high)}`, String(pairs), strengthBadge(strength),
    probability(adjusted ?? null)];
}

/** What a reader must know before believing it; `places` is how many of the pairs are not each other's repeats. */
function warnings(report, pairs, places = pairs.length) {
  const many = (of) => new Set(pairs.map(([, second]) => of[second])).size;
  const conditions = many(report.group);
  const names = report.conditions.filter(({ codes }) => many(codes) > 1).map(({ label }) => label).join(", ");
  const sides = pairs.flat();
  const fewest = min(sides, (i) => report.model.configurations.runs[i]);
  const starved = sides.filter((i) => report.starved.has(i)).length;
  const list = [
    fewest < FEWEST_FOR_INTERVAL && `Repeats are few: a side has ${count(fewest, "run")}. How much a further one would `
      + `differ is ${fewest < 2 ? "not known" : "hardly known"}; assay explore --repeats 3 measures it.`,
    places < FEWEST_FOR_INTERVAL && `${count(places, "matched pair")}: nothing shows that it is so elsewhere.`,
    conditions > 1 && `Of ${conditions} conditions together (${names}): pairs that differ in these alone count as one. `
      + "Filter to see one.",
    starved > 0 && `${starved} of the configurations waited for processors.`,
  ].filter(Boolean);
  return list.length > 0 && h("ul.warnings", {}, list.map((text) => h("li", {}, text)));
}

/** For the chart "ratios": each pair, judged among the pairs, and `effect`, what they say together. */
function ratioData(report, { pairs, rest }, { metric, ...effect }) {
  const known = estimatesOf(metric, pairs);
  const others = report.axes.filter((axis) => !rest.includes(axis));
  const { label, common } = report.labelsAmong(known.map(({ i }) => i), others);
  const shown = judge(known.map(({ i, both }) => ({ i, label: label(i), ...compare([[both]]) }))).slice(0, MOST_PAIRS);
  if (known.length > 1) shown.push({ ...effect, i: -1, label: `all ${effect.pairs}`, all: true });
  const few = known.length > MOST_PAIRS && `${MOST_PAIRS} of ${known.length} pairs; the last row is of all`;
  return { records: shown.map((record, row) => ({ ...record, row })), note: joined([few, common]) };
}

const textOf = (value) => exact(value ?? "–");

/** Those of `names` whose values differ. */
function differences(title, names, first, second, units = {}) {
  const differing = names.filter((name) => (first[name] ?? null) !== (second[name] ?? null));
  const rows = differing.map((name) => {
    const sides = [first[name], second[name]];
    const areNumbers = sides.every(Number.isFinite) && sides[0] !== 0;
    const unit = units[name] ? `, ${units[name]}` : "";
    return [name + unit, ...sides.map(textOf), areNumbers && ratio(sides[1] / sides[0])];
  });
  return rows.length > 0
    && h("div", {}, h("h2", {}, title), grid(title, ["name", "first", "second", "second by first"], rows));
}

function TwoRuns({ page, a, b }) {
  const { report } = page;
  const { uids, details: [first, second] } = useDetails(page, [a, b]);
  const sides = uids.map((uid) => report.configurationOf(uid));
  if (sides.length === 0 || sides.includes(-1)) return null;
  if (!first || !second) {
    return [warnings(report, [sides]), h("p.empty", {}, "The values of one of these runs are not in this page.")];
  }
  const { targets, provenance, units } = report.model.runs;
  const metrics = report.metrics.map(({ title, text }) => [title, ...sides.map(text)]);
  const heads = ["target", { title: "first", words: true }, { title: "second", words: true }];
  return [warnings(report, [sides]),
    h("div", {}, h("h2", {}, "Their configurations"), grid("Estimates", heads, metrics)),
    differences("Made otherwise", provenance, first.told, second.told),
    differences("Values that differ", targets, first.values, second.values, units)];
}

/** What is compared, as the address says it, or what a reader would look for first; `controls` choose it. */
function sidesOf(report) {
  const axes = report.axes.filter(({ values }) => values.length > 1);
  const likely = axes.find(({ condition }) => condition) ?? axes.find(({ role }) => role === "series");
  const kinds = [...axes.map(({ field, label }) => [field, label]), ["run", "two runs"]];
  const by = chosen("by", kinds, likely?.field);
  const axis = report.columns.get(by);
  const options = axis ? axis.texts.map((text) => [text, text]) : report.runOptions();
  const a = chosen("a", options, String(axis?.baseline));
  const b = chosen("b", options, options.find(([value]) => value !== a)?.[0]);
  const metrics = report.metrics.map(({ field, title }) => [field, title]);
  const of = chosen("of", metrics);
  const controls = h("div.tools", {}, choose("compare", "by", kinds, by, { a: "", b: "" }),
    choose("first", "a", options, a), choose("second", "b", options, b),
    axis && metrics.length > 1 && choose("pair by pair", "of", metrics, of));
  return { controls, axis, a, b, metric: report.columns.get(of) };
}

/** All matched pairs of two values of an axis. */
function matched(report, { pairs, together, placeOf }, effects) {
  if (pairs.length === 0) return h("p.empty", {}, "No two valid configurations differ in this alone.");
  const names = together.map(({ label }) => label).join(", ");
  const places = new Set(pairs.map(([, second]) => placeOf(second))).size;
  return [h("p.lead", {}, `${count(places, "matched pair")}: the second by the first, geometric mean.`),
    names && h("p.note", {}, `Never varied apart from it, so that this is said of them together: ${names}.`),
    warnings(report, pairs, places), grid("By how much", EFFECT_HEADS, effects.map(effectRow))];
}

export function Compare({ page }) {
  const { report, selection } = page;
  const { controls, axis, a, b, metric } = sidesOf(report);
  const found = axis && a !== b && matchedPairs(report, selection.rows, axis, a, b);
  const effects = found ? effectsOf(report, found) : [];
  const effect = effects.find((one) => one.metric === metric);
  const result = a === b ? h("p.empty", {}, "There are no two sides to compare.")
    : found ? matched(report, found, effects) : h(TwoRuns, { page, a, b });
  return h("div.view", {}, controls, h("div", {}, result),
    effect && charts(page, "compare", () => true, { pairs: ratioData(report, found, effect) }));
}
