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

/** One call waits for others; those elsewhere by rank. */
interface Edge {
  call: number;
  other: number; // call; LATER; -2: of an earlier window
  rank: number;
}

const EARLIER = -2;

export class Needs {
  private readonly edges: Edge[] = []; // who is left after whom was entered
  private readonly sends: Edge[] = []; // who sends to whose receive
  private rows: Uint32Array | null = null;
  private sendsOf: Map<number, Edge[]> | null = null;

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
    this.edges.push({ call: receiver, other, rank: rankOfLane(this.meta, lane) });
  }

  receiver(sender: number, call: number, lane: number): void {
    this.sends.push({ call: sender, other: call, rank: rankOfLane(this.meta, lane) });
  }

  add(call: number, other: number): void {
    this.edges.push({ call, other, rank: rankOfLane(this.meta, this.positions.lane[other]!) });
  }

  /** As linear.ts wants them. */
  table(): { needFirst: Uint32Array; need: Int32Array } {
    const calls = this.positions.lane.length;
    this.edges.sort((a, b) => a.call - b.call);
    const needFirst = new Uint32Array(calls + 1);
    const need: number[] = [];
    let at = 0;
    this.rows = new Uint32Array(calls + 1);
    for (let call = 0; call < calls; call++) {
      this.rows[call] = at;
      needFirst[call] = need.length;
      for (; at < this.edges.length && this.edges[at]!.call === call; at++)
        if (this.edges[at]!.other !== EARLIER) need.push(this.edges[at]!.other);
    }
    this.rows[calls] = at;
    needFirst[calls] = need.length;
    return { needFirst, need: Int32Array.from(need) };
  }

  /** Whom a call takes something from: rank, and its call if that is in this window. */
  from(call: number): readonly { other: number; rank: number }[] {
    return this.edges.slice(this.rows![call]!, this.rows![call + 1]!);
  }

  /** Whom a call sends to. */
  to(call: number): readonly { other: number; rank: number }[] {
    if (!this.sendsOf) {
      this.sendsOf = new Map();
      for (const x of this.sends) this.sendsOf.set(x.call, [...(this.sendsOf.get(x.call) ?? []), x]);
    }
    return this.sendsOf.get(call) ?? [];
  }
}
