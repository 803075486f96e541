// The rows that the filter of the address keeps.

import { readable, STATES } from "./format.js";
import { state } from "./state.js";

// Values may hold commas.
export const joinList = (texts) => texts.map(encodeURIComponent).join(",");
export const splitList = (text) => (text === "" ? [] : text.split(",")).map((part) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
});

/** The filter as parts {key, text, keeps(i)}: values of an axis, a range of a column, the states, words. */
export function filterOf(report) {
  const parts = [];
  const asked = (prefix) => state.keys(prefix).map((key) => [key, state.get(key), report.columns.get(key.slice(2))]);
  for (const [key, values, axis] of asked("f.").filter(([, , column]) => column?.texts)) {
    const wanted = splitList(values);
    const keeps = axis.texts.map((text) => wanted.includes(text));
    parts.push({ key, text: `${axis.label}: ${wanted.join(", ")}`, keeps: (i) => keeps[axis.codes[i]] === true });
  }
  for (const [key, range, number] of asked("r.")) {
    const [low = "", high = ""] = range.split("..");
    const [least, most] = [low === "" ? -Infinity : Number(low), high === "" ? Infinity : Number(high)];
    if (!number || !(low || high) || Number.isNaN(least) || Number.isNaN(most)) continue;
    const keeps = (i) => number.value(i) !== null && number.value(i) >= least && number.value(i) <= most;
    const [from, to] = [low && `from ${readable(least)}`, high && `to ${readable(most)}`];
    parts.push({ key, text: `${number.heading}: ${[from, to].filter(Boolean).join(" ")}`, keeps });
  }
  const states = splitList(state.get("s"));
  const names = states.map((name) => STATES[name] ?? name).join(", ");
  if (names) parts.push({ key: "s", text: names, keeps: (i) => states.includes(report.state[i]) });
  const words = state.get("q").toLowerCase().split(/\s+/).filter(Boolean);
  const isIn = (i) => (word) => report.lower[i].includes(word) || report.state[i].includes(word);
  if (words.length) parts.push({ key: "q", text: `“${state.get("q")}”`, keeps: (i) => words.every(isIn(i)) });
  return parts;
}

/**
 * The rows that a filter keeps, and how many it would keep of each value of an axis or state, by the filter's key, if
 * it were not filtered by: counts of a value are those of a click on it.
 */
export function select(report, filter) {
  const rows = [];
  const facets = [["s", report.state], ...report.axes.map(({ field, codes }) => [`f.${field}`, codes])];
  const counts = Object.fromEntries(facets.map(([key]) => [key, {}]));
  for (let i = 0; i < report.count; ++i) {
    const failed = filter.filter(({ keeps }) => !keeps(i));
    if (failed.length === 0) rows.push(i);
    if (failed.length > 1) continue;
    for (const [key, codes] of facets) {
      if ((failed[0]?.key ?? key) === key) counts[key][codes[i]] = (counts[key][codes[i]] ?? 0) + 1;
    }
  }
  return { rows, counts };
}

/** The rows without the parts of the filter that brush over `fields`; null where none does. */
export function selectWithout(report, filter, fields) {
  const rest = filter.filter(({ key }) => !fields.some((field) => key === `r.${field}`));
  return rest.length === filter.length ? null : select(report, rest).rows;
}
