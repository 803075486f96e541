// The filter that all views share: facets with counts, a search, and what is in force as chips.

import { Folded, h } from "./dom.js";
import { readable, share, STATES } from "./format.js";
import { joinList, splitList } from "./selection.js";
import { state } from "./state.js";

const MOST_VALUES = 14;

/** `entries`: [value, text, how many there are]. */
function facet(title, key, entries) {
  const on = splitList(state.get(key));
  const toggle = (value) => state.set({
    [key]: joinList(on.includes(value) ? on.filter((other) => other !== value) : [...on, value]),
  });
  const items = entries.map(([value, text, count = 0]) => h(count > 0 ? "li" : "li.nothing", {}, h("label", {},
    h("input", { type: "checkbox", checked: on.includes(value), onchange: () => toggle(value) }),
    h("span.value", {}, text), h("span.count", {}, String(count)))));
  return h("fieldset", {}, h("legend", {}, title), h(Folded, { items, most: MOST_VALUES }));
}

/** The ends of what is kept of a metric; one that is left out is open. */
function span({ field, heading, ends }) {
  const asked = state.get(`r.${field}`).split("..");
  const given = (value, at) => {
    const [low, high] = [0, 1].map((other) => (other === at ? value : asked[other] ?? ""));
    return low || high ? `${low}..${high}` : "";
  };
  return h("fieldset", {}, h("legend", {}, heading), h("div.ends", {}, ["from", "to"].map((name, at) => h("input", {
    type: "number", step: "any", "aria-label": `${heading}, ${name}`, placeholder: readable(ends[at]),
    value: asked[at] ?? "", oninput: ({ target }) => state.set({ [`r.${field}`]: given(target.value, at) }),
  }))));
}

export function facets(report, { counts }) {
  const there = Object.keys(STATES).filter((name) => report.states.has(name));
  const spans = report.metrics.filter(({ ends: [low, high] }) => low < high).map(span);
  return h("aside.facets", { "aria-label": "Filter" },
    h("label.search", {}, h("span", {}, "search"), h("input", {
      type: "search", placeholder: "lora 256", value: state.get("q"),
      oninput: ({ target }) => state.set({ q: target.value }),
    })),
    there.length > 1 && facet("state", "s", there.map((name) => [name, STATES[name], counts.s[name]])),
    report.axes.map(({ label, field, texts }) =>
      facet(label, `f.${field}`, texts.map((text, code) => [text, text, counts[`f.${field}`][code]]))),
    spans.length > 0 && h("details", {}, h("summary", {}, "ranges"), spans));
}

/** What of the filter is in force, each with a way out. */
export function chips({ report, filter, selection }) {
  if (filter.length === 0) return null;
  const all = Object.fromEntries(filter.map(({ key }) => [key, ""]));
  return h("div.chips", { role: "status" }, h("span", {}, share(selection.rows.length, report.count)),
    h("ul", {}, filter.map(({ key, text }) => h("li", {}, h("button.chip",
      { onclick: () => state.set({ [key]: "" }), "aria-label": `remove ${text}` }, text,
      h("span", { "aria-hidden": "true" }, " ×"))))),
    h("button.plain", { onclick: () => state.set(all) }, "Show all"));
}
