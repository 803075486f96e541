// The filter that all views share: facets with counts, a search, and what is in force as chips.

import { h } from "./dom.js";
import { readable, share, STATES } from "./format.js";
import { joinList, splitList } from "./report.js";
import { state } from "./state.js";

const MOST_VALUES = 14;

function toggled(key, value) {
  const values = splitList(state.get(key));
  const next = values.includes(value) ? values.filter((other) => other !== value) : [...values, value];
  state.set({ [key]: next.length ? joinList(next) : "" });
}

/** The facets and the search: made once, so that nothing loses the cursor; an update sets counts and ticks. */
export class Facets {
  constructor(report) {
    this.items = [];
    this.search = h("input", { type: "search", placeholder: "lora 256", oninput: () => state.set({ q: this.search.value }) });
    const states = Object.keys(STATES).filter((name) => report.state.includes(name));
    this.element = h("aside.facets", { "aria-label": "Filter" }, h("label.search", {}, h("span", {}, "search"), this.search),
      states.length > 1 && this.facet("state", "s", states.map((name) => [name, STATES[name], (selection) => selection.states[name]])),
      report.axes.map((axis) => this.facet(axis.label, `f.${axis.field}`,
        axis.texts.map((text, code) => [text, text, (selection) => selection.counts.get(axis.field)[code]]))));
  }

  facet(title, key, entries) {
    const items = entries.map(([value, label, count]) => {
      const box = h("input", { type: "checkbox", onchange: () => toggled(key, value) });
      const number = h("span.count", {});
      const item = h("li", {}, h("label", {}, box, h("span.value", {}, label), number));
      this.items.push({ key, value, count, box, number, item });
      return item;
    });
    return h("fieldset", {}, h("legend", {}, title), h("ul", {}, items.slice(0, MOST_VALUES)),
      items.length > MOST_VALUES && h("details", {}, h("summary", {}, `${items.length - MOST_VALUES} more`), h("ul", {}, items.slice(MOST_VALUES))));
  }

  update(selection) {
    const on = new Map();
    for (const { key, value, count, box, number, item } of this.items) {
      if (!on.has(key)) on.set(key, new Set(splitList(state.get(key))));
      box.checked = on.get(key).has(value);
      number.textContent = String(count(selection));
      item.classList.toggle("nothing", count(selection) === 0);
    }
    if (this.search !== document.activeElement) this.search.value = state.get("q");
  }
}

/** What of the filter is in force, each with a way out. */
export function chipsOf(report, selection) {
  const chip = (text, key) => h("li", {}, h("button.chip", { onclick: () => state.set({ [key]: "" }), "aria-label": `remove ${text}` }, text, h("span", { "aria-hidden": "true" }, " ×")));
  const chips = [];
  for (const key of state.keys("f.")) {
    const axis = report.fields.get(key.slice(2));
    if (axis) chips.push(chip(`${axis.label}: ${splitList(state.get(key)).join(", ")}`, key));
  }
  for (const key of state.keys("r.")) {
    const column = report.fields.get(key.slice(2));
    const [low, high] = state.get(key).split("..").map(Number);
    if (column) chips.push(chip(`${column.heading ?? column.label}: ${readable(low)} to ${readable(high)}`, key));
  }
  if (state.get("s")) chips.push(chip(state.get("s").split(",").map((name) => STATES[name] ?? name).join(", "), "s"));
  if (state.get("q")) chips.push(chip(`“${state.get("q")}”`, "q"));
  if (chips.length === 0) return null;
  const all = Object.fromEntries([...state.keys("f."), ...state.keys("r."), "s", "q"].map((key) => [key, ""]));
  return h("div.chips", { role: "status" }, h("span", {}, share(selection.rows.length, report.count)),
    h("ul", {}, chips), h("button.plain", { onclick: () => state.set(all) }, "Show all"));
}
