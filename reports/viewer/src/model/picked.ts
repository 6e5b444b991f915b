// picked.ts - what a person looks at: a call, a message, a collective operation. Plain facts, as the worker finds
// them; `ref` finds it again, also in another session. A new kind: a shape here, a row in work/things.ts and one in draw/describe.ts.

/** A call in short, to name it and to go there. */
export interface Call {
  ref: string;
  rank: number;
  thread: number;
  op: string;
  callSite: number;
  start: number; // ns
  duration: number;
}

export interface WaitFact {
  state: string; // '' where the file does not say
  ns: number;
  part: boolean; // of another one that is listed as well
  waits: boolean; // for others: no part, and not what passes after the last has come
  causer: Call | null;
}

export interface MessageFact {
  ref: string;
  src: number;
  dst: number;
  bytes: number;
  tag: number;
  comm: number;
  sendStart: number; // ns, all of them
  sendEnd: number;
  recvStart: number;
  completionStart: number;
  recvEnd: number;
  sendCallSite: number;
  recvCallSite: number;
}

export type EventThing = Call & {
  kind: 'event';
  class: number;
  peer: number; // -1 none, -2 MPI_PROC_NULL
  tag: number;
  comm: number;
  bytes: number;
  calls: number;
  collective: number; // number on its communicator from 0; -1: none, or not known
  /** The rank never came back from it: it lasts to its end. needs: for that rank; -1: for any of several, or nobody knows. */
  open?: { needs: number };
  /** Not before they were looked for. */
  waits?: WaitFact[];
  /** Messages that this call completed or, where it completes none, that it starts. */
  messages?: MessageFact[];
  messagesLeftOut?: number;
};

export type MessageThing = MessageFact & {
  kind: 'message';
  /** The calls that began the send and completed the receive; null: not found. Not before they were looked for. */
  sendCall?: Call | null;
  receiveCall?: Call | null;
};

export interface CollectiveThing {
  kind: 'collective';
  ref: string;
  op: string;
  comm: number;
  k: number;
  parts: (Call & { bytes: number })[]; // that were found, by rank
  members: number; // of the communicator
}

export type Thing = EventThing | MessageThing | CollectiveThing;

/** From when to when, in ns. */
export function extentOf(thing: Thing): [number, number] {
  if (thing.kind === 'message') return [thing.sendStart, thing.recvEnd];
  if (thing.kind === 'event') return [thing.start, thing.start + thing.duration];
  const starts = thing.parts.map((p) => p.start);
  const ends = thing.parts.map((p) => p.start + p.duration);
  return [Math.min(...starts), Math.max(...ends)];
}

export function ranksOfThing(thing: Thing): number[] {
  if (thing.kind === 'message') return [thing.src, thing.dst];
  return thing.kind === 'event' ? [thing.rank] : thing.parts.map((p) => p.rank);
}
