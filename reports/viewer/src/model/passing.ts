// passing.ts - the calls of a chunk that a filter lets through, with how long they waited where that matters.
import { valueOf } from '../decode/records';
import type { EventChunk, Segment } from '../decode/records';
import type { Entry } from '../decode/layout';
import { asksWaits, eventFilter, waitPasses } from './filter';
import type { Filter } from './filter';
import type { Trace } from './trace';
import { waitedIn } from './waited';

export interface Passing {
  chunk: EventChunk;
  passes(i: number, segment: Segment): boolean;
  /** 0 where it was not asked for. */
  waitNs(i: number, segment: Segment): number;
}

/** withWaits: waitNs is wanted whatever the filter. */
export async function passingIn(
  trace: Trace,
  e: Entry,
  filter: Filter,
  withWaits: boolean,
  signal: AbortSignal,
): Promise<Passing> {
  const chunk = await trace.events(e, signal);
  const test = eventFilter(filter, chunk, trace.meta.ops);
  const asks = asksWaits(filter);
  const waited = (asks || withWaits) && trace.version > 1 ? await waitedIn(trace, e, signal) : null;
  const waitNs = (i: number, s: Segment) => {
    if (chunk.wait) return valueOf(chunk.wait, i, 0);
    return waited?.ns(s.lane, chunk.start[i]!, chunk.start[i]! + chunk.duration[i]!) ?? 0;
  };
  return {
    chunk,
    waitNs,
    passes: (i, s) => test(i, s.rank) && (!asks || waitPasses(filter, waitNs(i, s))),
  };
}

/** Of some chunks of calls by their group the first: calls that go on from before count only there. */
export function earliestOf(entries: Entry[]): (e: Entry) => boolean {
  const first = new Map<number, number>();
  for (const e of entries) first.set(e.group, Math.min(e.seq, first.get(e.group) ?? Infinity));
  return (e) => first.get(e.group) === e.seq;
}
