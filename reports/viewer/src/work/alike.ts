// alike.ts - which ranks do the same: of the summary tiles that have a row for each rank, of the first thread of each, and of the calls
// that nobody came back from. Where nothing was recorded of a rank it is not known, which is nothing that those have who computed.
import { Kind } from '../decode/layout';
import { PLANES } from '../decode/tiles';
import { alikeOf } from '../model/alike';
import type { Alike, Doings } from '../model/alike';
import type { Trace } from '../model/trace';
import { endsOf, findEnds } from './ends';

const KINDS_MAX = 32; // have room as rows
const PARTS = 32; // of the run
const UNKNOWN = PLANES + 1; // 0 is outside MPI, then the classes
const THINGS = PLANES + 2;

/** Of parts of the run: how much of each lies between two moments, 0 to 1. */
function eachPart(
  runtime: number,
  parts: number,
  from: number,
  to: number,
  act: (part: number, share: number) => void,
) {
  const length = runtime / parts;
  for (let part = Math.max(0, Math.floor(from / length)); part < parts && part * length < to; part++)
    act(part, (Math.min(to, (part + 1) * length) - Math.max(from, part * length)) / length);
}

function addTiles(trace: Trace, d: Float32Array, parts: number): Promise<void[]> {
  const { bins, rows, ranks } = trace.meta;
  const tiles = trace.kind(Kind.Summary).filter((e) => e.level === 0 && e.rankLevel === 0);
  const read = tiles.map(async (e) => {
    const tile = await trace.summary(e);
    for (let row = 0; row < tile.rows && e.group * rows + row < ranks; row++)
      for (let c = 1; c <= PLANES; c++)
        for (let b = 0; b < bins; b++) {
          const at = ((e.group * rows + row) * parts + Math.floor((b * parts) / bins)) * THINGS + c;
          d[at]! += (tile.share[((c - 1) * tile.rows + row) * bins + b]! * parts) / bins;
        }
  });
  return Promise.all(read);
}

/** Calls that nobody came back from, and where the record of a rank ends, of what tiles have not. */
function addRest(trace: Trace, d: Float32Array, parts: number): void {
  const { meta, recordedUntil } = trace;
  const ends = endsOf(trace);
  for (let rank = 0; rank < meta.ranks; rank++) {
    const at = (part: number) => (rank * parts + part) * THINGS;
    const opens = (trace.opens.get(rank) ?? []).filter((x) => x.thread === 0);
    for (const { class: c, from, to } of opens)
      eachPart(meta.runtime, parts, from, to, (part, share) => (d[at(part) + c]! += 255 * share));
    const until = Math.min(recordedUntil[rank]!, Math.max(ends?.[rank] ?? Infinity, ...opens.map((x) => x.to)));
    eachPart(meta.runtime, parts, until, meta.runtime, (part, share) => (d[at(part) + UNKNOWN]! += 255 * share));
  }
}

/** null: single calls were not recorded, or the tiles are not in the part of the trace that is here. */
export async function alikeRanks(trace: Trace): Promise<Alike | null> {
  const { ranks, bins } = trace.meta;
  const tiles = trace.kind(Kind.Summary).filter((e) => e.level === 0 && e.rankLevel === 0);
  if (trace.meta.events === 0 || !tiles.every((e) => trace.isThere(e))) return null;
  const parts = Math.min(PARTS, bins);
  const shares = new Float32Array(ranks * parts * THINGS);
  await findEnds(trace);
  await addTiles(trace, shares, parts);
  addRest(trace, shares, parts);
  const doings: Doings = { ranks, parts, things: THINGS, share: new Uint8Array(shares.length) };
  for (let at = 0; at < shares.length; at += THINGS) {
    let known = 0;
    for (let c = 1; c < THINGS; c++) {
      doings.share[at + c] = Math.min(255 - known, Math.round(shares[at + c]!));
      known += doings.share[at + c]!;
    }
    doings.share[at] = 255 - known; // outside MPI
  }
  return alikeOf(doings, KINDS_MAX);
}
