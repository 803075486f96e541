// What was found, what trades one target against another, and what became of every point of the space.

import { charts } from "../chart.js";
import { h, strengthBadge } from "../dom.js";
import { probability, STATES } from "../format.js";
import { state } from "../state.js";

const FIRST_FINDINGS = 6;

/** Where the configurations that a finding tells of are to be seen. */
function linkOf(report, { comparison, configurations: [first, second] }) {
  if (comparison) {
    const axis = report.axes.find(({ name }) => name === comparison.axis);
    const [a, b] = [comparison.from, comparison.to].map((value) => String(value ?? "none"));
    return state.link("compare", { by: axis.field, a, b });
  }
  if (first === undefined) return null;
  return second === undefined ? state.link("run", { run: report.uid(first) })
    : state.link("compare", { by: "run", a: report.uid(second), b: report.uid(first) });
}

function findingItem(report, finding) {
  const { headline, detail, strength, p, adjusted_p: adjusted } = finding;
  const href = linkOf(report, finding);
  return h("li", {}, strengthBadge(strength),
    h("div", {}, h("p.headline", {}, headline), detail && h("p.sub", {}, detail)),
    h("div.side", {}, adjusted !== null && h("span.p", { title: `by itself ${probability(p)}` }, probability(adjusted)),
      href && h("a", { href, "aria-label": `show: ${headline}` }, "show")));
}

function findings(report) {
  const { list, comparisons } = report.model.findings;
  const items = list.map((finding) => findingItem(report, finding));
  const [first, rest] = [items.slice(0, FIRST_FINDINGS), items.slice(FIRST_FINDINGS)];
  const none = report.count === 0 ? "Nothing has been measured yet." : "No value that this page knows how to compare.";
  const corrected = `${comparisons} comparisons were looked at; `
    + "what is called clear is so at 95 % among all of them (Holm).";
  return h("section.findings", { "aria-label": "Findings" }, h("h2", {}, "Findings"),
    comparisons > 1 && h("p.note", {}, corrected), first.length > 0 ? h("ul", {}, first) : h("p.empty", {}, none),
    rest.length > 0 && h("details", {}, h("summary", {}, `${rest.length} more`), h("ul", {}, rest)));
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
  h("div.view", {}, states(page.report), findings(page.report), charts(page, "overview"));
