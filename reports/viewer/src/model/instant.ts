// instant.ts - the traffic of an instant as the worker tells it and the machine view shows it. Plain facts.
import type { Filter } from './filter';

/** A collective in which everybody gives to everybody: who is in it now. */
export interface Gathering {
  comm: number;
  op: string;
  ranks: number[]; // ascending
  bytes: number; // of all its parts
  weight: number;
}

export interface InstantQuery {
  at: number; // ns
  halfLife: number; // ns
  filter: Filter;
  least: number; // bytes of a message
  flows: number; // at most
  only: number[] | null; // ranks of which one is an end; null: all
  calls: boolean; // collectives and one-sided transfers as well
}

export type FlowKind = 'p2p' | 'collective' | 'one-sided';
export const FLOW_KINDS: readonly FlowKind[] = ['p2p', 'collective', 'one-sided'];

export interface Flow {
  kind: FlowKind;
  src: number;
  dst: number;
  messages: number;
  bytes: number;
  weight: number; // 1: under way; halved each half-life after it came
}

export interface Instant {
  at: number;
  exact: boolean; // single messages, not sums of a while
  each: 'rank' | 'ranks' | 'node'; // what src and dst stand for: the first rank of them
  flows: Flow[]; // the largest, by weighted bytes
  all: number; // flows that there are
  messages: number; // shown, of all flows
  bytes: number; // of messages
  underWay: number; // messages of these
  ranks: number; // that are an end of one
  gatherings: Gathering[]; // collectives without a root
  collectives: number;
  transfers: number; // one-sided
  callsLeftOut: boolean; // there are too many to look for these
}
