// spacetime_bands.ts - epochs, and super epochs, as bands behind the lines, with their names: before the plot where they begin at its first
// line, else where they begin. A name that has no room is left out.
import { namedBands } from '../layout/spacetime';
import type { Band, Run } from '../layout/spacetime';
import { acrossOf, alongOf, levelsSeen, point } from '../layout/spacetime_frame';
import type { Frame } from '../layout/spacetime_frame';
import { FONT } from './dom';
import type { Theme } from './dom';
import type { Scene } from './spacetime_scene';

const LABEL = 14; // pixels of a name, high
const CHARACTER = 7; // and wide
const LABELS_MAX = 400;
const EDGE_STEP = 3;

type G = CanvasRenderingContext2D;

export function box(g: G, f: Frame, along: number, across: number, length: number, breadth: number): void {
  if (f.upright) g.fillRect(across, along, breadth, length);
  else g.fillRect(along, across, length, breadth);
}

function runName(scene: Scene, band: Band): number {
  return scene.runOf ? scene.runOf[band.epoch]! : -1;
}

export function drawBands(g: G, scene: Scene): void {
  const { section, diagram, frame: f, theme } = scene;
  const [low, high] = levelsSeen(f);
  g.fillStyle = theme.idle;
  diagram.bands.forEach((band, k) => {
    if (band.last < low || band.first > high) return;
    const run = runName(scene, band);
    const number = section.epochs[band.epoch]!.number;
    const tinted = (run >= 0 ? run : number > 0 ? number : k) % 2 === 1;
    if (!tinted && run < 0 && f.step > EDGE_STEP) edge(g, f, theme, band.runs);
    for (const r of tinted ? band.runs : []) {
      const along = alongOf(f, r.first - 0.5);
      const length = Math.max(1, alongOf(f, r.last + 0.5) - along);
      const across = acrossOf(f, r.line - 0.5);
      box(g, f, along, across, length, acrossOf(f, r.lastLine + 0.5) - across);
    }
  });
}

/** Where an epoch begins. */
function edge(g: G, f: Frame, theme: Theme, runs: readonly Run[]): void {
  g.strokeStyle = theme.line;
  g.lineWidth = 1;
  g.beginPath();
  for (const r of runs) {
    const along = Math.round(alongOf(f, r.first - 0.5)) + 0.5;
    g.moveTo(...point(f, along, acrossOf(f, r.line - 0.5)));
    g.lineTo(...point(f, along, acrossOf(f, r.lastLine + 0.5)));
  }
  g.stroke();
}

function nameOf(scene: Scene, band: Band): string {
  const run = runName(scene, band);
  if (run >= 0) return scene.runNames[run]!;
  const { number } = scene.section.epochs[band.epoch]!;
  return `${number > 0 ? `E${number}` : 'E?'}${band.empty ? ' ∅' : ''}`;
}

/** A text on the picture: where it begins, its middle, how wide it is. */
export interface Written {
  x: number;
  y: number;
  wide: number;
}

/** Names stand beside the numbers of events, never on them. */
export function drawBandLabels(g: G, scene: Scene, numbers: readonly Written[]): void {
  const { diagram, frame: f, theme } = scene;
  const [low, high] = levelsSeen(f);
  const [begin, side] = f.upright ? [f.top, f.left] : [f.left, f.top];
  const placed: Written[] = [];
  g.font = `600 11px ${FONT.slice(5)}`;
  g.textAlign = 'left';
  g.textBaseline = 'middle';
  const bands = namedBands(diagram.bands);
  bands.forEach((band, k) => {
    const before = bands[k - 1];
    const isRun = scene.runOf !== null && before !== undefined && runName(scene, before) === runName(scene, band);
    if (band.last < low || band.first > high || isRun) return;
    const first = band.runs[0];
    const line = !first || acrossOf(f, first.line - 0.5) <= side + 1 ? -1 : first.line;
    const along = Math.max(begin, alongOf(f, (first?.first ?? band.first) - 0.5));
    const text = nameOf(scene, band);
    const wide = CHARACTER * text.length + 6;
    const room = line < 0 ? Infinity : acrossOf(f, first!.lastLine + 0.5) - acrossOf(f, line - 0.5);
    if (room < (f.upright ? wide : LABEL) || placed.length >= LABELS_MAX) return;
    const [x, y] = point(f, along + (f.upright ? 8 : 3), line < 0 ? (f.upright ? 4 : 9) : acrossOf(f, line - 0.5) + 3);
    const middle = line < 0 || f.upright ? y : y + 6;
    const meets = (at: number) => (p: Written) =>
      Math.abs(p.y - middle) < LABEL && at < p.x + p.wide && p.x < at + wide;
    const places = line >= 0 && f.upright ? [x, x - 3 - wide / 2, x - 6 - wide] : [x];
    const left = places.find((at) => !placed.some(meets(at)) && (line < 0 || !numbers.some(meets(at))));
    if (left === undefined) return;
    placed.push({ x: left, y: middle, wide });
    if (line >= 0) ground(g, theme, left - 2, middle, wide);
    g.fillStyle = band.empty ? theme.dim : theme.text;
    g.globalAlpha = 0.8;
    g.fillText(text, left, middle);
    g.globalAlpha = 1;
  });
}

/** So that lines behind a name do not cross it. */
function ground(g: G, theme: Theme, x: number, y: number, wide: number): void {
  g.fillStyle = theme.paper;
  g.globalAlpha = 0.75;
  g.fillRect(x, y - LABEL / 2, wide - 2, LABEL);
  g.globalAlpha = 1;
}
