// section.ts - a part of a run as events of ranks: sends, receives, parts in collectives, with the messages and collectives that join them and
// the epochs that they fall into. What the worker answers and the space-time view draws. Plain columns.

export const SECTION_MAX = 200000; // events

export interface SectionQuery {
  from: number; // ns: events whose call starts in [from, to)
  to: number;
  most: number; // events; where more are, the section ends before
}

export const enum Role {
  Send = 0,
  Receive = 1,
  Part = 2,
}

/** Events in the order in which they were fed: those of a rank in its order. */
export interface SectionEvents {
  count: number;
  rank: Uint32Array;
  number: Uint32Array; // on its rank, from 0
  time: Float64Array; // ns
  role: Uint8Array; // Role
  thing: Int32Array; // number of its message or its collective
  epoch: Int32Array; // number in epochs
  window: Uint32Array; // position of the call
  lane: Uint32Array;
  index: Uint32Array;
}

export interface SectionMessages {
  count: number;
  send: Int32Array; // event here; -1: it is outside of the section
  receive: Int32Array;
  src: Uint32Array;
  dst: Uint32Array;
  sendNumber: Int32Array; // of the event; -1: not known, it is behind what was read
  receiveNumber: Int32Array;
  bytes: Float64Array;
  tag: Int32Array;
  comm: Uint32Array;
  sendStart: Float64Array; // ns
  recvEnd: Float64Array;
  sendSite: Int32Array; // call sites
  receiveSite: Int32Array;
  chunk: Uint32Array; // its name is m<chunk>.<place>
  place: Uint32Array;
}

export interface SectionCollective {
  comm: number;
  k: number;
  op: string;
  callSite: number;
  members: number; // as far as the analysis lists them
  parts: number[]; // events here
}

export interface SectionEpoch {
  number: number; // 0: not known, something still to come may belong to it
  begins: boolean; // its first events are here, or there are none before
  ends: boolean;
}

/** Digits of the longest number of an event. */
export function digitsOf(s: Section): number {
  let most = 0;
  for (let i = 0; i < s.events.count; i++) most = Math.max(most, s.events.number[i]!);
  return String(most).length;
}

export interface Section {
  from: number; // ns, what was read
  to: number;
  cut: boolean; // there was more than SECTION_MAX
  counted: number; // share of the run that was looked at so far, where the section is not reached yet
  whole: boolean; // false: on the way, nothing to be drawn
  events: SectionEvents;
  messages: SectionMessages;
  collectives: SectionCollective[];
  epochs: SectionEpoch[]; // in order of dependence
}
