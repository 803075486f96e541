// The data sets that charts name (report/charts/chart.h): each makes records of the rows that the filter keeps.

import { extent, greatest, least, max, median, min, rollup, sort } from "d3-array";
import { fewNote, readable, samples, withUnit } from "./format.js";
import { frontOf } from "./pareto.js";
import { compare } from "./statistics.js";

const MOST_POINTS = 500;
const MOST_PANELS = 12;
const MOST_CELLS = 1200;
const MOST_RANKED = 12;
const MOST_BARS = 24;
const DASHES = 5;

/**
 * Rows spread evenly over the area of x and y, those of `always` among them, and of each value of an axis the least and
 * the greatest: a crowd looks the same.
 */
function thin(rows, x, y, always) {
  if (rows.length <= MOST_POINTS) return rows;
  const at = ({ place }) => {
    const [low, high] = extent(rows, place);
    return (i) => Math.floor((30 * (place(i) - low)) / (high - low || 1));
  };
  const [column, line] = [at(x), at(y)];
  const cells = Map.groupBy(rows, (i) => column(i) * 64 + line(i));
  const each = Math.max(1, Math.floor(MOST_POINTS / cells.size));
  const places = Map.groupBy(rows, x.texts ? (i) => x.codes[i] : column);
  const ends = [...places.values()].flatMap((some) => [least(some, y.value), greatest(some, y.value)]);
  const kept = new Set([...always, ...ends, ...[...cells.values()].flatMap((cell) => cell.slice(0, each))]);
  return rows.filter((i) => kept.has(i));
}

/** A key of where a row stands on `axes`. */
export const placeOn = (axes) => (i) => axes.map(({ codes }) => codes[i]).join();

/** Each row's panel by `axes`: {count, place(row), label(row)}. */
function panelsOf(report, axes, rows) {
  const keyOf = placeOn(axes);
  const firsts = new Map(rows.map((i) => [keyOf(i), i])).values();
  const places = new Map(sort(firsts, ...axes.map(({ codes }) => (i) => codes[i])).map((i, at) => [keyOf(i), at]));
  return { count: places.size, place: (i) => places.get(keyOf(i)), label: (i) => report.labelOf(i, axes) };
}

/** What differs in `x` alone is one series. */
const seriesOver = (report, x) => placeOn(report.axes.filter((axis) => axis !== x));

/** The rows of the first panels of a chart over `x`, and what makes records of them. */
function withPanels(report, { panels, choices }, rows, { x, shape }) {
  // Where a reader chose another x, that of the chart makes panels in its place.
  const own = choices.find(({ name }) => name === "x").chosen;
  const axes = report.axes.filter((axis) => axis !== x && (panels.includes(axis.name) || axis.field === own));
  const { count, place, label } = panelsOf(report, axes, rows);
  const series = seriesOver(report, x);
  // Dashes are a column of their own: a legend of shapes and dashes would draw each over the other.
  const dash = (i) => (shape ? shape.codes[i] % DASHES : 0);
  const recordOf = (i, more) =>
    ({ ...report.record(i), ...more, series: series(i), dash: dash(i), panel: label(i), panel_order: place(i) });
  const kept = rows.filter((i) => place(i) < MOST_PANELS);
  return { kept, recordOf, told: { panels: count, note: fewNote(MOST_PANELS, count, "panels") } };
}

function configurations({ report, rows, chart, chosen }) {
  const { x, y, color } = chosen;
  if (chart.panels) {
    const { kept, recordOf, told } = withPanels(report, chart, rows, chosen);
    return { records: kept.map((i) => recordOf(i, { slot: color ? color.codes[i] % 8 : 0 })), ...told };
  }
  const front = x?.estimate && y?.estimate ? frontOf(report, rows, x, y) : new Set();
  const valued = rows.filter((i) => report.state[i] === "valid");
  const shown = x && y ? thin(valued, x, y, front) : valued;
  // Of all rows, where those that are drawn have another one; machines and commits are never taken together.
  const crowdOf = (i) => `${report.group[i]},${x.codes[i]}`;
  const middles = x?.texts && y && rollup(valued, (some) => median(some, y.value), crowdOf);
  const middle = (i) => (middles ? middles.get(crowdOf(i)) : undefined);
  return {
    records: shown.map((i) => ({ ...report.record(i), front: front.has(i), middle: middle(i) })),
    note: shown.length < valued.length && `${shown.length} of ${valued.length} points are drawn; the table has all.`,
  };
}

/** The best of each machine and commit: across them a rank says nothing. */
function ranked({ report, rows, chosen: { y } }) {
  const sign = y.better === "lower" ? 1 : -1;
  const { groups, note } = report.groupsOf(rows.filter((i) => y.value(i) !== null));
  const each = Math.max(3, Math.floor(MOST_RANKED / groups.length));
  const bests = groups.map((group) => sort(group.rows, (i) => sign * y.value(i)).slice(0, each));
  const labels = bests.map((best) => report.labelsAmong(best, report.conditions));
  const records = bests.flatMap((best, at) => best.map((i, rank) =>
    ({ ...report.record(i), label: labels[at].label(i), rank, panel: groups[at].name, panel_order: at })));
  return { records, panels: groups.length, note: groups.length === 1 ? labels[0].common : note };
}

/** A cell for each configuration and each point that was not measured. */
function cells({ report, rows, chosen: { row, column, value }, isAll }) {
  const all = isAll ? [...rows, ...report.unmeasured] : rows;
  const { count, place, label } = panelsOf(report, report.axes.filter((axis) => axis !== row && axis !== column), all);
  const columns = column?.texts.length ?? 1;
  const each = Math.max(1, (row?.texts.length ?? 1) * columns);
  const kept = Math.max(1, Math.min(MOST_PANELS, Math.floor(MOST_CELLS / each)));
  const inOrder = sort(all.filter((i) => place(i) < kept), place, (i) => row?.codes[i], (i) => column?.codes[i]);
  const text = (axis, i) => (axis ? axis.texts[axis.codes[i]] ?? "any" : "");
  const records = inOrder.map((i) => {
    const number = value?.value(i) ?? null;
    return {
      i: i < report.count ? i : null, state: report.state[i], row: text(row, i), column: text(column, i),
      panel: label(i), panel_order: place(i), group: report.group[i], value: number,
      text: number === null ? "" : readable(number),
    };
  });
  const longest = max(records, ({ panel }) => panel.length);
  return { records, panels: count, note: fewNote(kept, count, "panels"), columns, longest };
}

/** Both ends of each line, from no batch at all to its largest, with the coordinates of its points. */
function lines({ report, rows, chart, chosen }) {
  const { kept, recordOf, told } = withPanels(report, chart, rows.filter((i) => report.state[i] === "valid"), chosen);
  const shown = new Set(kept);
  const ends = report.model.lines.list.flatMap((line, number) => {
    const first = line.configurations.filter((i) => shown.has(i)).slice(0, 1);
    return first.flatMap((i) => [0, line.to].map((batch) => recordOf(i, {
      i: -1, kind: "line", line: number, fitted: line.fitted, [chosen.x.field]: batch,
      seconds: line.fixed_seconds + line.each_seconds * batch,
    })));
  });
  return { records: [...kept.map((i) => recordOf(i, { kind: "point" })), ...ends], ...told };
}

/** Each configuration against the one of its series with the fewest ranks. */
function speedups({ report, rows, chart, chosen }) {
  const { x, y } = chosen;
  const seriesOf = seriesOver(report, x);
  const series = Map.groupBy(rows.filter((i) => y.value(i) > 0 && x.value(i) > 0), seriesOf);
  const grown = [...series.values()].filter((some) => some.length > 1).flat().sort((a, b) => a - b);
  const { kept, recordOf, told } = withPanels(report, chart, grown, chosen);
  const fewest = min(kept, x.value);
  const records = kept.map((i) => {
    const base = least(series.get(seriesOf(i)), x.value);
    const more = x.value(i) / x.value(base);
    // The base is 1 by definition; of all others the interval has its error too.
    const { ratio, low, high } = i === base ? { ratio: 1, low: null, high: null }
      : compare([[[y.estimate(base), y.estimate(i)]]]);
    const efficiency = (speedup) => (speedup === null ? null : (100 * speedup) / more);
    return recordOf(i, {
      speedup: ratio, speedup_low: low, speedup_high: high,
      efficiency: efficiency(ratio), efficiency_low: efficiency(low), efficiency_high: efficiency(high),
      ideal_speedup: x.value(base) === fewest ? more : null, ideal_efficiency: 100,
    });
  });
  return { records, ...told };
}

function predictions({ report, rows, chosen: { what } }) {
  const { predicted, off, unit } = what;
  const known = rows.filter(what.isKnown);
  const estimates = known.map(what.estimate);
  const records = known.map((i, at) => ({
    ...report.record(i), measured: what.value(i), measured_low: estimates[at].low, measured_high: estimates[at].high,
    predicted: predicted.value(i), off: off.value(i),
    told: [`measured: ${what.text(i)}`, `predicted: ${withUnit(predicted.value(i), unit)}`],
  }));
  return { records, note: known.length > 0 ? `measured: ${samples(estimates)}` : "" };
}

function parts({ report, rows, chart }) {
  const { columns } = report.breakdowns.find(({ id }) => id === chart.breakdown);
  const metric = report.metrics.find(({ better }) => better);
  const sign = metric?.better === "lower" ? 1 : -1;
  const valued = rows.filter((i) => columns.some(({ value }) => value(i) !== null));
  const shown = sort(valued, (i) => sign * (metric?.value(i) ?? sign * Infinity)).slice(0, MOST_BARS);
  const { label: labelOf, common } = report.labelsAmong(shown);
  const barsOf = (i) => columns.map((column, order) => ({ i, column, order, estimate: column.estimate(i) }));
  const bars = shown.flatMap(barsOf).filter(({ estimate }) => estimate);
  const records = bars.map(({ i, column: { label, text }, order, estimate: { value } }) => ({
    ...report.record(i), label: labelOf(i), part: label, order, value, told: [`${label}: ${text(i)}`],
  }));
  const few = shown.length < valued.length
    && `The best ${shown.length} of ${valued.length} by ${metric?.label}; filter to see others.`;
  const each = bars.length > 0 && `Each part: ${samples(bars.map(({ estimate }) => estimate))}.`;
  return { records, note: [few, each, common].filter(Boolean).join(" ") };
}

/** Of the comparison that the view made. */
const pairs = (input) => input.pairs;

const DATASETS = { configurations, ranked, cells, lines, speedups, predictions, parts, pairs };

/** {records, note, panels}: `input` is {report, chart, chosen, rows, isAll, pairs}. */
export const datasetOf = (input) => DATASETS[input.chart.data](input);
