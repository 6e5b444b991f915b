// waits.ts - what a call waited for: the state, how long, and the call that caused it if that is known.
import { How, WAIT_STATES, isPart, isWaiting } from '../decode/waits';
import type { Waits } from '../decode/waits';
import { NOWHERE, segmentOf, valueOf } from '../decode/records';
import type { EventRef } from '../decode/records';
import type { Trace } from './trace';

export interface Wait {
  state: string; // '' where the file does not say
  ns: number;
  part: boolean; // of another one that is listed as well
  waits: boolean; // for others: no part, and not what passes after the last has come
  causer: EventRef | null;
}

/** The first wait at or behind (window, lane, index). */
function bisect(w: Waits, window: number, lane: number, index: number): number {
  const { at } = w;
  let low = 0;
  for (let high = w.count; low < high;) {
    const m = (low + high) >> 1;
    const before =
      at.window[m]! !== window
        ? at.window[m]! < window
        : at.lane[m]! !== lane
          ? at.lane[m]! < lane
          : at.index[m]! < index;
    if (before) low = m + 1;
    else high = m;
  }
  return low;
}

/** How long a wait was: where the file does not say, it follows from the times of both calls. */
export function waitLength(how: number, ns: number, own: EventRef, causer: EventRef | null): number {
  if (how === How.Ns || how === How.Bytes || !causer) return ns;
  const start = own.chunk.start[own.index]!;
  const end = start + own.chunk.duration[own.index]!;
  const itsStart = causer.chunk.start[causer.index]!;
  const itsEnd = itsStart + causer.chunk.duration[causer.index]!;
  return Math.max(0, how === How.UntilStart ? Math.min(itsStart, end) - start : end - Math.max(itsEnd, start));
}

/** What became known of one call later: visit(chunk, record). */
async function eachOf(trace: Trace, own: EventRef, visit: (w: Waits, k: number) => Promise<void>): Promise<void> {
  const { chunk, index: i } = own;
  const segment = segmentOf(chunk, i);
  if (segment.window === NOWHERE) return;
  const { window, lane } = segment;
  const index = segment.index + i - segment.first;
  const start = chunk.start[i]!;
  for (const entry of trace.waitEntries(segment.rank, start, start + chunk.duration[i]!)) {
    const w = await trace.waits(entry);
    for (let k = bisect(w, window, lane, index); k < w.count; k++) {
      if (w.at.window[k] !== window || w.at.lane[k] !== lane || w.at.index[k] !== index) break;
      await visit(w, k);
    }
  }
}

/** All wait states of one call. */
export async function waitsOf(trace: Trace, own: EventRef): Promise<Wait[]> {
  const { chunk, index: i } = own;
  if (chunk.wait) {
    const ns = valueOf(chunk.wait, i, 0);
    return ns > 0 ? [{ state: '', ns, part: false, waits: true, causer: null }] : [];
  }
  const found: Wait[] = [];
  await eachOf(trace, own, async (w, k) => {
    if (w.how[k] === How.Bytes) return;
    const causer = w.causer.window[k] === NOWHERE ? null : await trace.eventAt(w.causer, k);
    const ns = waitLength(w.how[k]!, w.ns[k]!, own, causer);
    const blamed = w.how[k] === How.SinceEnd ? null : causer;
    const state = w.state[k]!;
    const is = { part: isPart(state), waits: isWaiting(state) };
    found.push({ state: WAIT_STATES[state] ?? '', ns, ...is, causer: blamed });
  });
  return found;
}

/** Bytes that came to one call and that only its partners' records tell. */
export async function bytesCameTo(trace: Trace, own: EventRef): Promise<number> {
  let sum = 0;
  await eachOf(trace, own, async (w, k) => {
    if (w.how[k] === How.Bytes) sum += w.ns[k]!;
  });
  return sum;
}

export function totalNs(waits: Wait[]): number {
  return waits.reduce((sum, w) => sum + (w.part ? 0 : w.ns), 0);
}
