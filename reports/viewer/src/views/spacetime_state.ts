// spacetime_state.ts - what the space-time view keeps for itself, plain values that the page's address holds, and the filter that they make.
import type { Choice } from '../layout/spacetime';
import { isFiltered } from '../layout/spacetime';
import type { Zoom } from '../layout/spacetime_frame';
import type { Session } from '../work/session';
import { membersOf } from './state_facts';

export const ID = 'spacetime';

export interface SpaceState {
  [key: string]: string | number | boolean | number[] | string[];
  mode: string; // logical or time
  upright: boolean; // lines go down, as in the thesis
  zoom: number;
  spread: number;
  along: number;
  across: number;
  by: string; // lines are of ranks or of nodes
  first: number; // range of ranks; -1: none
  last: number;
  ranks: number[]; // picked up
  comm: number; // members of it; -1: none
  selection: boolean; // ranks that are selected in all views
  others: boolean; // in grey
  orphans: boolean; // hidden
  empty: boolean; // hidden
  epochFirst: number; // 0: any
  epochLast: number;
  eventFirst: number; // -1: any
  eventLast: number;
  verdicts: string[]; // colours; none: any
  beside: boolean; // further runs
  runs: string[]; // their names
  budget: number; // buffers of super epochs; 0: they are not shown
  event: string; // rank.number; '': none
  besideRun: number; // of the further runs the one of which
  besideEvent: string; // this event is picked
}

export const NO_CHOICE = {
  first: -1,
  last: -1,
  ranks: [] as number[],
  comm: -1,
  selection: false,
  others: false,
  orphans: false,
  empty: false,
  epochFirst: 0,
  epochLast: 0,
  eventFirst: -1,
  eventLast: -1,
  verdicts: [] as string[],
};

export const FIRST_STATE: SpaceState = {
  mode: 'logical',
  upright: true,
  zoom: 0,
  spread: 0,
  along: 0,
  across: 0,
  by: 'rank',
  ...NO_CHOICE,
  beside: false,
  runs: [],
  budget: 0,
  event: '',
  besideRun: 0,
  besideEvent: '',
};

/** By time no distance is the one that can be read: bursts are as dense as they are. */
export function zoomOf(s: SpaceState): Zoom {
  const zoom = s.mode === 'time' && s.zoom === 0 ? 1 : s.zoom;
  return { zoom, spread: s.spread, along: s.along, across: s.across };
}

/** Ranks in the range, picked up, members, selected: each says which may stay; of nothing said all stay. */
function chosenRanks(s: SpaceState, session: Session, selected: ReadonlySet<number>): Uint8Array | null {
  const { ranks } = session.meta;
  const tests: ((rank: number) => boolean)[] = [];
  if (s.first >= 0 || s.last >= 0) {
    const last = s.last >= 0 ? s.last : ranks - 1;
    tests.push((rank) => rank >= s.first && rank <= last);
  }
  const among = (list: Iterable<number>) => {
    const set = new Set(list);
    tests.push((rank) => set.has(rank));
  };
  if (s.ranks.length > 0) among(s.ranks);
  if (s.comm >= 0) among(membersOf(session, s.comm));
  if (s.selection && selected.size > 0) among(selected);
  if (tests.length === 0) return null;
  return Uint8Array.from({ length: ranks }, (_, rank) => Number(tests.every((test) => test(rank))));
}

const range = (a: number, b: number, none: number): [number, number] | null =>
  a === none && b === none ? null : [a === none ? 0 : a, b === none ? Infinity : b];

export function choiceOf(
  s: SpaceState,
  session: Session,
  selected: ReadonlySet<number>,
  groupOf: Int32Array | null,
  passes: ((message: number) => boolean) | null,
): Choice {
  const choice: Choice = {
    ranks: chosenRanks(s, session, selected),
    others: s.others,
    hideOrphans: s.orphans,
    hideEmpty: s.empty,
    epochs: range(s.epochFirst, s.epochLast, 0),
    numbers: range(s.eventFirst, s.eventLast, -1),
    passes,
    groupOf,
  };
  // both need a filter: without one nobody is filtered away
  if (!isFiltered(choice)) return { ...choice, others: false, hideOrphans: false, hideEmpty: false };
  return choice;
}

/** Nodes as lines, in the order of their first rank; null: no rank has one. */
export function nodeLines(session: Session): { of: Int32Array; names: string[] } | null {
  const names: string[] = [];
  const numbers = new Map<string, number>();
  const of = Int32Array.from({ length: session.meta.ranks }, (_, rank) => {
    const name = session.nodes[rank] ?? '';
    const known = numbers.get(name);
    if (known !== undefined) return known;
    numbers.set(name, names.length);
    return names.push(name) - 1;
  });
  return names.some((name) => name !== '') ? { of, names } : null;
}
