// machine_arcs.ts - traffic over the machine: arcs between ranks, and collectives without a root as lines to a knot above those that are in
// them. In: flows of an instant, ready to be drawn.  Out: a 2D canvas, or an SVG that takes itself for one.
import { css, hex } from '../layout/color';
import type { Rgb } from '../layout/color';
import type { Layout, Vec } from '../layout/machine';
import { projector } from '../layout/orbit';
import type { Orbit, Seen } from '../layout/orbit';
import type { Distance, Machine } from '../model/machine';
import type { FlowKind } from '../model/instant';
import { FONT } from './dom';
import type { Theme } from './dom';

/** What is looked at, from where. */
export interface Sight {
  machine: Machine;
  layout: Layout;
  orbit: Orbit;
  width: number;
  height: number;
  theme: Theme;
}

/** A colour and a second cue: dashes. */
export interface ArcStyle {
  light: Rgb;
  dark: Rgb;
  dash: number[];
}

export const DISTANCE_STYLES: Record<Distance, ArcStyle> = {
  'intra-node': { light: hex('#0072b2'), dark: hex('#56b4e9'), dash: [] },
  'inter-node': { light: hex('#0b7d59'), dark: hex('#35d39d'), dash: [9, 3] },
  'inter-switch': { light: hex('#a8326e'), dark: hex('#f08cc0'), dash: [3, 3] },
};

/** Near the colours that classes have in the timeline, dark enough for a line. */
export const CLASS_STYLES: Record<FlowKind, ArcStyle & { name: string }> = {
  p2p: { light: hex('#0072b2'), dark: hex('#56b4e9'), dash: [], name: 'point to point' },
  collective: { light: hex('#0b7d59'), dark: hex('#35d39d'), dash: [6, 2, 1, 2], name: 'collective' },
  'one-sided': { light: hex('#7c4f73'), dark: hex('#e0c4d8'), dash: [2, 3], name: 'one-sided' },
};

/** Traffic between two ranks, ready to be drawn. */
export interface Arc {
  src: number;
  dst: number;
  px: number; // width
  alpha: number;
  style: ArcStyle;
}

/** A collective without a root. */
export interface Knot {
  ranks: number[];
  text: string;
  alpha: number;
  style: ArcStyle;
}

/** The top of a rank's box, where arcs begin. */
export function headOf(layout: Layout, rank: number): Vec | null {
  const b = layout.boxes.rank;
  const at = rank * 6;
  if (!(b[at + 3]! > 0)) return null;
  return [0, 1, 2].map((k) => b[at + k]! + (b[at + 3 + k]! / 2) * layout.up[k]!) as Vec;
}

type Curve = [Seen, Seen, Seen, Seen];

/** An arc from one rank to another, higher the farther; null: not to be seen. */
export function curveOf(s: Pick<Sight, 'layout'>, at: (p: Vec) => Seen, src: number, dst: number): Curve | null {
  const [a, b] = [headOf(s.layout, src), headOf(s.layout, dst)];
  if (!a || !b) return null;
  const far = Math.hypot(...a.map((x, k) => x - b[k]!));
  const lift = 0.6 + Math.min(0.3 * far, 1.1 * Math.sqrt(far)); // the farthest stay within the picture
  // to the left as the sender sees it, so that both ways show
  const side: Vec = s.layout.up[1] === 1 ? [b[2] - a[2], 0, a[0] - b[0]] : [a[1] - b[1], b[0] - a[0], 0];
  const control = (share: number) =>
    a.map((x, k) => x + (b[k]! - x) * share + s.layout.up[k]! * lift + side[k]! * 0.08) as Vec;
  const curve = [a, control(0.25), control(0.75), b].map(at) as Curve;
  return curve.every((p) => p.scale > 0) ? curve : null;
}

export function strokeCurve(g: CanvasRenderingContext2D, [a, c, d, b]: Curve): void {
  g.beginPath();
  g.moveTo(a.x, a.y);
  g.bezierCurveTo(c.x, c.y, d.x, d.y, b.x, b.y);
  g.stroke();
}

const ink = (style: ArcStyle, dark: boolean): Rgb => (dark ? style.dark : style.light);

export function paintArcs(g: CanvasRenderingContext2D, s: Sight, arcs: Arc[]): void {
  const at = projector(s.orbit, s.width, s.height);
  g.save();
  for (let i = arcs.length - 1; i >= 0; i--) {
    const arc = arcs[i]!;
    const curve = curveOf(s, at, arc.src, arc.dst);
    if (!curve) continue;
    g.strokeStyle = css(ink(arc.style, s.theme.dark), arc.alpha);
    g.lineWidth = arc.px;
    g.setLineDash(arc.style.dash.map((x) => x * Math.max(1, arc.px / 2)));
    strokeCurve(g, curve);
  }
  g.restore();
}

const SPOKES_MAX = 256; // of a knot; of more ranks one a node, then some of these
const KNOT_PX = 5;

/** The ranks that lines of a knot go to. */
export function spokesOf(ranks: readonly number[], nodeOf: (rank: number) => number): number[] {
  if (ranks.length <= SPOKES_MAX) return [...ranks];
  const first = new Map<number, number>();
  for (const rank of ranks) if (!first.has(nodeOf(rank))) first.set(nodeOf(rank), rank);
  const some = [...first.values()];
  const every = Math.ceil(some.length / SPOKES_MAX);
  return some.filter((_, i) => i % every === 0);
}

/** Above the middle of some places, the higher the wider they lie. */
export function aboveOf(heads: readonly Vec[], up: Vec): Vec {
  const middle = [0, 1, 2].map((k) => heads.reduce((sum, p) => sum + p[k]!, 0) / heads.length) as Vec;
  const reach = heads.reduce((far, p) => Math.max(far, Math.hypot(...p.map((x, k) => x - middle[k]!))), 1);
  return middle.map((x, k) => x + up[k]! * (0.8 + 0.35 * reach)) as Vec;
}

/** Collectives without a root: lines to a knot, with its name. */
export function paintKnots(g: CanvasRenderingContext2D, s: Sight, knots: Knot[]): void {
  const at = projector(s.orbit, s.width, s.height);
  g.save();
  for (const knot of knots) {
    const spokes = spokesOf(knot.ranks, (rank) => s.machine.ranks[rank]?.node ?? -1);
    const heads = spokes.map((rank) => headOf(s.layout, rank)).filter((p) => p !== null);
    if (heads.length === 0) continue;
    const top = at(aboveOf(heads, s.layout.up));
    if (top.scale <= 0) continue;
    paintKnot(g, s, knot, top, heads.map(at));
  }
  g.restore();
}

function paintKnot(g: CanvasRenderingContext2D, s: Sight, knot: Knot, top: Seen, ends: Seen[]): void {
  const color = ink(knot.style, s.theme.dark);
  g.strokeStyle = css(color, knot.alpha);
  g.lineWidth = ends.length > 64 ? 1 : 1.5;
  g.setLineDash(knot.style.dash);
  g.beginPath();
  for (const p of ends) {
    if (p.scale <= 0) continue;
    g.moveTo(p.x, p.y);
    g.lineTo(top.x, top.y);
  }
  g.stroke();
  g.setLineDash([]);
  g.beginPath();
  g.arc(top.x, top.y, KNOT_PX, 0, 2 * Math.PI);
  g.fillStyle = s.theme.paper;
  g.fill();
  g.strokeStyle = css(color);
  g.lineWidth = 2;
  g.stroke();
  g.font = FONT;
  g.textAlign = 'left';
  g.textBaseline = 'middle';
  const width = g.measureText(knot.text).width;
  const x = Math.min(top.x + KNOT_PX + 4, s.width - width - 4);
  g.fillStyle = s.theme.paper;
  g.globalAlpha = 0.8;
  g.fillRect(x - 2, top.y - 8, width + 4, 16);
  g.globalAlpha = 1;
  g.fillStyle = s.theme.text;
  g.fillText(knot.text, x, top.y);
}
