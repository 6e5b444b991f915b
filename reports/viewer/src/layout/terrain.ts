// terrain.ts - a field as a landscape: columns left to right, rows from the back to the front, the metric up. In: a field and its scale.  Out: a
// surface, and where its cells are. Pure.
import { fieldAt } from '../model/field';
import type { Field } from '../model/field';
import { viridis } from './color';
import type { Rgb } from './color';
import { shadeOf } from './field';
import type { Scale } from './field';
import { gridFaces, knownFaces, normalsOf } from './solid';
import type { Room, Solid } from './solid';
import type { Vec } from './machine';

export const WIDE = 100;
export const DEEP = 70;
export const HIGH = 28;
const UNKNOWN: Rgb = [0.55, 0.55, 0.58];

export const TERRAIN_ROOM: Room = { middle: [0, HIGH / 2, 0], size: [WIDE, HIGH, DEEP] };

/** The middle of a cell on the ground. */
export function groundOf(f: Field, row: number, column: number): [number, number] {
  const [columns, rows] = [f.columns.length, f.rows.length];
  return [((column + 0.5) / columns - 0.5) * WIDE, ((row + 0.5) / rows - 0.5) * DEEP];
}

export function topOf(f: Field, scale: Scale, row: number, column: number): Vec {
  const [x, z] = groundOf(f, row, column);
  const shade = shadeOf(scale, fieldAt(f, row, column));
  return [x, Number.isNaN(shade) ? 0 : shade * HIGH, z];
}

/** A vertex for each cell, row by row: its number is row * columns + column. A single row or column is drawn as a band. */
export function terrainOf(f: Field, scale: Scale): Solid {
  const [rows, columns] = [f.rows.length, f.columns.length];
  const [r2, c2] = [rows === 1 ? 2 : rows, columns === 1 ? 2 : columns];
  const positions = new Float32Array(r2 * c2 * 3);
  const colors = new Float32Array(r2 * c2 * 3);
  for (let r = 0; r < r2; r++)
    for (let c = 0; c < c2; c++) {
      const [row, column] = [Math.min(r, rows - 1), Math.min(c, columns - 1)];
      const p = topOf(f, scale, row, column);
      if (rows === 1) p[2] = (r - 0.5) * 4;
      if (columns === 1) p[0] = (c - 0.5) * 4;
      const shade = shadeOf(scale, fieldAt(f, row, column));
      positions.set(p, 3 * (r * c2 + c));
      colors.set(Number.isNaN(shade) ? UNKNOWN : viridis(shade), 3 * (r * c2 + c));
    }
  const isKnown = (vertex: number) => {
    const { row, column } = terrainCell(f, vertex);
    return !Number.isNaN(shadeOf(scale, fieldAt(f, row, column)));
  };
  const faces = knownFaces(gridFaces(r2, c2), isKnown);
  return { positions, colors, faces, normals: normalsOf(positions, faces), points: 0 };
}

/** The cell of a vertex of terrainOf(). */
export function terrainCell(f: Field, vertex: number): { row: number; column: number } {
  const columns = f.columns.length === 1 ? 2 : f.columns.length;
  return {
    row: Math.min(f.rows.length - 1, Math.floor(vertex / columns)),
    column: Math.min(f.columns.length - 1, vertex % columns),
  };
}
