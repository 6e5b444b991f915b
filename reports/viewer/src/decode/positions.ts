// positions.ts - where calls are: window, lane, index in that lane's run of the window. What refers to calls of other
// chunks (messages, wait states) does so by columns of these.
import { Damaged } from './bytes';
import type { Meta } from './meta';
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

export function putPosition(p: Positions, i: number, window: number, lane: number, index: number, meta: Meta): void {
  const lanes = meta.firstLane[meta.ranks]!;
  const sane = window >= 0 && window < meta.windows && lane >= 0 && lane < lanes && index >= 0 && index < NOWHERE;
  if (!sane) throw new Damaged('there is no such position');
  p.window[i] = window;
  p.lane[i] = lane;
  p.index[i] = index;
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
