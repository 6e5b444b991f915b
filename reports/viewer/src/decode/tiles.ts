// tiles.ts - summary tiles (shares of time) and flow tiles (sums between compute nodes).
import { Damaged } from './damaged';
import type { Entry } from './layout';
import type { Meta } from './meta';
import type { Reader } from './reader';

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

export function readFlow(reader: Reader, data: Uint8Array, entry: Entry): FlowTile {
  const c = reader.chunk(entry, data);
  return { src: c.u32(), dst: c.u32(), messages: c.f64(), bytes: c.f64() };
}
