// chain.ts - how it came to a wait: the call that waited, the call that caused it, the wait before that one on its rank, its cause, and
// so on, n steps back. Between two waits of a rank lies what it computed, or did in MPI, by itself.
import { segmentOf } from '../decode/records';
import type { EventRef } from '../decode/records';
import type { Call } from '../model/picked';
import type { Trace } from '../model/trace';
import { waitedIn } from '../model/waited';
import { totalNs, waitsOf } from '../model/waits';
import { eventOf, shortCall } from './things';

export interface ChainQuery {
  ref: string;
  steps: number;
}

/** One step: a call that waited, for how long, and the call that caused it. */
export interface ChainStep {
  waiter: Call;
  waitNs: number;
  state: string;
  cause: Call;
}

export interface Chain {
  ref: string;
  steps: ChainStep[];
  end: 'begin' | 'steps' | 'cause'; // why it ends: no wait before it, as many as asked for, a cause that is not known
}

const CHUNKS_MAX = 64; // looked through for the wait before
const SHARE = 0.02; // of the wait that is explained: shorter ones before it are no cause

/** The cause of the longest wait of a call. */
async function causeOf(trace: Trace, at: EventRef): Promise<{ ns: number; state: string; cause: EventRef } | null> {
  const waits = (await waitsOf(trace, at)).filter((w) => w.causer && w.ns > 0 && !w.part);
  const [longest] = waits.sort((a, b) => b.ns - a.ns);
  return longest?.causer ? { ns: longest.ns, state: longest.state, cause: longest.causer } : null;
}

/** The last call before a moment in which a rank waited, for at least so long. */
async function waitBefore(
  trace: Trace,
  rank: number,
  time: number,
  least: number,
  signal: AbortSignal,
): Promise<EventRef | null> {
  const entries = trace.eventEntries(-Infinity, time, rank, rank).sort((a, b) => b.seq - a.seq);
  for (const e of entries.slice(0, CHUNKS_MAX)) {
    signal.throwIfAborted();
    const chunk = await trace.events(e, signal);
    const waited = await waitedIn(trace, e, signal);
    let best: { index: number; end: number } | null = null;
    for (const s of chunk.segments) {
      if (s.rank !== rank || s.carried) continue;
      for (let i = s.first + s.count - 1; i >= s.first; i--) {
        const end = chunk.start[i]! + chunk.duration[i]!;
        if (end > time || (best && end <= best.end)) continue;
        if (waited.ns(s.lane, chunk.start[i]!, end) < least) continue;
        best = { index: i, end };
        break;
      }
    }
    if (best) return { chunk, index: best.index };
  }
  return null;
}

export async function chainOf(trace: Trace, q: ChainQuery, signal: AbortSignal): Promise<Chain> {
  const chain: Chain = { ref: q.ref, steps: [], end: 'steps' };
  let at = await eventOf(trace, q.ref);
  if (at && totalNs(await waitsOf(trace, at)) <= 0) {
    const { rank } = segmentOf(at.chunk, at.index);
    at = await waitBefore(trace, rank, at.chunk.start[at.index]!, 1, signal);
  }
  while (at && chain.steps.length < q.steps) {
    const found = await causeOf(trace, at);
    if (!found) return { ...chain, end: 'cause' };
    const { cause, ns, state } = found;
    chain.steps.push({ waiter: shortCall(trace, at), waitNs: ns, state, cause: shortCall(trace, cause) });
    const { rank } = segmentOf(cause.chunk, cause.index);
    at = await waitBefore(trace, rank, cause.chunk.start[cause.index]!, Math.max(1, SHARE * ns), signal);
  }
  return { ...chain, end: at ? 'steps' : 'begin' };
}
