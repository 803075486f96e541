// Where the model comes from: the page itself, or a server that follows a store.

import { state } from "./state.js";

const LONGEST_ANSWER_MS = 30_000;

/** details(report, uid) gives a run's {values, told, series, lanes} by name, or null where they are not at hand. */
export function embeddedSource() {
  const parsed = (id) => JSON.parse(document.getElementById(id).textContent);
  let runs = null;
  return {
    live: false,
    model: parsed("model"),
    async details({ model: { runs: { targets, provenance } } }, uid) {
      runs ??= parsed("runs");
      const { values, told, series, lanes } = runs;
      if (!(uid in values)) return null;
      const named = (names, column) => Object.fromEntries(names.map((name, i) => [name, column[i]]));
      return {
        values: named(targets, values[uid]), told: named(provenance, told[uid]), series: series[uid] ?? {},
        lanes: lanes?.[uid] ?? null,
      };
    },
  };
}

/** What a server says in place of an answer, as one line. */
async function problemOf(response) {
  const text = (await response.text()).trim();
  try {
    return JSON.parse(text).problem ?? text;
  } catch {
    return text || `the server answered with ${response.status}`;
  }
}

async function fetchJson(url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(LONGEST_ANSWER_MS) });
    if (!response.ok) throw new Error(await problemOf(response));
    return await response.json();
  } catch (error) {
    if (error.name !== "TimeoutError") throw error;
    throw new Error(`the server gave no answer within ${LONGEST_ANSWER_MS / 1000} s`);
  }
}

/**
 * What a server asks for beside its cookie: it came with the start link, and this origin alone keeps it. One that the
 * server does not know, as another page may put into the address, takes the place of none.
 */
async function keyOfServer(api) {
  const given = state.get("key");
  if (given) {
    state.set({ key: "" });
    const asked = fetch(`${api}subjects?key=${encodeURIComponent(given)}`, { method: "HEAD" });
    if (await asked.then(({ status }) => status !== 401, () => true)) localStorage.setItem("key", given);
  }
  return localStorage.getItem("key") ?? "";
}

/** Asks a server: a model is kept, and only what changed of it is fetched again. */
export async function servedSource(api) {
  const key = await keyOfServer(api);
  const urlOf = (...parts) => `${api}${parts.map(encodeURIComponent).join("/")}?key=${key}`;
  const models = new Map();
  return {
    live: true,
    subjects: async () => (await fetchJson(urlOf("subjects"))).subjects,

    /** The model of a subject as it is now; the same object where nothing changed. */
    async model(subject) {
      const known = models.get(subject);
      const answer = await fetchJson(urlOf("subjects", subject, "model", ...(known ? ["since", known.version] : [])));
      if (known?.version === answer.version) return known.model;
      const model = answer.base ? { ...known.model, ...answer.parts } : answer.parts;
      models.set(subject, { version: answer.version, model });
      return model;
    },

    details: (report, uid) => fetchJson(urlOf("runs", uid)),

    /** Links to what the page shows of a subject, as files. */
    exports: (subject) =>
      ["csv", "parquet", "json"].map((form) => [form, urlOf("subjects", subject, `report.${form}`)]),

    /**
     * Calls `on[name](data)` with what the server tells, and `on.connected(boolean)`, while the page is seen. Browsers
     * have six connections to a server for all their windows: one of these listens, and tells the others.
     */
    listen(on) {
      const isHidden = () => document.visibilityState === "hidden";
      // Those of a server that was started again are others.
      const name = `events ${key}`;
      const windows = new BroadcastChannel(name);
      const last = new Map();
      const tell = (event, data) => {
        last.set(event, data);
        if (navigator.locks) windows.postMessage([event, data]);
        on[event](data);
      };
      windows.onmessage = ({ data: [event, data] }) => {
        if (event === "hello") last.forEach((said, told) => windows.postMessage([told, said]));
        else if (!isHidden()) on[event](data);
      };
      let turn = new AbortController();
      const come = () => {
        turn.abort();
        if (isHidden()) return;
        turn = new AbortController();
        if (navigator.locks) windows.postMessage(["hello"]);
        alone(name, (signal) => follow(urlOf("events"), tell, signal).finally(() => last.clear()), turn.signal);
      };
      come();
      document.addEventListener("visibilitychange", come);
      addEventListener("pagehide", () => turn.abort());
    },
  };
}

/**
 * Does `work(signal)` while no other window does what has that name, until `signal`. Pages without https that are not
 * of this machine have no locks: each window does it for itself.
 */
function alone(name, work, signal) {
  if (!navigator.locks) return work(signal);
  return navigator.locks.request(name, { signal }, () => work(signal)).catch(() => {});
}

/** Passes on what a stream of events says, until `signal`, however often the connection is lost. */
function follow(url, tell, signal) {
  return new Promise((resolve) => {
    let events = null;
    const open = () => {
      events = new EventSource(url);
      events.onopen = () => tell("connected", true);
      events.onerror = () => {
        tell("connected", false);
        // The browser connects again by itself, but not after an answer that is no stream.
        if (events.readyState === EventSource.CLOSED) setTimeout(() => signal.aborted || open(), 3000);
      };
      const pass = ({ type, data }) => tell(type, JSON.parse(data));
      for (const name of ["store", "problem", "live"]) events.addEventListener(name, pass);
    };
    const end = () => {
      events?.close();
      resolve();
    };
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
    else open();
  });
}
