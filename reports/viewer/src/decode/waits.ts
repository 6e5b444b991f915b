// waits.ts - wait states: which call waited, for how long, and which call of whom it waited for.
import { Bytes, Damaged, allRead, columnsOf } from './bytes';
import { lanesOfGroup } from './meta';
import type { Meta } from './meta';
import { emptyPositions, putPosition } from './positions';
import type { Positions } from './positions';
import { RECORDS_MAX } from './records';

const COLUMNS = 11;

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
const COLLECTIVES = new Set([4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 21]);
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

/** All members wait for the same, whose lane is told as it is. */
function isCollective(state: number): boolean {
  return COLLECTIVES.has(state);
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

/** How far off the call was that was waited for last, by its lane, for collectives and for others; 0 at first. All are forgotten at each lane
 * that waited, hundreds a chunk, so what is known carries the number of the lane it was known for. */
class Distances {
  private readonly known: Float64Array;
  private readonly of: Uint32Array;
  private now = 1;

  constructor(lanes: number) {
    this.known = new Float64Array(2 * lanes);
    this.of = new Uint32Array(2 * lanes);
  }

  clear(): void {
    this.now++;
  }

  /** Of a lane that is not: 0. */
  get(lane: number, collective: number): number {
    const at = 2 * lane + collective;
    return this.of[at] === this.now ? this.known[at]! : 0;
  }

  set(lane: number, collective: number, distance: number): void {
    const at = 2 * lane + collective;
    this.known[at] = distance;
    this.of[at] = this.now;
  }
}

export function readWaits(data: Uint8Array, meta: Meta, group: number, window: number): Waits {
  const c = new Bytes(data);
  const count = c.varint();
  if (count > RECORDS_MAX || count > c.left) throw new Damaged('too many wait states');
  const columns = columnsOf(c, COLUMNS);
  const [back, lanes, indices, kinds, lost] = columns;
  const [ofOthers, ofCollectives] = [columns.slice(5, 8), columns.slice(8)];
  const out: Waits = {
    count,
    at: emptyPositions(count),
    causer: emptyPositions(count),
    state: new Uint8Array(count),
    how: new Uint8Array(count),
    ns: new Float64Array(count),
  };
  const [firstLane, endLane] = lanesOfGroup(meta, group);
  const distances = new Distances(meta.firstLane[meta.ranks]!);
  let [ownWindow, lane, index] = [-1, firstLane, 0]; // of the one before
  for (let i = 0; i < count; i++) {
    const at = window - back!.varint();
    const ownLane = lane + lanes!.zigzag();
    const step = indices!.zigzag();
    if (at === ownWindow && ownLane === lane) index += step;
    else {
      [ownWindow, lane, index] = [at, ownLane, step];
      distances.clear();
    }
    if (lane < firstLane || lane >= endLane) throw new Damaged('a wait state of another group');
    putPosition(out.at, i, ownWindow, lane, index, meta);
    const kind = kinds!.varint();
    const [state, how, known] = [Math.floor(kind / 8), (kind >> 1) & 3, (kind & 1) === 1];
    const stored = how === How.Ns || how === How.Bytes;
    if (state > 0xff || (!stored && !known)) throw new Damaged('impossible wait state');
    out.state[i] = state;
    out.how[i] = how;
    if (stored) out.ns[i] = lost!.varint();
    if (!known) continue;
    const collective = isCollective(state) ? 1 : 0;
    const [causerLanes, causerWindows, causerIndices] = collective ? ofCollectives : ofOthers;
    const causer = collective ? causerLanes!.varint() : lane + causerLanes!.zigzag();
    const distance = causerIndices!.zigzag() + distances.get(causer, collective);
    putPosition(out.causer, i, window - causerWindows!.zigzag(), causer, index + distance, meta);
    distances.set(causer, collective, distance);
  }
  allRead(columns);
  return out;
}
