// open_states.ts - states of a run of which no call that ended was recorded: ranks enter the calls that they never come back from, one after the
// other by time; before that it is not known what they do. In: the analysis.  Out: snapshots as of states.ts, which take calls of this kind too.
import { list, num, str } from '../model/analysis';
import { diedBySelf } from '../model/open';
import type { Open } from '../model/open';
import { Doing } from '../model/snapshot';
import type { Snapshot, StatesQuery } from '../model/snapshot';
import type { Trace } from '../model/trace';

interface Entering {
  rank: number;
  call: Open;
}

const known = new WeakMap<Trace, Entering[]>();

/** By time: a step each. */
export function enteringsOf(trace: Trace): Entering[] {
  const of = (rank: number) => (trace.opens.get(rank) ?? []).map((call) => ({ rank, call }));
  const all = known.get(trace) ?? Array.from({ length: trace.meta.ranks }, (_, rank) => of(rank)).flat();
  if (!known.has(trace)) all.sort((a, b) => a.call.from - b.call.from || a.rank - b.rank);
  known.set(trace, all);
  return all;
}

/** Moments of what went wrong, ascending. */
export function errorTimes(trace: Trace): number[] {
  const times: number[] = [];
  for (const x of list(trace.analysis, 'correctness'))
    for (const example of list(x, 'examples')) {
      const time = num(example, 'time_s');
      if (time !== undefined) times.push(time * 1e9);
    }
  return times.sort((a, b) => a - b);
}

/** A snapshot in which nobody has begun. */
export function blank(trace: Trace) {
  const { ranks } = trace.meta;
  const rows = list(trace.analysis, 'per_rank');
  return {
    doing: new Uint8Array(ranks),
    op: new Uint16Array(ranks),
    class: new Uint8Array(ranks),
    comm: new Int32Array(ranks).fill(-1),
    site: new Int32Array(ranks).fill(-1),
    peer: new Int32Array(ranks).fill(-1),
    bytes: new Float64Array(ranks),
    since: new Float64Array(ranks),
    until: new Float64Array(ranks),
    needs: {},
    arrows: [],
    collectives: [],
    alive: [],
    ends: rows.map((x) => str(x, 'state')),
    open: [],
    unreturned: rows.map((x) => 1e9 * ((num(x, 'unreturned_s') ?? 0) + (num(x, 'hung_s') ?? 0))),
    ops: trace.meta.ops,
  };
}

/** In its last call for ever, for others or not: not dead, but ended there. A thread that waits before one that may not. */
export function putOpen(trace: Trace, calls: readonly Open[], rank: number, out: Snapshot): void {
  const open = calls.find((x) => x.waits) ?? calls[0]!;
  out.doing[rank] = open.waits ? Doing.Waits : Doing.Blocking;
  out.open[rank] = true;
  out.op[rank] = Math.max(0, trace.meta.ops.indexOf(open.op));
  out.class[rank] = open.class;
  out.comm[rank] = open.comm;
  out.site[rank] = open.site;
  out.since[rank] = open.from;
  out.until[rank] = open.to;
  if (open.needs >= 0) out.needs[rank] = [{ rank: open.needs, there: false }];
}

function putDead(rank: number, since: number, out: Snapshot): void {
  out.doing[rank] = Doing.Dead;
  out.since[rank] = since;
}

function snapshotAt(trace: Trace, done: number, found: boolean, halted: boolean): Snapshot {
  const all = enteringsOf(trace);
  const last = all[done - 1];
  const out: Snapshot = {
    ...{ step: done, steps: all.length, whole: true, logical: 0, forced: 0, found, halted },
    time: last?.call.from ?? 0,
    change: last ? { kind: 'enter', rank: last.rank, op: last.call.op, comm: last.call.comm } : null,
    ...blank(trace),
  };
  const entered = new Map<number, Open[]>();
  for (const { rank, call } of all.slice(0, done)) entered.set(rank, [...(entered.get(rank) ?? []), call]);
  const died = diedBySelf(trace.analysis);
  out.doing.fill(trace.isTotals ? Doing.Unknown : Doing.NotBegun);
  for (const [rank, calls] of entered)
    if (died.has(rank)) putDead(rank, calls[0]!.from, out);
    else putOpen(trace, calls, rank, out);
  if (done === all.length)
    for (const rank of died) if (rank < out.doing.length && !trace.opens.has(rank)) putDead(rank, NaN, out);
  const used = new Set(all.slice(0, done).map((x) => x.call.comm));
  const comms = list(trace.analysis, 'communicators').map((x, i) => ({
    id: num(x, 'id') ?? i,
    by: str(x, 'created_by'),
  }));
  out.alive = comms.filter((x) => x.by === '' || used.has(x.id)).map((x) => x.id);
  return out;
}

// ---- to another state ----

type Test = (i: number) => boolean;

function testFor(trace: Trace, { stop, rank, hidden }: StatesQuery, now: number): Test {
  const all = enteringsOf(trace);
  if (stop === 'blocks') return (i) => all[i]!.rank === rank && all[i]!.call.waits;
  if (stop === 'completes') return () => false; // of no collective it is known
  if (stop === 'error') {
    const next = errorTimes(trace).find((time) => time > now) ?? Infinity;
    return (i) => all[i]!.call.from >= next - 1; // rounded seconds
  }
  const box = (of: number) => (of >= 0 ? (hidden?.[of] ?? 0) : 0);
  return (i) => box(all[i]!.rank) === 0 || box(all[i]!.call.needs) !== box(all[i]!.rank);
}

/** How many are done behind the next step that passes, or before the last one; -1: there is none. */
function next(done: number, steps: number, forward: boolean, test: Test): number {
  if (forward) {
    for (let i = done; i < steps; i++) if (test(i)) return i + 1;
  } else for (let i = done - 1; i >= 0; i--) if (test(i)) return i;
  return -1;
}

export function openStatesOf(trace: Trace, given: StatesQuery): Snapshot {
  const all = enteringsOf(trace);
  const until = (time: number) => all.filter((x) => x.call.from <= time).length;
  let done = given.step === undefined ? until(given.time ?? 0) : Math.min(all.length, Math.max(0, given.step));
  const now = done > 0 ? all[done - 1]!.call.from : -Infinity;
  const test = testFor(trace, given, now);
  const halts = given.halt === '' ? null : testFor(trace, { ...given, stop: given.halt }, now);
  for (let n = 0; n < Math.abs(given.by); n++) {
    const to = next(done, all.length, given.by > 0, test);
    if (to < 0) {
      const end = given.by > 0 ? all.length : 0;
      return snapshotAt(trace, given.stop === '' ? end : done, n > 0, false);
    }
    done = to;
    if (done > 0 && halts?.(done - 1)) return snapshotAt(trace, done, true, true);
  }
  return snapshotAt(trace, done, true, false);
}
