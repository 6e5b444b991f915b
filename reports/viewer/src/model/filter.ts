// filter.ts - which calls and messages are shown: by operation, class, call site, communicator, size, rank, length, waiting, time under
// way. What is empty lets everything through. Pure.
import { bytesOf } from '../decode/records';
import type { EventChunk, MessageChunk } from '../decode/records';
import type { Open } from './open';

export interface Filter {
  ops: string[]; // names
  classes: number[];
  sites: number[];
  comms: number[];
  ranks: number[]; // of a message: either end
  minBytes: number;
  maxBytes: number; // 0: any
  minNs: number;
  maxNs: number; // 0: any
  waits: boolean; // only calls that waited
  minWaitNs: number;
  maxWaitNs: number; // 0: any
  minTransitNs: number; // of messages, from the begin of the send to the end of the receive
  maxTransitNs: number; // 0: any
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
  maxNs: 0,
  waits: false,
  minWaitNs: 0,
  maxWaitNs: 0,
  minTransitNs: 0,
  maxTransitNs: 0,
};

export function isFiltering(f: Filter): boolean {
  const lists = [f.ops, f.classes, f.sites, f.comms, f.ranks];
  const limits = [f.minBytes, f.maxBytes, f.minNs, f.maxNs, f.minWaitNs, f.maxWaitNs, f.minTransitNs, f.maxTransitNs];
  return lists.some((x) => x.length > 0) || limits.some((x) => x > 0) || f.waits;
}

/** Whether it must be known how long calls waited. */
export function asksWaits(f: Filter): boolean {
  return f.waits || f.minWaitNs > 0 || f.maxWaitNs > 0;
}

export function waitPasses(f: Filter, ns: number): boolean {
  return (!f.waits || ns > 0) && ns >= f.minWaitNs && (f.maxWaitNs === 0 || ns <= f.maxWaitNs);
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
    if (f.maxNs > 0 && chunk.duration[i]! > f.maxNs) return false;
    if (f.minBytes === 0 && f.maxBytes === 0) return true;
    const bytes = bytesOf(chunk, i);
    return bytes >= f.minBytes && (f.maxBytes === 0 || bytes <= f.maxBytes);
  };
}

/** A call that a rank never came back from; what it would have moved is not known. */
export function openPasses(f: Filter, rank: number, x: Open): boolean {
  const [inClass, atSite, onComm, ofRank] = [f.classes, f.sites, f.comms, f.ranks].map(member);
  if (f.ops.length > 0 && !f.ops.includes(x.op)) return false;
  if (!inClass!(x.class) || !atSite!(x.site) || !onComm!(x.comm) || !ofRank!(rank)) return false;
  const length = x.to - x.from;
  if (length < f.minNs || (f.maxNs > 0 && length > f.maxNs) || f.minBytes > 0 || f.maxBytes > 0) return false;
  return !asksWaits(f) || waitPasses(f, x.waits ? length : 0);
}

/** What call sites call. */
type Sites = ReadonlyMap<number, { op: string }>;

const SENDS_AND_WAITS = [1, 2]; // classes of the calls that messages are made of

/** A message passes by its size, time under way, communicator, ranks, and by the operations at its two call sites. */
export function messageFilter(f: Filter, sites: Sites): (c: MessageChunk, i: number) => boolean {
  const [onComm, ofRank, atSite] = [f.comms, f.ranks, f.sites].map(member);
  const ops = new Set(f.ops);
  const hasClass = f.classes.length === 0 || f.classes.some((x) => SENDS_AND_WAITS.includes(x));
  const byOp = (site: number) => ops.size === 0 || ops.has(sites.get(site)?.op ?? '');
  return (c, i) => {
    const [send, receive] = [c.sendCallSite[i]!, c.recvCallSite[i]!];
    const under = c.recvEnd[i]! - c.sendStart[i]!;
    return (
      hasClass &&
      onComm!(c.comm[i]!) &&
      (ofRank!(c.src[i]!) || ofRank!(c.dst[i]!)) &&
      (atSite!(send) || atSite!(receive)) &&
      (byOp(send) || byOp(receive)) &&
      c.bytes[i]! >= f.minBytes &&
      (f.maxBytes === 0 || c.bytes[i]! <= f.maxBytes) &&
      (f.minTransitNs <= 0 || under >= f.minTransitNs) && // below 0: clocks of an imported trace that disagree
      (f.maxTransitNs === 0 || under <= f.maxTransitNs)
    );
  };
}
