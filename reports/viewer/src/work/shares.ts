// shares.ts - the mean share of all ranks' time in MPI over an interval, in bins: of summary tiles.
import { Kind } from '../decode/layout';
import { PLANES } from '../decode/tiles';
import type { Trace } from '../model/trace';

export interface SharesQuery {
  from: number; // ns
  to: number;
  bins: number;
}

const TILES_MAX = 64;
const FINER = 4; // bins of tiles than those asked for

/** By bin; NaN outside of the run. */
export async function sharesOf(trace: Trace, q: SharesQuery, signal: AbortSignal): Promise<Float32Array> {
  const { runtime, bins, timeLevels, rankLevels } = trace.meta;
  const wanted = ((runtime / (q.to - q.from)) * q.bins * FINER) / bins;
  const level = Math.max(0, Math.min(timeLevels - 1, Math.ceil(Math.log2(Math.max(1, wanted)))));
  const width = runtime / 2 ** level;
  const of = (seq: number) =>
    trace.kind(Kind.Summary).filter((e) => e.level === level && e.rankLevel === rankLevels - 1 && e.seq === seq);
  const means = new Map<number, Float32Array>(); // by tile
  const first = Math.max(0, Math.floor(q.from / width));
  const last = Math.min(2 ** level - 1, Math.floor(q.to / width), first + TILES_MAX);
  for (let seq = first; seq <= last; seq++) {
    const sum = new Float32Array(bins);
    let rows = 0;
    for (const e of of(seq)) {
      const tile = await trace.summary(e, signal);
      rows += tile.rows;
      for (let k = 0; k < PLANES * tile.rows; k++)
        for (let b = 0; b < bins; b++) sum[b]! += tile.share[k * bins + b]! / 255;
    }
    means.set(
      seq,
      sum.map((x) => x / Math.max(1, rows)),
    );
  }
  /** Mean of what the tiles have between two moments. */
  const between = (from: number, to: number): number => {
    let [sum, weight] = [0, 0];
    const bin = width / bins;
    for (let b = Math.floor(from / bin); b * bin < to; b++) {
      const part = Math.min(to, (b + 1) * bin) - Math.max(from, b * bin);
      sum += part * (means.get(Math.floor(b / bins))?.[b % bins] ?? 0);
      weight += part;
    }
    return sum / weight;
  };
  const step = (q.to - q.from) / q.bins;
  return Float32Array.from({ length: q.bins }, (_, i) => {
    const [from, to] = [Math.max(0, q.from + i * step), Math.min(runtime, q.from + (i + 1) * step)];
    return to > from ? between(from, to) : NaN;
  });
}
