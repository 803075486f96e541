// What explorations are doing now, on whichever machine: points, steps, losses, what is left.

import { extent } from "d3-array";
import { h } from "./dom.js";
import { count, duration, joined, readable, STATES } from "./format.js";
import { state } from "./state.js";

const WIDTH = 150;
const HEIGHT = 34;

/** The losses of a run as a line; its last value stands beside it. */
function sparkline(losses) {
  const points = losses.filter(([, loss]) => Number.isFinite(loss));
  const [[from, to], [low, high]] = [0, 1].map((at) => extent(points, (point) => point[at]));
  return points.length > 1 && h("svg", {
    viewBox: `${from} ${-high} ${to - from} ${high - low || 1}`, preserveAspectRatio: "none", width: WIDTH,
    height: HEIGHT, "aria-hidden": "true",
  }, h("path", { d: `M${points.map(([x, y]) => `${x} ${-y}`).join("L")}`, "vector-effect": "non-scaling-stroke" }));
}

const progress = (label, value, most) => h("progress", { max: Math.max(1, most), value, "aria-label": label });

function runItem({ label, step, steps, loss, losses, rate, unit, phase, seconds, seconds_left: left }) {
  const facts = step
    ? [`step ${step} of ${steps}`, loss !== null && `loss ${readable(loss)}`, rate && `${readable(rate)} ${unit}`,
      left > 0 && `${duration(left)} left`]
    : [phase, `for ${duration(seconds)}`];
  return h("li", {}, h("strong", {}, label), step > 0 && progress(`steps of ${label}`, step, steps),
    h("span.facts-line", {}, joined(facts)), sparkline(losses));
}

function doneItem({ uid, label, outcome, replayed, seconds, reason }) {
  return h("li", {}, h(`span.badge.${outcome}`, {}, replayed ? "replayed" : STATES[outcome] ?? outcome), " ",
    uid ? h("a", { href: state.link("run", { run: uid }) }, label) : label,
    h("span.sub", {}, " ", joined([!replayed && seconds > 0 && duration(seconds), reason])));
}

function summary(silent, now) {
  const counts = ["measured", "replayed", "invalid", "ended_early", "failed"].map((name) =>
    now[name] > 0 && `${now[name]} ${STATES[name] ?? name}`);
  const left = silent ? null : now.seconds_left;
  const end = () => new Date(Date.now() + 1000 * left).toTimeString().slice(0, 5);
  return joined([`${now.done} of ${count(now.total, "point")}`, ...counts,
    now.waiting > 0 && `${now.waiting} measured by others`,
    left !== null && `at most ${duration(left)} left, until ${end()}`,
    silent && "no sign of life: it may have been killed"]);
}

/** Null where it says other things than this page knows: another version of assay wrote it. */
function operation({ uid, silent, state: now }) {
  try {
    const title = `${now.space} on ${now.host}`;
    return h("section.operation", { key: uid, "aria-label": title },
      h("h2", {}, title, " ", h("span.unit", {}, `since ${now.started_at.slice(11, 16)} UTC`)),
      progress(`points of ${title}`, now.done, now.total), h("p.facts-line", {}, summary(silent, now)),
      h("ul.running", {}, now.running.map(runItem),
        now.more_running > 0 && h("li", {}, `and ${now.more_running} more`)),
      h("ul.recent", {}, now.recent.map(doneItem)));
  } catch {
    return null;
  }
}

/** `others`: how many more there are than the server told of. */
export function going({ operations, others = 0 }) {
  const shown = operations.map(operation).filter(Boolean);
  const more = others + operations.length - shown.length;
  return h("details.going", { open: true, hidden: shown.length + more === 0 }, h("summary", {}, "Being measured now: ",
    count(shown.length, "exploration"), more > 0 && ` and ${more} more`), shown);
}
