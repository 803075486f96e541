// Whether two sides differ: the tests of measure/significance.h, for what a reader chooses to compare.

import { deviation, max, mean, min, sum } from "d3-array";
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

/** By the variances of the logarithms of all values of `places`, with the freedom of Welch and Satterthwaite. */
function testWithin(middle, places) {
  const parts = places.flatMap((pairs) => pairs.flat().map(({ value, error, freedom }) =>
    ({ variance: (error / value / pairs.length / places.length) ** 2, freedom })));
  const variance = sum(parts, (part) => part.variance);
  const freedom = variance ** 2 / sum(parts, (part) => part.variance ** 2 / part.freedom);
  return testAgainstZero(middle, Math.sqrt(variance), freedom);
}

const logOf = ([a, b]) => Math.log(b.value / a.value);

/**
 * The second of each pair by the first, as a geometric mean: as EffectOn() of report/effect.h. `places` are lists of
 * pairs; those of one place differ in machine, commit or another condition alone, and count as one.
 */
export function compare(places) {
  const logs = places.map((pairs) => mean(pairs, logOf));
  const [middle, all] = [mean(logs), places.flat()];
  let test = null;
  if (logs.length >= FEWEST_FOR_INTERVAL) {
    test = testAgainstZero(middle, deviation(logs) / Math.sqrt(logs.length), logs.length - 1);
  } else if (all.flat().every(({ low }) => low !== null)) {
    test = testWithin(middle, places);
    if (min(all, logOf) < 0 && max(all, logOf) > 0) test.p = 1;
  }
  return {
    ratio: Math.exp(middle), low: test && Math.exp(test.low), high: test && Math.exp(test.high), p: test && test.p,
    pairs: places.length, withinRuns: all.flat().some(({ basis }) => basis !== "runs"),
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
