// walk.ts - every call or message of an interval that ranks have and a filter lets through, chunk by chunk. A few chunks are asked for
// ahead: what lies together in the file is then read together.
import type { Entry } from '../decode/layout';
import type { MessageChunk, Segment } from '../decode/records';
import { messageFilter } from '../model/filter';
import type { Filter } from '../model/filter';
import { earliestOf, passingIn } from '../model/passing';
import type { Passing } from '../model/passing';
import type { Trace } from '../model/trace';
import { OPEN_ENTRY, Recorded, openPassing } from './open_calls';

const AHEAD = 16; // chunks

export interface Walk {
  from: number;
  to: number;
  ranks: number[]; // empty: all
  filter: Filter;
}

/** After each chunk: so many of so many are read. */
export type Progress = (read: number, of: number) => void | Promise<void>;

/** The first and the last one. */
export function rangeOf(trace: Trace, ranks: number[]): [number, number] {
  if (ranks.length === 0) return [0, trace.meta.ranks - 1];
  return [ranks.reduce((a, b) => Math.min(a, b)), ranks.reduce((a, b) => Math.max(a, b))];
}

/** Chunks in their order; begin: ask for one, who takes it asks again. */
export async function* ahead(
  entries: readonly Entry[],
  signal: AbortSignal,
  begin: (e: Entry) => Promise<unknown>,
): AsyncGenerator<Entry> {
  for (let at = 0; at < entries.length; at += AHEAD) {
    const part = entries.slice(at, at + AHEAD);
    for (const e of part) begin(e).catch(() => undefined); // who takes it hears of it
    for (const e of part) {
      signal.throwIfAborted();
      yield e;
    }
  }
}

/** Also those that ranks never came back from. withWaits: how long calls waited is wanted whatever the filter; entry: the chunk's number. */
export async function eachCall(
  trace: Trace,
  w: Walk,
  withWaits: boolean,
  signal: AbortSignal,
  take: (p: Passing, i: number, s: Segment, entry: number) => void,
  done: Progress,
): Promise<void> {
  const wanted = w.ranks.length > 0 ? new Set(w.ranks) : null;
  const entries = trace.eventEntries(w.from, w.to, ...rangeOf(trace, w.ranks));
  const isEarliest = earliestOf(entries);
  const takeAll = (p: Passing, entry: number, withCarried: boolean) => {
    const { start, duration, segments } = p.chunk;
    for (const s of segments) {
      if ((wanted && !wanted.has(s.rank)) || (s.carried && !withCarried)) continue;
      for (let i = s.first; i < s.first + s.count && start[i]! < w.to; i++)
        if (start[i]! + duration[i]! > w.from && p.passes(i, s)) take(p, i, s, entry);
    }
  };
  let read = 0;
  const recorded = new Recorded(trace);
  for await (const e of ahead(entries, signal, (next) => trace.events(next, signal))) {
    const p = await passingIn(trace, e, w.filter, withWaits, signal);
    recorded.see(p.chunk);
    takeAll(p, e.id, isEarliest(e));
    await done(++read, entries.length);
  }
  takeAll(openPassing(trace, w.filter, recorded), OPEN_ENTRY, false);
}

/** Messages from or to the ranks. */
export async function eachMessage(
  trace: Trace,
  w: Walk,
  signal: AbortSignal,
  take: (c: MessageChunk, i: number, e: Entry) => void,
  done: Progress,
): Promise<void> {
  const wanted = w.ranks.length > 0 ? new Set(w.ranks) : null;
  const entries = trace.messageEntries(w.from, w.to, ...rangeOf(trace, w.ranks));
  const passes = messageFilter(w.filter, trace.callSites);
  let read = 0;
  for await (const e of ahead(entries, signal, (next) => trace.messages(next, signal))) {
    const c = await trace.messages(e, signal);
    for (let i = 0; i < c.count; i++) {
      const [begin, end] = [c.sendStart[i]!, c.recvEnd[i]!]; // of an imported trace in either order
      if (Math.min(begin, end) >= w.to || Math.max(begin, end) <= w.from || !passes(c, i)) continue;
      if (!wanted || wanted.has(c.src[i]!) || wanted.has(c.dst[i]!)) take(c, i, e);
    }
    await done(++read, entries.length);
  }
}
