// cloud.ts - threads as points in space: three metrics as axes, a fourth as colour, or the cluster that each is in. In: four fields of one column
// each, the same rows.  Out: points. Pure.
import { fieldAt } from '../model/field';
import type { Field } from '../model/field';
import { hex, viridis } from './color';
import { scaleOf, shadeOf } from './field';
import type { Scale } from './field';
import type { Room, Solid } from './solid';

export const SIDE = 60;
export const CLOUD_ROOM: Room = { middle: [0, SIDE / 2, 0], size: [SIDE, SIDE, SIDE] };

/** Okabe and Ito's. */
export const CLUSTER_COLORS = [
  '#0072b2',
  '#e69f00',
  '#009e73',
  '#cc79a7',
  '#56b4e9',
  '#d55e00',
  '#a08c00',
  '#7d828c',
].map(hex);

export interface Cloud {
  solid: Solid;
  scales: Scale[]; // of the four fields
  rows: Uint32Array; // of points: their rows; those of which something is not known are left out
}

/** Threads of which all four are known, each number 0 to 1 of its scale. */
export function unitsOf(
  fields: readonly Field[],
  log: boolean,
): { rows: number[]; units: number[][]; scales: Scale[] } {
  const scales = fields.map((f) => {
    const s = scaleOf(f, { log, cut: 0 });
    return log ? s : { ...s, low: Math.min(f.least, s.high) };
  });
  const rows: number[] = [];
  const units: number[][] = [];
  for (let r = 0; r < (fields[0]?.rows.length ?? 0); r++) {
    const unit = fields.map((f, k) => shadeOf(scales[k]!, fieldAt(f, r, 0)));
    if (unit.some((x) => Number.isNaN(x))) continue;
    rows.push(r);
    units.push(unit);
  }
  return { rows, units, scales };
}

/** clusters: of each point; empty: the fourth field is the colour. */
export function cloudOf(fields: readonly Field[], log: boolean, clusters: readonly number[]): Cloud {
  const { rows, units, scales } = unitsOf(fields, log);
  const positions = new Float32Array(3 * rows.length);
  const colors = new Float32Array(3 * rows.length);
  units.forEach(([x, y, z, shade], i) => {
    positions.set([(x! - 0.5) * SIDE, y! * SIDE, (0.5 - z!) * SIDE], 3 * i);
    const cluster = clusters[i];
    colors.set(cluster === undefined ? viridis(shade!) : CLUSTER_COLORS[cluster % CLUSTER_COLORS.length]!, 3 * i);
  });
  const normals = new Float32Array(3 * rows.length).map((_, i) => (i % 3 === 1 ? 1 : 0));
  const points = rows.length > 4000 ? 4 : rows.length > 400 ? 6 : 9;
  const solid: Solid = { positions, colors, normals, faces: new Uint32Array(0), points };
  return { solid, scales, rows: Uint32Array.from(rows) };
}
