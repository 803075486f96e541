// Elements, by Preact, of text alone: nothing that is measured ever becomes markup.

import { createElement } from "preact";
import { useState } from "preact/hooks";
import { state } from "./state.js";

const MOST_OPTIONS = 400;

/** h("p.note", { title: "x", onclick: f }, "text", child, null): classes stand behind the tag. */
export function h(tag, attributes, ...children) {
  if (typeof tag !== "string") return createElement(tag, attributes, ...children);
  const [name, ...classes] = tag.split(".");
  return createElement(name, classes.length ? { ...attributes, class: classes.join(" ") } : attributes, ...children);
}

/**
 * What was written for the page in C++ (report/html.h): a text, or [tag, {attributes}, piece...]. Where it leads within
 * the page is a view with what its address says.
 */
export function piece(written) {
  if (typeof written === "string") return written;
  const [tag, { "data-to": to, ...attributes }, ...children] = written;
  const { view, ...where } = JSON.parse(to ?? "{}");
  return createElement(tag, to ? { ...attributes, href: state.link(view, where) } : attributes, children.map(piece));
}

/** Which of `options` [value, text] the address has by that key; else the first that is preferred, or the first. */
export function chosen(key, options, ...preferred) {
  const isOne = (value) => options.some(([one]) => one === value);
  return [state.get(key), ...preferred].find(isOne) ?? options[0]?.[0] ?? "";
}

/**
 * A labelled choice that the address has, by its key: options are [value, text], of ten thousand those around the
 * present one; `others` are set with it.
 */
export function choose(label, key, options, value, others = {}) {
  const at = options.findIndex(([one]) => one === value);
  const from = Math.max(0, Math.min(at - MOST_OPTIONS / 2, options.length - MOST_OPTIONS));
  const option = ([one, text]) => h("option", { value: one, selected: one === value }, text);
  return h("label.choice", {}, h("span", {}, label),
    h("select", { value, onchange: ({ target }) => state.set({ ...others, [key]: target.value }) },
      options.slice(from, from + MOST_OPTIONS).map(option)));
}

/** A table of names and texts; rows without a text are left out. */
export function pairs(rows, caption = "") {
  const row = ([name, text]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, text));
  return h("table.pairs", {}, caption && h("caption", {}, caption),
    h("tbody", {}, rows.filter(([, text]) => text).map(row)));
}

/**
 * A table that scrolls by itself. Of `heads` each is a text or {title, unit, words}; the first column names the rows,
 * the others are numbers unless they have words.
 */
export function grid(label, heads, rows) {
  const columns = heads.map((head, i) => ({ words: i === 0, ...(typeof head === "string" ? { title: head } : head) }));
  const head = ({ title, unit, words }) =>
    h(words ? "th" : "th.n", { scope: "col" }, title, unit && h("span.unit", {}, ` ${unit}`));
  return h("div.scroll", { role: "region", "aria-label": label, tabindex: "0" }, h("table.grid", {},
    h("thead", {}, h("tr", {}, columns.map(head))),
    h("tbody", {}, rows.map(([name, ...cells]) => h("tr", {}, h("th", { scope: "row" }, name),
      cells.map((cell, i) => h(columns[i + 1].words ? "td" : "td.n", {}, cell)))))));
}

/** The first of `items` as `list` shows them; the others are made once they are asked for, or all if `isWhole`. */
export function Folded({ items, most, more = "more", list = (some) => h("ul", {}, some), isWhole = false }) {
  const [isOpen, setOpen] = useState(false);
  const rest = items.length - most;
  if (isWhole || rest <= 0) return list(items);
  return [list(items.slice(0, most)), h("details", { open: isOpen, ontoggle: ({ target }) => setOpen(target.open) },
    h("summary", {}, `${rest} ${more}`), isOpen && list(items.slice(most)))];
}

/** A part of a view under its heading, which names it; `tag` may be "section.card". */
export const section = (title, tag, ...children) => h(tag, { "aria-label": title }, h("h2", {}, title), ...children);

/** Chart, curves or lanes under their heading; the heading names it. */
export const figure = (tag, attributes, title, text, ...children) =>
  h(tag, { "aria-label": title, ...attributes },
    h("figcaption", {}, h("h2", {}, title), text && h("p.sub", {}, text)), ...children);

const STRENGTHS = { clear: "clear", "clear in these runs": "clear", "within the noise": "unclear" };

/** How sure a finding is. */
export const strengthBadge = (strength) => h(`span.badge.${STRENGTHS[strength] ?? "fact"}`, {}, strength);

/** Calls `action` once no further call came for `milliseconds`. */
export function debounced(action, milliseconds) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), milliseconds);
  };
}

/** Gives the reader a file. */
export function download(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
