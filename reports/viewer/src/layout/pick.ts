// pick.ts - what is under the pointer. Pure.
import type { EventChunk, EventRef, MessageChunk } from '../decode/records';

/** The event of rank nearest to time, at most reach ns away; thread: only of that one, unless below 0. Events of a segment
 * ascend by start. */
export function eventAt(chunks: EventChunk[], rank: number, time: number, reach: number, thread = -1): EventRef | null {
  let best: EventRef | null = null;
  let bestDistance = reach;
  for (const chunk of chunks)
    for (const s of chunk.segments) {
      if (s.rank !== rank || s.count === 0 || (thread >= 0 && s.thread !== thread)) continue;
      let low = s.first;
      let high = s.first + s.count;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (chunk.start[middle]! <= time) low = middle;
        else high = middle;
      }
      for (let i = Math.max(s.first, low - 2); i <= Math.min(low + 1, s.first + s.count - 1); i++) {
        const start = chunk.start[i]!;
        const distance = time < start ? start - time : Math.max(0, time - start - chunk.duration[i]!);
        if (
          distance < bestDistance ||
          (distance === 0 && bestDistance === 0 && best && start > best.chunk.start[best.index]!)
        ) {
          bestDistance = distance;
          best = { chunk, index: i };
        }
      }
    }
  return best;
}

export interface Line {
  x1: number;
  y1: number;
  x2: number;
  y2: number;
}

export function distanceTo(line: Line, x: number, y: number): number {
  const dx = line.x2 - line.x1;
  const dy = line.y2 - line.y1;
  const length = dx * dx + dy * dy;
  const t = length > 0 ? Math.min(1, Math.max(0, ((x - line.x1) * dx + (y - line.y1) * dy) / length)) : 0;
  return Math.hypot(line.x1 + t * dx - x, line.y1 + t * dy - y);
}

/** The message whose line, as place() puts it, passes nearest to (x, y), at most reach pixels away. */
export function messageAt(
  chunks: MessageChunk[],
  place: (chunk: MessageChunk, i: number) => Line | null,
  x: number,
  y: number,
  reach: number,
): { chunk: MessageChunk; index: number } | null {
  let best: { chunk: MessageChunk; index: number } | null = null;
  for (const chunk of chunks)
    for (let i = 0; i < chunk.count; i++) {
      const line = place(chunk, i);
      const distance = line ? distanceTo(line, x, y) : Infinity;
      if (distance < reach) {
        reach = distance;
        best = { chunk, index: i };
      }
    }
  return best;
}

/** The event of rank (and thread, unless that is below 0) after or before the given moment. */
export function neighbourEvent(
  chunks: EventChunk[],
  rank: number,
  start: number,
  forward: boolean,
  thread = -1,
): EventRef | null {
  let best: EventRef | null = null;
  for (const chunk of chunks)
    for (const s of chunk.segments) {
      if (s.rank !== rank || s.carried || (thread >= 0 && s.thread !== thread)) continue;
      for (let i = s.first; i < s.first + s.count; i++) {
        const t = chunk.start[i]!;
        const after = forward ? t > start : t < start;
        const nearer = !best || (forward ? t < best.chunk.start[best.index]! : t > best.chunk.start[best.index]!);
        if (after && nearer) best = { chunk, index: i };
      }
    }
  return best;
}
