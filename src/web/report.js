// The report's model (share/report/model.schema.json) as columns, records of charts, and rows that a filter keeps.

import { estimateText, moment, STATES } from "./format.js";

export class Report {
  constructor(model) {
    this.model = model;
    this.count = model.configurations.count;
    this.state = model.configurations.state;
    this.group = model.configurations.group;
    this.axes = model.axes.map((axis) => axisOf(axis, model));
    this.metrics = model.metrics.map((metric) => metricOf(metric, model.configurations));
    this.fields = new Map([...this.axes, ...this.metrics].map((column) => [column.field, column]));
    this.predictions = predictionsOf(model, this.metrics);
    this.starved = new Set(model.configurations.starved);
    this.runsOf = Array.from({ length: this.count }, () => []);
    model.runs.configuration.forEach((configuration, run) => this.runsOf[configuration].push(run));
    this.labels = Array.from({ length: this.count }, (_, i) => this.labelOf((axis) => axis.codes[i]));
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
    const differ = axes.filter((axis) => rows.some((i) => axis.codes[i] !== axis.codes[rows[0]]));
    const common = axes.filter((axis) => !differ.includes(axis));
    return {
      label: (i) => this.labelOf((axis) => axis.codes[i], differ) || this.labels[i] || "the only configuration",
      common: rows.length > 1 ? this.labelOf((axis) => axis.codes[rows[0]], common) : "",
    };
  }

  estimate(metric, i) {
    const { value, low, high, n, basis, error, freedom } = metric.estimates;
    if (value[i] === null || value[i] === undefined) return null;
    return { value: value[i], low: low[i], high: high[i], n: n[i], basis: basis[i], error: error[i], freedom: freedom[i] };
  }

  /** The first run of a configuration: what links name it by. */
  uid(i) {
    return this.model.runs.uid[this.runsOf[i][0]];
  }

  configurationOf(uid) {
    const run = this.model.runs.uid.indexOf(uid);
    return run < 0 ? -1 : this.model.runs.configuration[run];
  }

  /** What a reader chooses runs from: [uid, text]. */
  runOptions() {
    const { uid, configuration, at } = this.model.runs;
    return uid.map((name, run) => [name, `${configuration[run] + 1} · ${this.labels[configuration[run]]} · ${moment(at[run])}`]);
  }

  /** What charts read of a configuration. */
  record(i) {
    const record = { i, label: this.labels[i], state: this.state[i], group: this.group[i] };
    for (const axis of this.axes) {
      record[axis.field] = axis.value(i) ?? "none";
    }
    for (const { field, estimates } of this.metrics) {
      record[field] = estimates.value[i];
      record[`${field}_low`] = estimates.low[i];
      record[`${field}_high`] = estimates.high[i];
    }
    return record;
  }

  /** Lines about a configuration, for tips. */
  describe(i) {
    const lines = [this.labels[i]];
    if (this.state[i] !== "valid") return [...lines, `${STATES[this.state[i]]}: ${this.reason(i)}`];
    for (const metric of this.metrics.slice(0, 5)) {
      const estimate = this.estimate(metric, i);
      if (estimate) lines.push(`${metric.title}: ${estimateText(estimate, metric.unit)}`);
    }
    if (this.starved.has(i)) lines.push("waited for processors: slower than the machine");
    return lines;
  }
}

function metricOf(metric, { estimates, count }) {
  const columns = columnsOf(estimates[metric.id], count);
  return { ...metric, heading: metric.unit ? `${metric.title}, ${metric.unit}` : metric.title, estimates: columns, value: (i) => columns.value[i] };
}

/** An axis with its columns, and its values as texts: by themselves, and as part of a label, where names stand alone. */
function axisOf(axis, model) {
  const texts = axis.values.map((value) => (value === null ? "none" : String(value)));
  const codes = model.configurations.axes[axis.name];
  return {
    ...axis, texts, labels: axis.stands_alone ? texts : texts.map((text) => `${axis.label} ${text}`),
    codes, value: (i) => axis.values[codes[i]] ?? null, unmeasured: model.unmeasured.axes[axis.name],
  };
}

/** A column in which nothing is known stands as null. */
function columnsOf(estimates, count) {
  const nothing = new Array(count).fill(null);
  return Object.fromEntries(Object.entries(estimates).map(([name, column]) => [name, column ?? nothing]));
}

/** What experiments foretell, and the step times that the other batch sizes do. */
function predictionsOf(model, metrics) {
  const list = model.predictions.map((prediction) => ({ ...prediction, better: "" }));
  const steps = metrics.find(({ id }) => id === "step_seconds");
  if (steps && model.lines.foretold.step_seconds.some((value) => value !== null)) {
    list.push({
      title: "Step time, from the other batch sizes", unit: "s", measured: steps.estimates.value,
      text: "Each point by the line through the other batch sizes of its series, so that it never foretells itself.",
      predicted: model.lines.foretold.step_seconds,
    });
  }
  return list.map((prediction, i) => ({
    ...prediction, field: `p${i}`,
    off: prediction.predicted.map((value, at) => (value === null || !prediction.measured[at] ? null : 100 * (value / prediction.measured[at] - 1))),
    measured_title: `measured, ${prediction.unit}`, predicted_title: `predicted, ${prediction.unit}`,
  }));
}

/** A filter out of the address: what each axis, state and number may be, and a text. */
export function readFilter(state) {
  const filter = { axes: new Map(), states: null, ranges: new Map(), text: state.get("q").trim().toLowerCase() };
  for (const key of state.keys("f.")) filter.axes.set(key.slice(2), new Set(splitList(state.get(key))));
  if (state.get("s")) filter.states = new Set(state.get("s").split(","));
  for (const key of state.keys("r.")) {
    const [low, high] = state.get(key).split("..").map(Number);
    if (Number.isFinite(low) && Number.isFinite(high)) filter.ranges.set(key.slice(2), [low, high]);
  }
  return filter;
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

/** One test a part of the filter: [key, keeps(i)]. */
function testsOf(report, filter) {
  const tests = [];
  for (const [field, allowed] of filter.axes) {
    const axis = report.fields.get(field);
    if (!axis?.texts) continue;
    const keeps = Uint8Array.from(axis.texts, (text) => (allowed.has(text) ? 1 : 0));
    tests.push([field, (i) => axis.codes[i] >= 0 && keeps[axis.codes[i]] === 1]);
  }
  if (filter.states) tests.push(["s", (i) => filter.states.has(report.state[i])]);
  for (const [field, [low, high]] of filter.ranges) {
    const column = report.fields.get(field);
    if (column) tests.push([`r.${field}`, (i) => column.value(i) !== null && column.value(i) >= low && column.value(i) <= high]);
  }
  const words = filter.text.split(/\s+/).filter(Boolean);
  if (words.length) {
    tests.push(["q", (i) => words.every((word) => report.lower[i].includes(word) || report.state[i].includes(word))]);
  }
  return tests;
}

/**
 * The rows that a filter keeps, and for each axis and the states how many it would keep of each value if they were not
 * filtered by: counts of a value are those of a click on it.
 */
export function select(report, filter) {
  const tests = testsOf(report, filter);
  const rows = [];
  const facets = report.axes.map(({ field, codes, values }) => ({ field, codes, counts: new Uint32Array(values.length) }));
  const states = Object.fromEntries(Object.keys(STATES).map((name) => [name, 0]));
  for (let i = 0; i < report.count; ++i) {
    let failed = null;
    let failures = 0;
    for (const [key, keeps] of tests) {
      if (!keeps(i)) {
        failed = key;
        if (++failures > 1) break;
      }
    }
    if (failures > 1) continue;
    if (failures === 0) rows.push(i);
    for (const { field, codes, counts } of facets) {
      if ((failures === 0 || failed === field) && codes[i] >= 0) counts[codes[i]] += 1;
    }
    if (failures === 0 || failed === "s") states[report.state[i]] += 1;
  }
  const counts = new Map(facets.map((facet) => [facet.field, facet.counts]));
  return { rows, counts, states, isAll: tests.length === 0 };
}

/** The rows without the parts of the filter that `fields` brush over. */
export function selectWithout(report, filter, fields) {
  const ranges = new Map([...filter.ranges].filter(([field]) => !fields.includes(field)));
  return ranges.size === filter.ranges.size ? null : select(report, { ...filter, ranges }).rows;
}
