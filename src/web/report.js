// The report's model (share/report/model.schema.json) as columns, and the records that charts read of them.

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
    for (const { field, low, high, estimates } of this.metrics) {
      record[field] = estimates.value[i];
      record[low] = estimates.low[i];
      record[high] = estimates.high[i];
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

/** The fields of an interval. */
const endsOf = ({ field }) => ({ low: `${field}_low`, high: `${field}_high` });

function metricOf(metric, { estimates: all }) {
  const estimates = filled(all[metric.id]);
  const heading = metric.unit ? `${metric.title}, ${metric.unit}` : metric.title;
  return {
    ...metric, ...endsOf(metric), heading, label: metric.title, estimates, value: (i) => estimates.value[i],
  };
}

/** An axis with its columns, and its values as texts: by themselves, and as part of a label. */
function axisOf(axis, { configurations, unmeasured }) {
  const texts = axis.values.map((value) => String(value ?? "none"));
  const codes = configurations.axes[axis.name];
  return {
    ...axis, ...endsOf(axis), heading: axis.label, texts, codes, numbers: axis.values.filter(Number.isFinite),
    labels: axis.stands_alone ? texts : texts.map((text) => `${axis.label} ${text}`),
    value: (i) => axis.values[codes[i]] ?? null, unmeasured: unmeasured.axes[axis.name],
  };
}
