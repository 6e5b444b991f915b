// overview.ts - the whole run in one line: the mean share of all ranks' time by class.
import { Kind } from '../decode/layout';
import { PLANES } from '../decode/tiles';
import type { Trace } from '../model/trace';

/** By class and bin. */
export async function overview(trace: Trace): Promise<Float32Array> {
  const { meta } = trace;
  const sums = new Float32Array(PLANES * meta.bins);
  const top = trace.kind(Kind.Summary).filter((e) => e.level === 0 && e.rankLevel === meta.rankLevels - 1);
  let rows = 0;
  for (const entry of top) {
    const tile = await trace.summary(entry);
    rows += tile.rows;
    for (let c = 0; c < PLANES; c++)
      for (let r = 0; r < tile.rows; r++)
        for (let b = 0; b < meta.bins; b++)
          sums[c * meta.bins + b]! += tile.share[(c * tile.rows + r) * meta.bins + b]! / 255;
  }
  return sums.map((x) => x / Math.max(1, rows));
}
