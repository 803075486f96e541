// What the page shows, in its address: a link shows the same. "#explore?f.plugin=gemini,zero&r.m_loss=1..2&q=lora".

const listeners = new Set();

export const state = {
  get: (key, fallback = "") => state.params.get(key) ?? fallback,
  keys: (prefix) => [...state.params.keys()].filter((key) => key.startsWith(prefix)),

  /** No step of the browser's history: those are other views alone, which links lead to. */
  set(changes) {
    const next = state.link(state.view, changes);
    if (next === location.hash) return;
    history.replaceState(null, "", next);
    read();
  },

  /** Picks a run, which is then the one that is read, or lets go of it. */
  pick: (uid) => state.set(state.get("pick") === uid ? { pick: "" } : { pick: uid, run: "" }),

  /** The address of a view with these keys set; an empty value removes its key. */
  link(view, changes = {}) {
    const params = new URLSearchParams(state.params);
    for (const [key, value] of Object.entries(changes)) {
      if ((value ?? "") === "") params.delete(key); else params.set(key, value);
    }
    const query = params.toString().replaceAll("%2C", ",");
    return `#${view}${query && `?${query}`}`;
  },

  listen: (listener) => listeners.add(listener),
};

function read() {
  const [view, query] = location.hash.slice(1).split("?");
  Object.assign(state, { view, params: new URLSearchParams(query) });
  listeners.forEach((listener) => listener());
}

read();
addEventListener("hashchange", read);
