// field_shows.ts - what a field is in space: terrain with flags, tube, cloud. Made anew only when what it is made of has changed.
import { overCloud, overTerrain, overTube, underCloud, underTerrain, underTube } from '../draw/field_solids';
import type { Over } from '../draw/field_solids';
import { CLOUD_ROOM, cloudOf, unitsOf } from '../layout/cloud';
import type { Cloud } from '../layout/cloud';
import { scaleOf } from '../layout/field';
import type { CellPlace } from '../layout/field';
import { topCells } from '../layout/flags';
import type { Vec } from '../layout/machine';
import type { Solid } from '../layout/solid';
import { TERRAIN_ROOM, terrainCell, terrainOf } from '../layout/terrain';
import { TUBE_ROOM, tubeCell, tubeOf } from '../layout/tube';
import { kMeans } from '../model/clusters';
import { METRICS } from '../model/field';
import type { Field } from '../model/field';
import type { Show } from './field_solid';
import type { FieldState } from './field_state';
import type { SampledApp } from './view';

export class Shows {
  private key = '';
  private of: readonly Field[] = [];
  private solid: Solid | null = null;
  private cloud: Cloud | null = null;
  private clusters = 0;

  constructor(private readonly app: SampledApp) {}

  /** fields: one, or of a cloud four; null: they are not there yet. */
  show(s: FieldState, fields: readonly Field[] | null, cell: CellPlace | null): Show | null {
    const [f] = fields ?? [];
    if (!fields || !f || f.rows.length === 0 || f.columns.length === 0) return null;
    if (s.draw === 'cloud') return this.cloudShow(s, fields, cell);
    const scale = scaleOf(f, s);
    const isTube = s.draw === 'tube';
    const solid = this.made(s, [f], () => (isTube ? tubeOf(f, scale) : terrainOf(f, scale)));
    const flags = isTube ? [] : topCells(f, s.flags, s.flagLeast / 100);
    Object.assign(this.app.drawn, { fieldFlags: flags.map((x) => `${x.group} ${x.row}`) });
    return {
      solid,
      room: isTube ? TUBE_ROOM : TERRAIN_ROOM,
      under: (g, see, size) => {
        const o: Over = { g, see, ...size, theme: this.app.theme(), scale };
        if (isTube) underTube(o, f);
        else underTerrain(o, f);
      },
      over: (g, see, size) => {
        const o: Over = { g, see, ...size, theme: this.app.theme(), scale };
        if (isTube) overTube(o, f, cell, s.sample);
        else overTerrain(o, f, flags, cell, s.sample);
      },
    };
  }

  private made(s: FieldState, fields: readonly Field[], make: () => Solid): Solid {
    const key = JSON.stringify([s.draw, s.log, s.cut, s.clusters]);
    const isSame = key === this.key && fields.length === this.of.length && fields.every((f, i) => f === this.of[i]);
    if (!this.solid || !isSame) this.solid = make();
    [this.key, this.of] = [key, fields];
    return this.solid;
  }

  private cloudShow(s: FieldState, fields: readonly Field[], cell: CellPlace | null): Show | null {
    if (fields.length < 4) return null;
    const solid = this.made(s, fields, () => {
      const of =
        s.clusters > 0
          ? kMeans(
              unitsOf(fields, s.log).units.map((u) => u.slice(0, 3)),
              s.clusters,
            )
          : [];
      this.clusters = of.length > 0 ? Math.max(...of) + 1 : 0;
      this.cloud = cloudOf(fields, s.log, of);
      return this.cloud.solid;
    });
    const cloud = this.cloud!;
    const titles = fields.map((f) => METRICS[f.query.metric].title);
    const at = cell ? cloud.rows.indexOf(cell.row) : -1;
    const picked = at < 0 ? null : (Array.from(solid.positions.slice(3 * at, 3 * at + 3)) as Vec);
    Object.assign(this.app.drawn, { fieldPoints: cloud.rows.length, fieldClusters: this.clusters });
    return {
      solid,
      room: CLOUD_ROOM,
      under: (g, see, size) => underCloud({ g, see, ...size, theme: this.app.theme(), scale: cloud.scales[0]! }),
      over: (g, see, size) => {
        const o: Over = { g, see, ...size, theme: this.app.theme(), scale: cloud.scales[0]! };
        overCloud(o, { titles, scales: cloud.scales, fields, clusters: this.clusters }, picked);
      },
    };
  }

  /** The cell of a vertex. */
  cellOf(s: FieldState, f: Field, vertex: number): CellPlace | null {
    if (vertex < 0) return null;
    if (s.draw === 'cloud') return { row: this.cloud?.rows[vertex] ?? 0, column: 0 };
    return s.draw === 'tube' ? tubeCell(f, vertex) : terrainCell(f, vertex);
  }
}
