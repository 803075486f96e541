// Where the model comes from: the page itself, or a server that follows a store.

import { listen } from "./listen.js";
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
      const named = (names, column) => Object.fromEntries(names.map((name, i) => [name, column[i]]));
      return uid in values ? {
        values: named(targets, values[uid]), told: named(provenance, told[uid]), series: series[uid] ?? {},
        lanes: lanes?.[uid] ?? null,
      } : null;
    },
  };
}

/** An error of an answer that is none has its `status`. */
async function fetchJson(url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(LONGEST_ANSWER_MS) });
    if (response.ok) return await response.json();
    const { status } = response;
    const problem = (await response.text()).trim() || `the server answered with ${status}`;
    throw Object.assign(new Error(problem), { status });
  } catch (error) {
    if (error.name !== "TimeoutError") throw error;
    throw new Error(`the server gave no answer within ${LONGEST_ANSWER_MS / 1000} s`);
  }
}

/**
 * A server that follows a store, asked with what `api` asks for beside its cookie: a key that came with the start link,
 * and that this origin alone keeps. One that the server does not know, as another page may put into the address, takes
 * the place of none. A model is kept, and only what changed of it is fetched again.
 */
export class Server {
  live = true;
  models = new Map();
  kept = localStorage.getItem("key") ?? "";
  key = state.get("key") || this.kept;

  constructor(api) {
    this.api = api;
  }

  urlOf(...parts) {
    return `${this.api}${parts.map(encodeURIComponent).join("/")}?key=${encodeURIComponent(this.key)}`;
  }

  async ask(...parts) {
    try {
      const answer = await fetchJson(this.urlOf(...parts));
      if (state.get("key")) this.keep(this.key);
      return answer;
    } catch (error) {
      if (error.status === undefined || !state.get("key")) throw error;
      this.keep(error.status === 401 ? this.kept : this.key);
      return this.ask(...parts);
    }
  }

  keep(key) {
    Object.assign(this, { key, kept: key });
    if (key) localStorage.setItem("key", key);
    state.set({ key: "" });
  }

  /** The model of a subject as it is now; the same object where nothing changed. */
  async model(subject) {
    const known = this.models.get(subject);
    const answer = await this.ask("subjects", subject, "model", ...(known ? ["since", known.version] : []));
    if (known?.version === answer.version) return known.model;
    const model = answer.base ? { ...known.model, ...answer.parts } : answer.parts;
    this.models.set(subject, { version: answer.version, model });
    return model;
  }

  details(report, uid) {
    return this.ask("runs", uid);
  }

  /** Links to what the page shows of a subject, as files. */
  exports(subject) {
    return ["csv", "parquet", "json"].map((form) => [form, this.urlOf("subjects", subject, `report.${form}`)]);
  }

  listen(on) {
    listen(this.urlOf("events"), on);
  }
}
