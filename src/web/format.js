// Numbers as people read them: as report/format.h has them.

import { extent } from "d3-array";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

const three = new Intl.NumberFormat("en-US", {
  minimumSignificantDigits: 3, maximumSignificantDigits: 3, maximumFractionDigits: 0, roundingPriority: "morePrecision",
});

/** Three significant digits, whole numbers with separators from 1,000 on. */
export function readable(value) {
  if (!Number.isFinite(value)) return "n/a";
  const magnitude = Math.abs(value);
  if (magnitude >= 1e15 || (magnitude < 1e-6 && magnitude > 0)) return value.toPrecision(3);
  return magnitude === 0 ? "0" : three.format(value);
}

/** A value as it was measured: whole numbers in full. */
export const exact = (value) =>
  typeof value !== "number" ? String(value) : Number.isInteger(value) ? whole.format(value) : readable(value);

export const ratio = (value) => `${readable(value)}×`;
export const share = (some, all) => `${whole.format(some)} of ${whole.format(all)}`;
export const count = (n, noun) => `${whole.format(n)} ${noun}${n === 1 ? "" : "s"}`;
export const probability = (p) => (p === null ? "" : p < 0.001 ? "p < 0.001" : `p = ${Number(p.toPrecision(2))}`);
export const withUnit = (value, unit) => (unit ? `${readable(value)} ${unit}` : readable(value));
/** What is said where so many of `all` are not shown. */
export const fewNote = (most, all, what) => (all > most ? `${most} of ${all} ${what}: filter to see others.` : "");
export const joined = (facts) => facts.filter(Boolean).join(" · ");

/** "2026-11-26T10:00:00Z" as people read it. */
export const moment = (at) => at.replace("T", " ").replace("Z", "");

export const STATES = {
  valid: "valid", invalid: "invalid", out_of_memory: "out of memory", ended_early: "ended early", failed: "failed",
  missing: "not measured",
};

/** What an interval rests on: "over 3 runs". */
export function basis({ basis: on, n }) {
  if (on === "runs") return `over ${count(n, "run")}`;
  if (on === "steps") return n ? `from the ${count(n, "step")} of one run` : "from within one run";
  return n > 1 ? `mean of ${count(n, "run")}, too few for an interval` : "one run, no interval";
}

/** "±20", or both ends where they are not equally far. */
export function spread({ value, low, high }) {
  const [below, above] = [value - low, high - value];
  return Math.abs(above - below) <= 0.05 * (above + below) ? `±${readable(Math.max(above, below))}`
    : `${readable(low)} to ${readable(high)}`;
}

/** "n 3", or "24 steps" where a run's own interval stands beside it. */
export const sampleText = ({ basis: on, n }) => (on === "steps" && n ? count(n, "step") : `n ${Math.max(1, n)}`);

/** Of how many runs values are that are shown together: "n 3", "n 1 to 3". */
export function samples(estimates) {
  const [least, most] = extent(estimates, ({ basis: on, n }) => (on === "steps" ? 1 : n));
  return least === most ? `n ${least}` : `n ${least} to ${most}`;
}

/** "1,234 images/s, 95 % interval 1,220 to 1,250, over 3 runs" */
export function estimateText(estimate, unit) {
  if (!estimate) return "no value";
  const value = withUnit(estimate.value, unit);
  if (estimate.low === null) return `${value} (${basis(estimate)})`;
  return `${value}, 95 % interval ${readable(estimate.low)} to ${readable(estimate.high)}, ${basis(estimate)}`;
}
