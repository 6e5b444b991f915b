// open.ts - calls that ranks never came back from: no events, but the analysis knows from when to when, and for whom. Where single calls
// stopped being recorded, or never were, they are all that is known. Pure.
import { at, list, num, str } from './analysis';
import type { Json } from './analysis';

export interface Open {
  thread: number;
  op: string;
  class: number;
  site: number; // -1: not known
  comm: number;
  from: number; // ns
  to: number;
  waits: boolean; // for somebody who could not go on either
  needs: number; // for that rank; -1: for any of several, or nobody knows
}

const ns = (x: Json, key: string) => (num(x, key) ?? NaN) * 1e9;

/** By rank; only where their times are known. */
export function opensOf(analysis: Json): Map<number, Open[]> {
  const found = new Map<number, Open[]>();
  for (const row of list(analysis, 'per_rank')) {
    const calls = list(row, 'open')
      .map((x) => ({
        thread: num(x, 'thread') ?? 0,
        op: str(x, 'op'),
        class: Math.min(7, Math.max(1, num(x, 'class') ?? 7)),
        site: num(x, 'callsite') ?? -1,
        comm: num(x, 'communicator') ?? -1,
        from: ns(x, 'from_s'),
        to: ns(x, 'to_s'),
        waits: at(x, 'waits') === true,
        needs: num(x, 'needs') ?? -1,
      }))
      .filter((x) => x.to > x.from);
    const rank = num(row, 'rank') ?? -1;
    if (calls.length > 0 && rank >= 0) found.set(rank, calls);
  }
  return found;
}

/** Only totals were recorded. */
export function isTotals(analysis: Json, events: number): boolean {
  return events === 0 && str(analysis, 'coverage', 'mode') !== 'events';
}

/** By rank, ns: from then on single calls are missing. Infinity: none are, or the rank has no record. */
export function recordedUntil(analysis: Json, ranks: number, events: number): Float64Array {
  const until = new Float64Array(ranks).fill(isTotals(analysis, events) ? 0 : Infinity); // also where no rank says so
  for (const row of list(analysis, 'per_rank')) {
    const rank = num(row, 'rank') ?? -1;
    const s = num(row, 'recorded_until_s');
    if (s !== undefined && rank >= 0 && rank < ranks) until[rank] = s * 1e9;
  }
  return until;
}

/** Ranks that died by themselves. */
export function diedBySelf(analysis: Json): Set<number> {
  const rows = list(analysis, 'per_rank').filter((row) => at(row, 'died') === true);
  return new Set(rows.map((row) => num(row, 'rank') ?? -1));
}
