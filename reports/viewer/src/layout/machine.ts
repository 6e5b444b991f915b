// machine.ts - where the parts of a machine stand in space, a way of laying out each: boxes of nodes, packages, NUMA nodes, cores and
// ranks. In: model/machine.ts.  Out: six numbers a box (its middle, its size), which the scene and the map draw. Pure.
// A node is made flat first, in units of a core; each layout then says where its corner goes and which way it faces.
import type { Core, Machine, MachineNode } from '../model/machine';

export type LayoutName = 'blueprint' | 'top-down' | 'rack' | 'line';
export const LAYOUTS: readonly (readonly [LayoutName, string])[] = [
  ['blueprint', 'blueprint'],
  ['top-down', 'top-down'],
  ['rack', 'rack front'],
  ['line', 'line'],
];

export type Vec = [number, number, number];
export const PARTS = ['group', 'node', 'package', 'numa', 'core', 'rank'] as const;
export type Part = (typeof PARTS)[number];

/** Boxes of a kind: middle x, y, z and size x, y, z of each. Ranks and nodes are in their order. */
export type Boxes = Record<Part, Float32Array>;

export interface Layout {
  boxes: Boxes;
  up: Vec; // which way traffic arches
  middle: Vec;
  size: Vec;
}

interface Rect {
  x: number;
  y: number;
  w: number;
  h: number;
}

interface Plan {
  w: number;
  h: number;
  packages: Rect[];
  numas: Rect[];
  cores: Rect[]; // by place
}

const PAD = 0.25;
const GAP = 0.5; // between packages
const THICK: Record<Part, number> = { group: 0.1, node: 0.3, package: 0.15, numa: 0.1, core: 0.1, rank: 0.8 };
const RANK_SIDE = 0.78;

/** Places in runs of equal value. */
function runsOf(places: number[], of: (place: number) => number): number[][] {
  const runs: number[][] = [];
  for (const place of places) {
    const last = runs[runs.length - 1];
    if (last && of(last[0]!) === of(place)) last.push(place);
    else runs.push([place]);
  }
  return runs;
}

/** A NUMA node as near to a square as its cores allow. */
function planNuma(run: number[], x: number, plan: Plan): Rect {
  const columns = Math.ceil(Math.sqrt(run.length));
  const rows = Math.ceil(run.length / columns);
  run.forEach((place, i) => {
    plan.cores[place] = { x: x + PAD + (i % columns), y: 3 * PAD + Math.floor(i / columns), w: 1, h: 1 };
  });
  return { x, y: 2 * PAD, w: columns + 2 * PAD, h: rows + 2 * PAD };
}

function planNode(cores: Core[]): Plan {
  const plan: Plan = { w: 0, h: 0, packages: [], numas: [], cores: [] };
  let x = PAD;
  for (const socket of runsOf([...cores.keys()], (p) => cores[p]!.socket)) {
    const left = x;
    x += PAD;
    const numas = runsOf(socket, (p) => cores[p]!.numa);
    const rects = numas.map((run) => {
      const rect = planNuma(run, x, plan);
      x += rect.w + PAD;
      return rect;
    });
    if (rects.length > 1) plan.numas.push(...rects);
    const h = Math.max(...rects.map((r) => r.h)) + 2 * PAD;
    plan.packages.push({ x: left, y: PAD, w: x - left, h });
    x += GAP;
  }
  plan.w = Math.max(1, x - GAP + PAD);
  plan.h = Math.max(1, ...plan.packages.map((r) => r.h + 2 * PAD));
  return plan;
}

/** Nodes of one kind are planned once. */
function planAll(nodes: MachineNode[]): Plan[] {
  const known = new Map<string, Plan>();
  return nodes.map(({ cores }) => {
    const key = cores.map((c) => `${c.socket}.${c.numa}`).join();
    const plan = known.get(key) ?? planNode(cores);
    known.set(key, plan);
    return plan;
  });
}

interface Placed {
  corners: [number, number][]; // of each node, in its plane
  groups: Rect[];
  upright: boolean;
}

const near = (count: number, aspect: number): number => Math.max(1, Math.ceil(Math.sqrt(count * aspect)));

function byGroup(m: Machine): number[][] {
  const members: number[][] = m.groups.map(() => []);
  m.nodes.forEach((node, i) => members[node.group]!.push(i));
  return members;
}

/** Nodes in rows of so many, from a corner; what they cover. */
function grid(
  corners: [number, number][],
  of: number[],
  columns: number,
  at: [number, number],
  w: number,
  h: number,
): Rect {
  of.forEach((node, i) => {
    corners[node] = [at[0] + (i % columns) * w, at[1] + Math.floor(i / columns) * h];
  });
  return { x: at[0], y: at[1], w: Math.min(columns, of.length) * w, h: Math.ceil(of.length / columns) * h };
}

/** Each group a field of its own, the fields in rows. */
function blueprint(m: Machine, w: number, h: number): Placed {
  const corners: [number, number][] = [];
  const members = byGroup(m);
  const largest = Math.max(1, ...members.map((of) => of.length));
  const inner = near(largest, h / w);
  const fieldW = inner * w + 2;
  const fieldH = Math.ceil(largest / inner) * h + 2;
  const across = near(members.length, (fieldH / fieldW) * 1.6);
  const groups = members.map((of, g) =>
    grid(corners, of, inner, [(g % across) * fieldW, Math.floor(g / across) * fieldH], w, h),
  );
  return { corners, groups, upright: false };
}

/** All nodes side by side, as near to a square as they go. */
function topDown(m: Machine, w: number, h: number): Placed {
  const corners: [number, number][] = [];
  const all = byGroup(m).flat();
  grid(corners, all, near(all.length, (h / w) * 1.6), [0, 0], w, h);
  return { corners, groups: [], upright: false };
}

/** Each group a rack: its nodes above each other, seen from the front. More than 48 make another column. */
function rack(m: Machine, w: number, h: number): Placed {
  const corners: [number, number][] = [];
  const most = Math.max(1, ...byGroup(m).map((of) => of.length));
  const rows = Math.min(48, Math.max(near(most, w / h), near(m.nodes.length, w / h / 2)));
  let x = 0;
  const groups = byGroup(m).map((of) => {
    const columns = Math.max(1, Math.ceil(of.length / rows));
    of.forEach((node, i) => (corners[node] = [x + Math.floor(i / rows) * w, (i % rows) * h]));
    const rect = { x, y: 0, w: columns * w, h: Math.min(rows, of.length) * h };
    x += columns * w + 1.5;
    return rect;
  });
  return { corners, groups, upright: true };
}

function line(m: Machine, w: number, h: number): Placed {
  const corners: [number, number][] = [];
  let x = 0;
  const groups = byGroup(m).map((of) => {
    const rect = grid(corners, of, Math.max(1, of.length), [x, 0], w, h);
    x += rect.w + 2;
    return rect;
  });
  return { corners, groups, upright: false };
}

const PLACE: Record<LayoutName, (m: Machine, w: number, h: number) => Placed> = {
  blueprint,
  'top-down': topDown,
  rack,
  line,
};

/** Writes boxes; a flat machine lies, a rack stands: what is up on the one comes forward on the other. */
class Writer {
  private readonly at: Record<Part, number> = { group: 0, node: 0, package: 0, numa: 0, core: 0, rank: 0 };

  constructor(
    readonly boxes: Boxes,
    private readonly upright: boolean,
  ) {}

  put(part: Part, r: Rect, floor: number, thick: number, index = this.at[part]++): void {
    const [x, y, z] = [r.x + r.w / 2, r.y + r.h / 2, floor + thick / 2];
    const box = this.upright ? [x, y, z, r.w, r.h, thick] : [x, z, y, r.w, thick, r.h];
    this.boxes[part].set(box, index * 6);
  }
}

const shifted = (r: Rect, [x, y]: [number, number]): Rect => ({ ...r, x: r.x + x, y: r.y + y });

function emptyBoxes(m: Machine, plans: Plan[], groups: number, free: number): Boxes {
  const sum = (of: (plan: Plan) => number) => plans.reduce((n, plan) => n + of(plan), 0);
  const make = (count: number) => new Float32Array(count * 6);
  return {
    group: make(groups),
    node: make(m.nodes.length),
    package: make(sum((p) => p.packages.length)),
    numa: make(sum((p) => p.numas.length)),
    core: make(free),
    rank: make(m.ranks.length),
  };
}

/** Cores without ranks: the others lie below those. */
function freeCores(m: Machine): boolean[][] {
  const free = m.nodes.map((node) => node.cores.map(() => node.known));
  for (const r of m.ranks) if (r.node >= 0) free[r.node]![r.core] = false;
  return free;
}

const FLOOR = THICK.node + THICK.package + THICK.numa;

function putNode(w: Writer, plan: Plan, index: number, corner: [number, number], free: boolean[]): void {
  const margin = { x: 0, y: 0, w: plan.w, h: plan.h };
  w.put('node', shifted(margin, corner), 0, THICK.node, index);
  for (const r of plan.packages) w.put('package', shifted(r, corner), THICK.node, THICK.package);
  for (const r of plan.numas) w.put('numa', shifted(r, corner), THICK.node + THICK.package, THICK.numa);
  plan.cores.forEach((r, place) => {
    const side = { x: r.x + 0.11, y: r.y + 0.11, w: RANK_SIDE, h: RANK_SIDE };
    if (free[place]) w.put('core', shifted(side, corner), FLOOR, THICK.core);
  });
}

function putRanks(w: Writer, m: Machine, plans: Plan[], corners: [number, number][]): void {
  m.ranks.forEach((rank, index) => {
    const cell = plans[rank.node]?.cores[rank.core];
    const corner = corners[rank.node];
    if (!cell || !corner) return;
    const inset = (1 - RANK_SIDE) / 2;
    const rect = { x: cell.x + inset, y: cell.y + inset, w: RANK_SIDE, h: RANK_SIDE };
    w.put('rank', shifted(rect, corner), FLOOR + rank.level * (THICK.rank + 0.1), THICK.rank, index);
  });
}

function extent(boxes: Boxes): { middle: Vec; size: Vec } {
  const low: Vec = [Infinity, Infinity, Infinity];
  const high: Vec = [-Infinity, -Infinity, -Infinity];
  for (const part of ['group', 'node', 'rank'] as const) {
    const b = boxes[part];
    for (let i = 0; i < b.length; i += 6)
      for (let k = 0; k < 3; k++) {
        if (b[i + 3]! === 0) continue; // stands nowhere
        low[k] = Math.min(low[k]!, b[i + k]! - b[i + 3 + k]! / 2);
        high[k] = Math.max(high[k]!, b[i + k]! + b[i + 3 + k]! / 2);
      }
  }
  if (low[0] === Infinity) return { middle: [0, 0, 0], size: [1, 1, 1] };
  return { middle: low.map((x, k) => (x + high[k]!) / 2) as Vec, size: low.map((x, k) => high[k]! - x) as Vec };
}

export function layOut(m: Machine, name: LayoutName): Layout {
  const plans = planAll(m.nodes);
  const most = (of: (plan: Plan) => number) => plans.reduce((n, plan) => Math.max(n, of(plan)), 1);
  const { corners, groups, upright } = PLACE[name](m, most((p) => p.w) + 0.8, most((p) => p.h) + 0.8);
  const free = freeCores(m);
  const boxes = emptyBoxes(m, plans, groups.length, free.flat().filter(Boolean).length);
  const w = new Writer(boxes, upright);
  for (const r of groups) w.put('group', { x: r.x - 0.6, y: r.y - 0.6, w: r.w + 0.4, h: r.h + 0.4 }, -0.3, THICK.group);
  plans.forEach((plan, i) => putNode(w, plan, i, corners[i]!, free[i]!));
  putRanks(w, m, plans, corners);
  return { boxes, up: upright ? [0, 0, 1] : [0, 1, 0], ...extent(boxes) };
}
