// points.ts - what traffic is shown between: single ranks, ranks in a row, or compute nodes.
import type { Trace } from './trace';

export interface Points {
  what: 'rank' | 'ranks' | 'node';
  each: number; // ranks of a point; of a node 0: they may differ
  of: Uint32Array; // by rank: its point
  first: Uint32Array; // by point: its first rank, which lends it its colour
  short: string[]; // labels
  long: string[];
}

function firstRanks(of: Uint32Array, count: number): Uint32Array {
  const first = new Uint32Array(count);
  for (let rank = of.length - 1; rank >= 0; rank--) first[of[rank]!] = rank;
  return first;
}

export function rankPoints(ranks: number, each: number): Points {
  const count = Math.ceil(ranks / each);
  const of = Uint32Array.from({ length: ranks }, (_, rank) => Math.floor(rank / each));
  const long = (n: number) => (each === 1 ? String(n) : `${n * each}–${Math.min(ranks, (n + 1) * each) - 1}`);
  const names = (label: (n: number) => string) => Array.from({ length: count }, (_, n) => label(n));
  return {
    what: each === 1 ? 'rank' : 'ranks',
    each,
    of,
    first: firstRanks(of, count),
    short: names((n) => String(n * each)),
    long: names(long),
  };
}

/** What flow tiles add up: compute nodes by their names, in version 1 ranks in a row. */
export function flowPoints(trace: Trace): Points {
  const { meta } = trace;
  if (meta.flowRanks > 0) return rankPoints(meta.ranks, meta.flowRanks);
  const count = meta.flowPoints;
  const first = firstRanks(meta.flowOf, count);
  const last = new Uint32Array(count);
  meta.flowOf.forEach((point, rank) => (last[point] = rank));
  const name = (rank: number) => trace.nodes[rank] || `node of ${rank}`;
  const short = Array.from(first, name);
  const long = short.map((a, n) => {
    const b = name(last[n]!);
    return a === b || meta.flowOf[last[n]!] !== n ? a : `${a} to ${b}`;
  });
  return { what: 'node', each: 0, of: meta.flowOf, first, short, long };
}

/** Ranks of a point. */
export function ranksOf(points: Points, point: number): number[] {
  const ranks: number[] = [];
  points.of.forEach((p, rank) => p === point && ranks.push(rank));
  return ranks;
}

/** Several points in a row made one. */
export function joinPoints(points: Points, each: number): Points {
  if (each === 1) return points;
  const of = points.of.map((p) => Math.floor(p / each));
  const count = Math.ceil(points.first.length / each);
  const ends = Array.from({ length: count }, (_, n) => [
    points.long[n * each]!,
    points.long[Math.min(points.long.length, (n + 1) * each) - 1]!,
  ]);
  return {
    what: points.what === 'rank' ? 'ranks' : points.what,
    each: points.each * each,
    of,
    first: firstRanks(of, count),
    short: ends.map((_, n) => points.short[n * each]!),
    long: ends.map(([a, b]) => (a === b ? a! : points.what === 'node' ? `${a} to ${b}` : joinRange(a!, b!))),
  };
}

/** "0–3" and "12–15" are "0–15". */
function joinRange(a: string, b: string): string {
  return `${a.split('–')[0]}–${b.split('–').pop()}`;
}
