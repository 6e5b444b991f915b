// top.ts - messages with all that is known of them, in twelve columns of varints: the largest of a tile; in version 1
// all.
import { Bytes, Damaged, allRead, columnsOf } from './bytes';
import type { Meta } from './meta';
import { RECORDS_MAX, emptyMessages } from './records';
import type { MessageChunk } from './records';

const COLUMNS = 12;

export function fill(out: { [i: number]: number }, count: number, read: () => number): void {
  for (let i = 0; i < count; i++) out[i] = read();
}

export function readTop(data: Uint8Array, meta: Meta): MessageChunk {
  const c = new Bytes(data);
  const count = c.varint();
  if (count > RECORDS_MAX || count * COLUMNS > c.left) throw new Damaged('too many messages');
  const columns = columnsOf(c, COLUMNS);
  const column = (k: number) => columns[k]!;
  const out = emptyMessages(count);
  let clock = 0;
  fill(out.sendStart, count, () => (clock += column(0).zigzag()));
  [out.sendEnd, out.recvStart, out.completionStart, out.recvEnd].forEach((times, k) => {
    for (let i = 0; i < count; i++) times[i] = out.sendStart[i]! + column(1 + k).zigzag();
  });
  fill(out.bytes, count, () => column(5).varint());
  fill(out.src, count, () => column(6).varint());
  fill(out.dst, count, () => column(7).varint());
  fill(out.tag, count, () => column(8).zigzag());
  fill(out.comm, count, () => column(9).varint());
  fill(out.sendCallSite, count, () => column(10).varint() - 1);
  fill(out.recvCallSite, count, () => column(11).varint() - 1);
  allRead(columns);
  for (let i = 0; i < count; i++)
    if (out.src[i]! >= meta.ranks || out.dst[i]! >= meta.ranks) throw new Damaged('impossible message');
  return out;
}
