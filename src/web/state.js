// What the page shows, in its address: a link shows the same. "#explore?f.plugin=gemini,zero&r.m_loss=1..2&q=lora".

const listeners = new Set();
let current;

function read() {
  const [view, query] = location.hash.slice(1).split("?");
  current = { view, params: new URLSearchParams(query) };
  listeners.forEach((listener) => listener());
}

/** The address with these keys set; an empty value removes its key. */
function address(view, changes) {
  const params = new URLSearchParams(current.params);
  for (const [key, value] of Object.entries(changes)) {
    if ((value ?? "") === "") params.delete(key); else params.set(key, value);
  }
  const query = params.toString().replaceAll("%2C", ",");
  return `#${view}${query && `?${query}`}`;
}

export const state = {
  get view() { return current.view; },
  get: (key, fallback = "") => current.params.get(key) ?? fallback,
  keys: (prefix) => [...current.params.keys()].filter((key) => key.startsWith(prefix)),

  /** Another view is a step of the browser's history, anything else is not. */
  set(changes, view = current.view) {
    const next = address(view, changes);
    if (next === location.hash) return;
    history[view === current.view ? "replaceState" : "pushState"](null, "", next);
    read();
  },

  /** Picks a run, which is then the one that is read, or lets go of it. */
  pick(uid) {
    this.set(this.get("pick") === uid ? { pick: "" } : { pick: uid, run: "" });
  },

  /** The address of another view, for links. */
  link: (view, changes = {}) => address(view, changes),

  listen: (listener) => listeners.add(listener),
};

read();
addEventListener("hashchange", read);
