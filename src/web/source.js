// Where the model comes from: the page itself, or a server that follows a store.

const LONGEST_ANSWER_MS = 30_000;

/** {live, model(), details(report, uid)}; details of a run: {values, told, series, lanes}, or null where they are not at hand. */
export function embeddedSource() {
  const parsed = (id) => JSON.parse(document.getElementById(id).textContent);
  const model = parsed("model");
  let runs = null;
  return {
    live: false,
    async model() {
      return model;
    },
    async details(report, uid) {
      runs ??= parsed("runs");
      const { values, told, series, lanes } = runs;
      if (!(uid in values)) return null;
      return { values: values[uid], told: told[uid], series: series[uid] ?? {}, lanes: lanes?.[uid] ?? null };
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
    if (error.name === "TimeoutError") throw new Error(`the server gave no answer within ${LONGEST_ANSWER_MS / 1000} s`);
    throw error;
  }
}

/** Asks a server: a model is kept, and only what changed of it is fetched again. */
export function servedSource(api) {
  const models = new Map();
  const runs = new Map();
  const subjectUrl = (subject) => `${api}subjects/${encodeURIComponent(subject)}`;
  return {
    live: true,
    subjects: async () => (await fetchJson(`${api}subjects`)).subjects,

    /** The model of a subject as it is now; the same object where nothing changed. */
    async model(subject) {
      const known = models.get(subject);
      const answer = await fetchJson(`${subjectUrl(subject)}/model${known ? `/since/${known.version}` : ""}`);
      if (known?.version === answer.version) return known.model;
      const model = answer.base ? { ...known.model, ...answer.parts } : answer.parts;
      models.set(subject, { version: answer.version, model });
      return model;
    },

    async details(report, uid) {
      if (!runs.has(uid)) runs.set(uid, await fetchJson(`${api}runs/${encodeURIComponent(uid)}`));
      const { values, told, series, lanes } = runs.get(uid);
      const listed = (names, of) => names.map((name) => (Object.hasOwn(of, name) ? of[name] : null));
      return { values: listed(report.model.runs.targets, values), told: listed(report.model.runs.provenance, told), series, lanes };
    },

    /** Links to what the page shows of a subject, as files. */
    exports: (subject) => ["csv", "parquet", "json"].map((form) => [form, `${subjectUrl(subject)}/report.${form}`]),

    /**
     * Calls `on[name](data)` with what the server tells, and `on.connected(boolean)`. Goes on where it was when the
     * connection was lost. Listens only while the page is seen: browsers have six connections to a server for all tabs.
     */
    listen(on) {
      let events = null;
      const close = () => {
        events?.close();
        events = null;
      };
      const open = () => {
        if (events || document.visibilityState === "hidden") return;
        events = new EventSource(`${api}events`);
        events.onopen = () => on.connected(true);
        events.onerror = () => {
          on.connected(false);
          // The browser connects again by itself, but not after an answer that is no stream.
          if (events.readyState !== EventSource.CLOSED) return;
          close();
          setTimeout(open, 3000);
        };
        for (const name of ["store", "problem", "live"]) events.addEventListener(name, ({ data }) => on[name](JSON.parse(data)));
      };
      open();
      document.addEventListener("visibilitychange", () => (document.visibilityState === "hidden" ? close() : open()));
      addEventListener("pagehide", close);
    },
  };
}
