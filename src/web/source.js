// Where the model comes from: the page itself.

/** {model(), details(uid)}; details of a run: {values, told, series, lanes}, or null where they are not at hand. */
export function embeddedSource() {
  const model = JSON.parse(document.getElementById("model").textContent);
  return {
    live: false,
    async model() {
      return model;
    },
    async details(uid) {
      const { values, told, series, lanes } = model.runs;
      if (!(uid in values)) return null;
      return { values: values[uid], told: told[uid], series: series[uid] ?? {}, lanes: lanes?.[uid] ?? null };
    },
  };
}
