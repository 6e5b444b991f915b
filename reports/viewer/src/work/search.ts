// search.ts - the next call, forward or back, that a filter lets through, and how many there are: "MPI_Allreduce longer than 1 ms
// on ranks 3-9". Reads window after window from the moment given; counting goes on to the end and can be given up.
import type { Entry } from '../decode/layout';
import type { EventChunk } from '../decode/records';
import type { Filter } from '../model/filter';
import type { EventThing } from '../model/picked';
import { passingIn } from '../model/passing';
import type { Passing } from '../model/passing';
import type { Trace } from '../model/trace';
import { Recorded, openPassing } from './open_calls';
import { eventThing } from './things';

export interface SearchQuery {
  filter: Filter;
  from: { start: number; rank: number }; // the hit before; start -Infinity or Infinity at the ends
  forward: boolean;
}

export interface Found {
  thing: EventThing | null;
  before: number; // hits before it, of those counted
  total: number;
  counted: boolean; // all of them
}

interface Hit {
  chunk: EventChunk;
  index: number;
  start: number;
  rank: number;
}

const isBefore = (a: { start: number; rank: number }, b: { start: number; rank: number }) =>
  a.start < b.start || (a.start === b.start && a.rank < b.rank);

function hitsIn({ chunk, passes }: Passing): Hit[] {
  const hits: Hit[] = [];
  for (const s of chunk.segments) {
    if (s.carried) continue;
    for (let i = s.first; i < s.first + s.count; i++)
      if (passes(i, s)) hits.push({ chunk, index: i, start: chunk.start[i]!, rank: s.rank });
  }
  return hits;
}

export async function search(
  trace: Trace,
  q: SearchQuery,
  signal: AbortSignal,
  say: (f: Found) => void,
): Promise<Found> {
  const { ranks } = q.filter;
  const [first, last] = ranks.length > 0 ? [Math.min(...ranks), Math.max(...ranks)] : [0, trace.meta.ranks - 1];
  const entries = trace.eventEntries(-Infinity, Infinity, first, last).sort((a, b) => a.seq - b.seq);
  const windows = new Map<number, Entry[]>();
  for (const e of entries) windows.set(e.seq, [...(windows.get(e.seq) ?? []), e]);
  const found: Found = { thing: null, before: 0, total: 0, counted: false };
  let best = null as Hit | null;
  /** Whether one of them lies ahead. */
  const aim = (hits: Hit[]): boolean => {
    let any = false;
    for (const hit of hits) {
      const ahead = q.forward ? isBefore(q.from, hit) : isBefore(hit, q.from);
      any ||= ahead;
      if (ahead && (!best || (q.forward ? isBefore(hit, best) : isBefore(best, hit)))) best = hit;
    }
    return any;
  };
  const countAll = (hits: Hit[]) => {
    found.total += hits.length;
    for (const hit of hits) if (isBefore(hit, q.from)) found.before++;
  };
  const recorded = new Recorded(trace);
  aim(hitsIn(openPassing(trace, q.filter, recorded))); // in no window
  let said = false;
  for (const [, list] of q.forward ? windows : [...windows].reverse()) {
    let any = false;
    for (const e of list) {
      const p = await passingIn(trace, e, q.filter, false, signal);
      recorded.see(p.chunk);
      const hits = hitsIn(p);
      countAll(hits);
      any = aim(hits) || any;
    }
    signal.throwIfAborted();
    if (any && best && !said) {
      said = true;
      say({ ...found, thing: eventThing(trace, best) });
    }
  }
  countAll(hitsIn(openPassing(trace, q.filter, recorded)));
  return { ...found, thing: best && eventThing(trace, best), counted: true };
}
