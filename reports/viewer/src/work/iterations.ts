// iterations.ts - when a program comes to a call site again: the beginnings of the calls that one rank makes there.
import type { Trace } from '../model/trace';

export interface IterationsQuery {
  rank: number;
  site: number;
}

const MOST = 1 << 20;

export async function iterationsOf(
  trace: Trace,
  { rank, site }: IterationsQuery,
  signal: AbortSignal,
): Promise<Float64Array> {
  const starts: number[] = [];
  for (const e of trace.eventEntries(-Infinity, Infinity, rank, rank)) {
    signal.throwIfAborted();
    const chunk = await trace.events(e, signal);
    const { callSite } = chunk.signatures;
    for (const s of chunk.segments) {
      if (s.rank !== rank || s.carried) continue;
      for (let i = s.first; i < s.first + s.count && starts.length < MOST; i++)
        if (callSite[chunk.signature[i]!] === site) starts.push(chunk.start[i]!);
    }
  }
  return Float64Array.from(starts).sort();
}
