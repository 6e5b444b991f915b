// machine.ts - the machine that a trace ran on: groups (switches, racks), nodes, packages, NUMA nodes, cores, and on which core each
// rank is drawn. In: the topology of the analysis, a map that `mpitrace topology --generate` wrote, or names of nodes alone.
import { list, num, numbers, str } from './analysis';
import type { Json } from './analysis';

const CORES_MAX = 4096; // of a node; the schema's limit of hardware threads
const NODES_MAX = 1 << 17;

export interface Core {
  id: number; // the node's number of it
  socket: number;
  numa: number;
}

export interface MachineNode {
  name: string;
  group: number;
  path: string; // switches above it, the outermost first
  cores: Core[]; // by socket, NUMA node, number
  known: boolean; // its hardware was read; else a core a rank is drawn
}

export interface MachineRank {
  node: number; // -1: not known
  core: number; // place in the node's cores
  level: number; // above others on that core
  cpus: string; // that it may use; '': not known
}

export interface Machine {
  from: 'record' | 'map' | 'names';
  groups: string[];
  nodes: MachineNode[];
  ranks: MachineRank[];
}

const groupKey = (path: string[]): string => path.join(' / ');

/** Cores of a node as its hardware threads tell them. */
function coresOf(node: Json): Core[] {
  const found = new Map<number, Core>();
  for (const pu of list(node, 'pu').slice(0, CORES_MAX)) {
    const id = num(pu, 'core') ?? -1;
    if (id >= 0 && !found.has(id))
      found.set(id, { id, socket: num(pu, 'socket') ?? 0, numa: Math.max(0, num(pu, 'numa') ?? 0) });
  }
  const cores = [...found.values()];
  if (cores.length === 0) return countedCores(node);
  return cores.sort((a, b) => a.socket - b.socket || a.numa - b.numa || a.id - b.id);
}

/** Where only numbers are known: cores in equal parts. */
function countedCores(node: Json): Core[] {
  const count = Math.min(CORES_MAX, Math.max(0, Math.floor(num(node, 'cores') ?? 0)));
  const part = (of: number | undefined, i: number) => Math.floor((i * Math.max(1, Math.min(count, of ?? 1))) / count);
  return Array.from({ length: count }, (_, id) => ({
    id,
    socket: part(num(node, 'sockets'), id),
    numa: part(num(node, 'numa') ?? num(node, 'sockets'), id),
  }));
}

function plainCores(count: number): Core[] {
  return Array.from({ length: count }, (_, id) => ({ id, socket: 0, numa: 0 }));
}

interface Bound {
  rank: number;
  cpus: string;
  wanted: number[]; // places of cores, the one that it was seen on first
}

function boundTo(node: Json, cores: Core[], ranks: Json[]): Bound[] {
  const at = new Map(cores.map((core, place) => [core.id, place]));
  const coreOfCpu = new Map(list(node, 'pu').map((pu) => [num(pu, 'os') ?? -1, num(pu, 'core') ?? -1]));
  return ranks.map((rank) => {
    const ids = [coreOfCpu.get(num(rank, 'cpu') ?? -1) ?? -1, ...numbers(rank, 'cores')];
    const wanted = ids.map((id) => at.get(id) ?? -1).filter((place) => place >= 0);
    return { rank: num(rank, 'rank') ?? -1, cpus: str(rank, 'cpus'), wanted };
  });
}

/** A core for each: one that it may use and nobody has, else the one where fewest are. */
function seat(all: Bound[], cores: number, ranks: MachineRank[], node: number): void {
  const taken = new Int32Array(Math.max(1, cores));
  const fewest = (places: readonly number[]) => places.reduce((a, b) => (taken[b]! < taken[a]! ? b : a));
  let next = 0; // of those who may run anywhere
  for (const b of all) {
    let core = b.wanted.length > 0 ? fewest(b.wanted) : next++ % taken.length;
    if (b.wanted.length === 0 && taken[core]! > 0) core = fewest([...taken.keys()]);
    ranks[b.rank] = { node, core, level: taken[core]!++, cpus: b.cpus };
  }
}

class Maker {
  readonly groups: string[] = [];
  readonly nodes: MachineNode[] = [];
  readonly ranks: MachineRank[];
  private readonly groupOf = new Map<string, number>();

  constructor(ranks: number) {
    this.ranks = Array.from({ length: ranks }, () => ({ node: -1, core: 0, level: 0, cpus: '' }));
  }

  group(name: string): number {
    const known = this.groupOf.get(name);
    if (known !== undefined) return known;
    this.groupOf.set(name, this.groups.length);
    return this.groups.push(name) - 1;
  }

  /** A node of the topology, with the ranks that it names. */
  node(node: Json): void {
    const index = this.nodes.length;
    const path = list(node, 'switches', 'path').filter((x): x is string => typeof x === 'string');
    const isFree = (rank: number) => Number.isInteger(rank) && this.ranks[rank]?.node === -1;
    const here = list(node, 'ranks').filter((x) => isFree(num(x, 'rank') ?? -1));
    const read = coresOf(node);
    const cores = read.length > 0 ? read : plainCores(here.length);
    const name = str(node, 'name') || `node ${index}`;
    const group = this.group(groupKey(path));
    this.nodes.push({ name, group, path: groupKey(path), cores, known: read.length > 0 });
    const bound = boundTo(node, cores, here);
    seat(bound, cores.length, this.ranks, index);
  }

  /** Ranks that no node of the topology names, by the names of their nodes. */
  rest(names: readonly string[]): void {
    const byName = new Map<string, number[]>();
    const known = new Map(this.nodes.map((node, index) => [node.name, index]));
    this.ranks.forEach((r, rank) => {
      const name = names[rank] ?? '';
      if (r.node < 0 && !byName.get(name)?.push(rank)) byName.set(name, [rank]);
    });
    for (const [name, ranks] of byName) {
      const node = known.get(name) ?? this.plain(name, ranks.length);
      const bound = ranks.map((rank) => ({ rank, cpus: '', wanted: [] }));
      seat(bound, this.nodes[node]!.cores.length, this.ranks, node);
    }
  }

  private plain(name: string, ranks: number): number {
    const group = this.group('');
    const title = name || 'node not known';
    return this.nodes.push({ name: title, group, path: '', cores: plainCores(ranks), known: false }) - 1;
  }
}

/** names: of the node of each rank. */
export function machineOf(topology: Json | undefined, ranks: number, names: readonly string[]): Machine {
  const nodes = list(topology, 'nodes').slice(0, NODES_MAX);
  const maker = new Maker(ranks);
  for (const node of nodes) maker.node(node);
  maker.rest(names);
  const from = nodes.length > 0 ? 'record' : 'names';
  return { from, groups: maker.groups, nodes: maker.nodes, ranks: maker.ranks };
}

export const MAP_SCHEMA = 'mpitrace/topology/1';

/** A map from a file. What is none is an error in words. */
export function machineFromMap(text: string, ranks: number): Machine {
  let map: Json;
  try {
    map = JSON.parse(text) as Json;
  } catch {
    throw new Error('This is not a map: it is not JSON. `mpitrace topology --generate` writes one.');
  }
  if (str(map, 'schema') !== MAP_SCHEMA || list(map, 'nodes').length === 0)
    throw new Error(`This is not a map: it lacks "schema": "${MAP_SCHEMA}", or nodes.`);
  return { ...machineOf(map, ranks, []), from: 'map' };
}

/** How far two ranks are from each other. */
export type Distance = 'intra-node' | 'inter-node' | 'inter-switch';
export const DISTANCES: readonly Distance[] = ['intra-node', 'inter-node', 'inter-switch'];

export function distanceOf(m: Machine, a: number, b: number): Distance {
  const [x, y] = [m.ranks[a]?.node ?? -1, m.ranks[b]?.node ?? -1];
  if (x === y) return 'intra-node';
  return m.nodes[x]?.group === m.nodes[y]?.group ? 'inter-node' : 'inter-switch';
}

/** A rank's place in words. */
export function placeOf(m: Machine, rank: number): [string, string][] {
  const r = m.ranks[rank];
  const node = m.nodes[r?.node ?? -1];
  if (!r || !node) return [['node', 'not known']];
  const core = node.cores[r.core];
  const rows: [string, string][] = [['node', node.name]];
  if (node.path !== '') rows.push(['switches', node.path]);
  if (node.known && core) rows.push(['core', `${core.id}, package ${core.socket}, NUMA node ${core.numa}`]);
  rows.push(['bound to', r.cpus === '' ? 'not known' : `CPUs ${r.cpus}`]);
  return rows;
}
