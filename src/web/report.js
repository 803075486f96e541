// The report's model (share/report/model.schema.json) as columns, records of charts, and rows that a filter keeps.

import { estimateText, moment, STATES } from "./format.js";

export class Report {
  constructor(model) {
    this.model = model;
    const { count, state, group, starved } = model.configurations;
    Object.assign(this, { count, state, group, states: new Set(state), starved: new Set(starved) });
    this.axes = model.axes.map((axis) => axisOf(axis, model));
    this.metrics = model.metrics.map((metric) => metricOf(metric, model.configurations));
    this.columns = new Map([...this.axes, ...this.metrics].map((column) => [column.field, column]));
    this.predictions = model.predictions.map(predictionOf);
    const partOf = (column) => ({ ...column, estimates: meansOf(column.values, column) });
    this.breakdowns = model.breakdowns.map((table) => ({ ...table, columns: table.columns.map(partOf) }));
    this.runsOf = Array.from({ length: count }, () => []);
    model.runs.configuration.forEach((configuration, run) => this.runsOf[configuration].push(run));
    this.labels = Array.from({ length: count }, (_, i) => this.labelOf((axis) => axis.codes[i]));
  }

  /** Labels as a search reads them: made when the first one is asked for. */
  get lower() {
    this.lowerLabels ??= this.labels.map((label) => label.toLowerCase());
    return this.lowerLabels;
  }

  reason(i) {
    return this.model.configurations.reasons[this.model.configurations.reason[i]];
  }

  /** The coordinates of which `codeOf` knows the value, as one text. */
  labelOf(codeOf, axes = this.axes) {
    let label = "";
    for (const axis of axes) {
      const part = axis.labels[codeOf(axis)];
      if (part !== undefined) label += label ? ` · ${part}` : part;
    }
    return label;
  }

  /** Labels of rows by what differs among them, and what they have in common. */
  labelsAmong(rows, without = []) {
    const axes = this.axes.filter((axis) => !without.includes(axis));
    const isAlone = rows.length === 1;
    const differ = axes.filter((axis) => isAlone || rows.some((i) => axis.codes[i] !== axis.codes[rows[0]]));
    const common = axes.filter((axis) => !differ.includes(axis));
    return {
      label: (i) => this.labelOf((axis) => axis.codes[i], differ) || this.nameOf(i),
      common: this.labelOf((axis) => axis.codes[rows[0]], common),
    };
  }

  /** An axis, a metric or a prediction by its field. */
  columnOf(field) {
    return this.columns.get(field) ?? this.predictions.find((prediction) => prediction.field === field);
  }

  nameOf(i) {
    return this.labels[i] || "the only configuration";
  }

  /** Null where there is none. */
  estimate({ estimates }, i) {
    if (estimates.value[i] === null) return null;
    return Object.fromEntries(Object.entries(estimates).map(([name, column]) => [name, column[i]]));
  }

  /** The first run of a configuration: what links name it by. */
  uid(i) {
    return this.model.runs.uid[this.runsOf[i][0]];
  }

  /** -1 of what is no run here. */
  configurationOf(uid) {
    return this.model.runs.configuration[this.model.runs.uid.indexOf(uid)] ?? -1;
  }

  /** What a reader chooses runs from: [uid, text]. */
  runOptions() {
    const { uid, configuration, at } = this.model.runs;
    return uid.map((name, run) =>
      [name, `${configuration[run] + 1} · ${this.labels[configuration[run]]} · ${moment(at[run])}`]);
  }

  /** What charts read of a configuration. */
  record(i) {
    const record = { i, label: this.labels[i], state: this.state[i], group: this.group[i] };
    for (const { field, value } of this.axes) record[field] = value(i) ?? "none";
    for (const { field, estimates } of this.metrics) {
      record[field] = estimates.value[i];
      record[`${field}_low`] = estimates.low[i];
      record[`${field}_high`] = estimates.high[i];
    }
    return record;
  }

  /** An estimate of a configuration as a line. */
  line(title, column, i) {
    return `${title}: ${estimateText(this.estimate(column, i), column.unit)}`;
  }

  /** Lines about a configuration, for tips: on its metrics, or what is `told`. */
  describe(i, told) {
    if (this.state[i] !== "valid") return [this.labels[i], `${STATES[this.state[i]]}: ${this.reason(i)}`];
    const known = this.metrics.slice(0, 5).filter(({ value }) => value(i) !== null);
    return [this.labels[i], ...(told ?? known.map((metric) => this.line(metric.title, metric, i))),
      ...(this.starved.has(i) ? ["waited for processors: slower than the machine"] : [])];
  }
}

/** Columns of estimates: one in which nothing is known stands as null. */
function filled(columns) {
  const nothing = new Array(columns.value.length).fill(null);
  return Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column ?? nothing]));
}

/** The estimates of parts and of what was foretold, which rest on runs alone where nothing else is said. */
function meansOf(value, { low, high, n, basis }) {
  const estimates = filled({ value, low, high, n });
  return { ...estimates, basis: basis ?? estimates.low.map((end) => (end === null ? "none" : "runs")) };
}

function predictionOf(prediction) {
  return {
    ...prediction, heading: prediction.title, estimates: meansOf(prediction.measured, prediction),
    measured_title: `measured, ${prediction.unit}`, predicted_title: `predicted, ${prediction.unit}`,
  };
}

function metricOf(metric, { estimates: all }) {
  const estimates = filled(all[metric.id]);
  const heading = metric.unit ? `${metric.title}, ${metric.unit}` : metric.title;
  return { ...metric, heading, label: metric.title, estimates, value: (i) => estimates.value[i] };
}

/** An axis with its columns, and its values as texts: by themselves, and as part of a label. */
function axisOf(axis, { configurations, unmeasured }) {
  const texts = axis.values.map((value) => String(value ?? "none"));
  const codes = configurations.axes[axis.name];
  return {
    ...axis, heading: axis.label, texts, codes,
    labels: axis.stands_alone ? texts : texts.map((text) => `${axis.label} ${text}`),
    value: (i) => axis.values[codes[i]] ?? null, unmeasured: unmeasured.axes[axis.name],
  };
}

// Values may hold commas.
export const joinList = (texts) => texts.map(encodeURIComponent).join(",");
export const splitList = (text) => (text === "" ? [] : text.split(",")).map((part) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
});

/** The filter of the address as tests: [key, keeps(i)]; an axis, a range of a column, the states, a text. */
export function readFilter(report, state) {
  const tests = [];
  for (const key of state.keys("f.")) {
    const axis = report.columns.get(key.slice(2));
    if (!axis?.texts) continue;
    const allowed = new Set(splitList(state.get(key)));
    const keeps = axis.texts.map((text) => allowed.has(text));
    tests.push([key, (i) => keeps[axis.codes[i]] === true]);
  }
  for (const key of state.keys("r.")) {
    const column = report.columns.get(key.slice(2));
    const [low, high] = state.get(key).split("..").map(Number);
    if (!column || !Number.isFinite(low) || !Number.isFinite(high)) continue;
    tests.push([key, (i) => column.value(i) !== null && column.value(i) >= low && column.value(i) <= high]);
  }
  const states = new Set(splitList(state.get("s")));
  if (states.size) tests.push(["s", (i) => states.has(report.state[i])]);
  const words = state.get("q").toLowerCase().split(/\s+/).filter(Boolean);
  const isIn = (i) => (word) => report.lower[i].includes(word) || report.state[i].includes(word);
  if (words.length) tests.push(["q", (i) => words.every(isIn(i))]);
  return tests;
}

/**
 * The rows that a filter keeps, and for each axis and the states how many it would keep of each value if they were not
 * filtered by: counts of a value are those of a click on it.
 */
export function select(report, tests) {
  const rows = [];
  const facets = report.axes.map(({ field, codes, values }) =>
    ({ field, key: `f.${field}`, codes, counts: new Uint32Array(values.length) }));
  const states = Object.fromEntries(Object.keys(STATES).map((name) => [name, 0]));
  for (let i = 0; i < report.count; ++i) {
    let failed = null;
    let failures = 0;
    for (const [key, keeps] of tests) {
      if (keeps(i)) continue;
      failed = key;
      if (++failures > 1) break;
    }
    if (failures > 1) continue;
    if (failures === 0) rows.push(i);
    for (const { key, codes, counts } of facets) {
      if ((failures === 0 || failed === key) && codes[i] >= 0) counts[codes[i]] += 1;
    }
    if (failures === 0 || failed === "s") states[report.state[i]] += 1;
  }
  return { rows, states, counts: new Map(facets.map(({ field, counts }) => [field, counts])) };
}

/** The rows without the parts of the filter that brush over `fields`; null where none does. */
export function selectWithout(report, tests, fields) {
  const rest = tests.filter(([key]) => !fields.some((field) => key === `r.${field}`));
  return rest.length === tests.length ? null : select(report, rest).rows;
}
