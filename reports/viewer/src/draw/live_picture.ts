// live_picture.ts - the share of time in MPI over a running step: of all ranks, and rank by rank.
import { WAITING_STYLE, css, hex, viridis } from '../layout/color';
import { liveCells, liveSpan, sampleAt } from '../layout/live';
import { clock, knownShare } from '../model/live';
import type { LiveRun, LiveSample } from '../model/live';
import { FONT, theme, unknownPattern } from './dom';
import type { Theme } from './dom';

const LEFT = 64; // CSS pixels
const RIGHT = 12;
const STRIP = 72;
const BETWEEN = 12;
const FOOT = 22;
const CELL = 3; // least width of a column
const COLOR = hex('#0072b2'); // as in the legend, live.css

interface Frame {
  g: CanvasRenderingContext2D;
  width: number;
  height: number; // of the rank rows
  top: number;
  x(time: number): number;
  colors: Theme;
}

export const plotWidth = (width: number): number => Math.max(1, width - LEFT - RIGHT);

/** The sample below x, or null. */
export function sampleBelow(run: LiveRun, x: number, width: number): LiveSample | null {
  const { from, to } = liveSpan(run.samples);
  const at = sampleAt(run.samples, from + ((x - LEFT) / plotWidth(width)) * (to - from));
  return run.samples[at] ?? null;
}

/** Above: all ranks, as an area; and those that were ready without a processor, as a line. */
function strip(f: Frame, run: LiveRun): void {
  const { g, colors, x } = f;
  const y = (share: number) => STRIP - share * (STRIP - 8);
  const area = (value: (s: LiveSample) => number | null, draw: (x0: number, x1: number, y: number) => void) => {
    run.samples.forEach((s, i) => {
      const v = value(s);
      const before = run.samples[i - 1]?.time ?? liveSpan(run.samples).from;
      if (v !== null) draw(x(before), x(s.time), y(v * knownShare(s))); // above it there is what is not known
    });
  };
  const height = STRIP - y(1);
  g.fillStyle = unknownPattern(g, colors.line);
  g.fillRect(LEFT, y(1), f.width, height);
  area(
    (s) => (s.mpi === null ? null : 1),
    (x0, x1, top) => {
      g.fillStyle = colors.paper;
      g.fillRect(x0, top, x1 - x0 + 0.5, STRIP - top);
      g.fillStyle = colors.idle;
      g.fillRect(x0, top, x1 - x0 + 0.5, STRIP - top);
    },
  );
  g.fillStyle = css(COLOR);
  area(
    (s) => s.mpi,
    (x0, x1, top) => g.fillRect(x0, top, x1 - x0 + 0.5, STRIP - top),
  );
  g.strokeStyle = css(WAITING_STYLE.color);
  g.lineWidth = 2;
  g.setLineDash([5, 3]);
  g.beginPath();
  area(
    (s) => s.offProcessor,
    (x0, x1, top) => (g.moveTo(x0, top), g.lineTo(x1, top)),
  );
  g.stroke();
  g.setLineDash([]);
  g.lineWidth = 1;
  label(f, '100 %', y(1) + 5);
  label(f, '0 %', STRIP - 4);
}

function label(f: Frame, text: string, y: number): void {
  const { g } = f;
  g.fillStyle = f.colors.dim;
  g.textAlign = 'right';
  g.textBaseline = 'middle';
  g.fillText(text, LEFT - 6, y);
}

function ranks(f: Frame, run: LiveRun): void {
  const columns = Math.max(1, Math.min(Math.floor(f.width / CELL), Math.max(run.samples.length * 4, 1)));
  const cells = liveCells(run.samples, columns, Math.max(1, Math.floor(f.height / 2)));
  const x = Array.from({ length: columns + 1 }, (_, c) => LEFT + Math.round((c * f.width) / columns));
  const y = Array.from({ length: cells.rows + 1 }, (_, r) => f.top + Math.round((r * f.height) / cells.rows));
  const unknown = unknownPattern(f.g, f.colors.line);
  for (let c = 0; c < columns; c++)
    for (let r = 0; r < cells.rows; r++) {
      const share = cells.share[c * cells.rows + r]!;
      f.g.fillStyle = Number.isNaN(share) ? unknown : css(viridis(share));
      f.g.fillRect(x[c]!, y[r]!, x[c + 1]! - x[c]!, y[r + 1]! - y[r]!);
    }
  const number = run.samples.at(-1)?.ranks ?? 0;
  label(f, 'rank 0', f.top + 7);
  if (number > 1) label(f, `rank ${number - 1}`, f.top + f.height - 7);
}

function times(f: Frame, run: LiveRun, height: number): void {
  const { from, to } = liveSpan(run.samples);
  const n = Math.max(2, Math.floor(f.width / 120));
  f.g.textBaseline = 'middle';
  f.g.fillStyle = f.colors.dim;
  for (let i = 0; i < n; i++) {
    f.g.textAlign = i === 0 ? 'left' : i === n - 1 ? 'right' : 'center';
    f.g.fillText(clock(from + ((to - from) * i) / (n - 1)), LEFT + (f.width * i) / (n - 1), height - FOOT / 2);
  }
}

/** The sample that is looked at. */
function marker(f: Frame, run: LiveRun, height: number): void {
  const { shown } = run;
  if (!shown || run.follows) return;
  const x = Math.round(f.x(shown.time)) - 0.5;
  f.g.strokeStyle = f.colors.text;
  f.g.beginPath();
  f.g.moveTo(x, 0);
  f.g.lineTo(x, height - FOOT);
  f.g.stroke();
}

export function paintLive(g: CanvasRenderingContext2D, run: LiveRun, width: number, height: number): void {
  const { from, to } = liveSpan(run.samples);
  const plot = plotWidth(width);
  const top = STRIP + BETWEEN;
  const f: Frame = {
    g,
    width: plot,
    top,
    height: Math.max(20, height - top - FOOT),
    x: (time) => LEFT + ((time - from) / (to - from || 1)) * plot,
    colors: theme(),
  };
  g.font = FONT;
  if (run.samples.length === 0) return;
  strip(f, run);
  ranks(f, run);
  times(f, run, height);
  marker(f, run, height);
}
