// Whether two sides differ: the tests of measure/significance.h, for what a reader chooses to compare.

import { deviation, mean, sum } from "d3-array";
import { jStat } from "jstat";

const SIGNIFICANT = 0.05;
const UPPER = 0.975;
export const FEWEST_FOR_INTERVAL = 3;

/** Whether a mean is other than 0. */
function testAgainstZero(middle, error, freedom) {
  if (!(error > 0)) return { low: middle, high: middle, p: middle === 0 ? 1 : 0 };
  const half = jStat.studentt.inv(UPPER, freedom) * error;
  return { low: middle - half, high: middle + half, p: 2 * jStat.studentt.cdf(-Math.abs(middle / error), freedom) };
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
