// spans.ts - when calls waited for others: from when to when, inside of the call. What passes after the last has come (completion) is
// no waiting; parts of another wait are in that one.
import { How, isPart } from '../decode/waits';
import type { Waits } from '../decode/waits';
import { NOWHERE } from '../decode/records';
import type { Entry } from '../decode/layout';
import type { Trace } from './trace';
import { waitLength } from './waits';

const COMPLETIONS = new Set([5, 7]); // of a barrier, of N x N
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

export function isWaiting(state: number): boolean {
  return !isPart(state) && !COMPLETIONS.has(state);
}

/** The same by the name in the analysis. */
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

function shown(w: Waits): number[] {
  const list: number[] = [];
  for (let k = 0; k < w.count; k++) if (w.how[k] !== How.Bytes && isWaiting(w.state[k]!)) list.push(k);
  return list;
}

async function readSpans(trace: Trace, w: Waits): Promise<Spans> {
  const list = shown(w);
  const out = emptySpans(list.length);
  const parts = await trace.partsFor(w, list);
  let early = { lane: -1, index: -1, ns: 0 };
  for (const k of list) {
    if (w.at.window[k] === NOWHERE) continue;
    const own = parts.find(w.at, k);
    const causer = w.causer.window[k] !== NOWHERE && w.how[k] !== How.Ns ? parts.find(w.causer, k) : null;
    const ns = waitLength(w.how[k]!, w.ns[k]!, own, causer);
    const start = own.chunk.start[own.index]!;
    const end = start + own.chunk.duration[own.index]!;
    const [lane, index] = [w.at.lane[k]!, w.at.index[k]!];
    const follows = w.state[k] === LATE_REDUCE && early.lane === lane && early.index === index;
    const begin = w.how[k] === How.SinceEnd ? end - ns : start + (follows ? early.ns : 0);
    if (w.state[k] === EARLY_REDUCE) early = { lane, index, ns };
    const s = own.chunk.signature[own.index]!;
    const i = out.count++;
    out.lane[i] = lane;
    out.from[i] = begin;
    out.to[i] = Math.min(end, begin + ns);
    out.class[i] = own.chunk.signatures.class[s]!;
    out.site[i] = own.chunk.signatures.callSite[s]!;
    out.causer[i] = w.causer.window[k] === NOWHERE ? -1 : trace.rankOfLane(w.causer.lane[k]!);
    out.state[i] = w.state[k]!;
  }
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

/** The same if it is here. */
export function peekSpans(trace: Trace, entry: Entry): Spans | undefined {
  const w = trace.chunks.peek<Waits>(entry);
  return w && kept.get(w);
}
