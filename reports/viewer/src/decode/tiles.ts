// tiles.ts - summary tiles (shares of time) and flow tiles (sums between compute nodes).
import { Bytes, Damaged } from './bytes';
import type { Entry } from './layout';
import type { Meta } from './meta';

export const PLANES = 7; // classes 1..7; what is left of a bin is time outside MPI

export interface SummaryTile {
  rows: number;
  share: Uint8Array; // [plane][row][bin], 255 = the whole bin
}

export interface FlowTile {
  src: Uint32Array; // points, as meta.flowOf numbers them
  dst: Uint32Array;
  messages: Float64Array;
  bytes: Float64Array;
}

export function readSummary(data: Uint8Array, meta: Meta, entry: Entry): SummaryTile {
  if (entry.records > meta.rows || data.length !== PLANES * entry.records * meta.bins)
    throw new Damaged('a summary tile has the wrong size');
  return { rows: entry.records, share: data };
}

export function readFlow(data: Uint8Array, meta: Meta): FlowTile {
  const c = new Bytes(data);
  const count = c.varint();
  const nodes = meta.flowPoints;
  if (count > nodes * nodes || count * 4 > c.left) throw new Damaged('too many pairs');
  const out = {
    src: new Uint32Array(count),
    dst: new Uint32Array(count),
    messages: new Float64Array(count),
    bytes: new Float64Array(count),
  };
  for (let i = 0; i < count; i++) {
    out.src[i] = c.varint();
    out.dst[i] = c.varint();
    out.messages[i] = c.varint();
    out.bytes[i] = c.varint();
    if (out.src[i]! >= nodes || out.dst[i]! >= nodes) throw new Damaged('impossible pair');
  }
  if (c.left > 0) throw new Damaged('there are bytes after the flows');
  return out;
}
