// Configurations that nothing of their own machine and commit beats in two targets: as report/pareto.h.

/** The rows on the front of metrics x and y, a Set. */
export function frontOf(report, rows, x, y) {
  const front = new Set();
  if (!x.better || !y.better) return front;
  const goodness = (metric, i) => (metric.better === "higher" ? 1 : -1) * metric.value(i);
  const points = rows.filter((i) => x.value(i) !== null && y.value(i) !== null)
    .map((i) => ({ i, x: goodness(x, i), y: goodness(y, i) }));
  for (const group of Map.groupBy(points, ({ i }) => report.group[i]).values()) {
    let last = { x: NaN, y: -Infinity };
    for (const point of group.sort((a, b) => b.x - a.x || b.y - a.y)) {
      if (point.y <= last.y && (point.x !== last.x || point.y !== last.y)) continue;
      front.add(point.i);
      last = point;
    }
  }
  return front;
}
