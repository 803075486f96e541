// Numbers as people read them: as report/format.h has them.

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** Three significant digits, whole numbers with separators from 1,000 on. */
export function readable(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "n/a";
  const magnitude = Math.abs(value);
  if (magnitude >= 1e15) return value.toPrecision(3);
  if (magnitude >= 999.5) return whole.format(value);
  if (magnitude < 0.9995) return magnitude === 0 ? "0" : value.toPrecision(3);
  return value.toFixed(magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0);
}

/** A value as it was measured: whole numbers in full. */
export const exact = (value) => (typeof value !== "number" ? String(value) : Number.isInteger(value) ? whole.format(value) : readable(value));

export const ratio = (value) => `${readable(value)}×`;
export const share = (some, all) => `${whole.format(some)} of ${whole.format(all)}`;
export const count = (n, noun) => `${whole.format(n)} ${noun}${n === 1 ? "" : "s"}`;
export const probability = (p) => (p === null ? "" : p < 0.001 ? "p < 0.001" : `p = ${Number(p.toPrecision(2))}`);
export const withUnit = (value, unit) => (unit ? `${readable(value)} ${unit}` : readable(value));

/** "1m15s", "2.5 s" */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "n/a";
  if (seconds < 60) return `${readable(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes}m${String(Math.round(seconds % 60)).padStart(2, "0")}s`
    : `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, "0")}m`;
}

/** "2026-11-26T10:00:00Z" as people read it. */
export const moment = (at) => at.replace("T", " ").replace("Z", "");

export const STATES = {
  valid: "valid", invalid: "invalid", out_of_memory: "out of memory", failed: "failed", missing: "not measured",
};

/** What an interval rests on: "over 3 runs". */
export function basis(estimate) {
  if (estimate.basis === "runs") return `over ${count(estimate.n, "run")}`;
  if (estimate.basis === "steps") return estimate.n ? `from the ${count(estimate.n, "step")} of one run` : "from within one run";
  return estimate.n > 1 ? `mean of ${count(estimate.n, "run")}, too few for an interval` : "one run, no interval";
}

/** "1,234 ± 20 (95 % over 3 runs)" */
export function estimateText(estimate, unit) {
  if (!estimate) return "no value";
  if (estimate.low === null) return `${withUnit(estimate.value, unit)} (${basis(estimate)})`;
  return `${withUnit(estimate.value, unit)}, 95 % interval ${readable(estimate.low)} to ${readable(estimate.high)}, ${basis(estimate)}`;
}
