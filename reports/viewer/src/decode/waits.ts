// waits.ts - wait states: which call waited, for how long, and which call of whom it waited for.
import type { Entry } from './layout';
import { readPositions } from './positions';
import type { Positions } from './positions';
import type { Reader } from './reader';

// waits: made by format/rows.py from format/waits.tab
export const WAIT_STATES = [
  '',
  'late sender',
  'late sender, wrong order',
  'late receiver',
  'wait at barrier',
  'barrier completion',
  'wait at N x N',
  'N x N completion',
  'late broadcast',
  'early reduce',
  'early scan',
  'late reduce',
  'wait at window creation',
  'wait at fence',
  'wait at window free',
  'late post',
  'early wait',
  'late complete',
  'early transfer',
  'lock contention',
  'wait for progress',
  'wait at collective I/O',
  'wait at neighbourhood collective',
  'wait at communicator creation',
  'wait at communicator free',
  'late progress',
  'polling',
  'wait for member',
];
const PARTS = new Set([2, 17]);
// /waits

/** Of another state, which is listed as well. */
export function isPart(state: number): boolean {
  return PARTS.has(state);
}

const COMPLETIONS = new Set([5, 7]); // of a barrier, of N x N
const WAITING = Uint8Array.from({ length: 256 }, (_, state) => Number(!isPart(state) && !COMPLETIONS.has(state)));

/** For others: what passes after the last has come is no waiting. */
export function isWaiting(state: number): boolean {
  return WAITING[state] === 1;
}

export const enum How {
  Ns = 0,
  UntilStart = 1, // of the call that caused it
  SinceEnd = 2, // of the call that was over first: nobody is to blame
  Bytes = 3, // no wait: bytes that came to the call and that only its partners' records tell
}

/** In order of (window, lane, index) of the call that waited. */
export interface Waits {
  count: number;
  at: Positions;
  causer: Positions;
  state: Uint8Array;
  how: Uint8Array;
  ns: Float64Array; // where how is Ns; bytes where it is Bytes
}

export function readWaits(reader: Reader, data: Uint8Array, entry: Entry): Waits {
  const c = reader.chunk(entry, data);
  const [at, causer] = [readPositions(c), readPositions(c)];
  const [state, how, ns] = [c.u8(), c.u8(), c.f64()];
  return { count: ns.length, at, causer, state, how, ns };
}
