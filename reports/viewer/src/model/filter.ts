// filter.ts - which calls and messages are shown: by operation, class, call site, communicator, size, rank, length, waiting. What
// is empty lets everything through. Pure.
import { bytesOf } from '../decode/records';
import type { EventChunk, MessageChunk } from '../decode/records';

export interface Filter {
  ops: string[]; // names
  classes: number[];
  sites: number[];
  comms: number[];
  ranks: number[]; // of a message: either end
  minBytes: number;
  maxBytes: number; // 0: any
  minNs: number;
  waits: boolean; // only calls that waited
}

export const NO_FILTER: Filter = {
  ops: [],
  classes: [],
  sites: [],
  comms: [],
  ranks: [],
  minBytes: 0,
  maxBytes: 0,
  minNs: 0,
  waits: false,
};

export function isFiltering(f: Filter): boolean {
  const lists = [f.ops, f.classes, f.sites, f.comms, f.ranks];
  return lists.some((x) => x.length > 0) || f.minBytes > 0 || f.maxBytes > 0 || f.minNs > 0 || f.waits;
}

/** Numbers, or all. */
function member(list: readonly number[]): (x: number) => boolean {
  if (list.length === 0) return () => true;
  const set = new Set(list);
  return (x) => set.has(x);
}

/** Calls of a chunk that pass, waiting aside: tested by the number of the event and its rank. */
export function eventFilter(
  f: Filter,
  chunk: EventChunk,
  ops: readonly string[],
): (i: number, rank: number) => boolean {
  const { signatures: of } = chunk;
  const byOp = f.ops.length === 0 ? () => true : member(f.ops.map((name) => ops.indexOf(name)));
  const [inClass, atSite, onComm, ofRank] = [f.classes, f.sites, f.comms, f.ranks].map(member);
  const passes = new Uint8Array(of.op.length); // 0: not asked yet, 1: no, 2: yes
  const signaturePasses = (s: number) =>
    byOp(of.op[s]!) && inClass!(of.class[s]!) && atSite!(of.callSite[s]!) && onComm!(of.comm[s]!);
  return (i, rank) => {
    const s = chunk.signature[i]!;
    if (passes[s] === 0) passes[s] = signaturePasses(s) ? 2 : 1;
    if (passes[s] === 1 || !ofRank!(rank) || chunk.duration[i]! < f.minNs) return false;
    if (f.minBytes === 0 && f.maxBytes === 0) return true;
    const bytes = bytesOf(chunk, i);
    return bytes >= f.minBytes && (f.maxBytes === 0 || bytes <= f.maxBytes);
  };
}

/** A message passes by its size, communicator, ranks and call sites: of calls it has no class of its own. */
export function messageFilter(f: Filter): (c: MessageChunk, i: number) => boolean {
  const [onComm, ofRank, atSite] = [f.comms, f.ranks, f.sites].map(member);
  return (c, i) =>
    onComm!(c.comm[i]!) &&
    (ofRank!(c.src[i]!) || ofRank!(c.dst[i]!)) &&
    (atSite!(c.sendCallSite[i]!) || atSite!(c.recvCallSite[i]!)) &&
    c.bytes[i]! >= f.minBytes &&
    (f.maxBytes === 0 || c.bytes[i]! <= f.maxBytes);
}
