// open_states.ts - calls that ranks never came back from in states of a run of which single calls are missing: behind the last window of
// those that were recorded, if any were, stands one more in which ranks enter these, one after the other by time.
// In: the analysis.  Out: a window as of cuts.ts; what a rank in such a call does.
import { linearise } from '../model/linear';
import { opNumber } from '../model/open';
import type { Open } from '../model/open';
import { Doing } from '../model/snapshot';
import type { Snapshot } from '../model/snapshot';
import type { Trace } from '../model/trace';
import { Needs } from './needs';
import { chunkOf } from './open_calls';

/** Whether there is such a window. */
export function hasOpenWindow(trace: Trace): boolean {
  return trace.opens.size > 0 && trace.recordedUntil.some((ns) => ns < Infinity);
}

/** By lane: calls that began after a moment. */
function opensAfter({ opens, lanes, meta }: Trace, after: number): (Open | undefined)[] {
  const found = new Array<Open | undefined>(lanes);
  for (const [rank, calls] of opens)
    for (const call of calls) {
      const lane = meta.firstLane[rank]! + call.thread;
      if (call.from > after && lane < meta.firstLane[rank + 1]!) found[lane] = call;
    }
  return found;
}

/** at: its place among the windows; first: number of its first step; after: the end of all calls that were recorded. */
export function openWindow(trace: Trace, at: number, first: number, after: number) {
  const ofLane = opensAfter(trace, after);
  const laneFirst = new Uint32Array(trace.lanes + 1);
  for (let lane = 0; lane < trace.lanes; lane++) laneFirst[lane + 1] = laneFirst[lane]! + Number(!!ofLane[lane]);
  const opens = ofLane.filter((x) => x !== undefined);
  const lane = Uint32Array.from(ofLane.flatMap((x, k) => (x ? [k] : [])));
  const chunk = chunkOf(trace, opens, (x) => x.needs);
  const none = new Uint32Array(opens.length);
  const needs = new Needs(trace.meta, { window: none, lane, index: chunk.signature }, laneFirst, at);
  const problem = {
    laneFirst,
    start: chunk.start,
    end: new Float64Array(opens.length).fill(Infinity),
    entered: new Uint8Array(opens.length),
    since: after,
    until: Number.MAX_VALUE,
    ...needs.table(),
    group: new Int32Array(opens.length).fill(-1),
    waits: new Uint8Array(opens.length),
    groupCount: 0,
    parts: none,
    size: none,
  };
  const order = linearise(problem);
  const ofChunk = { part: none, event: chunk.signature, chunks: [chunk] };
  return { at, first, problem, order, lane, ...ofChunk, collectives: [], needs, opens };
}

/** In its last call for ever, for others or not: not dead, but ended there. A thread that waits before one that may not. */
export function putOpen(trace: Trace, calls: readonly Open[], rank: number, out: Snapshot): void {
  const open = calls.find((x) => x.waits) ?? calls[0]!;
  out.doing[rank] = open.waits ? Doing.Waits : Doing.Blocking;
  out.open[rank] = true;
  out.op[rank] = opNumber(trace.meta, open.op);
  out.class[rank] = open.class;
  out.comm[rank] = open.comm;
  out.site[rank] = open.site;
  out.since[rank] = open.from;
  out.until[rank] = open.to;
  if (open.needs >= 0) out.needs[rank] = [{ rank: open.needs, there: false }];
}
