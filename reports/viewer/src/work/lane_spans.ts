// lane_spans.ts - when lanes waited in an interval: those of a lane in order, none over another. Columns, since there are hundreds of
// thousands of them in a picture, and an object each would cost more than drawing them.
import type { Spans } from '../model/spans';

export class LaneSpans {
  readonly from: Float64Array; // ns
  readonly to: Float64Array;
  readonly class: Uint8Array;
  private readonly starts: Uint32Array; // by lane: its first; at the end their number
  private readonly ends: Uint32Array; // by lane: behind its last

  private constructor(starts: Uint32Array) {
    const lanes = starts.length - 1;
    const count = starts[lanes]!;
    this.from = new Float64Array(count);
    this.to = new Float64Array(count);
    this.class = new Uint8Array(count);
    this.starts = starts;
    this.ends = starts.slice(0, lanes);
  }

  /** Those of the lists that reach into [from, to). */
  static of(lists: readonly Spans[], lanes: number, from: number, to: number): LaneSpans {
    const starts = new Uint32Array(lanes + 1);
    for (const s of lists)
      for (let i = 0; i < s.count; i++) if (s.to[i]! > from && s.from[i]! < to) starts[s.lane[i]! + 1]!++;
    for (let lane = 0; lane < lanes; lane++) starts[lane + 1]! += starts[lane]!;
    const out = new LaneSpans(starts);
    for (const s of lists)
      for (let i = 0; i < s.count; i++)
        if (s.to[i]! > from && s.from[i]! < to) out.put(s.lane[i]!, s.from[i]!, s.to[i]!, s.class[i]!);
    for (let lane = 0; lane < lanes; lane++) out.unite(lane);
    return out;
  }

  first(lane: number): number {
    return this.starts[lane]!;
  }

  /** Behind the last. */
  end(lane: number): number {
    return this.ends[lane]!;
  }

  /** How long they last between two moments. */
  within(lane: number, from: number, to: number): number {
    let low = this.first(lane);
    const end = this.end(lane);
    for (let high = end; low < high;) {
      const middle = (low + high) >> 1;
      if (this.to[middle]! <= from) low = middle + 1;
      else high = middle;
    }
    let sum = 0;
    for (; low < end && this.from[low]! < to; low++)
      sum += Math.min(to, this.to[low]!) - Math.max(from, this.from[low]!);
    return sum;
  }

  /** Behind the last one that does not begin later, as they mostly come: a lane's are few or in order already. */
  private put(lane: number, from: number, to: number, of: number): void {
    const first = this.starts[lane]!;
    let at = this.ends[lane]!++;
    while (at > first && (this.from[at - 1]! > from || (this.from[at - 1]! === from && this.to[at - 1]! < to))) {
      this.from[at] = this.from[at - 1]!;
      this.to[at] = this.to[at - 1]!;
      this.class[at] = this.class[at - 1]!;
      at--;
    }
    this.from[at] = from;
    this.to[at] = to;
    this.class[at] = of;
  }

  private unite(lane: number): void {
    let end = -Infinity;
    let kept = this.starts[lane]!;
    for (let i = kept; i < this.ends[lane]!; i++) {
      if (this.to[i]! <= end) continue;
      this.from[kept] = Math.max(this.from[i]!, end);
      this.to[kept] = end = this.to[i]!;
      this.class[kept++] = this.class[i]!;
    }
    this.ends[lane] = kept;
  }
}
