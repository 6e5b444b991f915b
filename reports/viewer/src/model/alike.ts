// alike.ts - ranks that do the same: kinds of ranks by their shares of time over the run. Two ranks are as far apart as the share of
// their time in which they do different things. Pure.

const FIRST_TOLERANCE = 0.02; // of the time
const MORE = 1.5; // of it, where there would be too many kinds
const ROUNDS_MAX = 4;

/** What ranks do in parts of the run, all of the same length. */
export interface Doings {
  ranks: number;
  parts: number;
  things: number; // that can be done
  share: Uint8Array; // [rank][part][thing], 255 = the whole part
}

export interface Alike {
  kinds: number;
  of: Int32Array; // by rank: its kind, which are numbered by their lowest rank
  spread: Float64Array; // by kind: how far its ranks are from their mean, on average; 0 to 1
}

/** Apart by so much, or by more than `most`: then it need not be known how far. */
function apart(a: ArrayLike<number>, atA: number, b: ArrayLike<number>, atB: number, n: number, most: number): number {
  let sum = 0;
  for (let i = 0; i < n && sum <= most; i++) sum += Math.abs(a[atA + i]! - b[atB + i]!);
  return sum;
}

/** Each rank is of the kind of the nearest of those that began one, or begins one; null: of more than `most`. */
function leaders(d: Doings, tolerance: number, most: number): { of: Int32Array; kinds: number } | null {
  const size = d.parts * d.things;
  const far = tolerance * 2 * 255 * d.parts;
  const found: number[] = []; // where their shares begin
  const of = new Int32Array(d.ranks);
  for (let rank = 0; rank < d.ranks; rank++) {
    let [best, nearest] = [-1, far];
    found.forEach((at, kind) => {
      const sum = apart(d.share, rank * size, d.share, at, size, nearest);
      if (sum <= nearest && (best < 0 || sum < nearest)) [best, nearest] = [kind, sum];
    });
    if (best < 0) best = found.push(rank * size) - 1;
    if (found.length > most) return null;
    of[rank] = best;
  }
  return { of, kinds: found.length };
}

interface Means {
  share: Float32Array; // as of ranks
  ranks: Int32Array; // by kind: how many
}

function meansOf(d: Doings, of: Int32Array, kinds: number): Means {
  const size = d.parts * d.things;
  const means = { share: new Float32Array(kinds * size), ranks: new Int32Array(kinds) };
  of.forEach((kind, rank) => {
    means.ranks[kind]!++;
    for (let i = 0; i < size; i++) means.share[kind * size + i]! += d.share[rank * size + i]!;
  });
  for (let i = 0; i < means.share.length; i++) means.share[i]! /= Math.max(1, means.ranks[Math.floor(i / size)]!);
  return means;
}

/** Each rank goes to the kind whose mean is nearest (Lloyd 1982), a few times. */
function settle(d: Doings, of: Int32Array, kinds: number): Int32Array {
  const size = d.parts * d.things;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const means = meansOf(d, of, kinds);
    const next = of.map((mine, rank) => {
      let [best, nearest] = [mine, apart(d.share, rank * size, means.share, mine * size, size, Infinity)];
      for (let kind = 0; kind < kinds; kind++) {
        if (means.ranks[kind] === 0) continue;
        const sum = apart(d.share, rank * size, means.share, kind * size, size, nearest);
        if (sum < nearest) [best, nearest] = [kind, sum];
      }
      return best;
    });
    if (next.every((kind, rank) => kind === of[rank])) break;
    of = next;
  }
  return of;
}

/** By kind: how far its ranks are from their mean, on average, as apart() has it. */
function spreadOf(d: Doings, of: Int32Array, means: Means): Float64Array {
  const size = d.parts * d.things;
  const spread = new Float64Array(means.ranks.length);
  of.forEach((kind, rank) => {
    spread[kind]! += apart(d.share, rank * size, means.share, kind * size, size, Infinity) / means.ranks[kind]!;
  });
  return spread;
}

/** The two kinds that are nearest by what each spreads, if they are no further apart than that: noise parts them. */
function nearestPair(means: Means, spread: Float64Array, size: number): [number, number] | null {
  let best: [number, number] | null = null;
  let least = 1;
  for (let a = 0; a < spread.length; a++)
    for (let b = a + 1; b < spread.length; b++) {
      if (means.ranks[a] === 0 || means.ranks[b] === 0) continue;
      const both = 2 * Math.max(spread[a]!, spread[b]!);
      const ratio = apart(means.share, a * size, means.share, b * size, size, least * both) / both;
      if (ratio < least) [best, least] = [[a, b], ratio];
    }
  return best;
}

/** Kinds that only noise parts become one. */
function merged(d: Doings, of: Int32Array, kinds: number): Int32Array {
  for (;;) {
    const means = meansOf(d, of, kinds);
    const pair = nearestPair(means, spreadOf(d, of, means), d.parts * d.things);
    if (!pair) return of;
    of = of.map((kind) => (kind === pair[1] ? pair[0] : kind));
  }
}

/** Kinds by their lowest ranks. */
function numbered(of: Int32Array): { of: Int32Array; kinds: number } {
  const number = new Map<number, number>();
  const next = of.map((kind) => number.get(kind) ?? (number.set(kind, number.size), number.size - 1));
  return { of: next, kinds: number.size };
}

/** Kinds of ranks, at most so many. */
export function alikeOf(d: Doings, most: number): Alike {
  for (let tolerance = FIRST_TOLERANCE; ; tolerance *= MORE) {
    const begun = leaders(d, tolerance, most);
    if (!begun) continue;
    const first = numbered(settle(d, begun.of, begun.kinds));
    const { of, kinds } = numbered(merged(d, first.of, first.kinds));
    const spread = spreadOf(d, of, meansOf(d, of, kinds));
    return { of, kinds, spread: spread.map((sum) => sum / (2 * 255 * d.parts)) };
  }
}
