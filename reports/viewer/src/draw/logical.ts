// logical.ts - logical time as a picture: steps above, a row a thread, cells coloured by lateness, messages between them.
// In: calls with their steps, and which steps and rows are in view.  Out: drawn on the view's canvas.
import { css, hex, rankColor } from '../layout/color';
import { count } from '../layout/format';
import { LEVELS, cellsOf, laneOf, levelColor, unknownColor } from '../layout/logical';
import type { Cells } from '../layout/logical';
import { packed } from '../layout/raster';
import { visibleRows, yOf } from '../layout/rows';
import { tickStep, ticks } from '../layout/ticks';
import type { Logical } from '../model/logical';
import { AXIS, drawTicks } from './axis';
import type { Frame } from './axis';
import type { Theme } from './dom';

/** Rows are threads: rowOf is by lane. */
export interface LogicalFrame extends Frame {
  l: Logical;
  from: number; // steps in view, may be fractions
  to: number;
}

const LINES_MAX = 2000; // messages drawn
const LINES_FROM = 6; // CSS pixels of a cell: in narrower ones lines would hide the colours
const GAP_FROM = 7; // CSS pixels of a cell that has a gap beside it
const STEP_LABEL = 36; // CSS pixels

export function stepX(f: LogicalFrame, step: number): number {
  return f.left + ((step - f.from) / (f.to - f.from)) * f.width;
}

function stepWidth(f: LogicalFrame): number {
  return f.width / (f.to - f.from);
}

export function drawSteps(f: LogicalFrame): void {
  const { g } = f;
  const each = tickStep(1 / stepWidth(f), 64);
  const inset = Math.min(stepWidth(f) / 2, 4);
  const steps = ticks(f.from, f.to, each).filter((step) => step >= 1 && step <= f.l.steps);
  drawTicks(f, steps, { x: (step) => stepX(f, step) + inset, label: count, room: STEP_LABEL, bottom: AXIS });
  g.textAlign = 'right';
  g.fillStyle = f.theme.dim;
  g.fillText('step', f.left - 12, AXIS / 2);
}

/** What is behind the lines; kept until something else is in view. */
export class LogicalCells {
  private key = '';
  private of: Logical | null = null;
  private cells: Cells | null = null;
  private image: HTMLCanvasElement | null = null;

  /** order: what the rows are. */
  draw(f: LogicalFrame, order: string): void {
    const { g, rows } = f;
    const key = JSON.stringify([f.from, f.to, rows, f.width, f.height, f.theme.dark, order]);
    if (key !== this.key || this.of !== f.l || !this.cells) {
      [this.key, this.of, this.cells] = [key, f.l, cellsInView(f)];
      this.image = imageOf(this.cells, f.theme);
    }
    const c = this.cells;
    const top = (row: number) => AXIS + yOf(rows, row);
    const [x1, x2] = [stepX(f, c.from), stepX(f, c.to)];
    g.imageSmoothingEnabled = false;
    g.drawImage(this.image!, x1, top(c.rowFrom), x2 - x1, top(c.rowTo) - top(c.rowFrom));
    g.imageSmoothingEnabled = true;
    drawGaps(f);
  }
}

function cellsInView(f: LogicalFrame): Cells {
  const ratio = Math.min(2, devicePixelRatio || 1);
  const seen = visibleRows(f.rows, f.height);
  return cellsOf(f.l, f.rowOf, {
    from: f.from,
    to: f.to,
    rowFrom: Math.max(0, seen.first),
    rowTo: seen.last + 1,
    columnsMax: Math.round(f.width * ratio),
    linesMax: Math.round(f.height * ratio),
  });
}

function imageOf({ code, columns, lines }: Cells, theme: Theme): HTMLCanvasElement {
  const [idle, text] = [hex(theme.idle), hex(theme.text)];
  const faint = idle.map((v, k) => v + (text[k]! - v) * 0.06) as typeof idle;
  const colors = [0, packed(faint), packed(unknownColor(idle, text))];
  for (let level = 0; level < LEVELS; level++) colors.push(packed(levelColor(level)));
  const pixels = Uint32Array.from(code, (x) => colors[x]!);
  const image = document.createElement('canvas');
  [image.width, image.height] = [columns, lines];
  const data = new ImageData(new Uint8ClampedArray(pixels.buffer), columns, lines);
  image.getContext('2d')!.putImageData(data, 0, 0);
  return image;
}

/** Between cells that are large enough. */
function drawGaps(f: LogicalFrame): void {
  const { g, rows } = f;
  const top = (row: number) => AXIS + yOf(rows, row);
  g.fillStyle = f.theme.paper;
  if (stepWidth(f) >= GAP_FROM)
    for (let step = Math.floor(f.from); step <= f.to; step++) g.fillRect(stepX(f, step + 1) - 1, AXIS, 1, f.height);
  if (rows.height < GAP_FROM) return;
  const { first, last } = visibleRows(rows, f.height);
  const gap = (from: number, to: number) => g.fillRect(f.left, from, f.width, to - from);
  gap(AXIS, top(first) + rows.pad);
  for (let row = first; row <= last; row++) gap(top(row) + rows.pad + rows.bar, top(row + 1) + rows.pad);
}

/** Messages of which an end is in view; one more than can be drawn, if they are more. */
export function messagesInView(f: LogicalFrame): number[] {
  const { l } = f;
  const { first, last } = visibleRows(f.rows, f.height);
  const inRows = (call: number) => {
    const row = f.rowOf[laneOf(l, call)]!;
    return row >= first && row <= last;
  };
  const found: number[] = [];
  for (let i = 0; i < l.messageFrom.length && found.length <= LINES_MAX; i++) {
    const [a, b] = [l.messageFrom[i]!, l.messageTo[i]!];
    if (l.step[b]! + 1 < f.from || l.step[a]! > f.to || (l.hidden[a] === 1 && l.hidden[b] === 1)) continue;
    if (inRows(a) || inRows(b)) found.push(i);
  }
  return found;
}

/** Whether so many messages can be seen beside the cells. */
export function hasLines(f: LogicalFrame, messages: number): boolean {
  return messages <= LINES_MAX && stepWidth(f) >= LINES_FROM;
}

/** A line a message, in the colour of its sender, a dot where it arrives. */
export function drawMessages(f: LogicalFrame, messages: readonly number[]): void {
  const { g, l } = f;
  for (const i of messages) {
    const [from, to] = [l.messageFrom[i]!, l.messageTo[i]!];
    const [a, b] = [middle(f, from), middle(f, to)];
    const rank = f.members![f.rowOf[laneOf(l, from)]!]![0]!;
    const color = css(rankColor(rank, f.theme.dark));
    for (const [width, stroke] of [
      [3, f.theme.paper],
      [1.25, color],
    ] as const) {
      g.lineWidth = width;
      g.strokeStyle = stroke;
      g.beginPath();
      g.moveTo(a.x, a.y);
      g.lineTo(b.x, b.y);
      g.stroke();
    }
    g.fillStyle = color;
    g.beginPath();
    g.arc(b.x, b.y, 2.5, 0, 2 * Math.PI);
    g.fill();
  }
  g.lineWidth = 1;
}

function middle(f: LogicalFrame, call: number): { x: number; y: number } {
  const y = AXIS + yOf(f.rows, f.rowOf[laneOf(f.l, call)]!) + f.rows.height / 2;
  return { x: stepX(f, f.l.step[call]! + 0.5), y };
}

export function outlineCall(f: LogicalFrame, call: number, width: number): void {
  const { g, rows, theme } = f;
  const step = f.l.step[call]!;
  const [x1, x2] = [stepX(f, step), stepX(f, step + 1)];
  const y = AXIS + yOf(rows, f.rowOf[laneOf(f.l, call)]!) + (rows.height >= GAP_FROM ? rows.pad : 0);
  const tall = Math.max(4, rows.height >= GAP_FROM ? rows.bar : rows.height);
  for (const [wide, color] of [
    [width + 2, theme.paper],
    [width, theme.text],
  ] as const) {
    g.lineWidth = wide;
    g.strokeStyle = color;
    g.strokeRect(x1 - 1, y - 1, Math.max(4, x2 - x1) + 1, tall + 2);
  }
  g.lineWidth = 1;
}
