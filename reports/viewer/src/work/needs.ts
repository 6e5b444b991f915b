// needs.ts - what calls of a window wait for: messages by their senders, collectives by their rules. In: positions of calls.
import type { Meta } from '../decode/meta';
import { rankOfLane } from '../decode/meta';
import type { Positions } from '../decode/positions';
import { LATER } from '../model/linear';

const ALL = /^MPI_I?(Barrier|Allreduce|Allgatherv?|Alltoall[vw]?|Reduce_scatter(_block)?)$/;
const ALL_TOO = /^MPI_(Comm_(dup|split|create)|Win_(create|allocate|free|fence)|Intercomm_(create|merge)|File_open)/;
const FROM_ROOT = /^MPI_(Bcast|Scatterv?)$/;
const TO_ROOT = /^MPI_(Reduce|Gatherv?)$/;

/** Nobody leaves it before all have come. */
export function waitsForAll(op: string): boolean {
  return (ALL.test(op) && !op.startsWith('MPI_I')) || ALL_TOO.test(op);
}

/** from: others wait for the root; to: the root waits for the others. */
export function waitsForRoot(op: string): 'from' | 'to' | '' {
  return FROM_ROOT.test(op) ? 'from' : TO_ROOT.test(op) ? 'to' : '';
}

const EARLIER = -2;

/** The other end of an edge: its call, LATER, or -2 of an earlier window; its rank. */
export interface End {
  other: number;
  rank: number;
}

/** Pairs of calls in columns, found by the first of them: there are as many as messages in a window. */
class Edges {
  private call = new Uint32Array(1024);
  private other = new Int32Array(1024);
  private rank = new Uint32Array(1024);
  private count = 0;
  private first = new Uint32Array(1); // by call, in order
  private order = new Uint32Array(0);

  push(call: number, other: number, rank: number): void {
    if (this.count === this.call.length) this.grow();
    const i = this.count++;
    this.call[i] = call;
    this.other[i] = other;
    this.rank[i] = rank;
  }

  private grow(): void {
    const twice = <T extends Uint32Array | Int32Array>(old: T, made: T): T => {
      made.set(old);
      return made;
    };
    const size = 2 * this.call.length;
    this.call = twice(this.call, new Uint32Array(size));
    this.other = twice(this.other, new Int32Array(size));
    this.rank = twice(this.rank, new Uint32Array(size));
  }

  /** Nothing comes any more: edges by their call, those of a call as they came. */
  sort(calls: number): void {
    this.first = new Uint32Array(calls + 1);
    for (let i = 0; i < this.count; i++) this.first[this.call[i]! + 1]!++;
    for (let call = 0; call < calls; call++) this.first[call + 1]! += this.first[call]!;
    const next = this.first.slice();
    this.order = new Uint32Array(this.count);
    for (let i = 0; i < this.count; i++) this.order[next[this.call[i]!]!++] = i;
  }

  /** Of one call. */
  of(call: number): End[] {
    const found: End[] = [];
    for (let at = this.first[call]!; at < this.first[call + 1]!; at++) {
      const i = this.order[at]!;
      found.push({ other: this.other[i]!, rank: this.rank[i]! });
    }
    return found;
  }

  /** The others of all calls, without those of earlier windows, and where each call's begin. */
  others(calls: number): { first: Uint32Array; other: Int32Array } {
    const first = new Uint32Array(calls + 1);
    const other = new Int32Array(this.count);
    let n = 0;
    for (let call = 0; call < calls; call++) {
      first[call] = n;
      for (let at = this.first[call]!; at < this.first[call + 1]!; at++) {
        const x = this.other[this.order[at]!]!;
        if (x !== EARLIER) other[n++] = x;
      }
    }
    first[calls] = n;
    return { first, other: other.subarray(0, n) };
  }
}

export class Needs {
  private readonly edges = new Edges(); // who is left after whom was entered
  private readonly sends = new Edges(); // who sends to whose receive

  constructor(
    private readonly meta: Meta,
    readonly positions: Positions,
    private readonly laneFirst: Uint32Array,
    private readonly window: number,
  ) {}

  /** The call at a position; -1: it is not here. A lane's calls stand in order of (window, index). */
  callAt(lane: number, window: number, index: number): number {
    const at = this.positions;
    let low = this.laneFirst[lane]!;
    let high = this.laneFirst[lane + 1]!;
    while (low < high) {
      const middle = (low + high) >> 1;
      const w = at.window[middle]!;
      if (w < window || (w === window && at.index[middle]! < index)) low = middle + 1;
      else high = middle;
    }
    const found = low < this.laneFirst[lane + 1]! && at.window[low] === window && at.index[low] === index;
    return found ? low : -1;
  }

  message(receiver: number, sender: number, lane: number, window: number): void {
    const other = sender >= 0 ? sender : window > this.window ? LATER : EARLIER;
    this.edges.push(receiver, other, rankOfLane(this.meta, lane));
  }

  receiver(sender: number, call: number, lane: number): void {
    this.sends.push(sender, call, rankOfLane(this.meta, lane));
  }

  add(call: number, other: number): void {
    this.edges.push(call, other, rankOfLane(this.meta, this.positions.lane[other]!));
  }

  /** As linear.ts wants them; nothing comes any more. */
  table(): { needFirst: Uint32Array; need: Int32Array } {
    const calls = this.positions.lane.length;
    this.edges.sort(calls);
    this.sends.sort(calls);
    const { first, other } = this.edges.others(calls);
    return { needFirst: first, need: other };
  }

  /** Whom a call takes something from: rank, and its call if that is in this window. */
  from(call: number): readonly End[] {
    return this.edges.of(call);
  }

  /** Whom a call sends to. */
  to(call: number): readonly End[] {
    return this.sends.of(call);
  }
}
