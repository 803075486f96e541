// What each rank did when: a lane a rank, a colour a phase, drawn into uPlot's axes.

import { useMemo, useRef, useState } from "preact/hooks";
import { figure, grid, h } from "./dom.js";
import { readable, withUnit } from "./format.js";
import { axis, color, Plot } from "./series.js";
import { hideTip, showTip } from "./tip.js";

const LANE = 38;
/** Of a lane, what stays free above and below. */
const GAP = 0.11;
/** Looking closer ends at a microsecond, finer than any phase is timed. */
const SHORTEST_SECONDS = 1e-6;
/** How much longer than the mean of its stretch a step is that is marked. */
const NOTABLE = 1.5;

function totalsTable({ ranks, phases }) {
  return grid("Sums of phases", ["rank", ...phases.map(({ title }) => ({ title, unit: "s" }))],
    ranks.map(({ rank }, at) => [String(rank), ...phases.map(({ seconds }) => readable(seconds[at]))]));
}

/** What a rank did in one of its stretches: {name, title, seconds} of the phases that took time. */
const partsOf = (lanes, { phases }, at) =>
  lanes.phases.map((phase) => ({ ...phase, seconds: phases[phase.name]?.[at] })).filter(({ seconds }) => seconds > 0);

const secondsText = (seconds) => withUnit(seconds, "s");

/** Draws into a view of uPlot: what came once, then stretches, the phases of their steps one after the other. */
function drawLanes({ ctx: context, bbox, valToPos, scales }, lanes) {
  const [x, y] = [(time) => valToPos(time, "x", true), (lane) => valToPos(lane, "y", true)];
  const colors = Object.fromEntries(lanes.phases.map(({ name }) => [name, color(`--${name}`)]));
  const [ink, other] = [color("--ink"), color("--other")];
  const fill = (style, ...box) => {
    context.fillStyle = style;
    context.fillRect(...box);
  };
  context.save();
  context.beginPath();
  context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  context.clip();
  lanes.ranks.forEach((rank, lane) => {
    const [top, bottom] = [y(lane + GAP), y(lane + 1 - GAP)];
    const block = (phase, from, to) =>
      fill(colors[phase] ?? other, x(from), top, Math.max(0.6, x(to) - x(from)), bottom - top);
    lanes.spans.forEach(({ name, from, to }) => block(name, from, to));
    rank.from.forEach((start, at) => {
      const end = rank.to[at];
      if (end < scales.x.min || start > scales.x.max) return;
      let from = start;
      for (const { name, seconds } of partsOf(lanes, rank, at)) {
        block(name, from, from + seconds);
        from += seconds;
      }
      const isNotable = rank.slowest_seconds[at] * rank.steps[at] > NOTABLE * (end - start);
      if (isNotable) fill(ink, (x(start) + x(end)) / 2 - 1, top - 3, 2, 3);
    });
  });
  context.restore();
}

/** Lines on what a rank did at `time`; null for nothing. */
function describe(lanes, rank, time) {
  const span = lanes.spans.find(({ from, to }) => time >= from && time <= to);
  if (span) return [`rank ${rank.rank}, ${span.name}`, secondsText(span.to - span.from)];
  const at = rank.from.findIndex((from, i) => time >= from && time <= rank.to[i]);
  if (at < 0) return null;
  const [steps, first] = [rank.steps[at], rank.first[at]];
  const which = steps > 1 ? `steps ${first} to ${first + steps - 1}` : `step ${first}`;
  const slowest = `slowest: step ${rank.slowest[at]}, ${secondsText(rank.slowest_seconds[at])}`;
  return [`rank ${rank.rank}, ${which}: ${secondsText(rank.to[at] - rank.from[at])}`,
    ...partsOf(lanes, rank, at).map(({ title, seconds }) => `${title} ${secondsText(seconds)}`),
    ...(steps > 1 ? [slowest] : [])];
}

/** Seconds as marks that differ, however close one looks. */
function marks({ scales: { x } }, times) {
  const digits = 2 + Math.ceil(Math.log10(x.max / (x.max - x.min)));
  return times.map((time) => `${Number(time.toPrecision(Math.max(6, digits)))} s`);
}

function tips(view, lanes) {
  view.over.addEventListener("mousemove", (event) => {
    const rank = lanes.ranks[Math.floor(view.posToVal(event.offsetY, "y"))];
    showTip(event, rank && describe(lanes, rank, view.posToVal(event.offsetX, "x")));
  });
  view.over.addEventListener("mouseleave", hideTip);
}

/** `setClose(boolean)` is told whether less than the whole run is seen. */
function optionsOf(lanes, setClose) {
  const { ranks, end } = lanes;
  const within = ({ scales: { x } }, from, to) =>
    to - from < SHORTEST_SECONDS && x.max > 0 ? [x.min, x.max] : [Math.max(0, from), Math.min(end, to)];
  return {
    height: ranks.length * LANE + 30, padding: [4, 8, 0, 0], legend: { show: false },
    cursor: { points: { show: false }, y: false, drag: { x: true, y: false, dist: 6 } },
    scales: { x: { time: false, range: within }, y: { range: [0, ranks.length], dir: -1 } },
    axes: [{ ...axis(), size: 26, space: 100, values: marks }, {
      ...axis(), size: 58, grid: { show: false }, ticks: { show: false },
      splits: () => ranks.map((_, lane) => lane + 0.5), values: () => ranks.map(({ rank }) => `rank ${rank}`),
    }],
    series: [{}, {}],
    hooks: {
      draw: [(view) => drawLanes(view, lanes)],
      setScale: [({ scales: { x } }) => setClose(x.min > 0 || x.max < end)],
      ready: [(view) => tips(view, lanes)],
    },
  };
}

export function Lanes({ lanes }) {
  const chart = useRef();
  const [isClose, setClose] = useState(false);
  const options = useMemo(() => optionsOf(lanes, setClose), [lanes]);
  const data = useMemo(() => [[0, lanes.end], [null, null]], [lanes]);
  const whole = { min: 0, max: lanes.end };
  const legend = lanes.phases.map(({ name, title }) =>
    h("li", {}, h("span.swatch", { "aria-hidden": "true", style: { background: `var(--${name})` } }), title));
  return figure("figure.chart.lanes", { "aria-label": "Lanes" }, "What each rank did",
    "Seconds since the worker was started. Drag to look closer; a mark above a lane is its stretch's slowest step.",
    h("ul.legend", {}, legend), h(Plot, { options, data, chart }),
    h("button.plain", { hidden: !isClose, onclick: () => chart.current.setScale("x", whole) }, "Whole run"),
    totalsTable(lanes));
}
