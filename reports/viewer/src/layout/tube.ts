// tube.ts - a field as a Kiviat tube: for each column a closed polygon whose corners are the rows, as far out as their value; the columns follow
// each other along the tube. Pure.
import { fieldAt } from '../model/field';
import type { Field } from '../model/field';
import { viridis } from './color';
import { shadeOf } from './field';
import type { Scale } from './field';
import { gridFaces, knownFaces, normalsOf } from './solid';
import type { Room, Solid } from './solid';
import type { Vec } from './machine';

export const SPOKES_MAX = 48; // rows that have a corner
export const CORNERS_LEAST = 3; // with fewer there is no inside
const LONG = 130;
const RADIUS = 26;
const CORE = 0.06; // of the radius, where the value is nothing or not known

export const TUBE_ROOM: Room = { middle: [0, 0, 0], size: [LONG, 2 * RADIUS, 2 * RADIUS] };

export function spokesOf(f: Field): number {
  return Math.min(f.rows.length, SPOKES_MAX);
}

/** Where a spoke points, in the plane across the tube: the first one up, then clockwise as seen from the beginning. */
export function spoke(n: number, i: number): [number, number] {
  const angle = (2 * Math.PI * i) / Math.max(1, n);
  return [Math.cos(angle), Math.sin(angle)];
}

export function tubePoint(f: Field, scale: Scale, row: number, column: number): Vec {
  const [y, z] = spoke(spokesOf(f), row);
  const shade = shadeOf(scale, fieldAt(f, row, column));
  const out = RADIUS * (CORE + (1 - CORE) * (Number.isNaN(shade) ? 0 : shade));
  const columns = f.columns.length;
  return [columns > 1 ? (column / (columns - 1) - 0.5) * LONG : 0, y * out, z * out];
}

/** The end of a spoke of full length, at the beginning of the tube. */
export function spokeEnd(f: Field, row: number): Vec {
  const [y, z] = spoke(spokesOf(f), row);
  return [-LONG / 2, y * RADIUS * 1.12, z * RADIUS * 1.12];
}

/** A vertex for each spoke and column: its number is spoke * columns + column. */
export function tubeOf(f: Field, scale: Scale): Solid {
  const [spokes, columns] = [spokesOf(f), f.columns.length];
  const positions = new Float32Array(spokes * columns * 3);
  const colors = new Float32Array(spokes * columns * 3);
  for (let r = 0; r < spokes; r++)
    for (let c = 0; c < columns; c++) {
      const shade = shadeOf(scale, fieldAt(f, r, c));
      positions.set(tubePoint(f, scale, r, c), 3 * (r * columns + c));
      colors.set(Number.isNaN(shade) ? [0.55, 0.55, 0.58] : viridis(shade), 3 * (r * columns + c));
    }
  const isKnown = (vertex: number) => {
    const { row, column } = tubeCell(f, vertex);
    return !Number.isNaN(shadeOf(scale, fieldAt(f, row, column)));
  };
  const faces = knownFaces(gridFaces(spokes, columns, spokes >= CORNERS_LEAST), isKnown);
  return { positions, colors, faces, normals: normalsOf(positions, faces), points: 0 };
}

export function tubeCell(f: Field, vertex: number): { row: number; column: number } {
  return { row: Math.floor(vertex / f.columns.length), column: vertex % f.columns.length };
}
