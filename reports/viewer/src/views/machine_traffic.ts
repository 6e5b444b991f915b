// machine_traffic.ts - the traffic of the instant that the machine view shows: asked of the worker, ready to be drawn, in words, as a table.
import { CLASS_STYLES, DISTANCE_STYLES } from '../draw/machine_arcs';
import type { Arc, ArcStyle, Knot } from '../draw/machine_arcs';
import { bytes, count, exactMoment, plural } from '../layout/format';
import { counted } from '../layout/unrecorded_words';
import { DISTANCES, distanceOf } from '../model/machine';
import type { Distance, Machine } from '../model/machine';
import type { Sheet } from '../model/sheet';
import type { Flow, FlowKind, Gathering, Instant } from '../model/instant';
import { ID } from './machine_state';
import type { MachineState } from './machine_state';
import type { App } from './view';

const FLOWS_MAX = 1500; // drawn
const ARC_PX = 12;

/** By its class and its distance. */
function isOn(s: MachineState, machine: Machine, f: Flow): boolean {
  return s.flows.includes(distanceOf(machine, f.src, f.dst)) && s.kinds.includes(f.kind);
}

export class InstantTraffic {
  instant: Instant | null = null;
  private asked = ''; // what was asked for last
  private asking = false;

  constructor(private readonly app: App) {}

  /** Of that moment, unless it is the one that is here or one is on its way. */
  ask(s: MachineState, at: number, halfLife: number): void {
    const { filter, selected } = this.app.store.state;
    const only = selected.size > 0 ? [...selected] : null;
    const calls = s.kinds.includes('collective') || s.kinds.includes('one-sided');
    const given = { at, halfLife, filter, least: s.least, flows: FLOWS_MAX, only, calls };
    const key = JSON.stringify(given);
    if (key === this.asked || this.asking) return;
    this.asked = key;
    this.asking = true;
    const done = () => {
      this.asking = false;
      this.app.redraw();
    };
    const take = (instant: Instant) => {
      this.instant = instant;
      done();
    };
    const refuse = (error: Error) => {
      done();
      this.app.fail(error);
    };
    this.app.session.ask(ID, 'instant', given, take, refuse);
  }

  private style(s: MachineState, kind: FlowKind, distance: Distance): ArcStyle {
    return s.arcs === 'class' ? CLASS_STYLES[kind] : DISTANCE_STYLES[distance];
  }

  arcs(s: MachineState, machine: Machine): Arc[] {
    const flows = this.instant?.flows ?? [];
    const most = flows.reduce((n, f) => Math.max(n, f.bytes), 1);
    const crowd = Math.min(1, 8 / Math.sqrt(Math.max(1, flows.length)));
    return flows.flatMap((f) => {
      if (!isOn(s, machine, f)) return [];
      const distance = distanceOf(machine, f.src, f.dst);
      const px = Math.max(1, ARC_PX * Math.sqrt(f.bytes / most) * crowd);
      return [{ src: f.src, dst: f.dst, px, alpha: 0.12 + 0.75 * f.weight, style: this.style(s, f.kind, distance) }];
    });
  }

  /** Collectives without a root, those of the same ranks as one, coloured by how far apart the farthest of these are. */
  knots(s: MachineState, machine: Machine): Knot[] {
    const found = new Map<string, { like: Gathering; times: number; weight: number }>();
    if (!s.kinds.includes('collective')) return [];
    for (const x of this.instant?.gatherings ?? []) {
      const key = `${x.op} ${x.comm} ${x.ranks.length} ${x.ranks[0]}`;
      const known = found.get(key) ?? { like: x, times: 0, weight: 0 };
      found.set(key, { like: known.like, times: known.times + 1, weight: Math.max(known.weight, x.weight) });
    }
    return [...found.values()].flatMap(({ like: { ranks, op }, times, weight }) => {
      const far = ranks.reduce((d, rank) => Math.max(d, DISTANCES.indexOf(distanceOf(machine, ranks[0]!, rank))), 0);
      const distance = DISTANCES[far]!;
      if (!s.flows.includes(distance)) return [];
      const text = `${times > 1 ? `${times} × ` : ''}${op}, ${plural(ranks.length, 'rank')}`;
      return [{ ranks, text, alpha: 0.15 + 0.6 * weight, style: this.style(s, 'collective', distance) }];
    });
  }

  /** Of what there is, what the switches leave. */
  private drawn(s: MachineState, machine: Machine, flows: readonly Flow[]): string {
    const left = flows.filter((f) => isOn(s, machine, f));
    if (left.length === flows.length) return '';
    const sum = (of: (f: Flow) => number) => left.reduce((n, f) => n + of(f), 0);
    return `, of them switched on ${count(sum((f) => f.messages))}, ${bytes(sum((f) => f.bytes))}`;
  }

  words(s: MachineState, machine: Machine): string[] {
    const t = this.instant;
    if (!t) return [];
    const left = t.all > t.flows.length ? `, the largest ${count(t.flows.length)} of ${count(t.all)} flows drawn` : '';
    const about = t.exact ? `, ${count(t.underWay)} under way` : ', sums of the while before';
    const live = `${plural(t.ranks, t.exact ? 'rank' : 'point')} with traffic`;
    const all = `${live}, ${plural(t.messages, 'message')}, ${bytes(t.bytes)}${about}${left}${this.drawn(s, machine, t.flows)}`;
    const parts = [counted(t.messages, all, this.app.session, { from: t.at, to: t.at })];
    if (t.collectives > 0) parts.push(plural(t.collectives, 'collective'));
    if (t.transfers > 0) parts.push(plural(t.transfers, 'one-sided transfer'));
    if (t.callsLeftOut)
      parts.push('collectives are left out: too many calls in this while, choose a shorter half-life');
    return parts;
  }

  sheet(machine: Machine, note: string, at: number): Sheet {
    const columns = ['class', 'src', 'dst', 'messages', 'bytes', 'weight', 'distance', 'src_node', 'dst_node', 'ranks'];
    const name = (rank: number) => machine.nodes[machine.ranks[rank]?.node ?? -1]?.name ?? '';
    const flows = (this.instant?.flows ?? []).map((f) => {
      const where = [distanceOf(machine, f.src, f.dst), name(f.src), name(f.dst)];
      return [f.kind, f.src, f.dst, f.messages, f.bytes, f.weight, ...where, null];
    });
    const gatherings = (this.instant?.gatherings ?? []).map((x) => {
      return [x.op, null, null, null, x.bytes, x.weight, null, null, null, x.ranks.join(' ')];
    });
    return {
      title: 'Machine: traffic of an instant',
      note: `${note}; at ${exactMoment(at)}`,
      columns: columns.map((x) => ({ name: x, title: x.replace('_', ' ') })),
      rows: [...flows, ...gatherings],
    };
  }
}
