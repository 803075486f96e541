// What each rank did when: a lane a rank, a colour a phase, drawn into uPlot's axes.

import { grid, h } from "./dom.js";
import { duration, readable } from "./format.js";
import { axis, color, drawInto } from "./series.js";
import { hideTip, showTip } from "./tip.js";

const PHASES = [
  ["load", "--c7", "load"], ["data", "--c4", "data"], ["forward", "--c0", "forward"], ["backward", "--c1", "backward"],
  ["communication", "--c3", "communication"], ["optimizer", "--c2", "optimiser"], ["checkpoint", "--c6", "checkpoint"],
  ["evaluation", "--c5", "evaluation"], ["other", "--rule", "other"],
];
const LANE = 38;
/** Of a lane, what stays free above and below. */
const GAP = 0.11;
/** Looking closer ends at a microsecond, finer than any phase is timed. */
const SHORTEST_SECONDS = 1e-6;

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

/** Rows of PHASES that took time here. */
function phasesOf({ ranks, spans }) {
  const isUsed = ([phase]) => phase === "load" || spans.some(({ name }) => name === phase) || ranks.some(({ phases }) => phases[phase]?.some((value) => value > 0));
  return PHASES.filter(isUsed);
}

function totalsTable({ ranks, spans }, phases) {
  const once = Object.fromEntries(spans.map(({ name, from, to }) => [name, to - from]));
  const sum = (rank, phase) => (rank.phases[phase] ?? []).reduce((total, value) => total + value, once[phase] ?? 0);
  return grid("Sums of phases", ["rank", ...phases.map(([, , title]) => ({ title, unit: "s" }))],
    ranks.map((rank) => [String(rank.rank), ...phases.map(([phase]) => readable(sum(rank, phase)))]));
}

/** Draws the lanes into a view of uPlot. */
function drawLanes({ ctx: context, bbox, valToPos, scales }, lanes) {
  const [x, y] = [(time) => valToPos(time, "x", true), (lane) => valToPos(lane, "y", true)];
  const colors = Object.fromEntries([...PHASES, ["slowest", "--ink"]].map(([phase, name]) => [phase, color(name)]));
  context.save();
  context.beginPath();
  context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  context.clip();
  lanes.ranks.forEach((rank, lane) => {
    const [top, bottom] = [y(lane + GAP), y(lane + 1 - GAP)];
    const block = ({ phase, from, to }) => {
      context.fillStyle = colors[phase] ?? colors.other;
      context.fillRect(x(from), top, Math.max(0.6, x(to) - x(from)), bottom - top);
    };
    lanes.spans.forEach(({ name, from, to }) => block({ phase: name, from, to }));
    rank.from.forEach((from, at) => {
      if (rank.to[at] < scales.x.min || from > scales.x.max) return;
      blocksOf(rank, at).forEach(block);
      if (rank.slowest_seconds[at] * rank.steps[at] <= 1.5 * (rank.to[at] - from)) return;
      context.fillStyle = colors.slowest;
      context.fillRect((x(from) + x(rank.to[at])) / 2 - 1, top - 3, 2, 3);
    });
  });
  context.restore();
}

/** Lines on what a rank did at `time`; null for nothing. */
function describe(lanes, rank, time) {
  const span = lanes.spans.find(({ from, to }) => time >= from && time <= to);
  if (span) return [`rank ${rank.rank}, ${span.name}`, duration(span.to - span.from)];
  const at = rank.from.findIndex((from, i) => time >= from && time <= rank.to[i]);
  if (at < 0) return null;
  const [steps, first] = [rank.steps[at], rank.first[at]];
  const lines = [`rank ${rank.rank}, ${steps > 1 ? `steps ${first} to ${first + steps - 1}` : `step ${first}`}: ${duration(rank.to[at] - rank.from[at])}`];
  for (const [phase, , label] of PHASES) if (rank.phases[phase]?.[at] > 0) lines.push(`${label} ${duration(rank.phases[phase][at])}`);
  if (steps > 1) lines.push(`slowest: step ${rank.slowest[at]}, ${duration(rank.slowest_seconds[at])}`);
  return lines;
}

/** Seconds as marks that differ, however close one looks. */
function marks({ scales }, times) {
  const digits = 2 + Math.ceil(Math.log10(scales.x.max / (scales.x.max - scales.x.min)));
  return times.map((time) => `${Number(time.toPrecision(Math.max(6, digits)))} s`);
}

function optionsOf(lanes, reset) {
  const within = ({ scales: { x } }, from, to) => (to - from < SHORTEST_SECONDS && x.max > 0 ? [x.min, x.max] : [Math.max(0, from), Math.min(lanes.end, to)]);
  return {
    height: lanes.ranks.length * LANE + 30, padding: [4, 8, 0, 0], legend: { show: false },
    cursor: { points: { show: false }, y: false, drag: { x: true, y: false, dist: 6 } },
    scales: { x: { time: false, range: within }, y: { range: [0, lanes.ranks.length], dir: -1 } },
    axes: [{ ...axis(), size: 26, space: 100, values: marks },
      { ...axis(), size: 58, grid: { show: false }, ticks: { show: false }, splits: () => lanes.ranks.map((_, lane) => lane + 0.5), values: () => lanes.ranks.map(({ rank }) => `rank ${rank}`) }],
    series: [{}, {}],
    hooks: {
      draw: [(view) => drawLanes(view, lanes)],
      setScale: [({ scales: { x } }) => { reset.hidden = x.min <= 0 && x.max >= lanes.end; }],
      ready: [(view) => {
        view.over.addEventListener("mousemove", (event) => {
          const rank = lanes.ranks[Math.floor(view.posToVal(event.offsetY, "y"))];
          const lines = rank && describe(lanes, rank, view.posToVal(event.offsetX, "x"));
          if (lines) showTip(event, lines); else hideTip();
        });
        view.over.addEventListener("mouseleave", hideTip);
      }],
    },
  };
}

export function lanesFigure(lanes) {
  const phases = phasesOf(lanes);
  const legend = h("ul.legend", {}, phases.map(([phase, , label]) => h("li", {}, h(`span.swatch.${phase}`, { "aria-hidden": "true" }), label)));
  const plot = h("div.plot", {});
  const reset = h("button.plain", { hidden: true, onclick: () => drawn.chart().setScale("x", { min: 0, max: lanes.end }) }, "Whole run");
  const drawn = drawInto(plot, optionsOf(lanes, reset), [[0, lanes.end], [null, null]]);
  const element = h("figure.chart.lanes", { "aria-label": "Lanes" },
    h("figcaption", {}, h("h2", {}, "What each rank did"), h("p.sub", {}, "Seconds since the worker was started. Drag to look closer; a mark above a lane is the slowest step of its stretch.")),
    legend, plot, reset, totalsTable(lanes, phases));
  return { element, finish: drawn.finish };
}
