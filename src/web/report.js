// The report's model (share/report/model.schema.json) as columns, and the records that charts read of them.

import { range } from "d3-array";
import { estimateText, joined, moment, STATES } from "./format.js";

export class Report {
  constructor(model) {
    this.model = model;
    const { count, state, group, starved, estimates } = model.configurations;
    Object.assign(this, { count, group, states: new Set(state), starved: new Set(starved) });
    // Points that were not measured stand behind the configurations.
    this.unmeasured = range(count, count + model.unmeasured.count);
    this.state = [...state, ...this.unmeasured.map(() => "missing")];
    this.axes = model.axes.map((axis) => axisOf(axis, model));
    this.metrics = model.metrics.map((told) =>
      measured({ ...told, ...endsOf(told), key: told.field, label: told.short_title }, estimates[told.id]));
    this.columns = new Map([...this.axes, ...this.metrics].map((column) => [column.field, column]));
    this.predictions = model.predictions.map(predictionOf);
    this.breakdowns = model.breakdowns.map(breakdownOf);
    this.runsOf = Array.from({ length: count }, () => []);
    model.runs.configuration.forEach((configuration, run) => this.runsOf[configuration].push(run));
    this.labels = Array.from({ length: count }, (_, i) => this.labelOf(i));
  }

  /** Labels as a search reads them: made when the first one is asked for. */
  get lower() {
    this.lowerLabels ??= this.labels.map((label) => label.toLowerCase());
    return this.lowerLabels;
  }

  reason(i) {
    return this.model.configurations.reasons[this.model.configurations.reason[i]];
  }

  /** The coordinates that a point has, as one text. */
  labelOf(i, axes = this.axes) {
    return joined(axes.map(({ labels, codes }) => labels[codes[i]]));
  }

  /** Labels of rows by what differs among them, and what they have in common. */
  labelsAmong(rows, without = []) {
    const axes = this.axes.filter((axis) => !without.includes(axis));
    const isAlone = rows.length === 1;
    const differ = axes.filter((axis) => isAlone || rows.some((i) => axis.codes[i] !== axis.codes[rows[0]]));
    const common = axes.filter((axis) => !differ.includes(axis));
    return {
      label: (i) => this.labelOf(i, differ) || this.nameOf(i),
      common: this.labelOf(rows[0], common),
    };
  }

  /** An axis, a metric or a prediction by its field. */
  columnOf(field) {
    return this.columns.get(field) ?? this.predictions.find((prediction) => prediction.field === field);
  }

  nameOf(i) {
    return this.labels[i] || "the only configuration";
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
    for (const { field, low, high, known } of this.metrics) {
      record[field] = known("value", i);
      record[low] = known("low", i);
      record[high] = known("high", i);
    }
    return record;
  }

  /** Lines about a configuration, for tips: on its metrics, or what is `told`. */
  describe(i, told) {
    if (this.state[i] !== "valid") return [this.labels[i], `${STATES[this.state[i]]}: ${this.reason(i)}`];
    const known = this.metrics.slice(0, 5).filter(({ value }) => value(i) !== null);
    return [this.labels[i], ...(told ?? known.map(({ title, text }) => `${title}: ${text(i)}`)),
      ...(this.starved.has(i) ? ["waited for processors: slower than the machine"] : [])];
  }
}

const PARTS = ["value", "low", "high", "n", "error", "freedom"];

/**
 * A metric, a part or what was foretold: what is `told` of it with the estimates of configurations, of which `columns`
 * has those parts that are known. Where they do not say what an interval rests on it is runs alone.
 */
function measured(told, columns) {
  const { title = told.label, unit } = told;
  const known = (part, i) => columns[part]?.[i] ?? null;
  const estimate = (i) => {
    const [value, low, high, n, error, freedom] = PARTS.map((part) => known(part, i));
    const basis = known("basis", i) ?? (low === null ? "none" : "runs");
    return value === null ? null : { value, low, high, n, error, freedom, basis };
  };
  return {
    heading: unit ? `${title}, ${unit}` : title, ...told, known, estimate, hasSamples: "n" in columns,
    value: (i) => known("value", i), text: (i) => estimateText(estimate(i), unit),
  };
}

const breakdownOf = (table) => ({
  ...table, columns: table.columns.map(({ values, low, high, n, ...told }, i) =>
    measured({ ...told, key: `${table.id}${i}` }, { value: values, low, high, n })),
});

function predictionOf({ measured: value, predicted, off, low, high, n, basis, text: explanation, ...told }) {
  const { field, title, unit } = told;
  const foretold = measured({ key: `${field}p`, label: "predicted", unit }, { value: predicted });
  const found = measured({ ...told, key: `${field}m`, label: "measured" }, { value, low, high, n, basis });
  return {
    ...found, explanation, heading: title, measured_title: `measured, ${unit}`, predicted_title: foretold.heading,
    predicted: foretold, off: measured({ key: `${field}o`, label: "off by", unit: "%" }, { value: off }),
    isKnown: (i) => found.value(i) !== null && foretold.value(i) !== null,
  };
}

/** The fields of an interval. */
const endsOf = ({ field }) => ({ low: `${field}_low`, high: `${field}_high` });

/** An axis with its columns, and its values as texts: by themselves, and as part of a label. */
function axisOf(axis, { configurations, unmeasured }) {
  const texts = axis.values.map((value) => String(value ?? "none"));
  const codes = [...configurations.axes[axis.name], ...unmeasured.axes[axis.name]];
  return {
    ...axis, ...endsOf(axis), heading: axis.label, texts, codes, numbers: axis.values.filter(Number.isFinite),
    labels: axis.stands_alone ? texts : texts.map((text) => `${axis.label} ${text}`),
    value: (i) => axis.values[codes[i]] ?? null,
  };
}
