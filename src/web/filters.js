// The filter that all views share: facets with counts, a search, and what is in force as chips.

import { Folded, h } from "./dom.js";
import { readable, share } from "./format.js";
import { joinList, splitList } from "./selection.js";
import { state } from "./state.js";

const MOST_VALUES = 14;

function facet({ key, label, names, texts }, counts) {
  const on = splitList(state.get(key));
  const toggle = (value) => state.set({
    [key]: joinList(on.includes(value) ? on.filter((other) => other !== value) : [...on, value]),
  });
  const items = names.map((name, code) => h(code in counts ? "li" : "li.nothing", {}, h("label", {},
    h("input", { type: "checkbox", checked: on.includes(name), onchange: () => toggle(name) }),
    h("span.value", {}, texts[code]), h("span.count", {}, String(counts[code] ?? 0)))));
  return h("fieldset", {}, h("legend", {}, label), h(Folded, { items, most: MOST_VALUES }));
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
  const spans = report.metrics.filter(({ ends: [low, high] }) => low < high).map(span);
  return h("aside.facets", { "aria-label": "Filter" },
    h("label.search", {}, h("span", {}, "search"), h("input", {
      type: "search", placeholder: "lora 256", value: state.get("q"),
      oninput: ({ target }) => state.set({ q: target.value }),
    })),
    report.facets.filter(({ names }) => names.length > 1).map((one) => facet(one, counts[one.key])),
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
