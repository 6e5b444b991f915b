// spans.ts - when calls waited for others: from when to when, inside of the call. What passes after the last has come (completion) is
// no waiting; parts of another wait are in that one.
import { How, isWaiting } from '../decode/waits';
import type { Waits } from '../decode/waits';
import { NOWHERE } from '../decode/records';
import type { Entry } from '../decode/layout';
import { rankOfLane } from '../decode/meta';
import { Cursor } from './messages';
import type { Calls } from './messages';
import type { Trace } from './trace';
import { waitLength } from './waits';

const LATE_REDUCE = 11; // follows an early reduce
const EARLY_REDUCE = 9;

/** Of one chunk of wait states, in its order: by window, lane. */
export interface Spans {
  count: number;
  lane: Uint32Array;
  from: Float64Array; // ns
  to: Float64Array;
  class: Uint8Array; // of the call
  site: Int32Array; // of the call
  causer: Int32Array; // its rank; -1: not known
  state: Uint8Array;
}

/** Is a state of that name in the analysis waiting for others? */
export function isWaitingState(name: string): boolean {
  return !['late_sender_wrong_order', 'late_complete', 'barrier_completion', 'nxn_completion'].includes(name);
}

function emptySpans(n: number): Spans {
  return {
    count: 0,
    lane: new Uint32Array(n),
    from: new Float64Array(n),
    to: new Float64Array(n),
    class: new Uint8Array(n),
    site: new Int32Array(n),
    causer: new Int32Array(n),
    state: new Uint8Array(n),
  };
}

/** Whether a record of a chunk is a wait. */
export function isShown(w: Waits, k: number): boolean {
  return w.how[k] !== How.Bytes && w.at.window[k] !== NOWHERE && isWaiting(w.state[k]!);
}

function shown(w: Waits): number[] {
  const list: number[] = [];
  for (let k = 0; k < w.count; k++) if (isShown(w, k)) list.push(k);
  return list;
}

/** Work out wait states of w, in their order; sparse: each at its own place, else one behind the other. */
function workOut(w: Waits, list: readonly number[], calls: Calls, out: Spans, sparse: boolean): void {
  const [own, at] = [new Cursor(calls), new Cursor(calls)];
  let early = { lane: -1, index: -1, ns: 0 };
  for (const k of list) {
    const i = sparse ? k : out.count++;
    own.find(w.at, k);
    const causer = w.causer.window[k] !== NOWHERE && w.how[k] !== How.Ns ? at.find(w.causer, k) : null;
    const ns = waitLength(w.how[k]!, w.ns[k]!, own, causer);
    const { start, end } = own;
    const lane = w.at.lane[k]!;
    const index = w.at.index[k]!;
    const follows = w.state[k] === LATE_REDUCE && early.lane === lane && early.index === index;
    const begin = w.how[k] === How.SinceEnd ? end - ns : start + (follows ? early.ns : 0);
    if (w.state[k] === EARLY_REDUCE) early = { lane, index, ns };
    const s = own.signature;
    out.lane[i] = lane;
    out.from[i] = begin;
    out.to[i] = Math.min(end, begin + ns);
    out.class[i] = own.chunk.signatures.class[s]!;
    out.site[i] = own.chunk.signatures.callSite[s]!;
    out.causer[i] = w.causer.window[k] === NOWHERE ? -1 : rankOfLane(calls.meta, w.causer.lane[k]!);
    out.state[i] = w.state[k]!;
  }
}

async function readSpans(trace: Trace, w: Waits): Promise<Spans> {
  const list = shown(w);
  const out = emptySpans(list.length);
  workOut(w, list, await trace.partsFor(w, list), out, false);
  return out;
}

const kept = new WeakMap<Waits, Spans>(); // as long as the chunk is kept

export async function spansIn(trace: Trace, entry: Entry, signal?: AbortSignal): Promise<Spans> {
  const w = await trace.waits(entry, signal);
  const known = kept.get(w);
  if (known) return known;
  const spans = await readSpans(trace, w);
  kept.set(w, spans);
  return spans;
}

const some = new WeakMap<Waits, Spans>(); // each at its place; of those that nobody asked for, from is infinite

/** Some wait states of a chunk and those that were asked for before; calls has all that they are about. */
export function someSpans(w: Waits, list: readonly number[], calls: Calls): Spans {
  const out = some.get(w) ?? emptySpans(w.count);
  if (!some.has(w)) {
    out.from.fill(Infinity);
    out.count = w.count;
    some.set(w, out);
  }
  const missing = list.filter((k) => out.from[k] === Infinity);
  // a late reduce begins where the early reduce before it ends
  const first = missing[0] ?? 0;
  workOut(w, first > 0 && isShown(w, first - 1) ? [first - 1, ...missing] : missing, calls, out, true);
  return out;
}

/** Those that were asked for so far. */
export function peekSpans(trace: Trace, entry: Entry): Spans | undefined {
  const w = trace.chunks.peek<Waits>(entry);
  return w && some.get(w);
}
