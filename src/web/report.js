// The report's model (share/report/model.schema.json) as columns, and the records that charts read of them.

import { extent, range } from "d3-array";
import { estimateText, fewNote, joined, moment, STATES } from "./format.js";

const MOST_GROUPS = 4;

export class Report {
  constructor(model) {
    const { configurations: { count, state, group, starved, estimates }, unmeasured, runs } = model;
    Object.assign(this, { model, count, group, starved: new Set(starved) });
    // Points that were not measured stand behind the configurations.
    this.unmeasured = range(count, count + unmeasured.count);
    this.state = [...state, ...this.unmeasured.map(() => "missing")];
    this.axes = model.axes.map((axis) => axisOf(axis, model));
    this.conditions = this.axes.filter(({ condition }) => condition);
    this.metrics = model.metrics.map(({ field, short_title: label, ...told }) =>
      measured({ ...told, field, key: field, label, low: `${field}_low`, high: `${field}_high` }, estimates[told.id]));
    this.columns = new Map([...this.axes, ...this.metrics].map((column) => [column.field, column]));
    this.predictions = model.predictions.map(predictionOf);
    this.breakdowns = model.breakdowns.map(breakdownOf);
    this.runsOf = Array.from({ length: count }, () => []);
    runs.configuration.forEach((configuration, run) => this.runsOf[configuration].push(run));
    const facetOf = (axis) => ({ ...axis, key: `f.${axis.field}`, names: axis.texts });
    this.facets = [stateFacet(state), ...this.axes.map(facetOf)];
    this.labels = range(count).map((i) => this.labelOf(i));
    this.searched = this.labels.map((label, i) => `${label.toLowerCase()} ${state[i]}`);
  }

  reason(i) {
    return this.model.configurations.reasons[this.model.configurations.reason[i]];
  }

  /** The coordinates that a point has, as one text. */
  labelOf(i, axes = this.axes) {
    return joined(axes.map(({ labels, codes }) => labels[codes[i]]));
  }

  /** Labels of rows by what differs among them, and a sentence on what they have in common. */
  labelsAmong(rows, without = []) {
    const axes = this.axes.filter((axis) => !without.includes(axis));
    const differs = ({ codes }) => rows.length === 1 || rows.some((i) => codes[i] !== codes[rows[0]]);
    const [differ, alike] = [axes.filter(differs), this.labelOf(rows[0], axes.filter((axis) => !differs(axis)))];
    return { label: (i) => this.labelOf(i, differ) || this.nameOf(i), common: alike && `All of them: ${alike}.` };
  }

  /** Rows of each of the first machines and commits, which together say nothing: {groups: [{name, rows}], note}. */
  groupsOf(rows) {
    const all = [...Map.groupBy(rows, (i) => this.group[i]).values()];
    const named = (some) => ({ name: this.labelOf(some[0], this.conditions), rows: some });
    return { groups: all.slice(0, MOST_GROUPS).map(named), note: fewNote(MOST_GROUPS, all.length, "conditions") };
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

const PARTS = ["value", "low", "high", "n", "error", "freedom", "basis"];

/**
 * A metric, a part or what was foretold: what is `told` of it with the estimates of configurations, of which `columns`
 * has those parts that are known. Where they do not say what an interval rests on it is runs alone.
 */
function measured(told, columns) {
  const { title = told.label, unit } = told;
  const known = (part, i) => columns[part]?.[i] ?? null;
  const value = (i) => known("value", i);
  const estimate = (i) => {
    const parts = Object.fromEntries(PARTS.map((part) => [part, known(part, i)]));
    return parts.value === null ? null : { ...parts, basis: parts.basis ?? (parts.low === null ? "none" : "runs") };
  };
  return {
    heading: unit ? `${title}, ${unit}` : title, ...told, known, estimate, hasSamples: "n" in columns,
    value, place: value, ends: extent(columns.value), text: (i) => estimateText(estimate(i), unit),
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

/** What became of configurations as a facet: {key, label, codes of `names`, which the address has, their `texts`}. */
function stateFacet(state) {
  const names = Object.keys(STATES).filter((name) => state.includes(name));
  const [texts, codes] = [names.map((name) => STATES[name]), state.map((name) => names.indexOf(name))];
  return { key: "s", label: "state", names, texts, codes };
}

/** An axis with its columns, and its values as texts: by themselves, and as part of a label. */
function axisOf(axis, { configurations, unmeasured }) {
  const texts = axis.values.map((value) => String(value ?? "none"));
  const codes = [...configurations.axes[axis.name], ...unmeasured.axes[axis.name]];
  const value = (i) => axis.values[codes[i]] ?? null;
  return {
    ...axis, heading: axis.label, texts, codes, numbers: axis.values.filter(Number.isFinite),
    labels: axis.stands_alone ? texts : texts.map((text) => `${axis.label} ${text}`),
    value, place: axis.numeric ? value : (i) => codes[i],
  };
}
