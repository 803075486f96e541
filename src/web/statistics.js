// Whether two sides differ: the tests of measure/significance.h, for what a reader chooses to compare.

const SIGNIFICANT = 0.05;
const UPPER_END = 0.975;
export const FEWEST_FOR_INTERVAL = 3;

// Lanczos, g = 7, n = 9 (Numerical Recipes, 6.1): fifteen digits.
function logGamma(x) {
  const c = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];
  let sum = c[0];
  for (let i = 1; i < 9; ++i) sum += c[i] / (x - 1 + i);
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

// Continued fraction of the incomplete beta function (Abramowitz & Stegun 26.5.8) by Lentz's method.
function betaFraction(a, b, x) {
  const away = (value) => (Math.abs(value) < 1e-300 ? 1e-300 : value);
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  for (let m = 1; m <= 500; ++m) {
    let factor = 1;
    for (const term of [(m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
      (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))]) {
      d = 1 / away(1 + term * d);
      c = away(1 + term / c);
      factor = c * d;
      fraction *= factor;
    }
    if (Math.abs(factor - 1) < 1e-16) break;
  }
  return fraction;
}

function incompleteBeta(a, b, x) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return x < (a + 1) / (a + b + 2) ? (front * betaFraction(a, b, x)) / a : 1 - (front * betaFraction(b, a, 1 - x)) / b;
}

/** The two-sided probability of a Student's t as far from 0 as `t`. */
export const studentTwoSided = (t, freedom) => incompleteBeta(freedom / 2, 0.5, freedom / (freedom + t * t));

export function studentQuantile(p, freedom) {
  let low = 0;
  let high = 1;
  const tail = (t) => studentTwoSided(t, freedom) / 2;
  while (tail(high) > 1 - p && high < 1e12) high *= 2;
  for (let i = 0; i < 100; ++i) {
    const middle = (low + high) / 2;
    if (tail(middle) > 1 - p) low = middle; else high = middle;
  }
  return (low + high) / 2;
}

/** Whether a mean {mean, error, freedom} is other than 0. */
export function testAgainstZero({ mean, error, freedom }) {
  if (!(error > 0)) return { low: mean, high: mean, p: mean === 0 ? 1 : 0 };
  const half = studentQuantile(UPPER_END, freedom) * error;
  return { low: mean - half, high: mean + half, p: studentTwoSided(mean / error, freedom) };
}

function sum(means) {
  const variance = means.reduce((total, { error }) => total + error ** 2, 0);
  const weighted = means.reduce((total, { error, freedom }) => total + error ** 4 / freedom, 0);
  return { error: Math.sqrt(variance), freedom: weighted > 0 ? variance ** 2 / weighted : Infinity };
}

const logarithmOf = ({ value, error, freedom }) => ({ mean: Math.log(value), error: error / value, freedom });
const hasInterval = (estimate) => estimate.low !== null;

/** The second of each pair by the first, as a geometric mean: as EffectOn() of report/effect.h. */
export function compare(pairs) {
  const logs = pairs.map(([a, b]) => Math.log(b.value / a.value));
  const mean = logs.reduce((total, value) => total + value, 0) / logs.length;
  const result = { ratio: Math.exp(mean), low: null, high: null, p: null, pairs: pairs.length };
  result.withinRuns = pairs.some(([a, b]) => a.basis !== "runs" || b.basis !== "runs");
  let uncertain = null;
  if (logs.length >= FEWEST_FOR_INTERVAL) {
    const variance = logs.reduce((total, value) => total + (value - mean) ** 2, 0) / (logs.length - 1);
    uncertain = { mean, error: Math.sqrt(variance / logs.length), freedom: logs.length - 1 };
  } else if (pairs.every(([a, b]) => hasInterval(a) && hasInterval(b))) {
    const both = sum(pairs.flatMap(([a, b]) => [logarithmOf(a), logarithmOf(b)]));
    uncertain = { mean, error: both.error / logs.length, freedom: both.freedom };
  }
  if (uncertain) {
    const test = testAgainstZero(uncertain);
    const disagree = logs.length < FEWEST_FOR_INTERVAL && Math.min(...logs) < 0 && Math.max(...logs) > 0;
    Object.assign(result, { low: Math.exp(test.low), high: Math.exp(test.high), p: disagree ? 1 : test.p });
  }
  return result;
}

/** Sets `adjusted` of those results that have a p, among all of them (Holm), and what each is called. */
export function judge(results) {
  const tested = results.filter(({ p }) => p !== null).sort((a, b) => a.p - b.p);
  let least = 0;
  tested.forEach((result, i) => {
    least = Math.max(least, Math.min(1, (tested.length - i) * result.p));
    result.adjusted = least;
  });
  for (const result of results) {
    result.strength = result.p === null ? "no interval" : result.adjusted >= SIGNIFICANT ? "within the noise"
      : result.withinRuns ? "clear in these runs" : "clear";
  }
  return results;
}
