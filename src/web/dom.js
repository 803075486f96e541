// Elements made of text alone: nothing that is measured ever becomes markup.

/** h("p.note", {title: "x", onclick: f}, "text", child, null): attributes by name, listeners by on..., no markup. */
export function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function replace(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
}

/** A labelled choice; options are [value, text]. */
export function select(label, options, value, onchange) {
  const control = h("select", { onchange: () => onchange(control.value) },
    options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));
  return h("label.choice", {}, h("span", {}, label), control);
}

/** A table of names and texts; rows without a text are left out. */
export function pairs(rows, caption = "") {
  return h("table.pairs", {}, caption && h("caption", {}, caption), h("tbody", {},
    rows.filter(([, text]) => text !== "" && text !== null && text !== undefined).map(([name, text]) =>
      h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, String(text))))));
}

/** A table that scrolls by itself. Of `heads` each is a text or {title, unit, words}; the first column names the rows, the others are numbers unless they have words. */
export function grid(label, heads, rows) {
  const columns = heads.map((head, i) => ({ words: i === 0, ...(typeof head === "string" ? { title: head } : head) }));
  return h("div.scroll", { role: "region", "aria-label": label, tabindex: "0" }, h("table.grid", {},
    h("thead", {}, h("tr", {}, columns.map(({ title, unit, words }) => h(words ? "th" : "th.n", { scope: "col" }, title, unit && h("span.unit", {}, ` ${unit}`))))),
    h("tbody", {}, rows.map(([name, ...cells]) => h("tr", {}, h("th", { scope: "row" }, name),
      cells.map((cell, i) => h(columns[i + 1].words ? "td" : "td.n", {}, cell)))))));
}

export const figures = (list) => h("div.charts", {}, list.map(({ element }) => element));

const STRENGTHS = { clear: "clear", "clear in these runs": "clear", "within the noise": "unclear", "no interval": "single" };

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
  const link = h("a", { href: url, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
