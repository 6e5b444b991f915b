// solid_paint.ts - a solid on a 2D canvas, the farthest first: for files, and for browsers without WebGL.
import { css } from '../layout/color';
import type { Rgb } from '../layout/color';
import type { Vec } from '../layout/machine';
import { projector } from '../layout/orbit';
import type { Orbit, Seen } from '../layout/orbit';
import { lit } from '../layout/solid';
import type { Solid } from '../layout/solid';

const vertex = (of: Float32Array, i: number): Vec => [of[3 * i]!, of[3 * i + 1]!, of[3 * i + 2]!];

function paintPoints(g: CanvasRenderingContext2D, s: Solid, seen: Seen[]): void {
  const order = seen.map((_, i) => i).filter((i) => seen[i]!.scale > 0);
  order.sort((a, b) => seen[a]!.scale - seen[b]!.scale);
  for (const i of order) {
    g.fillStyle = css(vertex(s.colors, i) as Rgb);
    g.beginPath();
    g.arc(seen[i]!.x, seen[i]!.y, s.points / 2, 0, 2 * Math.PI);
    g.fill();
  }
}

export function paintSolid(g: CanvasRenderingContext2D, s: Solid, o: Orbit, width: number, height: number): void {
  const see = projector(o, width, height);
  const seen = Array.from({ length: s.positions.length / 3 }, (_, i) => see(vertex(s.positions, i)));
  if (s.points > 0) return paintPoints(g, s, seen);
  const faces = Array.from({ length: s.faces.length / 3 }, (_, f) => f);
  const near = (f: number) =>
    seen[s.faces[3 * f]!]!.scale + seen[s.faces[3 * f + 1]!]!.scale + seen[s.faces[3 * f + 2]!]!.scale;
  const scale = Float64Array.from(faces, near);
  faces.sort((a, b) => scale[a]! - scale[b]!);
  for (const f of faces) {
    const corners = [0, 1, 2].map((k) => s.faces[3 * f + k]!);
    if (corners.some((i) => seen[i]!.scale <= 0)) continue;
    const mean = (of: Float32Array) =>
      [0, 1, 2].map((k) => corners.reduce((sum, i) => sum + of[3 * i + k]!, 0) / 3) as unknown as Vec;
    const light = lit(mean(s.normals));
    const color = css(mean(s.colors).map((x) => Math.min(1, x * light)) as Rgb);
    g.beginPath();
    corners.forEach((i, k) => (k === 0 ? g.moveTo(seen[i]!.x, seen[i]!.y) : g.lineTo(seen[i]!.x, seen[i]!.y)));
    g.closePath();
    g.fillStyle = g.strokeStyle = color;
    g.fill();
    g.stroke(); // no seams
  }
}
