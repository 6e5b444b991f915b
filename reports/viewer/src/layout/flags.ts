// flags.ts - the cells with the largest values, named, with labels that do not lie on each other. Pure.
import { NO_EVENT, fieldAt } from '../model/field';
import type { Field } from '../model/field';
import { hasTime, inUnit } from './field';
import { moment } from './format';

export interface Flag {
  row: number;
  column: number;
  value: number;
  group: string; // what it is named and coloured by: its event, or else its rank
}

const ALIKE = 1e-3; // of the largest value: nobody sees which of two such is higher

/** Where one of these cells is farthest from all flags, first of a group that has none; cells that are near a flag, within a tenth of the field, are no
 * choice. -1: there is none. */
function farthest(f: Field, cells: readonly number[], found: readonly Flag[]): number {
  const columns = f.columns.length;
  const [tall, wide] = [Math.max(1, f.rows.length / 10), Math.max(1, columns / 10)];
  const groups = new Set(found.map((x) => x.group));
  let [best, most] = [-1, 1];
  for (const i of cells) {
    const [row, column] = [Math.floor(i / columns), i % columns];
    let near = 1e6;
    for (const x of found)
      near = Math.min(near, Math.max(Math.abs(x.row - row) / tall, Math.abs(x.column - column) / wide));
    if (near <= 1) continue;
    const score = groups.has(groupOf(f, row, column)) ? near : near + 1e7;
    if (score > most) [best, most] = [i, score];
  }
  return best;
}

/** At most so many of the largest, none below a share of the largest; of those that are near each other only the largest. Where values are alike, as of ranks
 * that all wait for the same, flags are spread over the field. */
export function topCells(f: Field, count: number, least: number): Flag[] {
  const columns = f.columns.length;
  const order = Array.from(f.value.keys())
    .filter((i) => f.value[i]! >= least * f.most && f.value[i]! > 0)
    .sort((a, b) => f.value[b]! - f.value[a]! || a - b);
  const found: Flag[] = [];
  for (let first = 0; first < order.length && found.length < count;) {
    let end = first;
    while (end < order.length && f.value[order[end]!]! >= f.value[order[first]!]! - ALIKE * f.most) end++;
    const alike = order.slice(first, end);
    for (let i = farthest(f, alike, found); i >= 0 && found.length < count; i = farthest(f, alike, found)) {
      const [row, column] = [Math.floor(i / columns), i % columns];
      found.push({ row, column, value: fieldAt(f, row, column), group: groupOf(f, row, column) });
    }
    first = end;
  }
  return found;
}

function groupOf(f: Field, row: number, column: number): string {
  if (f.columns[column]!.event !== NO_EVENT) return f.columns[column]!.title;
  return f.rows[row]!.title;
}

/** What stands on a flag: over time several of one rank differ in the moment only. */
export function flagText(f: Field, flag: Flag): string {
  const text = `${inUnit(f.unit, flag.value)} · ${flag.group}`;
  return hasTime(f) ? `${text} · ${columnMoment(f, flag.column)}` : text;
}

/** When a column of samples begins, as exactly as tells it from the next. Not for events. */
export function columnMoment(f: Field, column: number): string {
  const step = (f.columns.at(-1)!.end - f.columns[0]!.start) / f.columns.length;
  return moment(f.columns[column]!.start, Math.max(1, step));
}

export interface Label {
  x: number; // left
  y: number; // middle
  width: number;
  height: number;
}

/** Upwards from where each wants to be until it lies on no other; where the picture ends, beside the others. */
export function placeLabels(wanted: readonly Label[], width: number, gap: number): Label[] {
  const placed: Label[] = [];
  const meets = (a: Label, b: Label) =>
    a.x < b.x + b.width + gap && b.x < a.x + a.width + gap && Math.abs(a.y - b.y) < (a.height + b.height) / 2 + gap;
  for (const w of wanted) {
    const top = w.height / 2 + 2;
    const label = { ...w, x: Math.max(2, Math.min(width - w.width - 2, w.x)), y: Math.max(top, w.y) };
    for (let tries = 0; tries < 4 * wanted.length; tries++) {
      const other = placed.find((p) => meets(label, p));
      if (!other) break;
      label.y = other.y - (other.height + label.height) / 2 - gap - 0.01;
      if (label.y >= top) continue;
      label.y = Math.max(top, w.y);
      label.x = other.x + other.width + gap + 0.01;
      if (label.x + label.width <= width) continue;
      label.x = Math.max(2, Math.min(width - w.width - 2, w.x)); // no room up or aside: below all that are there
      label.y = Math.max(...placed.map((p) => p.y + p.height / 2)) + label.height / 2 + gap + 0.01;
    }
    placed.push(label);
  }
  return placed;
}
