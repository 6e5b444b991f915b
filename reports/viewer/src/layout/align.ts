// align.ts - one run's time on another's axis: as it is, or so that the iterations of both lie below each other. Pure.

export interface Alignment {
  /** The moment of the second run that lies below a moment of the first. */
  toSecond(ns: number): number;
  toFirst(ns: number): number;
  /** Moments of the first run where the scale of the second changes. */
  knots: Float64Array;
}

function along(from: Float64Array, to: Float64Array, n: number, x: number): number {
  let low = 0;
  for (let high = n - 1; low < high;) {
    const middle = (low + high + 1) >> 1;
    if (from[middle]! <= x) low = middle;
    else high = middle - 1;
  }
  const next = low + 1;
  if (x <= from[0]! || next >= n) return to[low]! + (x - from[low]!); // before the first and after the last: as it is
  const share = (x - from[low]!) / Math.max(1e-9, from[next]! - from[low]!);
  return to[low]! + share * (to[next]! - to[low]!);
}

export const SAME_TIME: Alignment = { toSecond: (ns) => ns, toFirst: (ns) => ns, knots: new Float64Array(0) };

/** a, b: when iterations begin, ascending; as many as both have. */
export function byIteration(a: Float64Array, b: Float64Array): Alignment {
  const n = Math.min(a.length, b.length);
  if (n === 0) return SAME_TIME;
  return {
    toSecond: (ns) => along(a, b, n, ns),
    toFirst: (ns) => along(b, a, n, ns),
    knots: a.subarray(0, n),
  };
}

export interface Slice {
  x: number; // on the common axis, in pixels
  width: number;
  from: number; // ns of the second run
  to: number;
}

/** Parts of the axis within which the scale is one; never more than one a pixel. */
export function slicesOf(align: Alignment, from: number, to: number, width: number): Slice[] {
  const x = (ns: number) => ((ns - from) / (to - from)) * width;
  const edges = [from];
  let last = 0;
  for (const knot of align.knots) {
    if (knot <= from || knot >= to || x(knot) - last < 1) continue;
    edges.push(knot);
    last = x(knot);
  }
  edges.push(to);
  return edges.slice(1).map((end, i) => {
    const begin = edges[i]!;
    return { x: x(begin), width: x(end) - x(begin), from: align.toSecond(begin), to: align.toSecond(end) };
  });
}
