// open_calls.ts - calls that ranks never came back from as a chunk of calls, of the same shape as those of the file: what lists, counts or
// adds up calls takes these too, from here. No event has them; they count to the end of their ranks, and are marked as open.
// In: the analysis.  Out: a chunk; which of its calls a filter lets through.
import { NOWHERE, emptySignatures, sparse } from '../decode/records';
import type { EventChunk, Segment } from '../decode/records';
import { openPasses } from '../model/filter';
import type { Filter } from '../model/filter';
import { opNumber } from '../model/open';
import type { Open } from '../model/open';
import type { Passing } from '../model/passing';
import type { Trace } from '../model/trace';

export const OPEN_ENTRY = NOWHERE; // in place of the number of a chunk of the file

const made = new WeakMap<EventChunk, readonly Open[]>();

/** Its calls, where a chunk has nothing else. */
export function opensIn(chunk: EventChunk): readonly Open[] | undefined {
  return made.get(chunk);
}

/** peerOf: the rank that stands as the peer of a call. */
export function chunkOf({ meta }: Trace, calls: readonly Open[], peerOf: (x: Open) => number): EventChunk {
  const each = Uint32Array.from(calls, (_, i) => i);
  return {
    count: calls.length,
    segments: [],
    start: Float64Array.from(calls, (x) => x.from),
    duration: Float64Array.from(calls, (x) => x.to - x.from),
    signature: each,
    signatures: {
      ...emptySignatures(calls.length),
      first: Uint32Array.of(0, calls.length),
      op: Uint32Array.from(calls, (x) => opNumber(meta, x.op)),
      class: Uint8Array.from(calls, (x) => x.class),
      callSite: Int32Array.from(calls, (x) => x.site),
      comm: Uint32Array.from(calls, (x) => x.comm),
      peer: Int32Array.from(calls, peerOf),
    },
    calls: sparse(),
    bytes: sparse(),
    threads: null,
    wait: null,
  };
}

const POINT_TO_POINT = 1;

/** All of a trace, by rank and thread. */
export function openChunk(trace: Trace): EventChunk {
  const ranks = [...trace.opens].sort((a, b) => a[0] - b[0]);
  const all = ranks.flatMap(([rank, calls]) =>
    [...calls].sort((a, b) => a.thread - b.thread).map((call) => ({ rank, call })),
  );
  const calls = all.map((x) => x.call);
  const chunk = chunkOf(trace, calls, (x) => (x.class === POINT_TO_POINT ? x.needs : -1));
  chunk.segments = all.map(({ rank, call: { thread } }, i): Segment => ({
    ...{ rank, thread, lane: trace.meta.firstLane[rank]! + thread, carried: false, numbers: [] },
    ...{ window: NOWHERE, index: i, first: i, count: 1 },
  }));
  made.set(chunk, calls);
  return chunk;
}

/** That of a thread; -1: it has none. */
export function openIndex(chunk: EventChunk, rank: number, thread: number): number {
  return chunk.segments.findIndex((s) => s.rank === rank && s.thread === thread);
}

const SAME_NS = 1; // times of the analysis are rounded

/** Which of them were recorded after all, a moment before their processes were killed: these count once. see() all chunks, then ask. */
export class Recorded {
  private readonly of = new Map<number, { from: number; op: string }>(); // by lane
  private readonly found = new Set<number>(); // lanes

  constructor(private readonly trace: Trace) {
    for (const [rank, calls] of trace.opens)
      for (const { thread, from, op } of calls) this.of.set(trace.meta.firstLane[rank]! + thread, { from, op });
  }

  see({ segments, start, signature, signatures }: EventChunk): void {
    if (this.of.size === 0) return;
    for (const { lane, first, count } of segments) {
      const open = this.of.get(lane);
      const last = first + count - 1;
      if (!open || count === 0 || Math.abs(start[last]! - open.from) > SAME_NS) continue;
      if (this.trace.meta.ops[signatures.op[signature[last]!]!] === open.op) this.found.add(lane);
    }
  }

  has(lane: number): boolean {
    return this.found.has(lane);
  }
}

/** Those that a filter lets through, as of passing.ts, but for those that were recorded. */
export function openPassing(trace: Trace, filter: Filter, recorded: Recorded): Passing {
  const chunk = openChunk(trace);
  const calls = opensIn(chunk)!;
  return {
    chunk,
    passes: (i, s) => !recorded.has(s.lane) && openPasses(filter, s.rank, calls[i]!),
    waitNs: (i) => (calls[i]!.waits ? chunk.duration[i]! : 0),
  };
}
