// search.ts - the next call, forward or back, that a filter lets through, and how many there are: "MPI_Allreduce longer than 1 ms
// on ranks 3-9". Reads window after window from the moment given; counting goes on to the end and can be given up.
import type { Entry } from '../decode/layout';
import type { EventChunk } from '../decode/records';
import { eventFilter } from '../model/filter';
import type { Filter } from '../model/filter';
import type { EventThing } from '../model/picked';
import { spansIn } from '../model/spans';
import type { Spans } from '../model/spans';
import type { Trace } from '../model/trace';
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

function waited(spans: Map<number, Spans[]>, lane: number, from: number, to: number): boolean {
  for (const s of spans.get(lane) ?? [])
    for (let i = 0; i < s.count; i++) if (s.lane[i] === lane && s.from[i]! >= from && s.to[i]! <= to) return true;
  return false;
}

async function spansFor(trace: Trace, e: Entry, signal: AbortSignal): Promise<Map<number, Spans[]>> {
  const by = new Map<number, Spans[]>();
  const { groupRanks, ranks } = trace.meta;
  const last = Math.min(ranks, (e.group + 1) * groupRanks) - 1;
  for (const w of trace.waitEntriesOf(e.start, e.end, e.group * groupRanks, last)) {
    const spans = await spansIn(trace, w, signal);
    for (const lane of new Set(spans.lane.subarray(0, spans.count))) by.set(lane, [...(by.get(lane) ?? []), spans]);
  }
  return by;
}

async function hitsIn(trace: Trace, e: Entry, filter: Filter, signal: AbortSignal): Promise<Hit[]> {
  const chunk = await trace.events(e, signal);
  const passes = eventFilter(filter, chunk, trace.meta.ops);
  const spans = filter.waits ? await spansFor(trace, e, signal) : null;
  const hits: Hit[] = [];
  for (const s of chunk.segments) {
    if (s.carried) continue;
    for (let i = s.first; i < s.first + s.count; i++) {
      const start = chunk.start[i]!;
      if (!passes(i, s.rank) || (spans && !waited(spans, s.lane, start, start + chunk.duration[i]!))) continue;
      hits.push({ chunk, index: i, start, rank: s.rank });
    }
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
  let best: Hit | null = null;
  let said = false;
  for (const [, list] of q.forward ? windows : [...windows].reverse()) {
    for (const e of list)
      for (const hit of await hitsIn(trace, e, q.filter, signal)) {
        found.total++;
        if (isBefore(hit, q.from)) found.before++;
        const ahead = q.forward ? isBefore(q.from, hit) : isBefore(hit, q.from);
        if (ahead && (!best || (q.forward ? isBefore(hit, best) : isBefore(best, hit)))) best = hit;
      }
    signal.throwIfAborted();
    if (best && !said) {
      said = true;
      say({ ...found, thing: eventThing(trace, best) });
    }
  }
  return { ...found, thing: best && eventThing(trace, best), counted: true };
}
