// machine_paint.ts - what lies over the machine: traffic as arcs, halos, links, names; and the machine itself where no WebGL draws it, in
// files and in browsers without. In: a layout, a camera.  Out: a 2D canvas, or an SVG that takes itself for one.
import { css, hex, viridis } from '../layout/color';
import type { Rgb } from '../layout/color';
import { PARTS } from '../layout/machine';
import type { Part, Vec } from '../layout/machine';
import { axesOf, projector } from '../layout/orbit';
import type { Seen } from '../layout/orbit';
import type { Halo, HaloKind, Link, LinkKind } from '../model/overlays';
import { FONT } from './dom';
import { curveOf, headOf, strokeCurve } from './machine_arcs';
import type { Sight } from './machine_arcs';
import type { Colors } from './scene_port';

export const HALO_STYLES: Record<HaloKind, { light: Rgb; dark: Rgb; name: string }> = {
  issue: { light: hex('#8f1d5b'), dark: hex('#ff9dd0'), name: 'issue: two rings' },
  pattern: { light: hex('#0072b2'), dark: hex('#7fcfff'), name: 'pattern: broken ring' },
  root: { light: hex('#0b7d59'), dark: hex('#35d39d'), name: 'root: diamond' },
  top: { light: hex('#6a4a28'), dark: hex('#e7da2f'), name: 'top rank: square' },
};

export const LINK_STYLES: Record<LinkKind, { light: Rgb; dark: Rgb; dash: number[]; name: string }> = {
  issue: { light: hex('#8f1d5b'), dark: hex('#ff9dd0'), dash: [], name: 'issue link' },
  hotspot: { light: hex('#6a4a28'), dark: hex('#e7da2f'), dash: [14, 4], name: 'hotspot link' },
  pingpong: { light: hex('#0072b2'), dark: hex('#7fcfff'), dash: [2, 4], name: 'ping-pong link' },
};

const middleOf = (boxes: Float32Array, i: number): Vec => [boxes[i * 6]!, boxes[i * 6 + 1]!, boxes[i * 6 + 2]!];
const sizeOf = (boxes: Float32Array, i: number): Vec => [boxes[i * 6 + 3]!, boxes[i * 6 + 4]!, boxes[i * 6 + 5]!];

function colorOf(colors: Float32Array | undefined, i: number): Rgb {
  if (!colors) return [0.5, 0.5, 0.5];
  const at = colors.length === 3 ? 0 : i * 3;
  return [colors[at]!, colors[at + 1]!, colors[at + 2]!];
}

const SMALL_PX = 4; // a box so small is one rectangle

/** The faces of a box that look at the eye, as corners of {axis, side}. */
function faces(back: Vec): { axis: number; side: number; light: number }[] {
  const light = (axis: number, side: number) =>
    axis === 1 ? (side > 0 ? 1 : 0.6) : axis === 2 ? 0.92 : side < 0 ? 0.8 : 0.72;
  return [0, 2, 1]
    .filter((axis) => Math.abs(back[axis]!) > 0.01)
    .map((axis) => ({ axis, side: Math.sign(back[axis]!), light: light(axis, Math.sign(back[axis]!)) }));
}

function paintBox(
  g: CanvasRenderingContext2D,
  at: (p: Vec) => Seen,
  middle: Vec,
  size: Vec,
  color: Rgb,
  back: Vec,
): void {
  const seen = at(middle);
  const px = Math.max(...size) * seen.scale;
  if (seen.scale <= 0 || px < 0.2) return;
  if (px < SMALL_PX) {
    g.fillStyle = css(color);
    g.fillRect(seen.x - px / 2, seen.y - px / 2, px, px);
    return;
  }
  for (const { axis, side, light } of faces(back)) {
    const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
    g.fillStyle = css(color.map((x) => x * light) as Rgb);
    g.beginPath();
    [
      [-1, -1],
      [1, -1],
      [1, 1],
      [-1, 1],
    ].forEach(([a, b], k) => {
      const p = [...middle] as Vec;
      p[axis]! += (side * size[axis]!) / 2;
      p[u]! += (a! * size[u]!) / 2;
      p[v]! += (b! * size[v]!) / 2;
      const q = at(p);
      if (k === 0) g.moveTo(q.x, q.y);
      else g.lineTo(q.x, q.y);
    });
    g.closePath();
    g.fill();
  }
}

/** The boxes themselves, those behind first. */
export function paintMachine(g: CanvasRenderingContext2D, s: Sight, colors: Colors): void {
  const at = projector(s.orbit, s.width, s.height);
  const { back } = axesOf(s.orbit);
  for (const part of PARTS) {
    const boxes = s.layout.boxes[part];
    const count = boxes.length / 6;
    const depth = new Float32Array(count);
    for (let i = 0; i < count; i++) depth[i] = middleOf(boxes, i).reduce((sum, x, k) => sum + x * back[k]!, 0);
    const order = Uint32Array.from(depth.keys()).sort((a, b) => depth[a]! - depth[b]!);
    for (const i of order)
      paintBox(g, at, middleOf(boxes, i), sizeOf(boxes, i), colorOf(colors[part as Part], i), back);
  }
}

const LINK_PX = 2.5;

export function paintLinks(g: CanvasRenderingContext2D, s: Sight, links: Link[]): void {
  const at = projector(s.orbit, s.width, s.height);
  g.save();
  for (const link of links) {
    const style = LINK_STYLES[link.kind];
    const curve = curveOf(s, at, link.src, link.dst);
    if (!curve) continue;
    g.setLineDash([]);
    g.strokeStyle = s.theme.paper; // a rim, so that it is seen on anything
    g.lineWidth = LINK_PX + 3;
    strokeCurve(g, curve);
    g.strokeStyle = css(s.theme.dark ? style.dark : style.light);
    g.lineWidth = LINK_PX;
    g.setLineDash(style.dash);
    strokeCurve(g, curve);
  }
  g.restore();
}

function haloPath(g: CanvasRenderingContext2D, kind: HaloKind, x: number, y: number, r: number): void {
  g.beginPath();
  if (kind === 'root') {
    g.moveTo(x, y - r * 1.3);
    g.lineTo(x + r * 1.3, y);
    g.lineTo(x, y + r * 1.3);
    g.lineTo(x - r * 1.3, y);
    g.closePath();
  } else if (kind === 'top') g.rect(x - r, y - r, 2 * r, 2 * r);
  else g.arc(x, y, r, 0, 2 * Math.PI);
}

const HALO_PX: Record<HaloKind, number> = { issue: 9, pattern: 7, root: 11, top: 12 };

/** Rings about ranks, never smaller than can be told apart by their shape. */
export function paintHalos(g: CanvasRenderingContext2D, s: Sight, halos: Halo[]): void {
  const at = projector(s.orbit, s.width, s.height);
  g.save();
  for (const { kind, rank } of halos) {
    const p = headOf(s.layout, rank);
    const seen = p && at(p);
    if (!seen || seen.scale <= 0) continue;
    const style = HALO_STYLES[kind];
    const r = Math.max(HALO_PX[kind], Math.min(2 * HALO_PX[kind], seen.scale * 0.07 * HALO_PX[kind]));
    const rings = kind === 'issue' ? [r, r + 4] : [r];
    for (const ring of rings) {
      haloPath(g, kind, seen.x, seen.y, ring);
      g.setLineDash([]);
      g.strokeStyle = s.theme.paper;
      g.lineWidth = 4;
      g.stroke();
      g.strokeStyle = css(s.theme.dark ? style.dark : style.light);
      g.lineWidth = 2;
      g.setLineDash(kind === 'pattern' ? [4, 3] : []);
      haloPath(g, kind, seen.x, seen.y, ring);
      g.stroke();
    }
  }
  g.restore();
}

/** Outlines of ranks that are selected or under the pointer. */
export function paintMarks(g: CanvasRenderingContext2D, s: Sight, ranks: Iterable<number>, strong: boolean): void {
  const at = projector(s.orbit, s.width, s.height);
  g.strokeStyle = strong ? s.theme.accent : s.theme.text;
  g.lineWidth = strong ? 2.5 : 1.5;
  for (const rank of ranks) {
    const p = headOf(s.layout, rank);
    const seen = p && at(p);
    if (!seen || seen.scale <= 0) continue;
    const r = Math.max(3, seen.scale * 0.42);
    g.strokeRect(seen.x - r, seen.y - r, 2 * r, 2 * r);
  }
}

const BAR = { width: 120, height: 8, steps: 24, margin: 14 };

/** What the colours of ranks mean, in the lower right corner. */
export function paintScale(g: CanvasRenderingContext2D, s: Sight, title: string, ends: [string, string]): void {
  const [x, y] = [s.width - BAR.width - BAR.margin, s.height - BAR.margin - BAR.height];
  for (let i = 0; i < BAR.steps; i++) {
    g.fillStyle = css(viridis(i / (BAR.steps - 1)));
    g.fillRect(x + (i * BAR.width) / BAR.steps, y, BAR.width / BAR.steps + 0.5, BAR.height);
  }
  g.font = FONT;
  g.fillStyle = s.theme.dim;
  g.textBaseline = 'bottom';
  g.textAlign = 'left';
  g.fillText(`${title}: ${ends[0]}`, x, y - 3);
  g.textAlign = 'right';
  g.fillText(ends[1], x + BAR.width, y - 3);
}

const LABELS_MAX = 500;
const LABEL_ROOM = 10; // px between two names
const RANK_ROOM = 15; // px of a rank's box at least that has its name, and as many as the name takes: else names hide what they name
const DIGIT = 7; // px

interface Label {
  text: string;
  x: number;
  y: number;
}

function labels(s: Sight): Label[] {
  const at = projector(s.orbit, s.width, s.height);
  const { boxes } = s.layout;
  const found: Label[] = [];
  const isHere = (p: Seen) => p.scale > 0 && p.x > 0 && p.y > 0 && p.x < s.width && p.y < s.height;
  s.machine.groups.forEach((name, i) => {
    const b = boxes.group;
    if (name === '' || (i + 1) * 6 > b.length) return;
    const [m, size] = [middleOf(b, i), sizeOf(b, i)];
    const p = at([
      m[0],
      m[1] + (s.layout.up[1] === 1 ? 0 : size[1] / 2),
      m[2] + (s.layout.up[1] === 1 ? size[2] / 2 : 0),
    ]);
    if (isHere(p) && size[0] * p.scale > 40)
      found.push({ text: name.split(' / ').pop()!, x: p.x, y: p.y + (s.layout.up[1] === 1 ? 9 : -9) });
  });
  s.machine.nodes.forEach((node, i) => {
    const [m, size] = [middleOf(boxes.node, i), sizeOf(boxes.node, i)];
    const edge: Vec =
      s.layout.up[1] === 1 ? [m[0], m[1], m[2] + size[2] / 2] : [m[0], m[1] - size[1] / 2, m[2] + size[2] / 2];
    const p = at(edge);
    if (isHere(p) && size[0] * p.scale > 26) found.push({ text: node.name, x: p.x, y: p.y + 6 });
  });
  const room = Math.max(RANK_ROOM, DIGIT * String(s.machine.ranks.length - 1).length + 4);
  for (let rank = 0; rank < s.machine.ranks.length && found.length < 4 * LABELS_MAX; rank++) {
    const head = headOf(s.layout, rank);
    const p = head && at(head);
    if (p && p.scale > room && isHere(p)) found.push({ text: String(rank), x: p.x, y: p.y });
  }
  return found;
}

/** Names, as many as have room: groups first, then nodes, then ranks. */
export function paintLabels(g: CanvasRenderingContext2D, s: Sight): number {
  const taken: { x: number; y: number; w: number }[] = [];
  g.font = FONT;
  g.textAlign = 'center';
  g.textBaseline = 'middle';
  for (const label of labels(s)) {
    const w = g.measureText(label.text).width;
    const clash = taken.some(
      (t) => Math.abs(t.y - label.y) < 13 && Math.abs(t.x - label.x) < (t.w + w) / 2 + LABEL_ROOM / 2,
    );
    if (clash || taken.length >= LABELS_MAX) continue;
    taken.push({ x: label.x, y: label.y, w });
    g.fillStyle = s.theme.paper;
    g.globalAlpha = 0.72;
    g.fillRect(label.x - w / 2 - 2, label.y - 7, w + 4, 14);
    g.globalAlpha = 1;
    g.fillStyle = s.theme.text;
    g.fillText(label.text, label.x, label.y);
  }
  return taken.length;
}

/** The rank or node under a point: ranks before nodes, the nearest to the eye before others. */
export function underPoint(s: Sight, x: number, y: number): { rank: number; node: number } {
  const at = projector(s.orbit, s.width, s.height);
  const { right, up } = axesOf(s.orbit);
  const inside = (boxes: Float32Array, i: number, least: number): number => {
    const size = sizeOf(boxes, i);
    if (!(size[0] > 0)) return 0;
    const p = at(middleOf(boxes, i));
    const reach = (axis: Vec) =>
      Math.max(least, (size.reduce((sum, side, k) => sum + side * Math.abs(axis[k]!), 0) / 2) * p.scale);
    return p.scale > 0 && Math.abs(p.x - x) <= reach(right) && Math.abs(p.y - y) <= reach(up) ? p.scale : 0;
  };
  const best = (boxes: Float32Array, least: number): number => {
    let [found, nearest] = [-1, 0];
    for (let i = 0; i < boxes.length / 6; i++) {
      const scale = inside(boxes, i, least);
      if (scale > nearest) [found, nearest] = [i, scale];
    }
    return found;
  };
  const rank = best(s.layout.boxes.rank, 2);
  return { rank, node: rank >= 0 ? s.machine.ranks[rank]!.node : best(s.layout.boxes.node, 1) };
}
