// rows.ts - where ranks lie on the timeline, in CSS pixels from the top of the plot. Pure.
import type { State } from '../model/state';

export const ROW_MAX = 96;
export const FIT_MAX = 72;
const BAR_MAX = 36;

export interface Rows {
  ranks: number;
  height: number; // of a row
  first: number; // rank at the top, may be a fraction
  bar: number; // height of the bar inside the row
  pad: number; // above the bar
}

export function rowsOf(state: State, ranks: number, plotHeight: number): Rows {
  const fit = Math.min(FIT_MAX, plotHeight / ranks);
  const height = state.rowHeight > 0 ? Math.min(ROW_MAX, Math.max(fit, state.rowHeight)) : fit;
  const first = Math.max(0, Math.min(state.rowFirst, ranks - plotHeight / height));
  const bar =
    height >= 14 ? Math.min(BAR_MAX, Math.round(height * 0.58)) : height >= 4 ? Math.floor(height - 1) : height;
  return { ranks, height, first, bar, pad: (height - bar) / 2 };
}

export function yOf(rows: Rows, rank: number): number {
  return (rank - rows.first) * rows.height;
}

export function rankAt(rows: Rows, y: number): number {
  const rank = Math.floor(rows.first + y / rows.height);
  return rank >= 0 && rank < rows.ranks ? rank : -1;
}

export function visibleRanks(rows: Rows, plotHeight: number): { first: number; last: number } {
  const last = Math.ceil(rows.first + plotHeight / rows.height) - 1;
  return { first: Math.floor(rows.first), last: Math.min(rows.ranks - 1, Math.max(0, last)) };
}
