// ends.ts - when the record of each rank ends: to a bin of the summary tiles of the whole run, which say when it was last in MPI.
// A rank without a record ends before it begins.
import { Kind } from '../decode/layout';
import { PLANES } from '../decode/tiles';
import { list, num, str } from '../model/analysis';
import type { Trace } from '../model/trace';

const TILES_MAX = 256;

const known = new WeakMap<Trace, Float64Array>();

/** By rank, ns; null: not known yet. */
export function endsOf(trace: Trace): Float64Array | null {
  return known.get(trace) ?? null;
}

export async function findEnds(trace: Trace): Promise<void> {
  const { meta } = trace;
  const ends = new Float64Array(meta.ranks).fill(Infinity);
  const tiles = trace.kind(Kind.Summary).filter((e) => e.level === 0 && e.rankLevel === 0);
  if (tiles.length <= TILES_MAX && meta.events > 0) {
    ends.fill(0);
    for (const e of tiles) {
      const tile = await trace.summary(e);
      for (let row = 0; row < tile.rows; row++) {
        const rank = e.group * meta.rows + row;
        if (rank < meta.ranks)
          ends[rank] = ((lastBin(tile.share, tile.rows, row, meta.bins) + 1) / meta.bins) * meta.runtime;
      }
    }
  }
  for (const x of list(trace.analysis, 'per_rank')) {
    const rank = num(x, 'rank') ?? -1;
    if (str(x, 'state') === 'missing' && rank >= 0 && rank < meta.ranks) ends[rank] = 0;
  }
  known.set(trace, ends);
}

function lastBin(share: Uint8Array, rows: number, row: number, bins: number): number {
  for (let bin = bins - 1; bin >= 0; bin--)
    for (let c = 0; c < PLANES; c++) if (share[(c * rows + row) * bins + bin]! > 0) return bin;
  return -1;
}
