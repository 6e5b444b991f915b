// axis.ts - the canvas above the timeline: time axis, grid, rank labels, outlines of what is hovered and picked.
import type { State } from '../model/state';
import type { ChainStep } from '../work/chain';
import { css, rankColor } from '../layout/color';
import { moment } from '../layout/format';
import { visibleRows, yOf } from '../layout/rows';
import type { Members, Rows } from '../layout/rows';
import { tickStep, ticks } from '../layout/ticks';
import { FONT } from './dom';
import type { Theme } from './dom';

export const AXIS = 26; // height of the time axis
const NODE_CHARS = 9; // of a node's name, beside its first rank

export interface Frame {
  g: CanvasRenderingContext2D;
  left: number; // gutter
  width: number; // of the plot
  height: number; // of the plot
  state: State;
  rows: Rows;
  members: Members;
  labels: string[] | null; // of rows
  rowOf: Int32Array; // by rank
  theme: Theme;
  runtime: number;
}

/** The rank that lends a row its colour. */
function rankOfRow(f: Frame, row: number): number {
  return f.members ? (f.members[row]?.[0] ?? 0) : row;
}

export function xOf(f: Frame, ns: number): number {
  return f.left + ((ns - f.state.from) / (f.state.to - f.state.from)) * f.width;
}

export interface Ticks {
  x(at: number): number;
  label(at: number): string;
  room: number; // CSS pixels of a label
  bottom: number; // where their lines end
}

/** Ticks of an axis above the rows, each labelled where there is room, and the line below them. */
export function drawTicks(f: Frame, all: readonly number[], t: Ticks): void {
  const { g, theme } = f;
  g.font = FONT;
  g.textBaseline = 'middle';
  g.textAlign = 'left';
  for (const at of all) {
    const x = Math.round(t.x(at)) + 0.5;
    if (x < f.left - 1) continue;
    g.strokeStyle = theme.line;
    g.beginPath();
    g.moveTo(x, AXIS - 7);
    g.lineTo(x, t.bottom);
    g.stroke();
    g.fillStyle = theme.dim;
    if (x + t.room < f.left + f.width) g.fillText(t.label(at), x + 5, AXIS / 2);
  }
  g.strokeStyle = theme.line;
  g.beginPath();
  g.moveTo(0, AXIS - 0.5);
  g.lineTo(f.left + f.width, AXIS - 0.5);
  g.stroke();
}

export function drawAxis(f: Frame): void {
  const { from, to } = f.state;
  const step = tickStep((to - from) / f.width, 96);
  const label = (ns: number) => moment(ns, step);
  drawTicks(f, ticks(from, to, step), { x: (ns) => xOf(f, ns), label, room: 60, bottom: AXIS + f.height });
}

/** Grey out what lies before the start and after the end of the run. */
export function drawOutside(f: Frame): void {
  const { g, theme } = f;
  const begin = Math.min(f.left + f.width, Math.max(f.left, xOf(f, 0)));
  const end = Math.min(f.left + f.width, Math.max(f.left, xOf(f, f.runtime)));
  g.fillStyle = theme.line;
  g.globalAlpha = 0.35;
  g.fillRect(f.left, AXIS, begin - f.left, f.height);
  g.fillRect(end, AXIS, f.left + f.width - end, f.height);
  g.globalAlpha = 1;
}

function labelStep(height: number): number {
  const [least, below] = [15, 20]; // CSS pixels from label to label; of the second from above, since the first stands a bit lower
  for (let step = 1; ; step *= 2) if (step * height >= least && (step + 0.5) * height >= below) return step;
}

/** Names of nodes differ at their ends. */
function shortNode(name: string): string {
  return name.length > NODE_CHARS ? `…${name.slice(1 - NODE_CHARS)}` : name;
}

const CHAR = 7; // CSS pixels, of digits and most letters
const LEFT_NARROW = 44; // CSS pixels
const LEFT_LEAST = 76;

/** CSS pixels beside the bars: room for the name of a node and the number of a rank, one beside the other. */
export function marginOf(width: number, nodes: readonly string[], ranks: number): number {
  if (width < 600) return LEFT_NARROW;
  const longest = nodes.reduce((most, node) => Math.max(most, Math.min(NODE_CHARS, node?.length ?? 0)), 0);
  return Math.max(LEFT_LEAST, 28 + CHAR * (longest + String(ranks - 1).length));
}

export function drawRanks(f: Frame, nodes: string[]): void {
  const { g, theme, rows, state } = f;
  const { first, last } = visibleRows(rows, f.height);
  const step = labelStep(rows.height);
  g.save();
  g.beginPath();
  g.rect(0, AXIS, f.left + f.width, f.height);
  g.clip();
  g.font = FONT;
  g.textBaseline = 'middle';
  const isNarrow = f.left < 70;
  for (let row = first; row <= last; row++) {
    const y = AXIS + yOf(rows, row);
    const rank = rankOfRow(f, row);
    const selected = state.selected.size > 0 && (f.members?.[row] ?? [row]).some((r) => state.selected.has(r));
    if (selected) {
      g.fillStyle = theme.accent;
      g.globalAlpha = 0.12;
      g.fillRect(0, y, f.left + f.width, Math.max(1, rows.height));
      g.globalAlpha = 1;
    }
    if (rows.height >= 1 || row % step === 0) {
      g.fillStyle = css(rankColor(rank, theme.dark));
      g.fillRect(f.left - 6, y + rows.pad, 3, Math.max(rows.bar, 0.5));
    }
    if (row % step !== 0) continue;
    const label = f.labels ? f.labels[row]! : String(rank);
    g.textAlign = 'right';
    g.fillStyle = selected ? theme.text : theme.dim;
    g.fillText(label.slice(0, isNarrow ? 5 : 9), f.left - 12, Math.max(AXIS + 8, y + rows.height / 2 + 0.5));
    const node = label === String(rank) ? nodes[rank] : '';
    if (node && rows.height >= 15 && !isNarrow && node !== (row > first ? nodes[rankOfRow(f, row - 1)] : '')) {
      g.textAlign = 'left';
      g.fillStyle = theme.dim;
      g.fillText(shortNode(node), 8, y + rows.height / 2 + 0.5);
    }
  }
  g.restore();
}

/** Each bar's own outline, in the colour of its rank. */
export function drawOutlines(f: Frame): void {
  const { g, rows, theme } = f;
  if (rows.bar < 12) return;
  const { first, last } = visibleRows(rows, f.height);
  const x1 = Math.max(f.left, xOf(f, 0));
  const x2 = Math.min(f.left + f.width, xOf(f, f.runtime));
  g.lineWidth = 1;
  for (let row = first; row <= last; row++) {
    const y = AXIS + yOf(rows, row) + rows.pad;
    g.strokeStyle = css(rankColor(rankOfRow(f, row), theme.dark), 0.75);
    g.strokeRect(x1 - 0.5, Math.round(y) - 0.5, x2 - x1 + 1, rows.bar + 1);
  }
}

export function outlineEvent(f: Frame, rank: number, start: number, length: number, strong: boolean): void {
  const { g, rows, theme } = f;
  const row = f.rowOf[rank] ?? -1;
  if (row < 0) return;
  const x1 = Math.max(f.left - 2, xOf(f, start));
  const x2 = Math.min(f.left + f.width + 2, xOf(f, start + length));
  const y = AXIS + yOf(rows, row) + rows.pad;
  g.strokeStyle = theme.text;
  g.lineWidth = strong ? 2 : 1.25;
  g.strokeRect(x1 - 1, y - 1, Math.max(2, x2 - x1) + 2, Math.max(2, rows.bar) + 2);
  g.lineWidth = 1;
}

/** From what caused a wait to the call that waited. */
export function drawCause(f: Frame, fromRank: number, from: number, toRank: number, to: number): void {
  const { g, rows, theme } = f;
  if (!(f.rowOf[fromRank]! >= 0 && f.rowOf[toRank]! >= 0)) return;
  const middle = (rank: number) => AXIS + yOf(rows, f.rowOf[rank]!) + rows.height / 2;
  const [x1, y1, x2, y2] = [xOf(f, from), middle(fromRank), xOf(f, to), middle(toRank)];
  const angle = Math.atan2(y2 - y1, x2 - x1);
  g.strokeStyle = theme.text;
  g.fillStyle = theme.text;
  g.lineWidth = 1.5;
  g.setLineDash([5, 4]);
  g.beginPath();
  g.moveTo(x1, y1);
  g.lineTo(x2, y2);
  g.stroke();
  g.setLineDash([]);
  g.lineWidth = 1;
  g.beginPath();
  g.moveTo(x2, y2);
  for (const side of [-0.4, 0.4]) g.lineTo(x2 - 10 * Math.cos(angle + side), y2 - 10 * Math.sin(angle + side));
  g.fill();
}

/** How it came to a wait: the calls, numbered back from it, and arrows from each cause to who waited for it. */
export function drawChain(f: Frame, steps: ChainStep[]): void {
  const { g, rows, theme } = f;
  steps.forEach(({ waiter, cause }, n) => {
    outlineEvent(f, waiter.rank, waiter.start, waiter.duration, false);
    outlineEvent(f, cause.rank, cause.start, cause.duration, false);
    const end = waiter.start + waiter.duration;
    drawCause(f, cause.rank, cause.start, waiter.rank, Math.min(end, Math.max(waiter.start, cause.start)));
    const row = f.rowOf[cause.rank] ?? -1;
    const x = xOf(f, cause.start);
    if (row < 0 || x < f.left) return;
    const y = AXIS + yOf(rows, row) + rows.height / 2;
    g.beginPath();
    g.arc(x, y, 8, 0, 2 * Math.PI);
    g.fillStyle = theme.text;
    g.fill();
    g.font = FONT;
    g.textAlign = 'center';
    g.textBaseline = 'middle';
    g.fillStyle = theme.paper;
    g.fillText(String(n + 1), x, y + 0.5);
  });
}

/** A collective operation: from the first that came to the last that left; who came last is marked. */
export function drawCollective(f: Frame, parts: { rank: number; start: number; duration: number }[]): void {
  const { g, rows, theme } = f;
  const rowed = parts.filter((p) => (f.rowOf[p.rank] ?? -1) >= 0);
  if (rowed.length === 0) return;
  const y = (rank: number) => AXIS + yOf(rows, f.rowOf[rank]!) + rows.height / 2;
  const trace = (at: (p: (typeof parts)[0]) => number) => {
    g.beginPath();
    const sorted = [...rowed].sort((a, b) => f.rowOf[a.rank]! - f.rowOf[b.rank]!);
    for (const p of sorted) g.lineTo(xOf(f, at(p)), y(p.rank));
    return sorted;
  };
  g.save();
  g.fillStyle = theme.accent;
  const sorted = trace((p) => p.start);
  for (const p of sorted.reverse()) g.lineTo(xOf(f, p.start + p.duration), y(p.rank));
  g.globalAlpha = 0.14;
  g.fill();
  g.globalAlpha = 1;
  g.strokeStyle = theme.accent;
  g.lineWidth = 1.5;
  for (const at of [
    (p: { start: number }) => p.start,
    (p: { start: number; duration: number }) => p.start + p.duration,
  ]) {
    trace(at);
    g.stroke();
  }
  const last = rowed.reduce((a, b) => (b.start > a.start ? b : a));
  const x = xOf(f, last.start);
  g.strokeStyle = theme.text;
  g.setLineDash([2, 3]);
  g.beginPath();
  g.moveTo(x, AXIS);
  g.lineTo(x, AXIS + f.height);
  g.stroke();
  g.setLineDash([]);
  g.fillStyle = theme.text;
  g.beginPath();
  g.arc(x, y(last.rank), 4.5, 0, 2 * Math.PI);
  g.fill();
  g.font = FONT;
  g.textBaseline = 'bottom';
  g.textAlign = x > f.left + f.width - 90 ? 'right' : 'left';
  g.fillText(`last in: rank ${last.rank}`, x + (g.textAlign === 'left' ? 8 : -8), y(last.rank) - 4);
  g.restore();
}

/** What the length of the run hangs on: the ranks it passes, in order of time. */
export function drawPath(f: Frame, segments: { rank: number; from: number; to: number }[]): void {
  const { g, rows, theme } = f;
  g.save();
  g.strokeStyle = theme.text;
  g.lineJoin = 'round';
  for (const [width, color] of [[4, theme.paper] as const, [2, theme.text] as const]) {
    g.lineWidth = width;
    g.strokeStyle = color;
    g.beginPath();
    for (const s of segments) {
      if (s.to < f.state.from || s.from > f.state.to || !(f.rowOf[s.rank]! >= 0)) continue;
      const y = AXIS + yOf(rows, f.rowOf[s.rank]!) + rows.height / 2;
      g.lineTo(xOf(f, s.from), y);
      g.lineTo(xOf(f, s.to), y);
    }
    g.stroke();
  }
  g.restore();
}

/** The moment of the state that the view of states shows. */
function drawSnapshot(f: Frame): void {
  const { g, theme, state } = f;
  const { step, moment } = state.views.states ?? {};
  if (Number(step) < 0 || !(Number(moment) >= state.from && Number(moment) <= state.to)) return;
  const x = xOf(f, Number(moment));
  g.fillStyle = theme.accent;
  g.fillRect(x - 0.75, AXIS - 6, 1.5, f.height);
  g.fillRect(x - 4, AXIS - 6, 8, 3);
}

/** The interval that statistics are of. */
export function drawMarked(f: Frame): void {
  const { g, theme, state } = f;
  drawSnapshot(f);
  if (!(state.markTo > state.markFrom)) return;
  const x1 = Math.max(f.left, xOf(f, state.markFrom));
  const x2 = Math.min(f.left + f.width, xOf(f, state.markTo));
  if (x2 <= x1) return;
  g.fillStyle = theme.accent;
  g.globalAlpha = 0.1;
  g.fillRect(x1, AXIS, x2 - x1, f.height);
  g.globalAlpha = 1;
  g.fillRect(x1, AXIS - 5, x2 - x1, 4);
  g.fillRect(x1 - 0.5, AXIS, 1, f.height);
  g.fillRect(x2 - 0.5, AXIS, 1, f.height);
}

export function drawCrosshair(f: Frame, x: number): void {
  const { g, theme, state } = f;
  const ns = state.from + ((x - f.left) / f.width) * (state.to - state.from);
  const perPixel = (state.to - state.from) / f.width;
  const text = moment(ns, perPixel * 2, tickStep(perPixel, 96));
  g.font = FONT;
  const width = g.measureText(text).width + 10;
  const left = Math.min(Math.max(f.left, x - width / 2), f.left + f.width - width);
  g.strokeStyle = theme.dim;
  g.setLineDash([3, 3]);
  g.beginPath();
  g.moveTo(Math.round(x) + 0.5, AXIS);
  g.lineTo(Math.round(x) + 0.5, AXIS + f.height);
  g.stroke();
  g.setLineDash([]);
  g.fillStyle = theme.text;
  g.beginPath();
  g.roundRect(left, 4, width, 18, 4);
  g.fill();
  g.fillStyle = theme.paper;
  g.textAlign = 'left';
  g.textBaseline = 'middle';
  g.fillText(text, left + 5, 13.5);
}
