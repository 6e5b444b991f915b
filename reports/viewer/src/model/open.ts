// open.ts - calls that ranks never came back from: no events, but the analysis knows from when to when, and for whom. Where single calls
// stopped being recorded, or never were, they are all that is known. Pure.
import type { Meta } from '../decode/meta';
import { rankOfLane } from '../decode/meta';
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

/** What waiting in such a call stands under, among the wait states. */
export const NEVER_RETURNED = 'never returned';

const ns = (x: Json, key: string) => Math.round((num(x, key) ?? NaN) * 1e9); // whole, as times of calls are

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

/** The program went on when its file was read: calls that were open then may well return. */
export function isRunning(analysis: Json): boolean {
  const noEnd = (num(analysis, 'coverage', 'files_without_end') ?? 0) > 0;
  return noEnd && list(analysis, 'per_rank').some((row) => str(row, 'state') === 'running');
}

/** Its number among the operations of a trace, to which one that never returned anywhere is added. */
export function opNumber({ ops }: Meta, op: string): number {
  const name = op || '?';
  const at = ops.indexOf(name);
  return at >= 0 ? at : ops.push(name) - 1;
}

export interface OpenSum {
  calls: number;
  ns: number;
  waitNs: number;
}

/** What they add to totals of the whole run, in which they are not: by whatever keyOf says. */
export function openSums<K>(opens: ReadonlyMap<number, Open[]>, keyOf: (x: Open, rank: number) => K): Map<K, OpenSum> {
  const sums = new Map<K, OpenSum>();
  for (const [rank, calls] of opens)
    for (const x of calls) {
      const key = keyOf(x, rank);
      const { calls: n, ns: all, waitNs } = sums.get(key) ?? { calls: 0, ns: 0, waitNs: 0 };
      const length = x.to - x.from;
      sums.set(key, { calls: n + 1, ns: all + length, waitNs: waitNs + (x.waits ? length : 0) });
    }
  return sums;
}

/** Of the whole run by operation, from the totals and from what they leave out. */
export interface OperationRow {
  op: string;
  calls: number;
  open: number; // of them
  time: number | undefined; // s
}

export function operationsOf(analysis: Json): OperationRow[] {
  const sums = openSums(opensOf(analysis), (x) => x.op);
  const rows = list(analysis, 'operations').map((x): OperationRow => {
    const [op, calls, time] = [str(x, 'op'), num(x, 'calls') ?? 0, num(x, 'time_s')];
    const more = sums.get(op);
    sums.delete(op);
    return more
      ? { op, calls: calls + more.calls, open: more.calls, time: (time ?? 0) + more.ns / 1e9 }
      : { op, calls, open: 0, time };
  });
  for (const [op, { calls, ns: all }] of sums) rows.push({ op, calls, open: calls, time: all / 1e9 });
  return rows;
}

/** Calls that the program made, all ranks together; those recorded singly may be fewer, or parts of long ones. */
export function callCount(analysis: Json): { calls: number; open: number } | undefined {
  const rows = operationsOf(analysis);
  if (rows.length === 0) return undefined;
  return { calls: rows.reduce((n, x) => n + x.calls, 0), open: rows.reduce((n, x) => n + x.open, 0) };
}

/** Only totals are there: single calls were not wanted, or none of them is in the file yet. */
export function isTotals(analysis: Json, events: number): boolean {
  const lost = num(analysis, 'coverage', 'events_lost') ?? 0;
  return events === 0 && (lost > 0 || str(analysis, 'coverage', 'mode') !== 'events');
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

/** By lane, the same of each thread where the analysis has it, else the earliest of its rank. A thread that made no call misses none. */
export function recordedUntilOf(analysis: Json, meta: Meta): Float64Array {
  const { ranks, events, firstLane } = meta;
  const ofRank = recordedUntil(analysis, ranks, events);
  const until = Float64Array.from({ length: firstLane[ranks]! }, (_, lane) => ofRank[rankOfLane(meta, lane)]!);
  if (isTotals(analysis, events)) return until;
  for (const row of list(analysis, 'per_rank')) {
    const rank = num(row, 'rank') ?? -1;
    const threads = list(row, 'threads').filter((x) => at(x, 'recorded_until_s') !== undefined);
    if (threads.length === 0 || rank < 0 || rank >= ranks) continue;
    const lanes = until.subarray(firstLane[rank]!, firstLane[rank + 1]!);
    if (num(row, 'threads_left_out') === 0) lanes.fill(Infinity);
    for (const x of threads) {
      const thread = num(x, 'thread') ?? -1;
      if (thread >= 0 && thread < lanes.length) lanes[thread] = (num(x, 'recorded_until_s') ?? Infinity) * 1e9;
    }
  }
  return until;
}

/** What is asked about, of a run of which it is known until when single calls of each lane were recorded. */
export interface RecordedLanes {
  meta: Meta;
  laneRecordedUntil: Float64Array;
}

/** Are all, some, or no single calls of these ranks (none: of all) known between two moments? Where not all are, 0 is not none. */
export function knownIn(
  { meta, laneRecordedUntil: until }: RecordedLanes,
  from: number,
  to: number,
  ranks: ReadonlySet<number>,
) {
  const { firstLane } = meta;
  const lanes = [...ranks].flatMap((rank) => [...until.subarray(firstLane[rank], firstLane[rank + 1])]);
  const own = ranks.size > 0 ? lanes : until;
  return own.every((ns) => ns >= to) ? 'all' : own.some((ns) => ns > from) ? 'some' : 'none';
}

/** Ranks that died by themselves. */
export function diedBySelf(analysis: Json): Set<number> {
  const rows = list(analysis, 'per_rank').filter((row) => at(row, 'died') === true);
  return new Set(rows.map((row) => num(row, 'rank') ?? -1));
}
