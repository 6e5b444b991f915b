// records.ts - what chunks of calls and of messages become, whatever the version of the file: typed arrays.
import type { Entry } from './layout';
import type { Reader } from './reader';

export const RECORDS_MAX = 1 << 22; // events or messages of one chunk
export const NOWHERE = 0xffffffff; // in place of a window: there is no such event

/** What calls were. */
export interface Signatures {
  first: Uint32Array; // by rank of the group, and at the end their number: an id counts within its rank
  op: Uint32Array;
  class: Uint8Array;
  callSite: Int32Array; // -1: none
  comm: Uint32Array;
  peer: Int32Array; // world rank; -1 none, -2 MPI_PROC_NULL
  tag: Int32Array;
  bytes: Float64Array; // that a call moves
  messageBytes: Float64Array; // of the message that it sends, or that what it prepares sends
  flags: Uint8Array; // bits of Flag
}

export const enum Flag {
  Collective = 1,
  Polls = 2,
}

/** A number that few events have: index ascends. */
export interface Sparse {
  index: Uint32Array;
  value: Float64Array;
}

/** From event `index` of the chunk on, parts of collectives on comm are the k-th, k + 1-th, ...; -1: not known. */
export interface CollectiveNumber {
  index: number;
  comm: number;
  k: number;
}

/** Events in a row of one lane, a thread of a rank. Their starts ascend. */
export interface Segment {
  rank: number;
  thread: number;
  lane: number;
  carried: boolean; // began before this chunk and is repeated here
  window: number; // in which they start; NOWHERE in version 1
  index: number; // of the first in its window and lane
  first: number; // in the chunk
  count: number;
  numbers: CollectiveNumber[];
}

export interface EventChunk {
  count: number;
  segments: Segment[];
  start: Float64Array; // ns
  duration: Float64Array; // ns
  signature: Uint32Array; // number in signatures
  signatures: Signatures;
  calls: Sparse; // unsuccessful tests that an event stands for; else 1
  bytes: Sparse; // that it moved; else those of the signature
  threads: Uint32Array | null; // of each event, version 1; in version 2 segments say it
  wait: Sparse | null; // ns, version 1; in version 2 they are chunks of their own
}

/** An event of a chunk. */
export interface EventRef {
  chunk: EventChunk;
  index: number;
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

export function emptySignatures(count: number): Signatures {
  return {
    first: new Uint32Array(0),
    op: new Uint32Array(count),
    class: new Uint8Array(count),
    callSite: new Int32Array(count),
    comm: new Uint32Array(count),
    peer: new Int32Array(count),
    tag: new Int32Array(count),
    bytes: new Float64Array(count),
    messageBytes: new Float64Array(count),
    flags: new Uint8Array(count),
  };
}

export function emptyMessages(count: number): MessageChunk {
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

export function sparse(index: number[] = [], value: number[] = []): Sparse {
  return { index: Uint32Array.from(index), value: Float64Array.from(value) };
}

/** The numbers of a column that are not the usual one. */
export function others(column: Float64Array, usual: number): Sparse {
  const index: number[] = [];
  column.forEach((x, i) => void (x !== usual && index.push(i)));
  return sparse(
    index,
    index.map((i) => column[i]!),
  );
}

/** Messages with all that is known of them: the largest of a tile; in version 1 all. */
export function readMessages(reader: Reader, data: Uint8Array, entry: Entry): MessageChunk {
  const c = reader.chunk(entry, data);
  const [sendStart, sendEnd, recvStart, completionStart, recvEnd] = [c.f64(), c.f64(), c.f64(), c.f64(), c.f64()];
  const times = { sendStart, sendEnd, recvStart, completionStart, recvEnd };
  const what = { bytes: c.f64(), src: c.u32(), dst: c.u32(), tag: c.i32(), comm: c.u32() };
  return { count: sendStart.length, ...times, ...what, sendCallSite: c.i32(), recvCallSite: c.i32() };
}

/** The value of event i, or what the others have. */
export function valueOf(s: Sparse, i: number, usual: number): number {
  let low = 0;
  for (let high = s.index.length; low < high;) {
    const middle = (low + high) >> 1;
    if (s.index[middle]! < i) low = middle + 1;
    else high = middle;
  }
  return s.index[low] === i ? s.value[low]! : usual;
}

export function callsOf(c: EventChunk, i: number): number {
  return valueOf(c.calls, i, 1);
}

export function bytesOf(c: EventChunk, i: number): number {
  return valueOf(c.bytes, i, c.signatures.bytes[c.signature[i]!]!);
}

/** The segment that event i is in. */
export function segmentOf(c: EventChunk, i: number): Segment {
  let low = 0;
  for (let high = c.segments.length; high - low > 1;) {
    const middle = (low + high) >> 1;
    if (c.segments[middle]!.first <= i) low = middle;
    else high = middle;
  }
  return c.segments[low]!;
}

export function threadOf(c: EventChunk, i: number): number {
  return c.threads ? c.threads[i]! : segmentOf(c, i).thread;
}

/** Which collective on its communicator event i is a part of, from 0: the same for all its parts.
 * -1: none, or not known. */
export function collectiveOf(c: EventChunk, i: number): number {
  const { flags, comm } = c.signatures;
  const on = comm[c.signature[i]!]!;
  if ((flags[c.signature[i]!]! & Flag.Collective) === 0) return -1;
  let found: CollectiveNumber | null = null;
  for (const n of segmentOf(c, i).numbers) if (n.comm === on && n.index <= i) found = n;
  if (!found || found.k < 0) return -1;
  let k = found.k;
  for (let at = found.index; at < i; at++) {
    const s = c.signature[at]!;
    if ((flags[s]! & Flag.Collective) !== 0 && comm[s] === on) k++;
  }
  return k;
}
