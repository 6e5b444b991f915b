// positions.ts - where calls are: window, lane, index in that lane's run of the window. What refers to calls of other
// chunks (messages, wait states) does so by columns of these.
import type { Columns } from './native';
import { NOWHERE } from './records';
import type { EventChunk, Segment } from './records';

export interface Positions {
  window: Uint32Array; // NOWHERE: there is no such call
  lane: Uint32Array;
  index: Uint32Array;
}

export function emptyPositions(count: number): Positions {
  return {
    window: new Uint32Array(count).fill(NOWHERE),
    lane: new Uint32Array(count),
    index: new Uint32Array(count),
  };
}

export function readPositions(c: Columns): Positions {
  return { window: c.u32(), lane: c.u32(), index: c.u32() };
}

/** The run of a lane among segments that ascend by lane, carried ones first. */
export function runOf(c: EventChunk, lane: number): Segment | null {
  let low = 0;
  let high = c.segments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const s = c.segments[middle]!;
    if (s.carried || s.lane < lane) low = middle + 1;
    else high = middle;
  }
  const found = c.segments[low];
  return found && found.lane === lane && !found.carried ? found : null;
}

/** The call at a position of the chunk's window; -1: there is none. */
export function eventIn(c: EventChunk, lane: number, index: number): number {
  const run = runOf(c, lane);
  return run && index < run.count ? run.first + index : -1;
}
