// Two sides: runs, hosts, commits, stores or any other coordinate. Only what differs, and how sure.

import { figures, grid, h, replace, select, strengthBadge } from "../dom.js";
import { count, estimateText, exact, probability, ratio } from "../format.js";
import { compare as compareEstimates, FEWEST_FOR_INTERVAL, judge } from "../statistics.js";
import { state } from "../state.js";

/** Pairs of valid configurations that differ in `axis` alone, in what always changes with it, and in nothing else. */
export function matchedPairs(report, rows, axis, a, b) {
  const [from, to] = [axis.texts.indexOf(a), axis.texts.indexOf(b)];
  const only = (code, other) => {
    const codes = new Set(other.codes.filter((_, i) => axis.codes[i] === code));
    return codes.size === 1 ? [...codes][0] : null;
  };
  const together = report.axes.filter((other) => {
    if (other === axis) return false;
    const [x, y] = [only(from, other), only(to, other)];
    return x !== null && y !== null && x !== y;
  });
  const rest = report.axes.filter((other) => other !== axis && !together.includes(other));
  const place = (i) => rest.map((other) => other.codes[i]).join();
  const valid = rows.filter((i) => report.state[i] === "valid");
  const firsts = Map.groupBy(valid.filter((i) => axis.codes[i] === from), place);
  const pairs = valid.filter((i) => axis.codes[i] === to).flatMap((i) => (firsts.get(place(i)) ?? []).map((first) => [first, i]));
  return { pairs, together, rest };
}

const positive = (estimate) => estimate !== null && estimate.value > 0;

/** Each metric over all pairs, judged among all metrics. */
function effects(report, pairs) {
  return judge(report.metrics.map((metric) => {
    const both = pairs.map(([a, b]) => [report.estimate(metric, a), report.estimate(metric, b)]).filter(([a, b]) => positive(a) && positive(b));
    return both.length ? { metric, ...compareEstimates(both) } : null;
  }).filter(Boolean));
}

function effectRow({ metric, ratio: value, low, high, adjusted, strength, pairs }) {
  const better = metric.better && strength.startsWith("clear") ? ((value > 1) === (metric.better === "higher") ? "better" : "worse") : "";
  return [metric.title, h(better ? `strong.${better}` : "strong", {}, ratio(value)), low === null ? "–" : `${ratio(low)} to ${ratio(high)}`,
    String(pairs), strengthBadge(strength), adjusted === undefined ? "" : probability(adjusted)];
}

const EFFECT_HEADS = ["target", "second by first", "95 % interval", "pairs", { title: "how sure", words: true }, "among all"];

/** What a reader must know before believing it. */
function warnings(report, pairs) {
  const runs = (side) => Math.min(...pairs.map((pair) => report.model.configurations.runs[pair[side]]));
  const fewest = Math.min(runs(0), runs(1));
  const list = [];
  if (fewest < FEWEST_FOR_INTERVAL) {
    list.push(`Repeats are few: a side has ${count(fewest, "run")}. How much a further one would differ is ${fewest < 2 ? "not known" : "hardly known"}; assay explore --repeats 3 measures it.`);
  }
  if (pairs.length < FEWEST_FOR_INTERVAL) list.push(`${count(pairs.length, "matched pair")}: nothing shows that it is so elsewhere.`);
  const starved = pairs.flat().filter((i) => report.starved.has(i)).length;
  if (starved) list.push(`${starved} of the configurations waited for processors.`);
  return list.length ? h("ul.warnings", {}, list.map((text) => h("li", {}, text))) : null;
}

/** Bars of each pair and their mean, for the chart "ratios". */
function ratioRecords(report, pairs, metric, rest) {
  const results = judge(pairs.map(([a, b]) => {
    const [x, y] = [report.estimate(metric, a), report.estimate(metric, b)];
    return positive(x) && positive(y) ? { i: b, label: report.labelOf((axis) => axis.codes[b], rest) || "the pair", ...compareEstimates([[x, y]]), both: [x, y] } : null;
  }).filter(Boolean));
  const shown = results.slice(0, 30);
  if (results.length > 1) shown.push({ i: -1, label: `all ${results.length}`, all: true, ...judge([compareEstimates(results.map(({ both }) => both))])[0] });
  return shown.map(({ both, ...record }, row) => ({ ...record, row }));
}

/** Names with two texts that differ; `pairsOf` gives [name, of a, of b]. */
function differences(title, rows) {
  const differing = rows.filter(([, a, b]) => a !== b);
  if (differing.length === 0) return null;
  return h("div", {}, h("h2", {}, title), grid(title, ["name", "first", "second", "second by first"], differing.map(([name, a, b]) =>
    [name, textOf(a), textOf(b), typeof a === "number" && typeof b === "number" && a !== 0 ? ratio(b / a) : ""])));
}

const textOf = (value) => (value === null || value === undefined ? "–" : exact(value));

function runDifferences(report, details, a, b) {
  const { targets, provenance, units } = report.model.runs;
  if (!details[0] || !details[1]) return h("p.empty", {}, "The values of one of these runs are not in this page.");
  const rows = (names, which) => names.map((name, i) => [units[name] && which === "values" ? `${name}, ${units[name]}` : name, details[0][which][i], details[1][which][i]]);
  const metrics = report.metrics.map((metric) => [metric.title, ...[a, b].map((i) => estimateText(report.estimate(metric, i), metric.unit))]);
  const heads = ["target", { title: "first", words: true }, { title: "second", words: true }];
  return [h("div", {}, h("h2", {}, "Their configurations"), grid("Estimates", heads, metrics)),
    differences("Made otherwise", rows(provenance, "told")), differences("Values that differ", rows(targets, "values"))];
}

export function compare(report, page) {
  const axes = report.axes.filter(({ values }) => values.length > 1);
  const [controls, result] = [h("div.tools", {}), h("div", {})];
  const charts = page.chartsOf("compare", () => ratios);
  let ratios = [];
  let turn = 0;
  const element = h("div.view", {}, controls, result, figures(charts));
  const sides = (by) => (by === "run" ? report.runOptions() : report.fields.get(by).texts.map((text) => [text, text]));

  function chosen() {
    const fallback = axes.find(({ condition }) => condition) ?? axes.find(({ role }) => role === "series") ?? axes[0];
    const by = state.get("by") === "run" || report.fields.get(state.get("by"))?.texts ? state.get("by") : fallback?.field ?? "run";
    const options = sides(by);
    const known = (key) => options.some(([value]) => value === state.get(key));
    const baseline = by === "run" ? undefined : options.find(([value]) => value === String(report.fields.get(by).baseline))?.[0];
    const a = known("a") ? state.get("a") : baseline ?? options[0]?.[0];
    const b = known("b") ? state.get("b") : options.find(([value]) => value !== a)?.[0];
    const metric = report.metrics.find(({ field }) => field === state.get("of")) ?? report.metrics[0];
    return { by, options, a, b, metric };
  }

  return {
    element, charts,
    async update() {
      const mine = ++turn;
      const { by, options, a, b, metric } = chosen();
      replace(controls,
        select("compare", [...axes.map(({ field, label }) => [field, label]), ["run", "two runs"]], by, (value) => state.set({ by: value, a: "", b: "" })),
        select("first", options, a, (value) => state.set({ a: value })), select("second", options, b, (value) => state.set({ b: value })),
        by !== "run" && report.metrics.length > 1 && select("pair by pair", report.metrics.map((entry) => [entry.field, entry.title]), metric?.field, (value) => state.set({ of: value })));
      ratios = [];
      if (a === undefined || b === undefined || a === b) {
        replace(result, h("p.empty", {}, "There are no two sides to compare."));
      } else if (by === "run") {
        const [x, y] = [report.configurationOf(a), report.configurationOf(b)];
        const details = [await page.runDetails(a), await page.runDetails(b)];
        // What comes late is of sides that are no longer chosen.
        if (mine !== turn) return;
        replace(result, warnings(report, [[x, y]]), runDifferences(report, details, x, y));
      } else {
        const { pairs, together, rest } = matchedPairs(report, page.selection.rows, report.fields.get(by), a, b);
        const list = effects(report, pairs);
        ratios = metric ? ratioRecords(report, pairs, metric, rest) : [];
        replace(result, pairs.length === 0 ? h("p.empty", {}, "No two valid configurations differ in this alone.") : [
          h("p.lead", {}, `${count(pairs.length, "matched pair")}: the second by the first, geometric mean.`),
          together.length > 0 && h("p.note", {}, `Never varied apart from it, so that this is said of them together: ${together.map(({ label }) => label).join(", ")}.`),
          warnings(report, pairs), grid("By how much", EFFECT_HEADS, list.map(effectRow))]);
      }
      charts.forEach((chart) => {
        chart.element.hidden = by === "run" || ratios.length === 0;
        if (chart.outdate()) chart.update();
      });
    },
  };
}
