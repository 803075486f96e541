// Curves of one run with uPlot: what is long, and looked at by the pixel.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { figure, h } from "./dom.js";
import { readable } from "./format.js";

const WHOLE = Array.from({ length: 9 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();
const MARGIN = { pad: 0.06 };
const FONT = "11px system-ui, sans-serif";

export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const plots = new Set();

/** Draws all plots with the colours of now, which a canvas has from when it was drawn. */
export const recolour = () => plots.forEach((plot) => plot.redraw(false));

/** A drawing of `data`, as wide as there is room; `options` as uPlot has them, `chart` a reference to it. */
export function Plot({ options, data, chart = useRef() }) {
  const host = useRef();
  useEffect(() => {
    const element = host.current;
    const observer = new ResizeObserver(() => {
      // Of what was taken away the width is none, before the effect is.
      const width = element.clientWidth;
      if (width <= 0) return;
      chart.current?.setSize({ width, height: options.height });
      chart.current ??= new uPlot({ ...options, width }, data, element);
      plots.add(chart.current);
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      plots.delete(chart.current);
      chart.current?.destroy();
      chart.current = null;
    };
  }, [data]);
  return h("div.plot", { ref: host });
}

export const axis = (label) => ({
  label, labelSize: 16, labelFont: FONT, font: FONT, stroke: () => color("--soft"),
  grid: { stroke: () => color("--hair"), width: 1 }, ticks: { stroke: () => color("--rule"), width: 1, size: 4 },
});

const EXPAND_HOLES = 2;

/** Columns of curves [{label, x, y}] over one axis: null where one has a hole, undefined where only others have x. */
export const aligned = (curves) => uPlot.join(curves.map(({ x, y }) => [x, y]), curves.map(() => [0, EXPAND_HOLES]));

/** Places of values between two holes: no line shows them. */
function lonely({ data }, curve) {
  const y = data[curve];
  const known = [...y.keys()].filter((i) => y[i] !== undefined);
  const isHole = (i) => (y[i] ?? null) === null;
  return known.filter((i, at) => !isHole(i) && isHole(known[at - 1]) && isHole(known[at + 1]));
}

/** A figure of `curves`, `data` their columns; all figures over the same share their cursor. */
export function SeriesFigure({ title, text, unit, over, curves, data, zero = true }) {
  const shown = (view, value) => (value === null || value === undefined ? "–" : readable(value));
  const steps = over === "step" ? { incrs: WHOLE } : {};
  const isAlone = curves.length === 1;
  const options = {
    height: 190, cursor: { sync: { key: over }, points: { size: 6 }, drag: { x: true, y: false } },
    legend: { markers: { stroke: (view, i) => `var(--c${(i - 1) % 16})` } },
    padding: [8, 8, 0, 0],
    scales: { x: { time: false }, y: { range: { min: { ...MARGIN, soft: 0, mode: zero ? 1 : 0 }, max: MARGIN } } },
    axes: [{ ...axis(over), size: 38, labelGap: -6, ...steps },
      { ...axis(unit), size: 62, values: (view, values) => values.map(readable) }],
    series: [{ label: over, value: shown }, ...curves.map(({ label }, i) => ({
      label: isAlone ? title : label, stroke: () => color(`--c${i % 16}`), width: isAlone ? 1.6 : 1.3, spanGaps: false,
      points: { show: false, filter: lonely }, value: shown,
    }))],
  };
  return figure("figure.chart.series", {}, title, text, h(Plot, { options, data }));
}
