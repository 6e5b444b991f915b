// clusters.ts - points in k clusters by k-means (Lloyd 1982), begun far apart (Arthur and Vassilvitskii 2007), always in the same way. Pure.

const ROUNDS_MAX = 100;

function far(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, x, i) => sum + (x - b[i]!) ** 2, 0);
}

function nearest(p: readonly number[], centers: readonly (readonly number[])[]): number {
  let best = 0;
  centers.forEach((c, i) => {
    if (far(p, c) < far(p, centers[best]!)) best = i;
  });
  return best;
}

/** The first is the one farthest from the mean, each next one the farthest from those there are. */
function begin(points: readonly (readonly number[])[], k: number): number[][] {
  const mean = points[0]!.map((_, d) => points.reduce((sum, p) => sum + p[d]!, 0) / points.length);
  const centers: number[][] = [];
  let apart = points.map((p) => far(p, mean));
  while (centers.length < k) {
    const at = apart.reduce((best, x, i) => (x > apart[best]! ? i : best), 0);
    if (centers.length > 0 && apart[at] === 0) break;
    const center = [...points[at]!];
    apart = points.map((p, i) => (centers.length === 0 ? far(p, center) : Math.min(apart[i]!, far(p, center))));
    centers.push(center);
  }
  return centers;
}

/** The cluster of each point, the largest cluster first; fewer than k where there are not so many different points. */
export function kMeans(points: readonly (readonly number[])[], k: number): number[] {
  if (points.length === 0 || k < 1) return points.map(() => 0);
  const centers = begin(points, k);
  let of = points.map((p) => nearest(p, centers));
  for (let round = 0; round < ROUNDS_MAX; round++) {
    centers.forEach((center, c) => {
      const mine = points.filter((_, i) => of[i] === c);
      if (mine.length > 0)
        center.forEach((_, d) => (center[d] = mine.reduce((sum, p) => sum + p[d]!, 0) / mine.length));
    });
    const next = points.map((p) => nearest(p, centers));
    if (next.every((c, i) => c === of[i])) break;
    of = next;
  }
  const sizes = centers.map((_, c) => of.filter((x) => x === c).length);
  const order = sizes.map((_, c) => c).sort((a, b) => sizes[b]! - sizes[a]! || a - b);
  return of.map((c) => order.indexOf(c));
}
