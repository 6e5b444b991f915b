// order.ts - in which order ranks stand on the timeline, in which groups, and which of these are folded to one row. Pure.
import type { Alike } from '../model/alike';
import { list, num, str } from '../model/analysis';
import type { Json } from '../model/analysis';
import { count, percent } from './format';
import type { Members } from './rows';

export interface Order {
  group: string; // '', 'node', 'switch', 'alike', 'selection' or 'comm:ID'
  sort: string; // '' or a member of per_rank
  fold: boolean;
  pin: boolean; // selected ranks first
}

export const SORTS: [string, string][] = [
  ['', 'rank'],
  ['wait_s', 'waiting, most first'],
  ['caused_wait_s', 'waiting caused'],
  ['useful_s', 'useful time'],
  ['mpi_s', 'time in MPI'],
  ['processor_wait_s', 'time without a processor'],
  ['bytes_out', 'bytes sent'],
  ['bytes_in', 'bytes received'],
  ['calls', 'calls'],
];

export interface Ordered {
  members: Members;
  labels: string[] | null; // of rows; null: the numbers of ranks
}

export interface OrderedBy {
  analysis: Json;
  nodes: readonly string[];
  selected: ReadonlySet<number>;
  alike: Alike | null; // not known (yet): these groups are none
}

/** How many ranks of a kind there are, and how far they are from their mean; of one its number. */
function kindName(ranks: readonly number[], spread: number): string {
  if (ranks.length === 1) return String(ranks[0]);
  const n = ranks.length < 10000 ? count(ranks.length) : `${Math.round(ranks.length / 1000)}k`;
  return `${n}±${percent(spread).replaceAll(/\s/g, '')}`;
}

export function orderOf(asked: Order, ranks: number, of: OrderedBy): Ordered {
  const order = asked.group === 'alike' && of.alike === null ? { ...asked, group: '' } : asked;
  const pins = order.pin && of.selected.size > 0;
  if (order.group === '' && order.sort === '' && !pins) return { members: null, labels: null };
  const all = Array.from({ length: ranks }, (_, rank) => rank);
  const value = valuesOf(of.analysis, order.sort, ranks);
  if (order.sort !== '') all.sort((a, b) => value[b]! - value[a]! || a - b);
  if (pins) all.sort((a, b) => Number(of.selected.has(b)) - Number(of.selected.has(a)));
  if (order.group === '') return { members: all.map((rank) => [rank]), labels: all.map(String) };
  const groups = new Map<string, number[]>();
  const nameOf = groupNames(order.group, of);
  for (const rank of all) {
    const group = groups.get(nameOf(rank));
    if (group) group.push(rank);
    else groups.set(nameOf(rank), [rank]);
  }
  if (order.fold) {
    const members = [...groups.values()];
    const alike = order.group === 'alike' ? of.alike : null;
    const labels = [...groups.keys()].map((name, n) => (alike ? kindName(members[n]!, alike.spread[+name]!) : name));
    return { members, labels };
  }
  const rows = [...groups.values()].flat();
  return { members: rows.map((rank) => [rank]), labels: rows.map(String) };
}

function valuesOf(analysis: Json, key: string, ranks: number): Float64Array {
  const value = new Float64Array(ranks);
  for (const x of list(analysis, 'per_rank')) {
    const rank = num(x, 'rank') ?? -1;
    if (key !== '' && rank >= 0 && rank < ranks) value[rank] = num(x, key) ?? 0;
  }
  return value;
}

/** By node the switch next to it, as far as they are known. */
export function switchesOf(analysis: Json): Map<string, string> {
  const found = new Map<string, string>();
  for (const x of list(analysis, 'topology', 'nodes')) {
    const path = list(x, 'switches', 'path').filter((s): s is string => typeof s === 'string');
    if (path.length > 0) found.set(str(x, 'name'), path[path.length - 1]!);
  }
  return found;
}

function groupNames(group: string, of: OrderedBy): (rank: number) => string {
  if (group === 'alike') return (rank) => String(of.alike?.of[rank] ?? 0);
  if (group === 'node') return (rank) => of.nodes[rank] || 'no node';
  if (group === 'selection') return (rank) => (of.selected.has(rank) ? 'selected' : 'others');
  if (group === 'switch') {
    const switches = switchesOf(of.analysis);
    return (rank) => switches.get(of.nodes[rank] ?? '') ?? 'no switch';
  }
  const id = Number(group.slice('comm:'.length));
  const row = list(of.analysis, 'communicators').find((x, i) => (num(x, 'id') ?? i) === id);
  const members = new Set(list(row, 'ranks'));
  return (rank) => (members.has(rank) ? 'members' : 'others');
}
