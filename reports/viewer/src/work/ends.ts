// ends.ts - when the record of each rank ends: to a bin of the summary tiles of the whole run, which say when it was last in MPI.
// A rank without a record ends before it begins.
import { Damaged } from '../decode/damaged';
import { Kind } from '../decode/layout';
import type { Entry } from '../decode/layout';
import type { Meta } from '../decode/meta';
import { PLANES } from '../decode/tiles';
import type { SummaryTile } from '../decode/tiles';
import { list, num, str } from '../model/analysis';
import type { Trace } from '../model/trace';

const TILES_MAX = 256;

const known = new WeakMap<Trace, Float64Array>();
const underWay = new WeakMap<Trace, Promise<void>>();

/** By rank, ns; null: not known yet. */
export function endsOf(trace: Trace): Float64Array | null {
  return known.get(trace) ?? null;
}

/** Looks once; who comes later waits for the same. */
export function findEnds(trace: Trace): Promise<void> {
  const busy = underWay.get(trace) ?? readEnds(trace);
  underWay.set(trace, busy);
  return busy;
}

/** Of ranks whose tile is damaged nothing is known. */
async function summaryOf(trace: Trace, e: Entry): Promise<SummaryTile | null> {
  try {
    return await trace.summary(e);
  } catch (error) {
    if (error instanceof Damaged) return null;
    throw error;
  }
}

async function readEnds(trace: Trace): Promise<void> {
  const { meta } = trace;
  const ends = new Float64Array(meta.ranks).fill(Infinity);
  const tiles = trace.kind(Kind.Summary).filter((e) => e.level === 0 && e.rankLevel === 0);
  if (tiles.length <= TILES_MAX && meta.events > 0) {
    const covered = new Set(tiles.map((e) => e.group));
    for (let rank = 0; rank < meta.ranks; rank++) if (!covered.has(Math.floor(rank / meta.rows))) ends[rank] = 0;
    const read = await Promise.all(tiles.map((e) => summaryOf(trace, e))); // all at once: they lie together in the file
    tiles.forEach((e, i) => fillEnds(ends, trace.meta, e, read[i]!));
  }
  for (const x of list(trace.analysis, 'per_rank')) {
    const rank = num(x, 'rank') ?? -1;
    if (str(x, 'state') === 'missing' && rank >= 0 && rank < meta.ranks) ends[rank] = 0;
  }
  known.set(trace, ends);
}

function fillEnds(ends: Float64Array, meta: Meta, e: Entry, tile: SummaryTile | null): void {
  for (let row = 0; tile && row < tile.rows; row++) {
    const rank = e.group * meta.rows + row;
    if (rank < meta.ranks)
      ends[rank] = ((lastBin(tile.share, tile.rows, row, meta.bins) + 1) / meta.bins) * meta.runtime;
  }
}

function lastBin(share: Uint8Array, rows: number, row: number, bins: number): number {
  for (let bin = bins - 1; bin >= 0; bin--)
    for (let c = 0; c < PLANES; c++) if (share[(c * rows + row) * bins + bin]! > 0) return bin;
  return -1;
}
