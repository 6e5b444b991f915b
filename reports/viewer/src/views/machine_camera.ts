// machine_camera.ts - from where the machine is looked at: looks with names, all of it, some ranks, those selected.
import { headOf } from '../draw/machine_arcs';
import type { Layout, Vec } from '../layout/machine';
import { LOOKS, fit } from '../layout/orbit';
import type { Orbit } from '../layout/orbit';
import { placeOfCamera } from './machine_state';
import type { MachineState } from './machine_state';

export interface Box {
  width: number; // px
  height: number;
}

/** What the camera is in. */
export interface Studio {
  state(): MachineState;
  set(change: Partial<MachineState>): void;
  layout(): Layout;
  box(): Box;
}

export class Camera {
  private followed = '';

  constructor(private readonly studio: Studio) {}

  orbit(): Orbit {
    const s = this.studio.state();
    const { width, height } = this.studio.box();
    if (!(s.range > 0)) return fit(this.studio.layout(), s.azimuth, s.elevation, width, height);
    return { target: [s.x, s.y, s.z], distance: s.range, azimuth: s.azimuth, elevation: s.elevation };
  }

  look(name: string): void {
    const look = LOOKS[name];
    if (look) this.studio.set({ ...look });
  }

  move(o: Orbit): void {
    this.studio.set({ ...placeOfCamera(o), follow: false });
  }

  zoom(factor: number): void {
    const o = this.orbit();
    this.move({ ...o, distance: Math.min(1e6, Math.max(2, o.distance * factor)) });
  }

  goToRanks(ranks: number[]): void {
    const heads = ranks.map((rank) => headOf(this.studio.layout(), rank)).filter((p) => p !== null);
    if (heads.length === 0) return;
    const middle = [0, 1, 2].map((k) => heads.reduce((sum, p) => sum + p[k]!, 0) / heads.length) as Vec;
    const reach = heads.reduce((far, p) => Math.max(far, Math.hypot(...p.map((x, k) => x - middle[k]!))), 4);
    this.studio.set(placeOfCamera({ ...this.orbit(), target: middle, distance: reach * 4 + 8 }));
  }

  follow(s: MachineState, selected: ReadonlySet<number>): void {
    const key = s.follow ? `${s.layout} ${[...selected].join()}` : '';
    if (key === this.followed) return;
    this.followed = key;
    if (s.follow && selected.size > 0) this.goToRanks([...selected]);
  }
}
