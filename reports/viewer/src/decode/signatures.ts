// signatures.ts - what the calls of one rank group were.
import { Bytes, Damaged, allRead, columnsOf } from './bytes';
import type { Meta } from './meta';
import { CLASSES, emptySignatures } from './records';
import type { Signatures } from './records';

const COLUMNS = 9;
const SIGNATURES_MAX = 1 << 23; // of a rank group

/** A group that made no call has no chunk. */
export function noSignatures(meta: Meta): Signatures {
  return { ...emptySignatures(0), first: new Uint32Array(meta.groupRanks + 1) };
}

function readPeer(c: Bytes, rank: number, ranks: number): number {
  const value = c.varint();
  if (value < 2) return -1 - value;
  const distance = value % 2 === 0 ? (value - 2) / 2 : -(value - 1) / 2;
  const peer = rank + distance;
  if (peer < 0 || peer >= ranks) throw new Damaged('impossible peer');
  return peer;
}

function int32(value: number): number {
  if (value !== (value | 0)) throw new Damaged('a number is too large');
  return value;
}

function uint32(value: number): number {
  if (value > 0xffffffff) throw new Damaged('a number is too large');
  return value;
}

export function readSignatures(data: Uint8Array, meta: Meta, group: number): Signatures {
  const c = new Bytes(data);
  const firstRank = group * meta.groupRanks;
  const ranks = Math.min(meta.groupRanks, meta.ranks - firstRank);
  if (ranks < 1) throw new Damaged('there is no such group');
  const first = new Uint32Array(meta.groupRanks + 1);
  for (let r = 0; r < ranks; r++) {
    const next = first[r]! + c.varint();
    if (next > SIGNATURES_MAX) throw new Damaged('too many signatures');
    first[r + 1] = next;
  }
  const count = first[ranks]!;
  first.fill(count, ranks);
  if (count * COLUMNS > c.left) throw new Damaged('too few bytes for the signatures'); // before memory is taken
  const columns = columnsOf(c, COLUMNS);
  const [op, cls, site, comm, peer, tag, bytes, messageBytes, flags] = columns;
  const of = { ...emptySignatures(count), first };
  for (let r = 0; r < ranks; r++)
    for (let i = first[r]!; i < first[r + 1]!; i++) {
      const number = op!.varint();
      const kind = cls!.varint();
      const flag = flags!.varint();
      if (number >= meta.ops.length || kind >= CLASSES || flag > 0xff) throw new Damaged('impossible signature');
      of.op[i] = number;
      of.class[i] = kind;
      of.flags[i] = flag;
      of.callSite[i] = int32(site!.varint() - 1);
      of.comm[i] = uint32(comm!.varint());
      of.peer[i] = readPeer(peer!, firstRank + r, meta.ranks);
      of.tag[i] = int32(tag!.zigzag());
      of.bytes[i] = bytes!.varint();
      of.messageBytes[i] = messageBytes!.varint();
    }
  allRead(columns);
  return of;
}
