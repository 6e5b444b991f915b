// field.ts - where a field's rows and columns are on a picture, and how a number becomes a shade or a height. Pure.
import { NO_EVENT, fieldAt } from '../model/field';
import type { Field, Unit } from '../model/field';
import { bytes, count, duration, percent } from './format';

export interface Scale {
  low: number; // what is the least shade; below it as well
  high: number;
  log: boolean;
}

export interface Limits {
  log: boolean;
  cut: number; // percent of the cells that are let go at each end
}

/** The scale of what is there; shares and times begin at 0, logarithmic ones at the least above it. */
export function scaleOf(f: Field, { log, cut }: Limits): Scale {
  const known = f.value.filter((v) => Number.isFinite(v) && (!log || v > 0)).sort();
  if (known.length === 0) return { low: 0, high: 1, log: false };
  const at = (share: number) => known[Math.min(known.length - 1, Math.floor(share * known.length))]!;
  const low = cut > 0 || log || at(0) < 0 ? at(cut / 100) : 0;
  return { low, high: cut > 0 ? at(1 - cut / 100) : known.at(-1)!, log };
}

/** 0 to 1 of the scale; NaN: not known. */
export function shadeOf(s: Scale, value: number): number {
  if (Number.isNaN(value)) return NaN;
  const to = (v: number) => (s.log ? Math.log(v) : v);
  if (s.log && !(value > 0)) return 0;
  const [low, high] = [to(s.low), to(s.high)];
  if (high <= low) return value >= s.high && s.high > 0 ? 1 : 0;
  return Math.min(1, Math.max(0, (to(value) - low) / (high - low)));
}

/** The value of a shade. */
export function valueAt(s: Scale, shade: number): number {
  if (s.log) return s.low * (s.high / s.low) ** shade;
  return s.low + (s.high - s.low) * shade;
}

export function inUnit(unit: Unit, value: number): string {
  if (Number.isNaN(value)) return 'not known';
  switch (unit) {
    case 'share':
      return percent(value);
    case 'ns':
      return duration(value);
    case 'bytes':
      return bytes(value);
    case 'bytes per second':
      return `${bytes(value)}/s`;
    case 'per second':
      return `${value > 0 && value < 10 ? value.toPrecision(2) : count(value)}/s`;
    default:
      return value > 0 && value < 10 && !Number.isInteger(value) ? value.toPrecision(2) : count(value);
  }
}

// ---- places ----

export interface Frame {
  left: number;
  top: number;
  width: number; // of the plot
  height: number;
  x: Float64Array; // of columns, and one more
  y: Float64Array; // of rows, and one more
}

const LEFT = 84; // at least
const AXIS = 28; // of it, the axis' own name and a gap
const LETTER = 7;
const TOP = 10;
const RIGHT = 108; // the scale
const FOOT = 34;
const NAMES = 118; // room for names of events, aslant
export const LEVEL = 130; // width of a column from which on they are level

export const hasTime = (f: Field): boolean => f.query.axes !== 'rank-event';

/** Room at the left: names of events and of many ranks need more. */
function leftOf(f: Field, width: number, hasRows: boolean): number {
  if (!hasRows) return LEFT;
  if (f.query.axes === 'event-time') return Math.min(260, width * 0.34);
  const longest = f.rows.reduce((most, row) => Math.max(most, rowName(row).length), 0);
  return Math.max(LEFT, AXIS + LETTER * longest);
}

/** What stands beside a row. */
export const rowName = (row: { title: string }): string => row.title.replace(/^ranks? /, '');

/** hasRows: rows have room and names, as in a heat map; else they are lines. */
export function frameOf(
  f: Field,
  { width, height }: { width: number; height: number },
  span: { from: number; to: number },
  hasRows = true,
): Frame {
  const left = leftOf(f, width, hasRows);
  const w = Math.max(20, width - left - Math.min(RIGHT, width * 0.24));
  const n = f.columns.length;
  const plot = Math.max(20, height - TOP - (hasTime(f) || w / n >= LEVEL ? FOOT : NAMES));
  const x = new Float64Array(n + 1);
  const long = Math.max(1, span.to - span.from);
  for (let c = 0; c <= n; c++) {
    const ns = c < n ? f.columns[c]!.start : (f.columns[n - 1]?.end ?? 0);
    const share = hasTime(f) ? (ns - span.from) / long : c / Math.max(1, n);
    x[c] = left + Math.min(1, Math.max(0, share)) * w;
  }
  const rows = f.rows.length;
  const y = Float64Array.from({ length: rows + 1 }, (_, r) => TOP + (r / Math.max(1, rows)) * plot);
  return { left, top: TOP, width: w, height: plot, x, y };
}

function below(edges: Float64Array, at: number): number {
  let [low, high] = [0, edges.length - 2];
  if (high < 0 || at < edges[0]! || at >= edges[high + 1]!) return -1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (edges[middle]! <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

export interface CellPlace {
  row: number;
  column: number;
}

export function cellBelow(frame: Frame, x: number, y: number): CellPlace | null {
  const [row, column] = [below(frame.y, y), below(frame.x, x)];
  return row >= 0 && column >= 0 ? { row, column } : null;
}

/** Rows that have room for their name: at least so many pixels apart. */
export function labelled(edges: Float64Array, pixels: number): number[] {
  const rows: number[] = [];
  let last = -Infinity;
  for (let i = 0; i + 1 < edges.length; i++) {
    const middle = (edges[i]! + edges[i + 1]!) / 2;
    if (middle - last < pixels) continue;
    rows.push(i);
    last = middle;
  }
  return rows;
}

// ---- over all rows ----

export interface Band {
  least: Float64Array; // by column; NaN: nothing is known
  quarter: Float64Array;
  median: Float64Array;
  threeQuarters: Float64Array;
  most: Float64Array;
}

/** How the rows of each column are spread. */
export function bandOf(f: Field): Band {
  const n = f.columns.length;
  const of = () => new Float64Array(n).fill(NaN);
  const band: Band = { least: of(), quarter: of(), median: of(), threeQuarters: of(), most: of() };
  for (let c = 0; c < n; c++) {
    const values = Float64Array.from(f.rows, (_, r) => fieldAt(f, r, c))
      .filter((v) => !Number.isNaN(v))
      .sort();
    if (values.length === 0) continue;
    const at = (share: number) => values[Math.round(share * (values.length - 1))]!;
    band.least[c] = at(0);
    band.quarter[c] = at(0.25);
    band.median[c] = at(0.5);
    band.threeQuarters[c] = at(0.75);
    band.most[c] = at(1);
  }
  return band;
}

/** The rows with a line of their own: events, and of threads those selected, else those with the largest mean; at most so many. */
export function lineRows(f: Field, selected: ReadonlySet<number>, most: number): number[] {
  const all = f.rows.map((_, r) => r);
  if (f.rows[0] && f.rows[0].event !== NO_EVENT) return all.slice(0, most);
  const chosen = all.filter((r) => f.rows[r]!.ranks.some((rank) => selected.has(rank)));
  if (chosen.length > 0 || f.rows.length <= most) return (chosen.length > 0 ? chosen : all).slice(0, most);
  const mean = all.map((r) => {
    let [sum, n] = [0, 0];
    for (let c = 0; c < f.columns.length; c++) {
      const v = fieldAt(f, r, c);
      if (!Number.isNaN(v)) [sum, n] = [sum + v, n + 1];
    }
    return n > 0 ? sum / n : -Infinity;
  });
  return all.sort((a, b) => mean[b]! - mean[a]!).slice(0, Math.min(3, most));
}
