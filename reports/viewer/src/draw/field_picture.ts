// field_picture.ts - a field as a heat map, or as lines over its columns. In: the field, its scale, its places.  Out: a 2D canvas.
import { css, hex, rankColor, viridis } from '../layout/color';
import { LEVEL, bandOf, hasTime, inUnit, labelled, lineRows, rowName, shadeOf, valueAt } from '../layout/field';
import type { CellPlace, Frame, Scale } from '../layout/field';
import { moment } from '../layout/format';
import { tickStep, ticks } from '../layout/ticks';
import { NO_EVENT, fieldAt } from '../model/field';
import type { Field } from '../model/field';
import { FONT } from './dom';
import type { Theme } from './dom';

export interface Looks {
  frame: Frame;
  scale: Scale;
  theme: Theme;
  span: { from: number; to: number };
  selected: ReadonlySet<number>;
  cell: CellPlace | null; // pointed at
  sample: number; // place of the one looked at; 0: none
}

const LINES_MAX = 8;
// Beside colour: so that lines are told apart by whoever does not see all hues.
export const DASHES: number[][] = [[], [7, 3], [2, 3], [9, 3, 2, 3], [12, 4], [4, 2, 1, 2], [1, 2], [6, 6]];

function text(g: CanvasRenderingContext2D, words: string, x: number, y: number, most: number): void {
  let shown = words;
  while (shown.length > 2 && g.measureText(shown).width > most) shown = `${shown.slice(0, -2)}…`;
  g.fillText(shown, x, y);
}

function rowNames(g: CanvasRenderingContext2D, f: Field, { frame, theme }: Looks): void {
  g.fillStyle = theme.dim;
  g.textAlign = 'right';
  g.textBaseline = 'middle';
  for (const r of labelled(frame.y, 15))
    text(g, rowName(f.rows[r]!), frame.left - 8, (frame.y[r]! + frame.y[r + 1]!) / 2, frame.left - 14);
  if (f.rows[0]?.event !== NO_EVENT) return;
  g.save();
  g.translate(12, frame.top + frame.height / 2);
  g.rotate(-Math.PI / 2);
  g.textAlign = 'center';
  g.fillText('rank', 0, 0);
  g.restore();
}

function timeNames(g: CanvasRenderingContext2D, { frame, theme, span }: Looks): void {
  const step = tickStep((span.to - span.from) / frame.width, 96);
  const foot = frame.top + frame.height;
  g.fillStyle = theme.dim;
  g.textBaseline = 'top';
  g.textAlign = 'center';
  for (const t of ticks(span.from, span.to, step)) {
    const x = Math.round(frame.left + ((t - span.from) / (span.to - span.from)) * frame.width);
    g.fillRect(x, foot, 1, 5);
    if (x < frame.left + frame.width - 24) g.fillText(moment(t, step), x, foot + 9);
  }
}

function eventNames(g: CanvasRenderingContext2D, f: Field, { frame, theme }: Looks): void {
  g.fillStyle = theme.dim;
  g.textBaseline = 'middle';
  g.textAlign = 'right';
  const foot = frame.top + frame.height;
  const width = frame.width / f.columns.length;
  if (width >= LEVEL) {
    g.textAlign = 'center';
    f.columns.forEach((c, i) => text(g, c.title, (frame.x[i]! + frame.x[i + 1]!) / 2, foot + 14, width - 8));
    return;
  }
  for (const c of labelled(frame.x, 15)) {
    g.save();
    g.translate((frame.x[c]! + frame.x[c + 1]!) / 2, foot + 8);
    g.rotate(-Math.PI / 4);
    text(g, f.columns[c]!.title, 0, 0, 138);
    g.restore();
  }
}

function columnNames(g: CanvasRenderingContext2D, f: Field, looks: Looks): void {
  if (hasTime(f)) timeNames(g, looks);
  else eventNames(g, f, looks);
}

/** The sample that is looked at. */
function marker(g: CanvasRenderingContext2D, f: Field, { frame, theme, sample }: Looks): void {
  const at = f.columns.findIndex((c) => sample > 0 && sample >= c.first && sample <= c.last);
  if (at < 0 || !hasTime(f)) return;
  g.strokeStyle = theme.text;
  g.lineWidth = 1.5;
  g.strokeRect(frame.x[at]! - 0.5, frame.top - 3, Math.max(3, frame.x[at + 1]! - frame.x[at]!), frame.height + 6);
  g.lineWidth = 1;
}

/** A texture for what is not known: never a value's colour. */
function unknown(g: CanvasRenderingContext2D, theme: Theme): CanvasPattern | string {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const t = tile.getContext('2d')!;
  t.fillStyle = theme.idle;
  t.fillRect(0, 0, 6, 6);
  t.strokeStyle = theme.dim;
  t.globalAlpha = 0.5;
  t.beginPath();
  t.moveTo(0, 6);
  t.lineTo(6, 0);
  t.stroke();
  return g.createPattern(tile, 'repeat') ?? theme.idle;
}

export function drawScale(
  g: CanvasRenderingContext2D,
  f: Field,
  { frame, theme, scale }: { frame: Pick<Frame, 'left' | 'top' | 'width' | 'height'>; theme: Theme; scale: Scale },
): void {
  const x = frame.left + frame.width + 18;
  const height = Math.min(180, frame.height);
  for (let i = 0; i < height; i++) {
    g.fillStyle = css(viridis(1 - i / height));
    g.fillRect(x, frame.top + i, 12, 1.5);
  }
  g.fillStyle = theme.dim;
  g.textAlign = 'left';
  g.textBaseline = 'middle';
  const isCut = scale.high < f.most;
  for (const [share, sign] of [
    [1, isCut ? '≥ ' : ''],
    [0.5, ''],
    [0, scale.low > f.least ? '≤ ' : ''],
  ] as const)
    g.fillText(sign + inUnit(f.unit, valueAt(scale, share)), x + 18, frame.top + (1 - share) * (height - 10) + 5);
}

export function paintHeat(g: CanvasRenderingContext2D, f: Field, looks: Looks): void {
  const { frame, scale, theme } = looks;
  g.font = FONT;
  g.fillStyle = unknown(g, theme);
  g.fillRect(frame.left, frame.top, frame.width, frame.height);
  for (let r = 0; r < f.rows.length; r++) {
    const y = Math.round(frame.y[r]!);
    const height = Math.max(1, Math.round(frame.y[r + 1]!) - y);
    for (let c = 0; c < f.columns.length; c++) {
      const shade = shadeOf(scale, fieldAt(f, r, c));
      if (Number.isNaN(shade)) continue;
      const x = Math.round(frame.x[c]!);
      g.fillStyle = css(viridis(shade));
      g.fillRect(x, y, Math.max(1, Math.round(frame.x[c + 1]!) - x), height);
    }
  }
  rowNames(g, f, looks);
  columnNames(g, f, looks);
  drawScale(g, f, looks);
  selectedRows(g, f, looks);
  marker(g, f, looks);
  if (looks.cell) outline(g, looks, looks.cell);
}

function selectedRows(g: CanvasRenderingContext2D, f: Field, { frame, theme, selected }: Looks): void {
  if (selected.size === 0) return;
  g.fillStyle = theme.accent;
  f.rows.forEach((row, r) => {
    if (row.ranks.some((rank) => selected.has(rank)))
      g.fillRect(frame.left - 5, frame.y[r]!, 3, Math.max(1, frame.y[r + 1]! - frame.y[r]!));
  });
}

function outline(g: CanvasRenderingContext2D, { frame, theme }: Looks, { row, column }: CellPlace): void {
  g.strokeStyle = theme.text;
  g.lineWidth = 1.5;
  const [x, y] = [frame.x[column]!, frame.y[row]!];
  g.strokeRect(x - 0.5, y - 0.5, Math.max(4, frame.x[column + 1]! - x), Math.max(4, frame.y[row + 1]! - y));
  g.lineWidth = 1;
}

// ---- lines ----

export const lineColors = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#a6761d', '#56b4e9', '#6a4a28', '#7d828c'].map(
  hex,
);

export function lineColor(f: Field, row: number, at: number, dark: boolean): string {
  const rank = f.rows[row]!.ranks[0];
  return rank === undefined ? css(lineColors[at % lineColors.length]!) : css(rankColor(rank, dark));
}

/** Steps from edge to edge where columns are of time, else from middle to middle. */
function lineOf(g: CanvasRenderingContext2D, f: Field, frame: Frame, y: (c: number) => number): void {
  let isOpen = false;
  g.beginPath();
  for (let c = 0; c < f.columns.length; c++) {
    const at = y(c);
    if (Number.isNaN(at)) {
      isOpen = false;
      continue;
    }
    const [x0, x1] = [frame.x[c]!, frame.x[c + 1]!];
    if (!hasTime(f)) {
      if (isOpen) g.lineTo((x0 + x1) / 2, at);
      else g.moveTo((x0 + x1) / 2, at);
    } else {
      if (isOpen) g.lineTo(x0, at);
      else g.moveTo(x0, at);
      g.lineTo(x1, at);
    }
    isOpen = true;
  }
  g.stroke();
}

function bandBetween(g: CanvasRenderingContext2D, f: Field, frame: Frame, low: number[], high: number[]): void {
  for (let c = 0; c < f.columns.length; c++) {
    if (Number.isNaN(low[c]!)) continue;
    g.fillRect(
      frame.x[c]!,
      high[c]!,
      Math.max(1, frame.x[c + 1]! - frame.x[c]! + 0.3),
      Math.max(1, low[c]! - high[c]!),
    );
  }
}

function grid(g: CanvasRenderingContext2D, f: Field, { frame, theme, scale }: Looks): void {
  const steps = Math.max(2, Math.min(5, Math.floor(frame.height / 60)));
  g.textAlign = 'right';
  g.textBaseline = 'middle';
  for (let i = 0; i <= steps; i++) {
    const y = frame.top + frame.height * (1 - i / steps);
    g.fillStyle = theme.line;
    g.fillRect(frame.left, Math.round(y), frame.width, 1);
    g.fillStyle = theme.dim;
    g.fillText(inUnit(f.unit, valueAt(scale, i / steps)), frame.left - 8, y);
  }
}

/** Names at the right of the lines, moved apart. */
function lineNames(g: CanvasRenderingContext2D, f: Field, looks: Looks, rows: number[], ends: number[]): void {
  const { frame, theme } = looks;
  const at = rows.map((row, i) => ({ row, i, y: Number.isNaN(ends[i]!) ? frame.top : ends[i]! }));
  at.sort((a, b) => a.y - b.y);
  let last = frame.top - 8;
  g.textAlign = 'left';
  g.textBaseline = 'middle';
  for (const { row, i, y } of at) {
    const placed = Math.max(y, last + 14);
    last = placed;
    if (placed > frame.top + frame.height + 14) break;
    const x = frame.left + frame.width + 4;
    g.strokeStyle = lineColor(f, row, i, theme.dark);
    g.setLineDash(DASHES[i % DASHES.length]!);
    g.lineWidth = 2;
    g.beginPath();
    g.moveTo(x, placed);
    g.lineTo(x + 18, placed);
    g.stroke();
    g.fillStyle = theme.text;
    text(g, f.rows[row]!.title, x + 22, placed, 84);
  }
  g.setLineDash([]);
  g.lineWidth = 1;
}

/** Rows with a line of their own; of all others, if they are threads, the spread: all, the middle half, the median. */
export function paintLines(g: CanvasRenderingContext2D, f: Field, looks: Looks): void {
  const { frame, scale, theme, cell } = looks;
  const y = (v: number) => frame.top + frame.height * (1 - shadeOf(scale, v));
  g.font = FONT;
  grid(g, f, looks);
  columnNames(g, f, looks);
  const rows = lineRows(f, looks.selected, LINES_MAX);
  const isOfThreads = f.rows[0]?.event === NO_EVENT;
  if (isOfThreads && f.rows.length > rows.length) {
    const band = bandOf(f);
    const places = (of: Float64Array) => Array.from(of, y);
    g.fillStyle = theme.dim;
    g.globalAlpha = 0.16;
    bandBetween(g, f, frame, places(band.least), places(band.most));
    g.globalAlpha = 0.26;
    bandBetween(g, f, frame, places(band.quarter), places(band.threeQuarters));
    g.globalAlpha = 1;
    g.strokeStyle = theme.text;
    g.lineWidth = 1.5;
    lineOf(g, f, frame, (c) => y(band.median[c]!));
  }
  const ends = rows.map((row, i) => {
    g.strokeStyle = lineColor(f, row, i, theme.dark);
    g.setLineDash(DASHES[i % DASHES.length]!);
    g.lineWidth = cell?.row === row ? 3 : 2;
    lineOf(g, f, frame, (c) => y(fieldAt(f, row, c)));
    let last = f.columns.length - 1;
    while (last > 0 && Number.isNaN(fieldAt(f, row, last))) last--;
    return y(fieldAt(f, row, last));
  });
  g.setLineDash([]);
  g.lineWidth = 1;
  lineNames(g, f, looks, rows, ends);
  marker(g, f, looks);
  if (!cell) return;
  g.strokeStyle = theme.dim;
  g.strokeRect(
    frame.x[cell.column]!,
    frame.top,
    Math.max(2, frame.x[cell.column + 1]! - frame.x[cell.column]!),
    frame.height,
  );
}
