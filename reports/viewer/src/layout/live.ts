// live.ts - samples of unequal gaps and rows of ranks on a picture of so many pixels. Pure.
import type { LiveSample } from '../model/live';

export interface Cells {
  columns: number;
  rows: number;
  share: Float32Array; // column by column; NaN: not known
}

/** From when to when the samples are: the first has no sample before it, and gets as much room as the second. */
export function liveSpan(samples: readonly LiveSample[]): { from: number; to: number } {
  const [first, second, last] = [samples[0], samples[1], samples.at(-1)];
  if (!first || !last) return { from: 0, to: 1 };
  return { from: first.time - (second ? second.time - first.time : 1), to: Math.max(last.time, first.time) };
}

/** The sample of a moment: the first that ends at or behind it. */
export function sampleAt(samples: readonly LiveSample[], time: number): number {
  let [low, high] = [0, samples.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (samples[middle]!.time < time) low = middle + 1;
    else high = middle;
  }
  return samples.length > 0 ? low : -1;
}

/** Means of what falls into each cell; the cell of a sample that is longer than it has that sample's. */
export function liveCells(samples: readonly LiveSample[], columns: number, rowsMax: number): Cells {
  const { from, to } = liveSpan(samples);
  const all = Math.max(1, ...samples.map((s) => s.rows.length));
  const rows = Math.min(all, rowsMax);
  const share = new Float32Array(columns * rows).fill(NaN);
  if (samples.length === 0) return { columns, rows, share };
  for (let c = 0; c < columns; c++) {
    const first = sampleAt(samples, from + ((to - from) * (c + 1e-6)) / columns);
    const last = sampleAt(samples, from + ((to - from) * (c + 1 - 1e-6)) / columns);
    for (let r = 0; r < rows; r++) share[c * rows + r] = mean(samples, first, last, r, rows, all);
  }
  return { columns, rows, share };
}

function mean(
  samples: readonly LiveSample[],
  first: number,
  last: number,
  row: number,
  rows: number,
  all: number,
): number {
  let [sum, n] = [0, 0];
  const [from, to] = [
    Math.floor((row * all) / rows),
    Math.max(Math.floor((row * all) / rows) + 1, Math.floor(((row + 1) * all) / rows)),
  ];
  for (let s = first; s <= last; s++)
    for (let r = from; r < to; r++) {
      const value = samples[s]!.rows[r];
      if (value === null || value === undefined) continue;
      sum += value;
      n++;
    }
  return n > 0 ? sum / n : NaN;
}
