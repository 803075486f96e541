// What was found, what trades one target against another, and what became of every point of the space.

import { charts } from "../chart.js";
import { Folded, h, section, strengthBadge } from "../dom.js";
import { probability, STATES } from "../format.js";
import { state } from "../state.js";

const FIRST_FINDINGS = 6;

function findingItem({ headline, detail, strength, p, adjusted_p: adjusted, link }) {
  const { view, ...where } = link ?? {};
  return h("li", {}, strengthBadge(strength),
    h("div", {}, h("p.headline", {}, headline), detail && h("p.sub", {}, detail)),
    h("div.side", {}, adjusted !== null && h("span.p", { title: `by itself ${probability(p)}` }, probability(adjusted)),
      link && h("a", { href: state.link(view, where), "aria-label": `show: ${headline}` }, "show")));
}

function findings({ report, isPrinted }) {
  const { list, comparisons } = report.model.findings;
  const none = report.count === 0 ? "Nothing has been measured yet." : "No value that this page knows how to compare.";
  const corrected = `${comparisons} comparisons were looked at; `
    + "what is called clear is so at 95 % among all of them (Holm).";
  return section("Findings", "section.findings", comparisons > 1 && h("p.note", {}, corrected),
    list.length > 0 ? h(Folded, { items: list.map(findingItem), most: FIRST_FINDINGS, isWhole: isPrinted })
      : h("p.empty", {}, none));
}

/** How many points have which state, each a way to them. */
function states({ model: { counts } }) {
  const item = (name) => {
    const text = [h(`span.dot.${name}`, { "aria-hidden": "true" }), `${counts[name]} ${STATES[name]}`];
    return h("li", {}, name === "missing" ? text : h("a", { href: state.link("explore", { s: name }) }, text));
  };
  const there = Object.keys(STATES).filter((name) => counts[name] > 0);
  return h("ul.states", { "aria-label": "Points" }, there.map(item));
}

export const Overview = ({ page }) =>
  h("div.view", {}, states(page.report), findings(page), charts(page, "overview"));
