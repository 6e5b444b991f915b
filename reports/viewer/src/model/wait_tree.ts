// wait_tree.ts - waiting by state, below it by call site, across ranks: what the rows of the analysis add up to, and the calls that ranks
// never came back from, which are in none of them. Pure.
import { list, num, str } from './analysis';
import type { CallSite, Json } from './analysis';
import { NEVER_RETURNED, opensOf } from './open';
import { isWaitingState } from './spans';

export const COLUMNS_MAX = 256; // more ranks share one

export interface WaitRow {
  key: string;
  level: number; // 0: all, 1: a state, 2: a call site in it
  name: string;
  site: number; // -1: of all
  seconds: number;
  count: number;
  isPart: boolean; // in no sum: a part of another one, or what passes after the last has come
  byColumn: Float64Array; // seconds
  worst: number; // the rank that waits longest
  worstSeconds: number;
  parent: string;
}

export interface WaitTree {
  rows: WaitRow[]; // a state before its call sites, the longest first
  each: number; // ranks of a column
  columns: number;
  leftOut: number; // rows that the analysis does not list
}

class Building {
  readonly byRank = new Map<number, number>();
  seconds = 0;
  count = 0;

  add(rank: number, seconds: number, number: number): void {
    this.seconds += seconds;
    this.count += number;
    this.byRank.set(rank, (this.byRank.get(rank) ?? 0) + seconds);
  }

  sealed(
    each: number,
    columns: number,
    rest: Pick<WaitRow, 'key' | 'level' | 'name' | 'site' | 'isPart' | 'parent'>,
  ): WaitRow {
    const byColumn = new Float64Array(columns);
    let [worst, worstSeconds] = [-1, 0];
    for (const [rank, seconds] of this.byRank) {
      byColumn[Math.floor(rank / each)]! += seconds;
      if (seconds > worstSeconds) [worst, worstSeconds] = [rank, seconds];
    }
    return { ...rest, seconds: this.seconds, count: this.count, byColumn, worst, worstSeconds };
  }
}

export function stateName(state: string): string {
  return state.replaceAll('_', ' ').replace('nxn', 'N × N');
}

export function waitTree(analysis: Json, ranks: number, sites: ReadonlyMap<number, CallSite>): WaitTree {
  const each = Math.max(1, Math.ceil(ranks / COLUMNS_MAX));
  const columns = Math.ceil(ranks / each);
  const all = new Building();
  const states = new Map<string, { own: Building; sites: Map<number, Building> }>();
  const add = (state: string, rank: number, site: number, seconds: number, number: number) => {
    if (rank < 0 || rank >= ranks || state === '') return;
    const at = states.get(state) ?? { own: new Building(), sites: new Map<number, Building>() };
    states.set(state, at);
    const below = at.sites.get(site) ?? new Building();
    at.sites.set(site, below);
    for (const b of [at.own, below]) b.add(rank, seconds, number);
    if (isWaitingState(state)) all.add(rank, seconds, number);
  };
  for (const x of list(analysis, 'wait_states')) {
    const [rank, site] = [num(x, 'rank') ?? -1, num(x, 'callsite') ?? -1];
    add(str(x, 'state'), rank, site, num(x, 'seconds') ?? 0, num(x, 'count') ?? 0);
  }
  for (const [rank, calls] of opensOf(analysis))
    for (const x of calls) if (x.waits) add(NEVER_RETURNED, rank, x.site, (x.to - x.from) / 1e9, 1);
  const most = <T>(of: Map<T, Building>) => [...of].sort((a, b) => b[1].seconds - a[1].seconds);
  const top = { key: 'all', level: 0, name: 'all waiting', site: -1, isPart: false, parent: '' };
  const rows = [all.sealed(each, columns, top)];
  for (const [state] of most(new Map([...states].map(([name, s]) => [name, s.own])))) {
    const { own, sites: below } = states.get(state)!;
    const isPart = !isWaitingState(state);
    rows.push(
      own.sealed(each, columns, { key: state, level: 1, name: stateName(state), site: -1, isPart, parent: 'all' }),
    );
    for (const [site, b] of most(below)) {
      const { op = '', place = '' } = sites.get(site) ?? {};
      const name = [op, place].filter((t) => t !== '').join(' ') || 'place not known';
      rows.push(b.sealed(each, columns, { key: `${state} ${site}`, level: 2, name, site, isPart, parent: state }));
    }
  }
  return { rows, each, columns, leftOut: num(analysis, 'wait_states_left_out') ?? 0 };
}
