// What the page shows, in its address: a link shows the same. "#explore?f.plugin=gemini,zero&r.m_loss=1..2&q=lora".

const listeners = new Set();
let current = parse(location.hash);

function parse(hash) {
  const [view, query = ""] = hash.replace(/^#/, "").split("?");
  return { view: view || "", params: new Map(new URLSearchParams(query)) };
}

function format({ view, params }) {
  const query = new URLSearchParams([...params]).toString().replaceAll("%2C", ",");
  return `#${view}${query ? `?${query}` : ""}`;
}

export const state = {
  get view() { return current.view; },
  get: (key, fallback = "") => current.params.get(key) ?? fallback,
  keys: (prefix) => [...current.params.keys()].filter((key) => key.startsWith(prefix)),

  /** Sets keys (empty: removes them). Another view is a step of the browser's history, anything else is not. */
  set(changes, view = current.view) {
    const params = new Map(current.params);
    for (const [key, value] of Object.entries(changes)) {
      if (value === "" || value === null || value === undefined) params.delete(key); else params.set(key, String(value));
    }
    const next = { view, params };
    if (format(next) === location.hash) return;
    history[view === current.view ? "replaceState" : "pushState"](null, "", format(next));
    current = next;
    listeners.forEach((listener) => listener());
  },

  /** Picks a run, or lets go of it. */
  pick(uid) {
    this.set({ pick: this.get("pick") === uid ? "" : uid });
  },

  /** The address of another view with these keys set, for links. */
  link(view, changes = {}) {
    const params = new Map(current.params);
    for (const [key, value] of Object.entries(changes)) params.set(key, String(value));
    return format({ view, params });
  },

  listen: (listener) => listeners.add(listener),
};

addEventListener("hashchange", () => {
  current = parse(location.hash);
  listeners.forEach((listener) => listener());
});
