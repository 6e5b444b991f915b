// records.ts - event and message chunks: twelve columns of varints each become typed arrays.
import { Bytes, Damaged } from './bytes';
import type { Meta } from './layout';

const COLUMNS = 12;
const RECORDS_MAX = 1 << 22;
const SEGMENTS_MAX = 1 << 20;
const CLASSES = 8;

export interface Segment {
  rank: number;
  carried: boolean; // began before this chunk and is repeated here
  first: number;
  count: number;
}

export interface EventChunk {
  count: number;
  segments: Segment[];
  rank: Uint32Array;
  start: Float64Array; // ns
  duration: Float64Array; // ns
  op: Uint32Array;
  class: Uint8Array;
  callSite: Int32Array; // -1: none
  comm: Uint32Array;
  thread: Uint32Array;
  peer: Int32Array; // -1 none, -2 MPI_PROC_NULL
  tag: Int32Array;
  bytes: Float64Array;
  calls: Float64Array;
  wait: Float64Array; // ns
}

export interface MessageChunk {
  count: number;
  sendStart: Float64Array; // ns, all five
  sendEnd: Float64Array;
  recvStart: Float64Array; // of the call that starts the receive
  completionStart: Float64Array; // of the call that completes it
  recvEnd: Float64Array;
  bytes: Float64Array;
  src: Uint32Array;
  dst: Uint32Array;
  tag: Int32Array;
  comm: Uint32Array;
  sendCallSite: Int32Array;
  recvCallSite: Int32Array;
}

function splitColumns(c: Bytes): Bytes[] {
  const lengths = Array.from({ length: COLUMNS }, () => c.varint());
  return lengths.map((length) => new Bytes(c.slice(length)));
}

function readSegments(c: Bytes, meta: Meta, group: number): { segments: Segment[]; bins: number[]; count: number } {
  const n = c.varint();
  if (n > SEGMENTS_MAX) throw new Damaged('too many segments');
  const segments: Segment[] = [];
  const bins: number[] = [];
  let count = 0;
  for (let i = 0; i < n; i++) {
    const row = c.varint();
    const flags = c.varint();
    bins.push(c.varint());
    const segment = {
      rank: group * meta.groupRanks + row,
      carried: (flags & 1) === 1,
      first: count,
      count: c.varint(),
    };
    count += segment.count;
    if (row >= meta.groupRanks || segment.rank >= meta.ranks || count > RECORDS_MAX)
      throw new Damaged('impossible segment');
    segments.push(segment);
  }
  return { segments, bins, count };
}

function emptyEvents(count: number, segments: Segment[]): EventChunk {
  return {
    count,
    segments,
    rank: new Uint32Array(count),
    start: new Float64Array(count),
    duration: new Float64Array(count),
    op: new Uint32Array(count),
    class: new Uint8Array(count),
    callSite: new Int32Array(count),
    comm: new Uint32Array(count),
    thread: new Uint32Array(count),
    peer: new Int32Array(count),
    tag: new Int32Array(count),
    bytes: new Float64Array(count),
    calls: new Float64Array(count),
    wait: new Float64Array(count),
  };
}

function readTimes(out: EventChunk, bins: number[], starts: Bytes, durations: Bytes, segmentNs: number): void {
  out.segments.forEach((segment, n) => {
    let clock = bins[n]! * segmentNs;
    for (let i = segment.first; i < segment.first + segment.count; i++) {
      out.rank[i] = segment.rank;
      out.start[i] = clock + starts.zigzag();
      out.duration[i] = durations.varint();
      clock = out.start[i]! + out.duration[i]!;
    }
  });
}

function fill(out: { [i: number]: number }, count: number, read: () => number): void {
  for (let i = 0; i < count; i++) out[i] = read();
}

export function readEvents(data: Uint8Array, meta: Meta, group: number): EventChunk {
  const c = new Bytes(data);
  const { segments, bins, count } = readSegments(c, meta, group);
  const [start, duration, op, cls, callSite, comm, thread, peer, tag, bytes, calls, wait] = splitColumns(c) as [
    Bytes,
    Bytes,
    Bytes,
    Bytes,
    Bytes,
    Bytes,
    Bytes,
    Bytes,
    Bytes,
    Bytes,
    Bytes,
    Bytes,
  ];
  const out = emptyEvents(count, segments);
  readTimes(out, bins, start, duration, meta.segmentNs);
  fill(out.op, count, () => op.varint());
  fill(out.class, count, () => cls.varint());
  fill(out.callSite, count, () => callSite.varint() - 1);
  fill(out.comm, count, () => comm.varint());
  fill(out.thread, count, () => thread.varint());
  fill(out.peer, count, () => peer.zigzag());
  fill(out.tag, count, () => tag.zigzag());
  fill(out.bytes, count, () => bytes.varint());
  fill(out.calls, count, () => calls.varint());
  fill(out.wait, count, () => wait.varint());
  for (let i = 0; i < count; i++)
    if (out.class[i]! >= CLASSES || out.op[i]! >= meta.ops.length) throw new Damaged('impossible event');
  return out;
}

function emptyMessages(count: number): MessageChunk {
  return {
    count,
    sendStart: new Float64Array(count),
    sendEnd: new Float64Array(count),
    recvStart: new Float64Array(count),
    completionStart: new Float64Array(count),
    recvEnd: new Float64Array(count),
    bytes: new Float64Array(count),
    src: new Uint32Array(count),
    dst: new Uint32Array(count),
    tag: new Int32Array(count),
    comm: new Uint32Array(count),
    sendCallSite: new Int32Array(count),
    recvCallSite: new Int32Array(count),
  };
}

export function readMessages(data: Uint8Array, meta: Meta): MessageChunk {
  const c = new Bytes(data);
  const count = c.varint();
  if (count > RECORDS_MAX) throw new Damaged('too many messages');
  const column = splitColumns(c);
  const out = emptyMessages(count);
  let clock = 0;
  fill(out.sendStart, count, () => (clock += column[0]!.zigzag()));
  [out.sendEnd, out.recvStart, out.completionStart, out.recvEnd].forEach((times, k) => {
    for (let i = 0; i < count; i++) times[i] = out.sendStart[i]! + column[1 + k]!.zigzag();
  });
  fill(out.bytes, count, () => column[5]!.varint());
  fill(out.src, count, () => column[6]!.varint());
  fill(out.dst, count, () => column[7]!.varint());
  fill(out.tag, count, () => column[8]!.zigzag());
  fill(out.comm, count, () => column[9]!.varint());
  fill(out.sendCallSite, count, () => column[10]!.varint() - 1);
  fill(out.recvCallSite, count, () => column[11]!.varint() - 1);
  for (let i = 0; i < count; i++)
    if (out.src[i]! >= meta.ranks || out.dst[i]! >= meta.ranks) throw new Damaged('impossible message');
  return out;
}
