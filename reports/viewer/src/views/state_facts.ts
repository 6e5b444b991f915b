// state_facts.ts - what the view of states keeps for itself, and what the analysis knows that they are shown with: members, switches, deadlocks.
import { list, num, numbers, str } from '../model/analysis';
import { opensOf } from '../model/open';
import type { Open } from '../model/open';
import type { Snapshot } from '../model/snapshot';
import { ranksInWords } from '../layout/state_words';
import type { Session } from '../work/session';

export const ID = 'states';

const CYCLE_MAX = 12; // ranks, one by one

export interface StatesState {
  [key: string]: string | number | number[] | string[];
  by: string; // what containers are of: auto, none, node, switch, comm ID
  own: string[]; // the user's own containers
  open: string[]; // those that are open
  window: string; // the container that has the stage for itself; '': none
  step: number; // -1: that at the moment
  moment: number; // ns
  speed: number; // states a second
  stop: string; // what to run to
  rank: number; // that blocks
  comms: number[]; // whose members are shown
  rule: string; // union or intersection of them
}

/** World ranks of a communicator. */
export function membersOf(session: Session, comm: number): number[] {
  const { ranks } = session.meta;
  if (session.comms.get(comm) === 'MPI_COMM_WORLD') return Array.from({ length: ranks }, (_, rank) => rank);
  const row = list(session.analysis, 'communicators').find((x, i) => (num(x, 'id') ?? i) === comm);
  return [...numbers(row, 'ranks'), ...numbers(row, 'remote_ranks')].filter((rank) => rank >= 0 && rank < ranks);
}

/** The innermost switch above the node of a rank. */
export function switchOf(session: Session): (rank: number) => string {
  const byNode = new Map<string, string>();
  for (const x of list(session.analysis, 'topology', 'nodes')) {
    const path = list(x, 'switches', 'path').filter((s): s is string => typeof s === 'string');
    byNode.set(str(x, 'name'), path[path.length - 1] ?? '');
  }
  return (rank) => byNode.get(session.nodes[rank] ?? '') ?? '';
}

/** Ranks that can never continue: each waits for the next, the last one for the first; or all for some others. */
export interface Deadlock {
  ranks: number[]; // in the order of the cycle, if they are one
  what: string; // who waits in what for whom
  waits: [number, number][]; // of them for whom, where that is known
  ended: number[]; // of them
  isCycle: boolean;
}

/** Where the analysis has the calls that ranks never came back from, it knows who of them waits for whom; else each for the next. */
function deadlockOf(opens: ReadonlyMap<number, Open[]>, ranks: number[], what: string): Deadlock {
  const waiting = (rank: number) => (opens.get(rank) ?? []).filter((x) => x.waits);
  const isKnown = ranks.some((rank) => waiting(rank).length > 0);
  const nextOf = (k: number) => ranks[(k + 1) % ranks.length]!;
  const waits = ranks.flatMap((rank, k): [number, number][] => {
    const needs = isKnown ? waiting(rank).map((x) => x.needs) : [nextOf(k)];
    const other = needs.find((x) => x === nextOf(k)) ?? needs.find((x) => x >= 0);
    return other === undefined ? [] : [[rank, other]];
  });
  const ended = isKnown ? ranks.filter((rank) => waiting(rank).length === 0) : [];
  const isCycle = waits.length === ranks.length && waits.every(([, other], k) => other === nextOf(k));
  return { ranks, what, waits, ended, isCycle };
}

/** The one that has begun in a state: calls that nobody comes back from begin behind the last change, so in the last state all have. */
export function deadlockIn(session: Session, { time, step, steps, whole }: Snapshot): Deadlock | null {
  const isLast = whole && step >= steps;
  for (const x of list(session.analysis, 'correctness'))
    if (str(x, 'kind') === 'deadlock')
      for (const example of list(x, 'examples')) {
        const begin = num(example, 'time_s');
        if (begin !== undefined && (isLast || time >= begin * 1e9 - 1))
          return deadlockOf(opensOf(session.analysis), numbers(example, 'ranks'), str(example, 'what'));
      }
  return null;
}

export function deadlockInWords(d: Deadlock | null): string[] {
  if (!d) return [];
  const { ranks, what, waits, ended, isCycle } = d;
  const stuck = ranks.filter((rank) => !ended.includes(rank));
  const who = ranksInWords(stuck);
  const cycle = ranks.length > CYCLE_MAX ? who : `ranks ${[...ranks, ranks[0]].join(' → ')}`;
  const isOver = ended.length > 0 && waits.every(([, other]) => ended.includes(other));
  const over = `${stuck.length === 1 ? 'waits' : 'wait'} for ${ranksInWords(ended)}, which ${ended.length === 1 ? 'has' : 'have'} ended`;
  const first = isCycle
    ? `${cycle} wait for each other${ranks.length > CYCLE_MAX ? ', in a cycle' : ''}`
    : `${who} ${isOver ? over : 'can never continue'}`;
  return [...(ranks.length > 1 ? [`deadlock: ${first}`] : []), ...(what === '' ? [] : [what])];
}

/** Ranks that died by themselves, as the analysis says, before others because of them. */
export function firstDead(session: Session): Set<number> {
  const died = list(session.analysis, 'issues').filter((x) => str(x, 'issue') === 'death');
  return new Set(died.flatMap((x) => numbers(x, 'ranks')));
}
