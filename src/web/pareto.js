// Configurations that nothing of their own machine and commit beats in two targets: as report/pareto.h.

/** The rows on the front of metrics x and y, a Set. */
export function frontOf(report, rows, x, y) {
  const goodness = (metric, i) => (metric.better === "higher" ? 1 : -1) * metric.estimates.value[i];
  const groups = new Map();
  for (const i of rows) {
    if (x.estimates.value[i] === null || y.estimates.value[i] === null) continue;
    const point = { i, x: goodness(x, i), y: goodness(y, i) };
    const group = groups.get(report.group[i]);
    if (group) group.push(point); else groups.set(report.group[i], [point]);
  }
  const front = new Set();
  if (!x.better || !y.better) return front;
  for (const points of groups.values()) {
    points.sort((a, b) => b.x - a.x || b.y - a.y);
    let last = null;
    for (const point of points) {
      const equal = last !== null && point.x === last.x && point.y === last.y;
      if (last === null || point.y > last.y || equal) {
        front.add(point.i);
        last = point;
      }
    }
  }
  return front;
}
