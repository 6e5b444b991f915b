// snapshot.ts - a consistent global state as the worker tells it and the page shows it. Plain facts.

export const enum Doing {
  NotBegun = 0,
  Outside = 1, // of MPI
  NonBlocking = 2, // in a call that does not wait
  Blocking = 3, // in one that may
  Waits = 4, // for others, which are known
  Over = 5, // it makes no call any more
  Dead = 6,
  Unknown = 7, // single calls are missing
}

export const DOING_KINDS = Doing.Unknown + 1;

export interface StatesQuery {
  time?: number; // ns; or
  step?: number; // after so many changes
  by: number; // from there so many that pass, back if negative
  hidden: Int32Array | null; // by rank: its closed container, or 0
  stop: '' | 'blocks' | 'completes' | 'error';
  rank: number; // that blocks
  halt: StatesQuery['stop']; // of the states on the way that is the last; '': none
}

export interface Change {
  kind: 'enter' | 'leave' | 'complete';
  rank: number; // -1 of complete
  op: string;
  comm: number;
}

export interface Arrow {
  from: number;
  to: number;
  at: number; // whose call it is: the head is there
  blocking: boolean;
  sent: boolean; // false: nobody has sent yet
}

export interface Active {
  comm: number;
  k: number;
  op: string;
  root: number; // world rank, or -1
  size: number;
  came: number[];
  gone: number; // that came, also those that left it in an earlier window
  missing: number[];
}

export interface Need {
  rank: number;
  there: boolean; // has done its part
  receives?: boolean; // it is to receive, not to send or to come; absent: not known
}

export interface Snapshot {
  step: number;
  steps: number; // counted so far
  whole: boolean; // all are counted
  logical: number; // of them, in an order that their times do not tell
  forced: number;
  found: boolean; // what was looked for
  halted: boolean; // on the way
  time: number; // ns
  change: Change | null; // that led here
  // by rank
  doing: Uint8Array; // Doing
  op: Uint16Array;
  class: Uint8Array;
  comm: Int32Array;
  site: Int32Array;
  peer: Int32Array;
  bytes: Float64Array;
  since: Float64Array; // ns, of the call or of what came after it; NaN: not known
  until: Float64Array;
  needs: Record<number, Need[]>;
  arrows: Arrow[];
  collectives: Active[];
  alive: number[]; // communicators
  ends: string[]; // how ranks end, as the analysis says
  open: boolean[]; // the call that it is in is one that it never comes back from
  unreturned: number[]; // ns that a rank was in the call that it never came back from, until it ended
  ops: string[];
}
