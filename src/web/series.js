// Curves of one run with uPlot: what is long, and looked at by the pixel.

import uPlot from "uplot";
import { h } from "./dom.js";
import { readable } from "./format.js";

const WHOLE = [1, 2, 5].flatMap((digit) => Array.from({ length: 9 }, (_, power) => digit * 10 ** power)).sort((a, b) => a - b);

export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Draws into `plot`, as wide as it is: {chart(), finish()}. */
export function drawInto(plot, options, data) {
  let chart = null;
  const observer = new ResizeObserver(() => {
    const width = plot.clientWidth;
    if (width <= 0) return;
    if (chart) chart.setSize({ width, height: options.height });
    else chart = new uPlot({ ...options, width }, data, plot);
  });
  observer.observe(plot);
  return { chart: () => chart, finish: () => { observer.disconnect(); chart?.destroy(); } };
}

/** Curves [{label, x, y}] over one axis; x of several curves are brought together. */
function aligned(curves) {
  if (curves.every(({ x }) => x.length === curves[0].x.length && x.every((value, i) => value === curves[0].x[i]))) {
    return [curves[0].x, ...curves.map(({ y }) => y)];
  }
  return uPlot.join(curves.map(({ x, y }) => [x, y]));
}

/** A figure of `curves`; all figures of one `sync` key share their cursor. */
export function seriesFigure({ title, text, unit, over, curves, sync, zero = true }) {
  const plot = h("div.plot", {});
  const element = h("figure.chart.series", { "aria-label": title }, h("figcaption", {}, h("h2", {}, title), text && h("p.sub", {}, text)), plot);
  const many = curves.length > 1;
  const options = {
    height: 190, cursor: { sync: { key: sync }, points: { size: 6 }, drag: { x: true, y: false } },
    legend: { show: true, live: true }, padding: [8, 8, 0, 0],
    scales: { x: { time: false }, y: { range: (view, low, high) => rangeOf(low, high, zero) } },
    axes: [{ ...axis(over), size: 38, labelGap: -6, ...(over === "step" ? { incrs: WHOLE } : {}) }, { ...axis(unit), size: 62, values: (view, values) => values.map((value) => readable(value)) }],
    series: [{ label: over, value: (view, value) => (value === null ? "–" : readable(value)) }, ...curves.map(({ label }, i) => ({
      label: many ? label : title, stroke: color(`--c${i % 8}`), width: many ? 1.3 : 1.6, spanGaps: true, points: { show: false },
      value: (view, value) => (value === null || value === undefined ? "–" : readable(value)),
    }))],
  };
  return { element, finish: drawInto(plot, options, aligned(curves)).finish };
}

function rangeOf(low, high, zero) {
  if (low === null || high === null) return [0, 1];
  const from = zero ? Math.min(0, low) : low;
  const margin = (high - from || Math.abs(high) || 1) * 0.06;
  return [zero && from === 0 ? 0 : from - margin, high + margin];
}

export function axis(label) {
  return {
    label, labelSize: 16, labelFont: "11px system-ui, sans-serif", font: "11px system-ui, sans-serif", stroke: color("--soft"),
    grid: { stroke: color("--hair"), width: 1 }, ticks: { stroke: color("--rule"), width: 1, size: 4 },
  };
}
