// open_states.ts - calls that ranks never came back from in states of a run of which single calls are missing: behind the last window of
// those that were recorded, if any were, stands one more in which ranks enter these, one after the other by time.
// In: the analysis.  Out: a window as of cuts.ts; what a rank in such a call does.
import type { EventChunk } from '../decode/records';
import { linearise } from '../model/linear';
import type { Open } from '../model/open';
import { Doing } from '../model/snapshot';
import type { Snapshot } from '../model/snapshot';
import type { Trace } from '../model/trace';
import { Needs } from './needs';

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

/** As events are, as far as states ask. */
function chunkOf({ meta }: Trace, calls: readonly Open[]): EventChunk {
  const n = calls.length;
  const each = Uint32Array.from(calls, (_, i) => i);
  return {
    count: n,
    segments: [],
    start: Float64Array.from(calls, (x) => x.from),
    duration: Float64Array.from(calls, (x) => x.to - x.from),
    signature: each,
    signatures: {
      first: Uint32Array.of(0, n),
      op: Uint32Array.from(calls, (x) => Math.max(0, meta.ops.indexOf(x.op))),
      class: Uint8Array.from(calls, (x) => x.class),
      callSite: Int32Array.from(calls, (x) => x.site),
      comm: Uint32Array.from(calls, (x) => x.comm),
      peer: Int32Array.from(calls, (x) => x.needs),
      tag: new Int32Array(n),
      bytes: new Float64Array(n),
      messageBytes: new Float64Array(n),
      flags: new Uint8Array(n),
    },
    calls: { index: new Uint32Array(0), value: new Float64Array(0) },
    bytes: { index: new Uint32Array(0), value: new Float64Array(0) },
    threads: null,
    wait: null,
  };
}

/** at: its place among the windows; first: number of its first step; after: the end of all calls that were recorded. */
export function openWindow(trace: Trace, at: number, first: number, after: number) {
  const ofLane = opensAfter(trace, after);
  const laneFirst = new Uint32Array(trace.lanes + 1);
  for (let lane = 0; lane < trace.lanes; lane++) laneFirst[lane + 1] = laneFirst[lane]! + Number(!!ofLane[lane]);
  const opens = ofLane.filter((x) => x !== undefined);
  const lane = Uint32Array.from(ofLane.flatMap((x, k) => (x ? [k] : [])));
  const chunk = chunkOf(trace, opens);
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
  out.op[rank] = Math.max(0, trace.meta.ops.indexOf(open.op));
  out.class[rank] = open.class;
  out.comm[rank] = open.comm;
  out.site[rank] = open.site;
  out.since[rank] = open.from;
  out.until[rank] = open.to;
  if (open.needs >= 0) out.needs[rank] = [{ rank: open.needs, there: false }];
}
