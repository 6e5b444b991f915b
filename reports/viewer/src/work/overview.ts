// overview.ts - the whole run in one line: the mean share of all ranks' time by class.
import { Kind } from '../decode/layout';
import { PLANES } from '../decode/tiles';
import type { Open } from '../model/open';
import type { Trace } from '../model/trace';

/** A call that nobody came back from, which tiles do not have: these are of the first thread of each rank. */
function addOpen(shares: Float32Array, { meta, lanes }: Trace, { class: c, thread, from, to }: Open): void {
  const hasTiles = meta.events > 0;
  if (thread > 0 && hasTiles) return;
  const all = hasTiles ? meta.ranks : lanes;
  const bin = meta.runtime / meta.bins;
  for (let b = Math.max(0, Math.floor(from / bin)); b < meta.bins && b * bin < to; b++)
    shares[(c - 1) * meta.bins + b]! += (Math.min(to, (b + 1) * bin) - Math.max(from, b * bin)) / bin / all;
}

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
  const shares = sums.map((x) => x / Math.max(1, rows));
  for (const open of [...trace.opens.values()].flat()) addOpen(shares, trace, open);
  return shares;
}
