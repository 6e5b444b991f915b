// waited.ts - how long calls waited, by lane: wait states of some chunks, none over another.
import type { Entry } from '../decode/layout';
import { spansIn } from './spans';
import type { Spans } from './spans';
import type { Trace } from './trace';

interface Lane {
  from: number[]; // ns, ascending
  to: number[];
}

/** Spans of a lane in order, where one lies over another only what is new of it. */
function united(spans: [number, number][]): Lane {
  spans.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  const lane: Lane = { from: [], to: [] };
  let end = -Infinity;
  for (const [from, to] of spans) {
    if (to <= end) continue;
    const begin = Math.max(from, end);
    lane.from.push(begin);
    lane.to.push(to);
    end = to;
  }
  return lane;
}

/** The first span that ends behind a moment. */
function bisect(ends: number[], time: number): number {
  let low = 0;
  for (let high = ends.length; low < high;) {
    const middle = (low + high) >> 1;
    if (ends[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class Waited {
  private readonly lanes = new Map<number, Lane>();

  constructor(chunks: Spans[]) {
    const by = new Map<number, [number, number][]>();
    for (const s of chunks)
      for (let i = 0; i < s.count; i++) {
        const list = by.get(s.lane[i]!);
        if (list) list.push([s.from[i]!, s.to[i]!]);
        else by.set(s.lane[i]!, [[s.from[i]!, s.to[i]!]]);
      }
    for (const [lane, list] of by) this.lanes.set(lane, united(list));
  }

  /** How long a lane waited from one moment to another. */
  ns(lane: number, from: number, to: number): number {
    const spans = this.lanes.get(lane);
    if (!spans) return 0;
    let sum = 0;
    for (let k = bisect(spans.to, from); k < spans.from.length && spans.from[k]! < to; k++)
      sum += Math.min(to, spans.to[k]!) - Math.max(from, spans.from[k]!);
    return sum;
  }
}

/** Of the calls of a chunk. */
export async function waitedIn(trace: Trace, e: Entry, signal: AbortSignal): Promise<Waited> {
  const { groupRanks, ranks } = trace.meta;
  const last = Math.min(ranks, (e.group + 1) * groupRanks) - 1;
  const entries = trace.waitEntriesOf(e.start, e.end, e.group * groupRanks, last);
  return new Waited(await Promise.all(entries.map((w) => spansIn(trace, w, signal))));
}
