// Whether two sides differ: the tests of measure/significance.h, for what a reader chooses to compare.

import { deviation, mean, sum } from "d3-array";

const SIGNIFICANT = 0.05;
const TAIL = 0.025;
const NORMAL_QUANTILE = 1.959963984540054;
export const FEWEST_FOR_INTERVAL = 3;

/** Points and weights of the exp-sinh rule over all positive numbers (Takahasi and Mori 1974): for 14 digits here. */
const RULE = Array.from({ length: 145 }, (_, k) => {
  const point = Math.exp((Math.PI / 2) * Math.sinh((k - 72) / 16));
  return { point, weight: (Math.PI / 32) * point * Math.cosh((k - 72) / 16) };
});

/** Student's density but for its factor, and its integral from t on. */
const density = (t, freedom) => Math.exp((-(freedom + 1) / 2) * Math.log1p((t * t) / freedom));
const integral = (t, freedom) => sum(RULE, ({ point, weight }) => weight * density(t + point, freedom));

/** The probability of a Student's t as far from 0 as `t`, to either side. */
const studentTwoSided = (t, freedom) => integral(Math.abs(t), freedom) / integral(0, freedom);

/** What a Student's t exceeds with probability TAIL: by Newton's method, from below. */
function studentQuantile(freedom) {
  const wanted = 2 * TAIL * integral(0, freedom);
  let t = NORMAL_QUANTILE;
  for (let i = 0, step = t; i < 60 && Math.abs(step) > 1e-12 * t; ++i) {
    step = (integral(t, freedom) - wanted) / density(t, freedom);
    t += step;
  }
  return t;
}

/** Whether a mean is other than 0. */
function testAgainstZero(middle, error, freedom) {
  if (!(error > 0)) return { low: middle, high: middle, p: middle === 0 ? 1 : 0 };
  const half = studentQuantile(freedom) * error;
  return { low: middle - half, high: middle + half, p: studentTwoSided(middle / error, freedom) };
}

/** By the variances of the logarithms of all values of `pairs`, with the freedom of Welch and Satterthwaite. */
function testWithin(middle, pairs) {
  const parts = pairs.flat().map(({ value, error, freedom }) => ({ variance: (error / value) ** 2, freedom }));
  const variance = sum(parts, (part) => part.variance);
  const freedom = variance ** 2 / sum(parts, (part) => part.variance ** 2 / part.freedom);
  return testAgainstZero(middle, Math.sqrt(variance) / pairs.length, freedom);
}

/** The second of each pair by the first, as a geometric mean: as EffectOn() of report/effect.h. */
export function compare(pairs) {
  const logs = pairs.map(([a, b]) => Math.log(b.value / a.value));
  const middle = mean(logs);
  let test = null;
  if (logs.length >= FEWEST_FOR_INTERVAL) {
    test = testAgainstZero(middle, deviation(logs) / Math.sqrt(logs.length), logs.length - 1);
  } else if (pairs.flat().every(({ low }) => low !== null)) {
    test = testWithin(middle, pairs);
    if (Math.min(...logs) < 0 && Math.max(...logs) > 0) test.p = 1;
  }
  return {
    ratio: Math.exp(middle), low: test && Math.exp(test.low), high: test && Math.exp(test.high), p: test && test.p,
    pairs: pairs.length, withinRuns: pairs.flat().some(({ basis }) => basis !== "runs"),
  };
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
