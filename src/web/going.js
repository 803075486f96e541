// What explorations are doing now, on whichever machine: points, steps, losses, what is left.

import { h, replace } from "./dom.js";
import { count, duration, readable } from "./format.js";
import { state } from "./state.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 150;
const HEIGHT = 34;

/** The losses of a run as a line; its last value stands beside it. */
function sparkline(losses) {
  const finite = losses.filter(([, loss]) => Number.isFinite(loss));
  if (finite.length < 2) return null;
  const [xs, ys] = [finite.map(([step]) => step), finite.map(([, loss]) => loss)];
  const scale = (values, from, to) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return (value) => from + ((value - low) / (high - low || 1)) * (to - from);
  };
  const [x, y] = [scale(xs, 1, WIDTH - 1), scale(ys, HEIGHT - 2, 2)];
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  for (const [name, value] of [["viewBox", `0 0 ${WIDTH} ${HEIGHT}`], ["width", WIDTH], ["height", HEIGHT], ["aria-hidden", "true"]]) svg.setAttribute(name, value);
  path.setAttribute("d", finite.map(([step, loss], i) => `${i ? "L" : "M"}${x(step).toFixed(1)} ${y(loss).toFixed(1)}`).join(""));
  svg.append(path);
  return svg;
}

function progress(label, value, most) {
  return h("progress", { max: Math.max(1, most), value, "aria-label": label });
}

function runItem(run) {
  const left = run.step && run.seconds_left > 0 && `${duration(run.seconds_left)} left`;
  const facts = run.step
    ? [`step ${run.step} of ${run.steps}`, run.loss !== null && `loss ${readable(run.loss)}`, run.rate && `${readable(run.rate)} ${run.unit}`, left]
    : [run.phase, `for ${duration(run.seconds)}`];
  return h("li", {}, h("strong", {}, run.label), run.step > 0 && progress(`steps of ${run.label}`, run.step, run.steps),
    h("span.facts-line", {}, facts.filter(Boolean).join(" · ")), sparkline(run.losses));
}

function doneItem(done) {
  const link = done.uid && h("a", { href: state.link("run", { run: done.uid }) }, done.label);
  return h("li", {}, h(`span.badge.${done.outcome}`, {}, done.replayed ? "replayed" : done.outcome), " ", link || done.label,
    h("span.sub", {}, [!done.replayed && done.seconds > 0 && ` ${duration(done.seconds)}`, done.reason && ` ${done.reason}`].filter(Boolean).join(" ·")));
}

function summary({ silent, state: now }) {
  const counts = ["measured", "replayed", "invalid", "failed"].filter((name) => now[name] > 0).map((name) => `${now[name]} ${name}`);
  const end = now.seconds_left === null || silent ? null : new Date(Date.now() + 1000 * now.seconds_left);
  return [`${now.done} of ${count(now.total, "point")}`, ...counts, now.waiting > 0 && `${now.waiting} measured by others`,
    end && `at most ${duration(now.seconds_left)} left, until ${end.toTimeString().slice(0, 5)}`,
    silent && "no sign of life: it may have been killed"].filter(Boolean).join(" · ");
}

/** One operation: its parts are replaced only where they change, so that a link keeps the cursor. */
class Operation {
  constructor({ state: now }) {
    const title = `${now.space} on ${now.host}`;
    this.bar = progress(`points of ${title}`, 0, now.total);
    this.line = h("p.facts-line", {});
    this.running = h("ul.running", {});
    this.recent = h("ul.recent", {});
    this.element = h("section.operation", { "aria-label": title },
      h("h2", {}, title, " ", h("span.unit", {}, `since ${now.started_at.slice(11, 16)} UTC`)), this.bar, this.line, this.running, this.recent);
  }

  update(operation) {
    const now = operation.state;
    this.bar.value = now.done;
    this.line.textContent = summary(operation);
    replace(this.running, now.running.map(runItem));
    const key = JSON.stringify(now.recent);
    if (key !== this.key) replace(this.recent, now.recent.map(doneItem));
    this.key = key;
  }
}

export class Going {
  constructor() {
    this.operations = new Map();
    this.list = h("div", {});
    this.title = h("summary", {});
    this.element = h("details.going", { open: true, hidden: true }, this.title, this.list);
  }

  /** `others`: how many more there are than the server told of. */
  update({ operations, others = 0 }) {
    const shown = operations.filter((operation) => this.show(operation));
    const uids = new Set(shown.map(({ uid }) => uid));
    for (const [uid, operation] of this.operations) {
      if (uids.has(uid)) continue;
      operation.element.remove();
      this.operations.delete(uid);
    }
    const more = others + operations.length - shown.length;
    this.element.hidden = shown.length + more === 0;
    this.title.textContent = `Being measured now: ${count(shown.length, "exploration")}${more > 0 ? ` and ${more} more` : ""}`;
  }

  /** False where it says other things than this page knows: another version of assay wrote it. */
  show(operation) {
    try {
      const known = this.operations.get(operation.uid) ?? new Operation(operation);
      known.update(operation);
      if (!this.operations.has(operation.uid)) {
        this.operations.set(operation.uid, known);
        this.list.append(known.element);
      }
      return true;
    } catch {
      return false;
    }
  }
}
