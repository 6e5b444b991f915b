// spacetime_frame.ts - from lines and levels of the space-time view to pixels and back: one axis across the lines, one along them, upright or
// level; how far either can be zoomed; what of it is seen. Pure.

export interface Zoom {
  zoom: number; // along the lines; 1: all levels fit; 0: as many as can be read
  spread: number; // across them; 1: all lines fit; 0: as many as can be read
  along: number; // 0..1: what of the levels is in the middle
  across: number;
}

export interface Frame {
  upright: boolean; // lines go down
  width: number; // pixels, all of it
  height: number;
  left: number; // of the plot: labels stand before it
  top: number;
  length: number; // of the plot, along the lines
  breadth: number;
  step: number; // pixels from a level to the next
  pitch: number; // from a line to the next
  from: number; // pixels of the first level behind the begin of the plot
  side: number; // and of the first line
  zoom: number; // that of Zoom, where that was 0 what it came to
  spread: number;
}

const STEP_MAX = 56;
const PITCH_MAX = 260;
const STEP_FIT_MAX = 34; // few levels do not fill the plot
const PITCH_FIT_MAX = 200;
const STEP_READ = 16; // at which numbers of events are read
const PITCH_READ = 44;
const AROUND = 15; // pixels that a number leaves between two lines, or two levels: its event, and air
/** Width of a digit of an event's number, pixels. */
export const DIGIT = 6;

/** What is laid out; digits: of the longest number of an event. */
export interface Counts {
  lines: number;
  levels: number;
  digits: number;
}

export function zoomMax(levels: number, length: number): number {
  return Math.max(1, STEP_MAX / fit(length, levels, STEP_FIT_MAX));
}

export function spreadMax(lines: number, breadth: number): number {
  return Math.max(1, PITCH_MAX / fit(breadth, lines, PITCH_FIT_MAX));
}

function fit(room: number, n: number, most: number): number {
  return Math.min(most, Math.max(1, room) / Math.max(1, n));
}

/** Where the first one is, so that the share is in the middle and nothing is wasted. */
function begin(room: number, size: number, share: number): number {
  if (size <= room) return 0;
  return Math.min(0, Math.max(room - size, room / 2 - share * size));
}

export function frameOf(
  size: { width: number; height: number },
  margins: { left: number; top: number },
  upright: boolean,
  counts: Counts,
  z: Zoom,
): Frame {
  const [w, h] = [Math.max(10, size.width - margins.left), Math.max(10, size.height - margins.top)];
  const [length, breadth] = upright ? [h, w] : [w, h];
  const [fitStep, fitPitch] = [fit(length, counts.levels, STEP_FIT_MAX), fit(breadth, counts.lines, PITCH_FIT_MAX)];
  const number = counts.digits * DIGIT + AROUND;
  const [readStep, readPitch] = upright
    ? [STEP_READ, Math.max(PITCH_READ, number)]
    : [Math.max(STEP_READ, number), PITCH_READ];
  const zoom = Math.min(zoomMax(counts.levels, length), Math.max(1, z.zoom || readStep / fitStep));
  const spread = Math.min(spreadMax(counts.lines, breadth), Math.max(1, z.spread || readPitch / fitPitch));
  const [step, pitch] = [fitStep * zoom, fitPitch * spread];
  return {
    upright,
    ...size,
    ...margins,
    length,
    breadth,
    step,
    pitch,
    from: begin(length, step * counts.levels, z.along),
    side: begin(breadth, pitch * counts.lines, z.across),
    zoom,
    spread,
  };
}

/** Pixels of a level, and of a line, from the corner of the canvas. */
export function alongOf(f: Frame, level: number): number {
  return (f.upright ? f.top : f.left) + f.from + (level + 0.5) * f.step;
}

export function acrossOf(f: Frame, line: number): number {
  return (f.upright ? f.left : f.top) + f.side + (line + 0.5) * f.pitch;
}

/** Along and across to x and y. */
export function point(f: Frame, along: number, across: number): [number, number] {
  return f.upright ? [across, along] : [along, across];
}

/** The level and the line at a point, with fractions; whole numbers are in their middles. */
export function placeAt(f: Frame, x: number, y: number): { level: number; line: number } {
  const [along, across] = f.upright ? [y - f.top, x - f.left] : [x - f.left, y - f.top];
  return { level: (along - f.from) / f.step - 0.5, line: (across - f.side) / f.pitch - 0.5 };
}

/** Levels that are seen, with air. */
export function levelsSeen(f: Frame): [number, number] {
  return [-f.from / f.step - 1.5, (f.length - f.from) / f.step + 0.5];
}

export function linesSeen(f: Frame): [number, number] {
  return [-f.side / f.pitch - 1, (f.breadth - f.side) / f.pitch];
}

/** Zoom along by a factor; what is at `level` stays where it is. */
export function zoomAbout(f: Frame, z: Zoom, levels: number, level: number, factor: number): Zoom {
  const zoom = Math.min(zoomMax(levels, f.length), Math.max(1, z.zoom * factor));
  const step = (f.step * zoom) / Math.min(zoomMax(levels, f.length), Math.max(1, z.zoom));
  const at = f.from + (level + 0.5) * f.step; // pixels
  return { ...z, zoom, along: middle(f.length, step * levels, (level + 0.5) * step - at) };
}

export function spreadAbout(f: Frame, z: Zoom, lines: number, line: number, factor: number): Zoom {
  const spread = Math.min(spreadMax(lines, f.breadth), Math.max(1, z.spread * factor));
  const pitch = (f.pitch * spread) / Math.min(spreadMax(lines, f.breadth), Math.max(1, z.spread));
  const at = f.side + (line + 0.5) * f.pitch;
  return { ...z, spread, across: middle(f.breadth, pitch * lines, (line + 0.5) * pitch - at) };
}

/** The share in the middle where so many pixels are before the plot. */
function middle(room: number, size: number, before: number): number {
  return clamp((before + room / 2) / Math.max(1, size));
}

const clamp = (x: number) => Math.min(1, Math.max(0, x));

/** Moved by pixels. */
export function moved(f: Frame, z: Zoom, counts: { lines: number; levels: number }, dx: number, dy: number): Zoom {
  const [along, across] = f.upright ? [dy, dx] : [dx, dy];
  return {
    ...z,
    along: middle(f.length, f.step * counts.levels, -(f.from + along)),
    across: middle(f.breadth, f.pitch * counts.lines, -(f.side + across)),
  };
}

/** That an area fills the plot. */
export function zoomInto(
  f: Frame,
  z: Zoom,
  counts: { lines: number; levels: number },
  a: { level: number; line: number },
  b: { level: number; line: number },
): Zoom {
  const levels = Math.max(0.5, Math.abs(a.level - b.level));
  const lines = Math.max(0.5, Math.abs(a.line - b.line));
  return {
    zoom: Math.min(zoomMax(counts.levels, f.length), Math.max(1, (z.zoom * f.length) / (levels * f.step))),
    spread: Math.min(spreadMax(counts.lines, f.breadth), Math.max(1, (z.spread * f.breadth) / (lines * f.pitch))),
    along: clamp(((a.level + b.level) / 2 + 0.5) / counts.levels),
    across: clamp(((a.line + b.line) / 2 + 0.5) / counts.lines),
  };
}
