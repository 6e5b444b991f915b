// state_facts.ts - what the view of states keeps for itself, and what the analysis knows that they are shown with: members, switches, deadlocks.
import { list, num, numbers, str } from '../model/analysis';
import type { Session } from '../work/session';

export const ID = 'states';

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

/** Ranks that wait for each other for ever. */
export interface Deadlock {
  ranks: number[]; // in the order of the cycle
  what: string; // who waits in what for whom
}

/** The one that has begun at that moment, ns. */
export function deadlockAt(session: Session, time: number): Deadlock | null {
  for (const x of list(session.analysis, 'correctness'))
    if (str(x, 'kind') === 'deadlock')
      for (const example of list(x, 'examples')) {
        const begin = num(example, 'time_s');
        if (begin !== undefined && time >= begin * 1e9 - 1)
          return { ranks: numbers(example, 'ranks'), what: str(example, 'what') };
      }
  return null;
}

/** Ranks that died by themselves, as the analysis says, before others because of them. */
export function firstDead(session: Session): Set<number> {
  const died = list(session.analysis, 'issues').filter((x) => str(x, 'issue') === 'death');
  return new Set(died.flatMap((x) => numbers(x, 'ranks')));
}
