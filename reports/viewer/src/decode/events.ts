// events.ts - a chunk of calls: whose they are, which signatures they have, when they were.
import type { Clock } from './clock';
import type { Entry } from './layout';
import { rankOfLane } from './meta';
import type { Meta } from './meta';
import type { Reader } from './reader';
import { NOWHERE, emptySignatures, others } from './records';
import type { CollectiveNumber, EventChunk, Segment, Signatures, Sparse } from './records';

/** What the calls of a group refer to. */
export interface Context {
  meta: Meta;
  signatures: Signatures;
  clocks: Map<number, Clock>; // those of the group's lanes
}

interface Numbers {
  event: Uint32Array;
  comm: Uint32Array;
  k: Float64Array;
}

function placeOf(meta: Meta, lane: number): { lane: number; rank: number; thread: number } {
  const rank = rankOfLane(meta, lane);
  return { lane, rank, thread: lane - meta.firstLane[rank]! };
}

/** Those from `from` on whose events stand before `end`. */
function numbersOf({ event, comm, k }: Numbers, from: number, end: number): CollectiveNumber[] {
  const list: CollectiveNumber[] = [];
  for (let i = from; i < event.length && event[i]! < end; i++)
    list.push({ index: event[i]!, comm: comm[i]!, k: k[i]! });
  return list;
}

export function readEvents(reader: Reader, data: Uint8Array, entry: Entry, context: Context): EventChunk {
  const { meta, signatures, clocks } = context;
  const c = reader.chunk(entry, data, (to) => {
    to.giveSignatures(signatures.first);
    clocks.forEach((clock, id) => to.giveClock(id, clock.knots));
  });
  const [start, duration, signature] = [c.f64(), c.f64(), c.u32()];
  const carried = { lane: c.u32(), window: c.u32(), index: c.u32(), k: c.f64() };
  const runs = { lane: c.u32(), count: c.u32() };
  const numbers = { event: c.u32(), comm: c.u32(), k: c.f64() };
  const segments: Segment[] = [];
  carried.lane.forEach((lane, i) => {
    const place = { window: carried.window[i]!, index: carried.index[i]!, first: i, count: 1 };
    const own = [{ index: i, comm: signatures.comm[signature[i]!]!, k: carried.k[i]! }];
    segments.push({ ...placeOf(meta, lane), carried: true, ...place, numbers: own });
  });
  let [first, told] = [segments.length, 0];
  runs.lane.forEach((lane, i) => {
    const count = runs.count[i]!;
    const own = numbersOf(numbers, told, first + count);
    const place = { window: entry.seq, index: 0, first, count };
    segments.push({ ...placeOf(meta, lane), carried: false, ...place, numbers: own });
    told += own.length;
    first += count;
  });
  const calls: Sparse = { index: c.u32(), value: c.f64() };
  const bytes: Sparse = { index: c.u32(), value: c.f64() };
  const what = { start, duration, signature, signatures };
  return { count: start.length, segments, ...what, calls, bytes, threads: null, wait: null };
}

/** Version 1: each event has a signature of its own, for that is what it wrote. */
export function readEventsV1(reader: Reader, data: Uint8Array, entry: Entry): EventChunk {
  const c = reader.chunk(entry, data);
  const [start, duration] = [c.f64(), c.f64()];
  const count = start.length;
  const what = { op: c.u32(), class: c.u8(), callSite: c.i32(), comm: c.u32() };
  const threads = c.u32();
  const signatures = { ...emptySignatures(count), ...what, peer: c.i32(), tag: c.i32(), bytes: c.f64() };
  const [calls, wait] = [others(c.f64(), 1), others(c.f64(), 0)];
  const [ranks, carried, counts] = [c.u32(), c.u8(), c.u32()];
  const segments: Segment[] = [];
  let first = 0;
  ranks.forEach((rank, i) => {
    const nowhere = { thread: 0, lane: rank, window: NOWHERE, index: 0, numbers: [] };
    segments.push({ ...nowhere, rank, carried: carried[i] === 1, first, count: counts[i]! });
    first += counts[i]!;
  });
  const signature = Uint32Array.from({ length: count }, (_, i) => i);
  const none: Sparse = { index: new Uint32Array(0), value: new Float64Array(0) };
  return { count, segments, start, duration, signature, signatures, calls, bytes: none, threads, wait };
}
