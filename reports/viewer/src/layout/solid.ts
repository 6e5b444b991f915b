// solid.ts - surfaces and points in space as plain numbers, whoever draws them: three numbers a vertex, y is up. Pure.
import { projector } from './orbit';
import type { Orbit } from './orbit';
import type { Vec } from './machine';

export interface Solid {
  positions: Float32Array;
  normals: Float32Array; // unit, of vertices
  colors: Float32Array; // 0..1, of vertices
  faces: Uint32Array; // corners of triangles
  points: number; // px of a vertex that is drawn as a point; 0: none is
}

export interface Room {
  middle: Vec;
  size: Vec;
}

export const EMPTY: Solid = {
  positions: new Float32Array(0),
  normals: new Float32Array(0),
  colors: new Float32Array(0),
  faces: new Uint32Array(0),
  points: 0,
};

/** Of each vertex the mean of its faces, larger ones counting for more. */
export function normalsOf(positions: Float32Array, faces: Uint32Array): Float32Array {
  const normals = new Float32Array(positions.length);
  const at = (i: number, k: number) => positions[3 * i + k]!;
  for (let f = 0; f < faces.length; f += 3) {
    const [a, b, c] = [faces[f]!, faces[f + 1]!, faces[f + 2]!];
    const u = [0, 1, 2].map((k) => at(b, k) - at(a, k));
    const v = [0, 1, 2].map((k) => at(c, k) - at(a, k));
    const n = [u[1]! * v[2]! - u[2]! * v[1]!, u[2]! * v[0]! - u[0]! * v[2]!, u[0]! * v[1]! - u[1]! * v[0]!];
    for (const i of [a, b, c]) for (let k = 0; k < 3; k++) normals[3 * i + k]! += n[k]!;
  }
  for (let i = 0; i < normals.length; i += 3) {
    const length = Math.hypot(normals[i]!, normals[i + 1]!, normals[i + 2]!) || 1;
    for (let k = 0; k < 3; k++) normals[i + k]! /= length;
  }
  return normals;
}

/** Corners of two triangles for each cell of a grid of so many by so many vertices, row by row; round: the last row is followed by the first. */
export function gridFaces(rows: number, columns: number, round = false): Uint32Array {
  const strips = round ? rows : rows - 1;
  const faces = new Uint32Array(Math.max(0, strips * (columns - 1) * 6));
  let n = 0;
  for (let r = 0; r < strips; r++)
    for (let c = 0; c + 1 < columns; c++) {
      const [a, b] = [r * columns + c, ((r + 1) % rows) * columns + c];
      faces.set([a, b, a + 1, a + 1, b, b + 1], n);
      n += 6;
    }
  return faces;
}

/** Only faces all of whose vertices are known: what is not known is a hole, not a value of 0. */
export function knownFaces(faces: Uint32Array, isKnown: (vertex: number) => boolean): Uint32Array {
  const kept: number[] = [];
  for (let i = 0; i < faces.length; i += 3) {
    const face = faces.subarray(i, i + 3);
    if (face.every((vertex) => isKnown(vertex))) kept.push(...face);
  }
  return Uint32Array.from(kept);
}

/** Of light from above the left shoulder of who looks at the front. */
export const LIGHT: Vec = [-0.45, 0.78, 0.43];

export function lit(normal: Vec): number {
  return 0.5 + 0.5 * Math.abs(normal[0] * LIGHT[0] + normal[1] * LIGHT[1] + normal[2] * LIGHT[2]);
}

const REACH = 14; // px from the pointer

/** The vertex that is seen nearest to a pixel; of those that are about as near the one that is nearest to the eye. -1: none. */
export function vertexAt(s: Solid, o: Orbit, box: { width: number; height: number }, x: number, y: number): number {
  const see = projector(o, box.width, box.height);
  let [best, least] = [-1, Infinity];
  for (let i = 0; i < s.positions.length / 3; i++) {
    const p = see([s.positions[3 * i]!, s.positions[3 * i + 1]!, s.positions[3 * i + 2]!]);
    if (p.scale <= 0) continue;
    const far = Math.hypot(p.x - x, p.y - y);
    const rank = Math.round(far / 4) - p.scale * 1e-3;
    if (far > REACH || rank >= least) continue;
    [best, least] = [i, rank];
  }
  return best;
}
