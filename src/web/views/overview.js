// What was found, what trades one target against another, and what became of every point of the space.

import { figures, h, strengthBadge } from "../dom.js";
import { probability, STATES } from "../format.js";
import { state } from "../state.js";

const FIRST_FINDINGS = 6;

/** Where the configurations that a finding tells of are to be seen. */
function linkOf(report, finding) {
  if (finding.comparison) {
    const axis = report.axes.find(({ name }) => name === finding.comparison.axis);
    const text = (value) => (value === null ? "none" : String(value));
    return state.link("compare", { by: axis.field, a: text(finding.comparison.from), b: text(finding.comparison.to) });
  }
  const [first, second] = finding.configurations;
  if (first === undefined) return null;
  return second === undefined ? state.link("run", { run: report.uid(first) })
    : state.link("compare", { by: "run", a: report.uid(second), b: report.uid(first) });
}

function findingItem(report, finding) {
  const link = linkOf(report, finding);
  const sure = finding.adjusted_p === null ? null : h("span.p", { title: `by itself ${probability(finding.p)}` }, probability(finding.adjusted_p));
  return h("li", {}, strengthBadge(finding.strength),
    h("div", {}, h("p.headline", {}, finding.headline), finding.detail && h("p.sub", {}, finding.detail)),
    h("div.side", {}, sure, link && h("a", { href: link, "aria-label": `show: ${finding.headline}` }, "show")));
}

function findings(report) {
  const { list, comparisons } = report.model.findings;
  const first = list.slice(0, FIRST_FINDINGS);
  const rest = list.slice(FIRST_FINDINGS);
  return h("section.findings", { "aria-label": "Findings" }, h("h2", {}, "Findings"),
    comparisons > 1 && h("p.note", {}, `${comparisons} comparisons were looked at; what is called clear is so at 95 % among all of them (Holm).`),
    list.length === 0 && h("p.empty", {}, report.count === 0 ? "Nothing has been measured yet." : "No value that this page knows how to compare."),
    first.length > 0 && h("ul", {}, first.map((finding) => findingItem(report, finding))),
    rest.length > 0 && h("details", {}, h("summary", {}, `${rest.length} more`), h("ul", {}, rest.map((finding) => findingItem(report, finding)))));
}

/** How many points have which state, each a way to them. */
function states(report) {
  const counts = report.model.counts;
  return h("ul.states", { "aria-label": "Points" }, Object.entries(STATES).filter(([name]) => counts[name] > 0).map(([name, label]) =>
    h("li", {}, name === "missing" ? [h(`span.dot.${name}`, { "aria-hidden": "true" }), `${counts[name]} ${label}`]
      : h("a", { href: state.link("explore", { s: name }) }, h(`span.dot.${name}`, { "aria-hidden": "true" }), `${counts[name]} ${label}`))));
}

export function overview(report, page) {
  const charts = page.chartsOf("overview");
  return { element: h("div.view", {}, states(report), findings(report), figures(charts)), charts, update() {} };
}
