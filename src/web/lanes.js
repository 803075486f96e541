// What each rank did when: a lane a rank, a colour a phase, on a canvas as wide as there is room.

import { h } from "./dom.js";
import { duration, readable } from "./format.js";
import { hideTip, showTip } from "./tip.js";

export const PHASES = [
  ["load", "--c7", "load"], ["data", "--c4", "data"], ["forward", "--c0", "forward"], ["backward", "--c1", "backward"],
  ["communication", "--c3", "communication"], ["optimizer", "--c2", "optimiser"], ["checkpoint", "--c6", "checkpoint"],
  ["evaluation", "--c5", "evaluation"], ["other", "--rule", "other"],
];
const LANE = 30;
const GAP = 8;
const LEFT = 58;
const AXIS = 26;
const MOST_MARKS = 8;
/** Looking closer ends at a microsecond, finer than any phase is timed. */
const SHORTEST_SECONDS = 1e-6;

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Round marks within [from, to]. */
function ticksOf(from, to, most) {
  const rough = (to - from) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.floor(to / step) - first + 1 }, (_, i) => (first + i) * step);
}

/** A stretch of a rank's lane: [{phase, from, to}], the phases of its steps one after the other. */
function blocksOf(rank, at) {
  let from = rank.from[at];
  const blocks = [];
  for (const [phase] of PHASES) {
    const seconds = rank.phases[phase]?.[at] ?? 0;
    if (seconds > 0) {
      blocks.push({ phase, from, to: from + seconds });
      from += seconds;
    }
  }
  return blocks;
}

function totalsTable(lanes) {
  const spans = Object.fromEntries(lanes.spans.map(({ name, from, to }) => [name, to - from]));
  const used = PHASES.filter(([phase]) => spans[phase] > 0 || lanes.ranks.some(({ phases }) => phases[phase]?.some((value) => value > 0)));
  const sum = (rank, phase) => (rank.phases[phase] ?? []).reduce((total, value) => total + value, spans[phase] ?? 0);
  return h("table.grid", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "rank"), used.map(([, , label]) => h("th.n", { scope: "col" }, label, " ", h("span.unit", {}, "s"))))),
    h("tbody", {}, lanes.ranks.map((rank) => h("tr", {}, h("th", { scope: "row" }, String(rank.rank)), used.map(([phase]) => h("td.n", {}, readable(sum(rank, phase))))))));
}

export function lanesFigure(lanes) {
  const canvas = h("canvas", { role: "img", "aria-label": "Phases of each rank over time; the table below has their sums" });
  const used = new Set(["load", ...lanes.spans.map(({ name }) => name)]);
  lanes.ranks.forEach(({ phases }) => Object.entries(phases).forEach(([phase, values]) => values.some((value) => value > 0) && used.add(phase)));
  const legend = h("ul.legend", {}, PHASES.filter(([phase]) => used.has(phase)).map(([phase, , label]) => h("li", {}, h(`span.swatch.${phase}`, { "aria-hidden": "true" }), label)));
  const zoom = { from: 0, to: lanes.end };
  const reset = h("button.plain", { hidden: true, onclick: () => zoomTo(0, lanes.end) }, "Whole run");
  const plot = h("div.plot", {}, canvas);
  const element = h("figure.chart.lanes", { "aria-label": "Lanes" },
    h("figcaption", {}, h("h2", {}, "What each rank did"), h("p.sub", {}, "Seconds since the worker was started. Drag to look closer; a mark above a lane is the slowest step of its stretch.")),
    legend, plot, reset, h("div.scroll", { role: "region", "aria-label": "Sums of phases", tabindex: "0" }, totalsTable(lanes)));

  const xOf = (time) => LEFT + ((time - zoom.from) / (zoom.to - zoom.from)) * (canvas.clientWidth - LEFT - 8);
  const timeOf = (x) => zoom.from + ((x - LEFT) / (canvas.clientWidth - LEFT - 8)) * (zoom.to - zoom.from);

  function draw() {
    const width = plot.clientWidth;
    const height = lanes.ranks.length * (LANE + GAP) + AXIS;
    if (width <= 0) return;
    const scale = devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    context.font = "11px system-ui, sans-serif";
    drawAxis(context, height);
    lanes.ranks.forEach((rank, i) => drawLane(context, rank, i * (LANE + GAP) + GAP / 2));
  }

  function drawAxis(context, height) {
    context.textAlign = "center";
    const digits = 2 + Math.ceil(Math.log10(zoom.to / (zoom.to - zoom.from)));
    for (const tick of ticksOf(zoom.from, zoom.to, MOST_MARKS)) {
      context.fillStyle = color("--hair");
      context.fillRect(xOf(tick), 0, 1, height - AXIS + 4);
      context.fillStyle = color("--soft");
      context.fillText(`${Number(tick.toPrecision(Math.max(6, digits)))} s`, xOf(tick), height - 8);
    }
  }

  function drawLane(context, rank, top) {
    context.save();
    context.fillStyle = color("--soft");
    context.textAlign = "left";
    context.fillText(`rank ${rank.rank}`, 2, top + LANE / 2 + 4);
    context.beginPath();
    context.rect(LEFT, 0, canvas.clientWidth - LEFT - 8, top + LANE + GAP);
    context.clip();
    const block = (phase, from, to, height = LANE) => {
      context.fillStyle = color(PHASES.find(([name]) => name === phase)?.[1] ?? "--rule");
      context.fillRect(xOf(from), top + LANE - height, Math.max(0.6, xOf(to) - xOf(from)), height);
    };
    lanes.spans.forEach(({ name, from, to }) => block(name, from, to));
    rank.from.forEach((from, at) => {
      if (rank.to[at] < zoom.from || from > zoom.to) return;
      blocksOf(rank, at).forEach(({ phase, from: begin, to }) => block(phase, begin, to));
      if (rank.steps[at] > 1) {
        const mean = (rank.to[at] - from) / rank.steps[at];
        context.fillStyle = color("--ink");
        if (rank.slowest_seconds[at] > 1.5 * mean) context.fillRect((xOf(from) + xOf(rank.to[at])) / 2 - 1, top - 3, 2, 3);
      }
    });
    context.restore();
  }

  function tipAt(event) {
    const lane = Math.floor(event.offsetY / (LANE + GAP));
    const rank = lanes.ranks[lane];
    const time = timeOf(event.offsetX);
    if (!rank || event.offsetX < LEFT) return hideTip();
    const span = lanes.spans.find(({ from, to }) => time >= from && time <= to);
    if (span) return showTip(event, [`rank ${rank.rank}, ${span.name}`, duration(span.to - span.from)]);
    const at = rank.from.findIndex((from, i) => time >= from && time <= rank.to[i]);
    if (at < 0) return hideTip();
    const steps = rank.steps[at];
    const first = rank.first[at];
    const lines = [`rank ${rank.rank}, ${steps > 1 ? `steps ${first} to ${first + steps - 1}` : `step ${first}`}: ${duration(rank.to[at] - rank.from[at])}`];
    for (const [phase, , label] of PHASES) if (rank.phases[phase]?.[at] > 0) lines.push(`${label} ${duration(rank.phases[phase][at])}`);
    if (steps > 1) lines.push(`slowest: step ${rank.slowest[at]}, ${duration(rank.slowest_seconds[at])}`);
    return showTip(event, lines);
  }

  function zoomTo(from, to) {
    Object.assign(zoom, { from, to });
    reset.hidden = from === 0 && to === lanes.end;
    draw();
  }

  let dragged = null;
  canvas.addEventListener("pointerdown", (event) => { dragged = event.offsetX; });
  canvas.addEventListener("pointermove", tipAt);
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("pointerup", (event) => {
    if (dragged !== null && Math.abs(event.offsetX - dragged) > 6) {
      const [a, b] = [timeOf(dragged), timeOf(event.offsetX)].sort((x, y) => x - y);
      const [from, to] = [Math.max(0, a), Math.min(lanes.end, b)];
      if (to - from >= SHORTEST_SECONDS) zoomTo(from, to);
    }
    dragged = null;
  });
  const observer = new ResizeObserver(draw);
  observer.observe(plot);
  return { element, finish: () => observer.disconnect() };
}
