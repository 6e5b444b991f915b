// census.ts - how many processes are in which state over an interval: consistent global states at evenly spaced moments, counted.
import { DOING_KINDS } from '../model/snapshot';
import type { StatesQuery } from '../model/snapshot';
import type { Trace } from '../model/trace';
import { statesOf } from './states';

export interface CensusQuery {
  from: number; // ns
  to: number;
  moments: number;
}

export interface Census {
  from: number; // ns
  to: number;
  moments: number; // in the middle of as many equal parts
  counted: number; // of them so far, the earliest first
  counts: Uint32Array; // processes, by moment and Doing
}

const SAY_EVERY = 16; // moments

export async function censusOf(
  trace: Trace,
  q: CensusQuery,
  signal: AbortSignal,
  say: (part: Census) => void,
): Promise<Census> {
  const counts = new Uint32Array(q.moments * DOING_KINDS);
  const at: StatesQuery = { by: 0, hidden: null, stop: '', rank: 0, halt: '' };
  for (let i = 0; i < q.moments; i++) {
    signal.throwIfAborted();
    const time = q.from + ((i + 0.5) / q.moments) * (q.to - q.from);
    const { doing } = await statesOf(trace, { ...at, time }, signal);
    for (const kind of doing) counts[i * DOING_KINDS + kind]!++;
    if ((i + 1) % SAY_EVERY === 0) {
      say({ ...q, counted: i + 1, counts: counts.slice() });
      await new Promise((done) => setTimeout(done)); // who waits for a state comes first
    }
  }
  return { ...q, counted: q.moments, counts };
}
