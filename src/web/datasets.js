// The data sets that charts name (report/charts/chart.h): each makes records of the rows that the filter keeps.

import { extent, least, max, median, min, rollup } from "d3-array";
import { readable, samples, withUnit } from "./format.js";
import { frontOf } from "./pareto.js";
import { compare } from "./statistics.js";

const MOST_POINTS = 500;
const MOST_PANELS = 12;
const MOST_CELLS = 1200;
const MOST_RANKED = 12;
const MOST_GROUPS = 4;
const MOST_BARS = 24;

/** Rows spread evenly over the area of x and y, those of `always` among them: a crowd looks the same. */
function thin(rows, x, y, always) {
  if (rows.length <= MOST_POINTS) return rows;
  const at = ({ value, texts, numeric, codes }) => {
    const place = texts && !numeric ? (i) => codes[i] : value;
    const [low, high] = extent(rows, place);
    return (i) => Math.floor((30 * (place(i) - low)) / (high - low || 1));
  };
  const [column, line] = [at(x), at(y)];
  const cells = Map.groupBy(rows, (i) => column(i) * 64 + line(i));
  const each = Math.max(1, Math.floor(MOST_POINTS / cells.size));
  const kept = new Set([...always, ...[...cells.values()].flatMap((cell) => cell.slice(0, each))]);
  return rows.filter((i) => kept.has(i));
}

/** Each row's panel by the axes `names`: {count, place(row), label(row)}. */
function panelsOf(report, names, rows, codeOf) {
  const axes = names.map((name) => report.axes.find((axis) => axis.name === name)).filter(Boolean);
  const keyOf = (row) => axes.map((axis) => codeOf(axis, row));
  const keys = [...new Map(rows.map((row) => [keyOf(row).join(), keyOf(row)])).values()];
  keys.sort((a, b) => a.map((code, i) => code - b[i]).find((difference) => difference !== 0) ?? 0);
  const places = new Map(keys.map((key, place) => [key.join(), place]));
  return {
    count: keys.length, place: (row) => places.get(keyOf(row).join()),
    label: (row) => report.labelOf((axis) => codeOf(axis, row), axes),
  };
}

const panelNote = (count, most) => (count > most ? `${most} of ${count} panels: filter to see others.` : "");
const commonNote = (common) => (common ? `All of them: ${common}.` : "");

/** The rows of the first panels of a chart, and what makes records of them. */
function withPanels(report, chart, rows) {
  const { count, place, label } = panelsOf(report, chart.panels ?? [], rows, (axis, i) => axis.codes[i]);
  const recordOf = (i, more) => ({ ...report.record(i), ...more, panel: label(i), panel_order: place(i) });
  const kept = rows.filter((i) => place(i) < MOST_PANELS);
  return { kept, recordOf, told: { panels: count, note: panelNote(count, MOST_PANELS) } };
}

function configurations({ report, rows, chart, chosen: { x, y, color } }) {
  if (chart.panels) {
    const { kept, recordOf, told } = withPanels(report, chart, rows);
    return { records: kept.map((i) => recordOf(i, { slot: color ? color.codes[i] % 8 : 0 })), ...told };
  }
  const front = x?.estimates && y?.estimates ? frontOf(report, rows, x, y) : new Set();
  const valued = rows.filter((i) => report.state[i] === "valid");
  const shown = x && y ? thin(valued, x, y, front) : valued;
  const few = shown.length < valued.length;
  // Of all rows, where those that are drawn have another one.
  const middles = x?.texts && y ? rollup(valued, (some) => median(some, y.value), x.value) : new Map();
  return {
    records: shown.map((i) => ({ ...report.record(i), front: front.has(i), middle: middles.get(x?.value(i)) })),
    note: few ? `${shown.length} of ${valued.length} points are drawn; the table has all.` : "",
  };
}

/** The best of each machine and commit: across them a rank says nothing. */
function ranked({ report, rows, chosen: { y } }) {
  const sign = y.better === "lower" ? 1 : -1;
  const groups = Map.groupBy(rows.filter((i) => y.value(i) !== null), (i) => report.group[i]);
  const conditions = report.axes.filter(({ condition }) => condition);
  const shown = [...groups.values()].slice(0, MOST_GROUPS);
  const each = Math.max(3, Math.floor(MOST_RANKED / shown.length));
  const notes = [];
  const records = shown.flatMap((group, order) => {
    const best = group.sort((a, b) => sign * (y.value(a) - y.value(b))).slice(0, each);
    const { label, common } = report.labelsAmong(best, conditions);
    const panel = report.labelOf((axis) => axis.codes[best[0]], conditions);
    notes.push(commonNote(common));
    return best.map((i, rank) => ({ ...report.record(i), label: label(i), rank, panel, panel_order: order }));
  });
  const few = `${shown.length} of ${groups.size} machines and commits: filter to see others.`;
  return { records, panels: shown.length, note: groups.size > shown.length ? few : groups.size === 1 ? notes[0] : "" };
}

const CELL_TEXTS = { out_of_memory: "OOM", invalid: "rule", failed: "failed", missing: "–" };

/** A cell for each configuration and each point that was not measured. */
function cells({ report, rows, chosen: { row, column, value }, isAll }) {
  const names = report.axes.filter((axis) => axis !== row && axis !== column).map((axis) => axis.name);
  // Below zero: what was not measured.
  const unmeasured = isAll ? Array.from({ length: report.model.unmeasured.count }, (_, u) => -1 - u) : [];
  const codeOf = (axis, at) => (at >= 0 ? axis.codes[at] : axis.unmeasured[-1 - at]);
  const all = [...rows, ...unmeasured];
  const panels = panelsOf(report, names, all, codeOf);
  const text = (axis, at) => (axis ? axis.texts[codeOf(axis, at)] ?? "any" : "");
  const number = (at) => (at >= 0 && value ? value.value(at) : null);
  const code = (axis, at) => (axis ? codeOf(axis, at) : 0);
  const inOrder = all.map((at) => ({ at, order: panels.place(at), r: code(row, at), c: code(column, at) }))
    .sort((a, b) => a.order - b.order || a.r - b.r || a.c - b.c);
  const each = Math.max(1, (row?.texts.length ?? 1) * (column?.texts.length ?? 1));
  const kept = Math.max(1, Math.min(MOST_PANELS, Math.floor(MOST_CELLS / each)));
  const records = inOrder.filter(({ order }) => order < kept).map(({ at, order }) => {
    const state = at >= 0 ? report.state[at] : "missing";
    return {
      i: at >= 0 ? at : null, state, row: text(row, at), column: text(column, at), panel: panels.label(at),
      panel_order: order, group: report.group[at], value: number(at),
      text: CELL_TEXTS[state] ?? (number(at) === null ? "" : readable(number(at))),
    };
  });
  return {
    records, panels: panels.count, note: panelNote(panels.count, kept), columns: column?.texts.length ?? 1,
    longest: max(records, ({ panel }) => panel.length),
  };
}

/** Both ends of each line, from no batch at all to its largest, with the coordinates of its points. */
function lines({ report, rows, chart, chosen: { x } }) {
  const { kept, recordOf, told } = withPanels(report, chart, rows.filter((i) => report.state[i] === "valid"));
  const shown = new Set(kept);
  const ends = report.model.lines.list.flatMap((line, number) => {
    const first = line.configurations.find((i) => shown.has(i));
    return first === undefined ? [] : [0, line.to].map((batch) => recordOf(first, {
      i: -1, kind: "line", line: number, fitted: line.fitted, [x.field]: batch,
      seconds: line.fixed_seconds + line.each_seconds * batch,
    }));
  });
  return { records: [...kept.map((i) => recordOf(i, { kind: "point" })), ...ends], ...told };
}

/** Each configuration against the one of its series with the fewest ranks. */
function speedups({ report, rows, chart, chosen: { x, y } }) {
  const others = report.axes.filter((axis) => axis !== x);
  const seriesOf = (i) => others.map((axis) => axis.codes[i]).join();
  const valued = rows.filter((i) => y.value(i) > 0 && x.value(i) > 0);
  const series = Map.groupBy(valued, seriesOf);
  const baseOf = (i) => least(series.get(seriesOf(i)), x.value);
  const { kept, recordOf, told } = withPanels(report, chart, valued.filter((i) => series.get(seriesOf(i)).length > 1));
  const fewest = min(kept, x.value);
  const records = kept.map((i) => {
    const base = baseOf(i);
    const more = x.value(i) / x.value(base);
    // The base is 1 by definition; of all others the interval has its error too.
    const { ratio, low, high } = i === base ? { ratio: 1, low: null, high: null }
      : compare([[report.estimate(y, base), report.estimate(y, i)]]);
    const efficiency = (speedup) => (speedup === null ? null : (100 * speedup) / more);
    return recordOf(i, {
      series: seriesOf(i), speedup: ratio, speedup_low: low, speedup_high: high,
      efficiency: efficiency(ratio), efficiency_low: efficiency(low), efficiency_high: efficiency(high),
      ideal_speedup: x.value(base) === fewest ? more : null, ideal_efficiency: 100,
    });
  });
  return { records, ...told };
}

function predictions({ report, rows, chosen: { what } }) {
  const { measured, predicted, off, unit } = what;
  const known = rows.filter((i) => measured[i] !== null && predicted[i] !== null);
  const { low, high } = what.estimates;
  const records = known.map((i) => ({
    ...report.record(i), measured: measured[i], measured_low: low[i], measured_high: high[i], predicted: predicted[i],
    off: off[i], told: [report.line("measured", what, i), `predicted: ${withUnit(predicted[i], unit)}`],
  }));
  return { records, note: known.length > 0 ? `measured: ${samples(known.map((i) => report.estimate(what, i)))}` : "" };
}

function parts({ report, rows, chart }) {
  const { columns } = report.breakdowns.find(({ id }) => id === chart.breakdown);
  const metric = report.metrics.find(({ better }) => better);
  const goodness = (i) => (metric?.better === "lower" ? -1 : 1) * (metric?.value(i) ?? -Infinity);
  const valued = rows.filter((i) => columns.some(({ values }) => values[i] !== null));
  const shown = valued.toSorted((a, b) => goodness(b) - goodness(a)).slice(0, MOST_BARS);
  const { label: labelOf, common } = report.labelsAmong(shown);
  const bars = shown.flatMap((i) => columns.flatMap((column, order) =>
    column.values[i] === null ? [] : [{ i, column, order, estimate: report.estimate(column, i) }]));
  const records = bars.map(({ i, column, order, estimate: { value } }) => ({
    ...report.record(i), label: labelOf(i), part: column.label, order, value,
    told: [report.line(column.label, column, i)],
  }));
  const few = shown.length < valued.length
    ? `The best ${shown.length} of ${valued.length} by ${metric?.short_title}; filter to see others. ` : "";
  const each = bars.length > 0 ? `Each part: ${samples(bars.map(({ estimate }) => estimate))}. ` : "";
  return { records, note: few + each + commonNote(common) };
}

/** Of the comparison that the view made. */
const pairs = (input) => input.pairs;

const DATASETS = { configurations, ranked, cells, lines, speedups, predictions, parts, pairs };

/** {records, note, panels}: `input` is {report, chart, chosen, rows, isAll, pairs}. */
export const datasetOf = (input) => DATASETS[input.chart.data](input);
