// logical.ts - the matrix of logical steps and threads as cells, and which lateness has which colour, here and on the timeline. Pure.
import { UNKNOWN } from '../model/logical';
import type { Logical } from '../model/logical';
import { viridis } from './color';
import type { ClassStyle, Rgb } from './color';

export const LEVELS = 7; // of lateness, each reaching as far as the square root of ten times the one before
const PER_DECADE = 2;

/** How far the levels reach, ns: the last one to the largest lateness. */
export function boundsOf(most: number): number[] {
  return Array.from({ length: LEVELS }, (_, i) => most * 10 ** ((i - LEVELS + 1) / PER_DECADE));
}

export function levelOf(late: number, most: number): number {
  if (late <= 0 || most <= 0) return 0;
  const level = LEVELS - 1 + Math.ceil(PER_DECADE * Math.log10(late / most) - 1e-9);
  return Math.max(0, Math.min(LEVELS - 1, level));
}

export function levelColor(level: number): Rgb {
  return viridis(0.08 + (0.92 * level) / (LEVELS - 1));
}

/** Of a call that nobody can be compared with: between what is idle and what is written. */
export function unknownColor(idle: Rgb, text: Rgb): Rgb {
  return idle.map((v, k) => v + (text[k]! - v) * 0.32) as Rgb;
}

/** Planes 1 to 8 of the timeline where its colours are lateness: the levels, and not known. */
export function latenessPlanes(idle: Rgb, text: Rgb): ClassStyle[] {
  const plain = (name: string, color: Rgb) => ({ name, color, pattern: 0 });
  const levels = Array.from({ length: LEVELS }, (_, level) => plain(`level ${level}`, levelColor(level)));
  return [...levels, plain('not known', unknownColor(idle, text))];
}

export function planeOf(late: number, most: number): number {
  return late === UNKNOWN ? LEVELS + 1 : 1 + levelOf(late, most);
}

/** What a cell shows: of several calls the latest. */
export const enum Code {
  Nothing = 0,
  Hidden = 1, // by the filter
  Unknown = 2,
  Level = 3, // and above
}

/** Steps and rows in view: from, to may be fractions; a row is a thread. */
export interface Sight {
  from: number;
  to: number;
  rowFrom: number;
  rowTo: number;
  columnsMax: number;
  linesMax: number;
}

/** Cells in view, and where they lie: in steps and rows. */
export interface Cells {
  columns: number;
  lines: number;
  code: Uint8Array;
  from: number;
  to: number;
  rowFrom: number;
  rowTo: number;
}

/** Whole steps, or as many columns as there are pixels. */
function axis(from: number, to: number, most: number): { first: number; end: number; count: number } {
  const [first, end] = [Math.floor(from), Math.ceil(to)];
  return end - first <= most ? { first, end, count: Math.max(1, end - first) } : { first: from, end: to, count: most };
}

/** rowOf: by lane. */
export function cellsOf(l: Logical, rowOf: Int32Array, s: Sight): Cells {
  const x = axis(s.from, s.to, s.columnsMax);
  const y = axis(s.rowFrom, s.rowTo, s.linesMax);
  const code = new Uint8Array(x.count * y.count);
  const [across, down] = [x.count / (x.end - x.first), y.count / (y.end - y.first)];
  for (let lane = 0; lane + 1 < l.laneFirst.length; lane++) {
    const row = rowOf[lane]!;
    const line = Math.floor((row - y.first) * down + 1e-6);
    if (row < 0 || line < 0 || line >= y.count) continue;
    const end = l.laneFirst[lane + 1]!;
    for (let call = firstFrom(l, lane, Math.floor(x.first)); call < end && l.step[call]! < x.end; call++) {
      const column = Math.floor((l.step[call]! - x.first) * across + 1e-6);
      if (column < 0 || column >= x.count) continue;
      const at = line * x.count + column;
      code[at] = Math.max(code[at]!, codeOf(l, call));
    }
  }
  return { columns: x.count, lines: y.count, code, from: x.first, to: x.end, rowFrom: y.first, rowTo: y.end };
}

export function codeOf(l: Logical, call: number): number {
  if (l.hidden[call] === 1) return Code.Hidden;
  return l.late[call] === UNKNOWN ? Code.Unknown : Code.Level + levelOf(l.late[call]!, l.most);
}

/** The first call of a lane from a step on; the end of the lane's calls if there is none. */
export function firstFrom(l: Logical, lane: number, step: number): number {
  let [low, high] = [l.laneFirst[lane]!, l.laneFirst[lane + 1]!];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (l.step[middle]! < step) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The call of a lane at a step; -1: there is none. */
export function callAt(l: Logical, lane: number, step: number): number {
  const call = firstFrom(l, lane, step);
  return call < l.laneFirst[lane + 1]! && l.step[call] === step ? call : -1;
}

/** The lane of a call. */
export function laneOf(l: Logical, call: number): number {
  let [low, high] = [0, l.laneFirst.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (l.laneFirst[middle]! <= call) low = middle;
    else high = middle;
  }
  while (l.laneFirst[low + 1] === l.laneFirst[low]) low++; // of lanes without calls
  return low;
}
