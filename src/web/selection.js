// The rows that the filter of the address keeps.

import { readable } from "./format.js";
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

/** The filter as parts {key, text, keeps(i)}: values of a facet, a range of a column, words. */
export function filterOf(report) {
  const parts = [];
  for (const { key, label, names, texts, codes } of report.facets) {
    const wanted = splitList(state.get(key));
    const keeps = names.map((name) => wanted.includes(name));
    const told = wanted.map((name) => texts[names.indexOf(name)] ?? name).join(", ");
    if (told) parts.push({ key, text: `${label}: ${told}`, keeps: (i) => keeps[codes[i]] === true });
  }
  for (const key of state.keys("r.")) {
    const number = report.columns.get(key.slice(2));
    const [low = "", high = ""] = state.get(key).split("..");
    const [least, most] = [low === "" ? -Infinity : Number(low), high === "" ? Infinity : Number(high)];
    if (!number || !(low || high) || Number.isNaN(least) || Number.isNaN(most)) continue;
    const keeps = (i) => number.value(i) !== null && number.value(i) >= least && number.value(i) <= most;
    const [from, to] = [low && `from ${readable(least)}`, high && `to ${readable(most)}`];
    parts.push({ key, text: `${number.heading}: ${[from, to].filter(Boolean).join(" ")}`, keeps });
  }
  const words = state.get("q").toLowerCase().split(/\s+/).filter(Boolean);
  const hasAll = (i) => words.every((word) => report.searched[i].includes(word));
  if (words.length) parts.push({ key: "q", text: `“${state.get("q")}”`, keeps: hasAll });
  return parts;
}

/**
 * The rows that a filter keeps, and how many it would keep of each value of a facet, by its key and code, if it were not
 * filtered by: counts of a value are those of a click on it.
 */
export function select(report, filter) {
  const rows = [];
  const counts = Object.fromEntries(report.facets.map(({ key }) => [key, {}]));
  for (let i = 0; i < report.count; ++i) {
    const failed = filter.filter(({ keeps }) => !keeps(i));
    if (failed.length === 0) rows.push(i);
    if (failed.length > 1) continue;
    for (const { key, codes } of report.facets) {
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
