// Where the model comes from: the page itself, or a server that follows a store.

import { listen } from "./listen.js";
import { state } from "./state.js";

const LONGEST_ANSWER_MS = 30_000;

/** details(uid) gives what is known of a run: {values, told, series, lanes}, or null where it is not at hand. */
export function embeddedSource() {
  const parsed = (id) => JSON.parse(document.getElementById(id).textContent);
  let runs = null;
  const details = async (uid) => (runs ??= parsed("runs"))[uid] ?? null;
  return { live: false, model: parsed("model"), details };
}

/**
 * A server that follows a store. A model is kept, and only what changed of it is fetched again. Beside its cookie it
 * asks for a key, which came with the start link and which this origin alone keeps.
 */
export class Server {
  live = true;
  models = new Map();

  constructor(api) {
    this.api = api;
  }

  urlOf(...parts) {
    const key = state.get("key") || (localStorage.getItem("key") ?? "");
    return `${this.api}${parts.map(encodeURIComponent).join("/")}?key=${encodeURIComponent(key)}`;
  }

  async ask(...parts) {
    const given = state.get("key");
    const response = await fetch(this.urlOf(...parts), { signal: AbortSignal.timeout(LONGEST_ANSWER_MS) });
    if (given) {
      // One that the server does not know, as another page may put into the address, takes the place of none.
      const isKnown = response.status !== 401;
      if (isKnown) localStorage.setItem("key", given);
      state.set({ key: "" });
      if (!isKnown) return this.ask(...parts);
    }
    if (response.ok) return response.json();
    throw new Error((await response.text()).trim() || `the server answered with ${response.status}`);
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

  details(uid) {
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
