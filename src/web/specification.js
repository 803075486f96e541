// A chart's specification as Vega-Lite takes it: with what the reader chose, and as wide as there is room.

import { max, range, sum } from "d3-array";
import { chosen } from "./dom.js";
import theme from "./theme.json";

const PANEL_WIDTH = 250;
const AXIS_WIDTH = 64;
const SLANTED_WIDTH = 22;
const SYMBOL_WIDTH = 30;
const LETTER_WIDTH = 6.2;
const LEGEND_MARGIN = 24;
const WIDEST_TITLE = 420;

/** What a choice of a chart may be: [field, text]. */
export function optionsOf({ metrics, axes, predictions }, { of, may_be_nothing: mayBeNothing, chosen: only }) {
  if (of === "fixed") return [[only, ""]];
  const numeric = axes.filter((axis) => axis.numeric);
  const columns = { metrics, axes, numeric_axes: numeric, numbers: [...metrics, ...numeric], predictions }[of] ?? [];
  return [...(mayBeNothing ? [["-", "nothing"]] : []), ...columns.map(({ field, heading }) => [field, heading])];
}

/** The field that the address says, or else the chart. */
export const chosenOf = (report, chart, choice) =>
  chosen(`${chart.id}.${choice.name}`, optionsOf(report, choice), choice.chosen);

const domainOf = ({ values }) => values.map((value) => value ?? "none");
const shownOf = ({ field }) => `shown_${field}`;

/** A value has its colour and its shape in every chart and under every filter; the legend has those that are there. */
function withDomain(channel, column) {
  const legend = channel.legend === null ? null : { ...channel.legend, values: { expr: shownOf(column) } };
  return { ...channel, scale: { ...channel.scale, domain: domainOf(column) }, legend };
}

/** What the legends have, by the name of the parameter. */
export function legendsOf({ color, shape }, records) {
  return Object.fromEntries([color, shape].filter((column) => column?.texts).map((column) => {
    const there = new Set(records.map((record) => record[column.field]));
    return [shownOf(column), domainOf(column).filter((value) => there.has(value))];
  }));
}

const REFERENCE = /"@([a-z]+)(?:\.([a-z_]+))?"|@([a-z]+)(?:\.([a-z_]+))?/g;
const NOTHING = "@";

/** `spec` with its references resolved; a channel whose field is not chosen is left out. */
function resolved(spec, columns) {
  const valueOf = (name, part = "field") => columns[name]?.[part === "title" ? "heading" : part];
  const text = JSON.stringify(spec).replace(REFERENCE, (_, whole, part, name, partOfIt) =>
    whole ? JSON.stringify(valueOf(whole, part) ?? NOTHING) : valueOf(name, partOfIt) ?? "_");
  return JSON.parse(text, (key, node) => {
    if (Array.isArray(node)) return node.filter(() => true);  // without what is left out
    if (node === NOTHING && key !== "field") return key === "title" ? null : undefined;
    if (node?.field === NOTHING) return undefined;
    const column = ["color", "shape"].includes(key) ? columns[key] : null;
    return column?.texts && node.field === column.field ? withDomain(node, column) : node;
  });
}

/** Names below an axis are slanted where there is no room for all of them side by side, and left out only of many. */
function names({ texts = [] } = {}, width) {
  const room = width - AXIS_WIDTH;
  const isSlanted = sum(texts, ({ length }) => LETTER_WIDTH * length + 14) > room;
  return isSlanted ? { labelAngle: -30, labelOverlap: texts.length * SLANTED_WIDTH > room } : { labelAngle: 0 };
}

/** Legends stand side by side: in as many columns as there is room for. */
function legend(width, { color, shape }) {
  const shown = [color, shape].filter((column) => column?.texts);
  const labelLimit = Math.min(180, width / Math.max(1, shown.length) - SYMBOL_WIDTH - LEGEND_MARGIN);
  const entry = ({ texts }) => SYMBOL_WIDTH + Math.min(labelLimit, max(texts, ({ length }) => LETTER_WIDTH * length));
  const taken = (columns) => sum(shown, (column) => Math.min(columns, column.texts.length) * entry(column));
  const columns = range(Math.floor(width / 120), 1, -1).find((count) => taken(count) <= width) ?? 1;
  return { ...theme.legend, labelLimit, columns };
}

function config(width, { x, ...marked }) {
  return {
    ...theme, legend: legend(width, marked),
    header: { ...theme.header, labelLimit: Math.min(WIDEST_TITLE, width - 20) },
    axisXQuantitative: { tickCount: Math.max(3, Math.floor(width / 95)) },
    axisXDiscrete: names(x, width),
    axisY: { labelLimit: Math.min(260, width * 0.4) },
  };
}

/** Panels side by side: of a width that is fixed by their cells, or of which there is room for so many. */
function widthsOfPanels({ spec, facet }, { panels = 0, columns, longest = 0 }, width) {
  const isFixed = typeof spec.width === "object";
  const cells = isFixed && Math.max(spec.width.step * columns, Math.min(WIDEST_TITLE, 7.2 * longest)) + 24;
  const room = Math.floor((width - (isFixed ? 110 : AXIS_WIDTH)) / (isFixed ? cells : PANEL_WIDTH));
  // Rows are filled evenly: below a panel that is missing its axis would stand alone.
  const rows = Math.ceil((panels || 1) / Math.max(1, room));
  const side = Math.ceil((panels || 1) / rows);
  return {
    columns: side, spec: isFixed ? spec : { ...spec, width: Math.max(120, (width - AXIS_WIDTH) / side - 34) },
    facet: panels > 1 ? facet : { ...facet, header: { labels: false } },
  };
}

/** `data` is what the data set of the chart made, for a figure so many pixels wide. */
export function specificationOf(chart, columns, data, width) {
  const spec = resolved(chart.spec, columns);
  const legends = Object.entries(legendsOf(columns, data.records)).map(([name, value]) => ({ name, value }));
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json", config: config(width, columns),
    description: `${chart.title}. ${chart.text}`, data: { name: "records" }, ...spec,
    params: [...(spec.params ?? []), ...legends],
    ...(spec.facet ? widthsOfPanels(spec, data, width)
      : { width: Math.max(160, width), autosize: { type: "fit-x", contains: "padding" } }),
  };
}
