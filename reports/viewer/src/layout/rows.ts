// rows.ts - where rows lie on the timeline, in CSS pixels from the top of the plot, and which ranks they are of. A row is one
// rank, or several that are folded. Pure.

export const ROW_MAX = 160;
export const FIT_MAX = 72;
const BAR_MAX = 120;
const BAR_ALONE_MAX = 36; // of a rank with one thread

/** Which ranks a row has; null: row n is rank n. */
export type Members = number[][] | null;

export interface Rows {
  count: number;
  height: number; // of a row
  first: number; // row at the top, may be a fraction
  bar: number; // height of the bar inside the row
  pad: number; // above the bar
}

/** What of the state of a view rows follow from. */
export interface RowState {
  rowFirst: number; // may be a fraction
  rowHeight: number; // CSS pixels; 0 = all fit
}

export function rowsOf(state: RowState, count: number, plotHeight: number, threads = 1): Rows {
  const fit = Math.min(FIT_MAX, plotHeight / count);
  const height = state.rowHeight > 0 ? Math.min(ROW_MAX, Math.max(fit, state.rowHeight)) : fit;
  const first = Math.max(0, Math.min(state.rowFirst, count - plotHeight / height));
  const most = threads > 1 ? BAR_MAX : BAR_ALONE_MAX;
  const bar = height >= 14 ? Math.min(most, Math.round(height * 0.62)) : height >= 4 ? Math.floor(height - 1) : height;
  return { count, height, first, bar, pad: (height - bar) / 2 };
}

export function yOf(rows: Rows, row: number): number {
  return (row - rows.first) * rows.height;
}

/** -1: there is none. */
export function rowAt(rows: Rows, y: number): number {
  const row = Math.floor(rows.first + y / rows.height);
  return row >= 0 && row < rows.count ? row : -1;
}

export function visibleRows(rows: Rows, plotHeight: number): { first: number; last: number } {
  const last = Math.ceil(rows.first + plotHeight / rows.height) - 1;
  return { first: Math.floor(rows.first), last: Math.min(rows.count - 1, Math.max(0, last)) };
}

/** By rank: its row; -1: it has none. */
export function rowOfRanks(members: Members, ranks: number): Int32Array {
  if (!members) return Int32Array.from({ length: ranks }, (_, rank) => rank);
  const row = new Int32Array(ranks).fill(-1);
  members.forEach((list, n) => list.forEach((rank) => (row[rank] = n)));
  return row;
}

/** The lowest and the highest rank of some rows. */
export function rankRange(members: Members, first: number, last: number): { first: number; last: number } {
  if (!members) return { first, last };
  const range = { first: Infinity, last: 0 };
  for (const list of members.slice(first, last + 1))
    for (const rank of list) {
      range.first = Math.min(range.first, rank);
      range.last = Math.max(range.last, rank);
    }
  return range.first === Infinity ? { first: 0, last: 0 } : range;
}
