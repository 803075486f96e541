// Where the model comes from: the page itself, or a server that follows a store.

import { state } from "./state.js";

const LONGEST_ANSWER_MS = 30_000;
/** Of a server that is there something is heard every 15 s. */
const SILENT_MS = 50_000;
const LEASE_MS = 3000;
const SETTLING_MS = 100;

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

/** An error of an answer that is none has its `status`. */
async function fetchJson(url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(LONGEST_ANSWER_MS) });
    if (response.ok) return await response.json();
    throw Object.assign(new Error(await problemOf(response)), { status: response.status });
  } catch (error) {
    if (error.name !== "TimeoutError") throw error;
    throw new Error(`the server gave no answer within ${LONGEST_ANSWER_MS / 1000} s`);
  }
}

/**
 * Asks `api` with what it asks for beside its cookie: a key that came with the start link, and that this origin alone
 * keeps. One that the server does not know, as another page may put into the address, takes the place of none.
 */
class Asker {
  constructor(api) {
    this.api = api;
    this.kept = localStorage.getItem("key") ?? "";
    this.key = state.get("key") || this.kept;
  }

  urlOf(...parts) {
    return `${this.api}${parts.map(encodeURIComponent).join("/")}?key=${encodeURIComponent(this.key)}`;
  }

  async json(...parts) {
    try {
      const answer = await fetchJson(this.urlOf(...parts));
      if (state.get("key")) this.keep(this.key);
      return answer;
    } catch (error) {
      if (error.status === undefined || !state.get("key")) throw error;
      this.keep(error.status === 401 ? this.kept : this.key);
      return this.json(...parts);
    }
  }

  keep(key) {
    Object.assign(this, { key, kept: key });
    if (key) localStorage.setItem("key", key);
    state.set({ key: "" });
  }
}

/** Asks a server: a model is kept, and only what changed of it is fetched again. */
export function servedSource(api) {
  const asker = new Asker(api);
  const models = new Map();
  return {
    live: true,
    subjects: async () => (await asker.json("subjects")).subjects,

    /** The model of a subject as it is now; the same object where nothing changed. */
    async model(subject) {
      const known = models.get(subject);
      const answer = await asker.json("subjects", subject, "model", ...(known ? ["since", known.version] : []));
      if (known?.version === answer.version) return known.model;
      const model = answer.base ? { ...known.model, ...answer.parts } : answer.parts;
      models.set(subject, { version: answer.version, model });
      return model;
    },

    details: (report, uid) => asker.json("runs", uid),

    /** Links to what the page shows of a subject, as files. */
    exports: (subject) =>
      ["csv", "parquet", "json"].map((form) => [form, asker.urlOf("subjects", subject, `report.${form}`)]),

    /**
     * Calls `on[name](data)` with what the server tells, and `on.connected(boolean)`, while the page is seen. Browsers
     * have six connections to a server for all their windows: one of these listens, and tells the others.
     */
    listen(on) {
      const isHidden = () => document.visibilityState === "hidden";
      // Those of a server that was started again are others.
      const name = `events ${asker.key}`;
      const windows = new BroadcastChannel(name);
      const me = Math.random();
      const last = new Map();
      let silence = 0;
      const hear = (event, data) => {
        clearTimeout(silence);
        silence = setTimeout(() => {
          on.connected(false);
          come();
        }, SILENT_MS);
        on[event]?.(data);
      };
      const tell = (event, data) => {
        last.set(event, data);
        windows.postMessage([event, data]);
        hear(event, data);
      };
      windows.onmessage = ({ data: [event, data, to = me] }) => {
        if (event === "hello") last.forEach((said, told) => windows.postMessage([told, said, data]));
        else if (to === me && !isHidden()) hear(event, data);
      };
      let turn = new AbortController();
      // Anew after a long silence too: that a connection is dead no browser says.
      const come = () => {
        turn.abort();
        clearTimeout(silence);
        if (isHidden()) return;
        turn = new AbortController();
        hear("beat");
        windows.postMessage(["hello", me]);
        alone(name, (signal) => follow(asker.urlOf("events"), tell, signal).finally(() => last.clear()), turn.signal);
      };
      come();
      document.addEventListener("visibilitychange", come);
      addEventListener("pagehide", () => turn.abort());
    },
  };
}

/** Does `work(signal)` while no other window does what has that name, until `signal`. */
function alone(name, work, signal) {
  if (!navigator.locks) return leased(name, work, signal);
  return navigator.locks.request(name, { signal }, () => work(signal)).catch((error) => {
    if (error.name !== "AbortError") throw error;
  });
}

/** The same for pages without https that are not of this machine, which have no locks: who works says so again. */
async function leased(name, work, signal) {
  const me = String(Math.random());
  const renew = () => localStorage.setItem(name, `${me} ${Date.now() + LEASE_MS}`);
  const holder = () => {
    const [who, until] = (localStorage.getItem(name) ?? "").split(" ");
    return Number(until) > Date.now() ? who : "";
  };
  while (!signal.aborted) {
    const isFree = !holder();
    if (isFree) renew();
    // Of several that take it at once the last one has it.
    await new Promise((resolve) => { setTimeout(resolve, isFree ? SETTLING_MS : LEASE_MS / 3); });
    if (holder() === me) await whileHeld();
  }

  /** Works until another has taken what was not renewed in time, as by a machine that slept. */
  async function whileHeld() {
    const turn = new AbortController();
    const end = () => turn.abort();
    signal.addEventListener("abort", end, { signal: turn.signal });
    if (signal.aborted) end();
    const renewing = setInterval(() => [me, ""].includes(holder()) ? renew() : end(), LEASE_MS / 3);
    await work(turn.signal).finally(() => {
      clearInterval(renewing);
      if (holder() === me) localStorage.removeItem(name);
    });
  }
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
      for (const name of ["store", "problem", "live", "beat"]) events.addEventListener(name, pass);
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
