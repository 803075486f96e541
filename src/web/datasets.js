// The data sets that charts name (report/charts/chart.h): each makes records of the rows that the filter keeps.

import { readable } from "./format.js";
import { frontOf } from "./pareto.js";
import { compare } from "./statistics.js";

const MOST_POINTS = 800;
const MOST_PANELS = 12;
const MOST_CELLS = 1200;
const MOST_RANKED = 12;
const MOST_GROUPS = 4;
const MOST_BARS = 24;

/** Rows spread evenly over the area of x and y, those of `always` among them: a crowd looks the same. */
function thin(report, rows, x, y, always) {
  if (rows.length <= MOST_POINTS) return rows;
  const at = (column) => {
    let [low, high] = [Infinity, -Infinity];
    for (const i of rows) {
      const v = column.value(i);
      if (typeof v === "number") {
        low = Math.min(low, v);
        high = Math.max(high, v);
      }
    }
    return (i) => Math.floor((40 * (column.value(i) - low)) / (high - low || 1));
  };
  const [column, line] = [at(x), at(y)];
  const cells = Map.groupBy(rows, (i) => column(i) * 64 + line(i));
  const each = Math.max(1, Math.floor(MOST_POINTS / cells.size));
  const kept = new Set(always);
  for (const cell of cells.values()) cell.slice(0, each).forEach((i) => kept.add(i));
  return rows.filter((i) => kept.has(i));
}

/** Names each row's panel and keeps those of the first few. */
function panelsOf(report, names, rows, codeOf) {
  const axes = names.map((name) => report.axes.find((axis) => axis.name === name)).filter(Boolean);
  const orders = new Map();
  const keyOf = (row) => axes.map((axis) => codeOf(axis, row));
  for (const row of rows) {
    const key = keyOf(row);
    orders.set(key.join(), key);
  }
  const sorted = [...orders.values()].sort((a, b) => a.map((code, i) => code - b[i]).find((d) => d !== 0) ?? 0);
  const places = new Map(sorted.map((key, place) => [key.join(), place]));
  return {
    count: sorted.length,
    place: (row) => places.get(keyOf(row).join()),
    label: (row) => report.labelOf((axis) => codeOf(axis, row), axes),
  };
}

const panelNote = (panels, most) => (panels.count > most ? `${most} of ${panels.count} panels: filter to see others.` : "");
const commonNote = (common) => (common ? `All of them: ${common}.` : "");
const pointNote = (shown, all) => (shown < all ? `${shown} of ${all} points are drawn; the table has all.` : "");

function withPanels(report, chart, rows) {
  const panels = panelsOf(report, chart.panels ?? [], rows, (axis, i) => axis.codes[i]);
  const kept = rows.filter((i) => panels.place(i) < MOST_PANELS);
  const add = (record, i) => Object.assign(record, { panel: panels.label(i), panel_order: panels.place(i) });
  return { kept, add, panels, note: panelNote(panels, MOST_PANELS) };
}

function configurations({ report, rows, chart, chosen }) {
  if (chart.panels) {
    const { kept, add, panels, note } = withPanels(report, chart, rows);
    const slots = chosen.color?.codes;
    const records = kept.map((i) => add({ ...report.record(i), slot: slots ? slots[i] % 8 : 0 }, i));
    return { records, note, panels: panels.count };
  }
  const [x, y] = [chosen.x, chosen.y];
  const front = x?.estimates && y?.estimates ? frontOf(report, rows, x, y) : new Set();
  const valued = rows.filter((i) => report.state[i] === "valid");
  const shown = x && y ? thin(report, valued, x, y, front) : valued;
  return {
    records: shown.map((i) => ({ ...report.record(i), front: front.has(i) })),
    note: pointNote(shown.length, valued.length),
  };
}

/** The best of each machine and commit: across them a rank says nothing. */
function ranked({ report, rows, chosen }) {
  const { value } = chosen.y.estimates;
  const sign = chosen.y.better === "lower" ? 1 : -1;
  const groups = Map.groupBy(rows.filter((i) => value[i] !== null), (i) => report.group[i]);
  const conditions = report.axes.filter(({ condition }) => condition);
  const shown = [...groups.values()].slice(0, MOST_GROUPS);
  const each = Math.max(3, Math.floor(MOST_RANKED / shown.length));
  const notes = [];
  const records = shown.flatMap((group, order) => {
    const best = group.sort((a, b) => sign * (value[a] - value[b])).slice(0, each);
    const { label, common } = report.labelsAmong(best, conditions);
    const panel = report.labelOf((axis) => axis.codes[best[0]], conditions);
    notes.push(commonNote(common));
    return best.map((i, rank) => ({ ...report.record(i), label: label(i), rank, panel, panel_order: order }));
  });
  const few = groups.size > shown.length ? ` ${shown.length} of ${groups.size} machines and commits: filter to see others.` : "";
  return { records, panels: shown.length, note: (shown.length === 1 ? notes[0] : "") + few };
}

const CELL_TEXTS = { out_of_memory: "OOM", invalid: "rule", failed: "failed", missing: "–" };

/** Of several configurations at one place (machines, where they make no panel) the best is shown. */
function cells({ report, rows, chart, chosen, isAll }) {
  const { row, column, value } = chosen;
  const names = report.axes.filter((axis) => axis !== row && axis !== column).map((axis) => axis.name);
  const unmeasured = isAll ? Array.from({ length: report.model.unmeasured.count }, (_, u) => -1 - u) : [];
  const codeOf = (axis, at) => (at >= 0 ? axis.codes[at] : axis.unmeasured[-1 - at]);
  const all = [...rows, ...unmeasured];
  const panels = panelsOf(report, names, all, codeOf);
  const text = (axis, at) => (axis ? axis.texts[codeOf(axis, at)] ?? "any" : "");
  const most = new Map();
  for (const i of rows) most.set(report.group[i], Math.max(most.get(report.group[i]) ?? 0, value?.estimates.value[i] ?? 0));
  const inOrder = all.map((at) => ({ at, order: panels.place(at), r: row ? codeOf(row, at) : 0, c: column ? codeOf(column, at) : 0 }))
    .sort((a, b) => a.order - b.order || a.r - b.r || a.c - b.c);
  const each = Math.max(1, (row?.texts.length ?? 1) * (column?.texts.length ?? 1));
  const kept = Math.max(1, Math.min(MOST_PANELS, Math.floor(MOST_CELLS / each)));
  const records = inOrder.filter(({ order }) => order < kept).map(({ at, order }) => {
    const state = at >= 0 ? report.state[at] : "missing";
    const number = at >= 0 && value ? value.estimates.value[at] : null;
    return {
      i: at >= 0 ? at : null, state, row: text(row, at), column: text(column, at), panel: panels.label(at), panel_order: order,
      share: number === null ? 0 : number / (most.get(report.group[at]) || 1),
      text: state === "valid" ? (number === null ? "" : readable(number)) : CELL_TEXTS[state],
    };
  });
  const longest = Math.max(0, ...records.map(({ panel }) => panel.length));
  return { records, panels: panels.count, note: panelNote(panels, kept), columns: column?.texts.length ?? 1, longest };
}

/** Both ends of each line, from no batch at all to its largest, with the coordinates of its points. */
function lines(input) {
  const { report, chart, chosen } = input;
  const { kept, add, panels, note } = withPanels(report, chart, input.rows.filter((i) => report.state[i] === "valid"));
  const records = kept.map((i) => add({ ...report.record(i), kind: "point" }, i));
  const shown = new Set(kept);
  report.model.lines.list.forEach((line, number) => {
    const [first] = line.configurations.filter((i) => shown.has(i));
    if (first === undefined) return;
    for (const batch of [0, line.to]) {
      records.push(add({
        ...report.record(first), i: -1, kind: "line", line: number, fitted: line.fitted, [chosen.x.field]: batch,
        seconds: line.fixed_seconds + line.each_seconds * batch,
      }, first));
    }
  });
  return { records, note, panels: panels.count };
}

/** Each configuration against the one of its series with the fewest ranks. */
function speedups({ report, rows, chart, chosen }) {
  const others = report.axes.filter((axis) => axis !== chosen.x);
  const seriesOf = (i) => others.map((axis) => axis.codes[i]).join();
  const ranks = (i) => chosen.x.values[chosen.x.codes[i]];
  const valued = rows.filter((i) => chosen.y.estimates.value[i] > 0 && ranks(i) > 0);
  const series = Map.groupBy(valued, seriesOf);
  const baseOf = (i) => series.get(seriesOf(i)).reduce((best, other) => (ranks(other) < ranks(best) ? other : best));
  const { kept, add, panels, note } = withPanels(report, chart, valued.filter((i) => series.get(seriesOf(i)).length > 1));
  const least = Math.min(...kept.map(ranks));
  const records = kept.map((i) => {
    const base = baseOf(i);
    const more = ranks(i) / ranks(base);
    // The base is 1 by definition; of all others the interval has its error too.
    const { ratio, low, high } = i === base ? { ratio: 1, low: null, high: null }
      : compare([[report.estimate(chosen.y, base), report.estimate(chosen.y, i)]]);
    const efficiency = (speedup) => (speedup === null ? null : (100 * speedup) / more);
    return add({
      ...report.record(i), series: seriesOf(i), speedup: ratio, speedup_low: low, speedup_high: high,
      efficiency: efficiency(ratio), efficiency_low: efficiency(low), efficiency_high: efficiency(high),
      ideal_speedup: ranks(base) === least ? more : null, ideal_efficiency: 100,
    }, i);
  });
  return { records, note, panels: panels.count };
}

function predictions({ report, rows, chart, chosen }) {
  const { measured, predicted, off } = chosen.what;
  const records = rows.filter((i) => measured[i] !== null && predicted[i] !== null)
    .map((i) => ({ ...report.record(i), measured: measured[i], predicted: predicted[i], off: off[i] }));
  const values = records.flatMap((record) => [record.measured, record.predicted]);
  if (values.length && chart.id === "foretold") {
    for (const end of [Math.min(...values), Math.max(...values)]) {
      records.push({ i: -1, kind: "equal", measured: end, predicted: end });
    }
  }
  return { records };
}

function parts({ report, rows, chart }) {
  const table = report.model.breakdowns.find(({ id }) => id === chart.breakdown);
  const metric = report.metrics.find(({ better }) => better);
  const goodness = (i) => (metric?.better === "lower" ? -1 : 1) * (metric?.estimates.value[i] ?? -Infinity);
  const valued = rows.filter((i) => table.columns.some(({ values }) => values[i] !== null));
  const shown = valued.toSorted((a, b) => goodness(b) - goodness(a)).slice(0, MOST_BARS);
  const { label: labelOf, common } = report.labelsAmong(shown);
  const records = shown.flatMap((i) => table.columns.flatMap(({ label, values }, order) =>
    values[i] === null ? [] : [{ ...report.record(i), label: labelOf(i), part: label, order, value: values[i] }]));
  const few = shown.length < valued.length ? `The best ${shown.length} of ${valued.length} by ${metric?.short_title}; filter to see others. ` : "";
  return { records, note: few + commonNote(common) };
}

/** Of the comparison that the view made. */
const pairs = ({ report, extra }) => ({ records: extra ?? [] });

const DATASETS = { configurations, ranked, cells, lines, speedups, predictions, parts, pairs };

/** {records, note, panels}: `input` is {report, chart, chosen, rows, isAll, extra}. */
export const datasetOf = (input) => DATASETS[input.chart.data](input);
