// epochs.ts - the finest decomposition of what ranks send and receive into epochs: postproc/protocol/epochs.h for the viewer, step by step the same, so
// that an epoch has the number that `mpitrace show --epochs` prints. Events come in the order of postproc/protocol/traffic.h; epochs leave as soon
// as nothing that is still to come can belong to them. Memory holds what is pending; copy() is a keyframe to go on from.
// Source: R. Tarjan, SIAM Journal on Computing 1 (2), 1972. Pure.

const BATCH = 65536; // events, as in postproc/protocol/epochs.c

/** Consecutive events of one rank that belong to one node. */
interface Slots {
  rank: number[];
  node: number[];
  first: number[];
  last: number[];
}

/** Events of a rank, from first to last, that belong to epoch `number`. */
export interface EpochSpan {
  rank: number;
  first: number;
  last: number;
}

/** surely: nothing that was still to come could belong to it. */
export type TakeEpoch = (number: number, spans: readonly EpochSpan[], surely: boolean) => void;

/** A collective or a message that has ends to come. */
export interface Pending {
  node: number;
  number: number; // of its first event on that rank
}

const NONE = -1;

function noSlots(): Slots {
  return { rank: [], node: [], first: [], last: [] };
}

export class EpochStream {
  readonly counted: Uint32Array; // events by rank
  /** By who feeds: messages of which one end came, open collectives. Nodes in it follow what is contracted. */
  readonly pending = new Map<string | number, Pending>();
  private open: number[] = []; // by node: ends that did not come yet
  private slots = noSlots(); // those left over by rank, then new ones as they came
  private old = 0; // slots that were left over
  private oldNodes = 0; // nodes that were left over: the first ones, in order of dependence
  private numbered = 0; // epochs
  private readonly batch: number;
  private finished = false;

  constructor(
    private readonly ranks: number,
    private readonly take: TakeEpoch,
    batch = 0,
  ) {
    this.counted = new Uint32Array(ranks);
    this.batch = batch > 0 ? batch : Math.max(BATCH, 4 * ranks);
  }

  /** The same state, for another run from here on. */
  copy(take: TakeEpoch): EpochStream {
    const x = new EpochStream(this.ranks, take, this.batch);
    x.counted.set(this.counted);
    for (const [key, p] of this.pending) x.pending.set(key, { ...p });
    x.open = [...this.open];
    const { rank, node, first, last } = this.slots;
    x.slots = { rank: [...rank], node: [...node], first: [...first], last: [...last] };
    x.old = this.old;
    x.oldNodes = this.oldNodes;
    x.numbered = this.numbered;
    return x;
  }

  /** Whether components are looked for before the next node. */
  get isDue(): boolean {
    const fresh = this.slots.rank.length - this.old;
    return fresh >= this.batch && fresh >= this.old;
  }

  /** A message or a collective with that many ends, of which none came yet. Look first, if that is due. */
  add(ends: number): number {
    return this.open.push(ends) - 1;
  }

  /** An end of it: an event of the rank. Returns its number. */
  enter(node: number, rank: number): number {
    const number = this.counted[rank]!++;
    this.open[node]!--;
    this.push(this.slots, rank, node, number, number);
    return number;
  }

  /** Nothing more comes. surely: and nothing more is there. */
  finish(surely: boolean): void {
    this.finished = true;
    this.look(surely);
  }

  private push(s: Slots, rank: number, node: number, first: number, last: number): void {
    s.rank.push(rank);
    s.node.push(node);
    s.first.push(first);
    s.last.push(last);
  }

  /** Epochs that are final leave, each of the other components becomes one node. */
  look(surely = true): void {
    const { slots } = this;
    const dense = this.numberNodes();
    const sorted = this.sortByRank(slots);
    const c = new Components(sorted, dense.of, dense.nodes, this.open);
    const stays = new Int32Array(c.count).fill(NONE);
    const open: number[] = [];
    for (let k = 0; k < c.count; k++) {
      const isOpen = c.open[k] === 1;
      if (!isOpen || this.finished) this.take(++this.numbered, c.spans(k), surely || !isOpen);
      else {
        const ends = c.members(k).reduce((n, d) => n + this.open[dense.nodes[d]!]!, 0);
        stays[k] = open.push(ends) - 1;
      }
    }
    for (const p of this.pending.values()) p.node = stays[c.number[dense.of[p.node]!]!]!;
    this.keep(sorted, (node) => stays[c.number[dense.of[node]!]!]!);
    [this.open, this.oldNodes] = [open, open.length];
  }

  /** Those left over first, in order of dependence, then those that came, as they came. */
  private numberNodes(): { of: Int32Array; nodes: number[] } {
    const of = new Int32Array(this.open.length).fill(NONE);
    const nodes: number[] = [];
    const { node } = this.slots;
    for (let i = 0; i < this.oldNodes; i++) of[i] = nodes.push(i) - 1;
    for (let i = this.old; i < node.length; i++) {
      const n = node[i]!;
      if (of[n] === NONE) of[n] = nodes.push(n) - 1;
    }
    return { of, nodes };
  }

  /** By rank; what stood before stays before. */
  private sortByRank(s: Slots): Slots {
    const first = new Uint32Array(this.ranks + 1);
    for (const rank of s.rank) first[rank + 1]!++;
    for (let r = 0; r < this.ranks; r++) first[r + 1]! += first[r]!;
    const out = noSlots();
    for (const key of ['rank', 'node', 'first', 'last'] as const) out[key] = new Array<number>(s.rank.length);
    for (let i = 0; i < s.rank.length; i++) {
      const at = first[s.rank[i]!]!++;
      out.rank[at] = s.rank[i]!;
      out.node[at] = s.node[i]!;
      out.first[at] = s.first[i]!;
      out.last[at] = s.last[i]!;
    }
    return out;
  }

  private keep(sorted: Slots, nodeOf: (node: number) => number): void {
    const kept = noSlots();
    for (let i = 0; i < sorted.rank.length; i++) {
      const node = nodeOf(sorted.node[i]!);
      if (node === NONE) continue;
      const end = kept.rank.length - 1;
      if (end >= 0 && kept.rank[end] === sorted.rank[i] && kept.node[end] === node) kept.last[end] = sorted.last[i]!;
      else this.push(kept, sorted.rank[i]!, node, sorted.first[i]!, sorted.last[i]!);
    }
    this.slots = kept;
    this.old = kept.rank.length;
  }
}

/** Strongly connected components of pending events, along the arcs backwards: each is complete after all that it depends on. */
class Components {
  count = 0;
  readonly number: Int32Array; // dense -> component
  readonly open: Uint8Array; // by component: something to come may belong to it
  private readonly member: Uint32Array; // dense, component after component
  private readonly first: Uint32Array; // component -> of member; and one more
  private readonly slotOf: Uint32Array; // slots by dense, from firstSlot
  private readonly firstSlot: Uint32Array;

  constructor(
    private readonly slots: Slots,
    private readonly dense: Int32Array, // node -> dense
    private readonly nodes: readonly number[],
    ends: readonly number[],
  ) {
    const n = nodes.length;
    this.number = new Int32Array(n).fill(NONE);
    this.member = new Uint32Array(n);
    this.first = new Uint32Array(n + 1);
    this.firstSlot = new Uint32Array(n + 2);
    this.slotOf = new Uint32Array(slots.rank.length);
    this.indexSlots();
    this.search();
    this.open = this.findOpen(ends);
  }

  members(k: number): Uint32Array {
    return this.member.subarray(this.first[k], this.first[k + 1]);
  }

  /** Of each rank, ascending, its events in component k. */
  spans(k: number): EpochSpan[] {
    const slots: number[] = [];
    for (const d of this.members(k))
      for (let s = this.firstSlot[d]!; s < this.firstSlot[d + 1]!; s++) slots.push(this.slotOf[s]!);
    slots.sort((a, b) => a - b);
    const spans: EpochSpan[] = [];
    const { rank, first, last } = this.slots;
    for (const s of slots) {
      const before = spans[spans.length - 1];
      if (before && before.rank === rank[s]) before.last = last[s]!;
      else spans.push({ rank: rank[s]!, first: first[s]!, last: last[s]! });
    }
    return spans;
  }

  private indexSlots(): void {
    const { node } = this.slots;
    const { firstSlot } = this;
    for (const n of node) firstSlot[this.dense[n]! + 2]!++;
    for (let d = 0; d < this.nodes.length; d++) firstSlot[d + 2]! += firstSlot[d + 1]!;
    for (let i = 0; i < node.length; i++) this.slotOf[firstSlot[this.dense[node[i]!]! + 1]!++] = i;
  }

  /** The node before a slot on its rank, dense. */
  private before(slot: number): number {
    const { rank, node } = this.slots;
    return slot === 0 || rank[slot - 1] !== rank[slot] ? NONE : this.dense[node[slot - 1]!]!;
  }

  private search(): void {
    const n = this.nodes.length;
    const [visited, low, next] = [new Uint32Array(n), new Uint32Array(n), new Uint32Array(n)];
    const [path, stack] = [new Uint32Array(n), new Uint32Array(n)];
    let [clock, depth, stacked, listed] = [0, 0, 0, 0];
    const enter = (d: number) => {
      visited[d] = low[d] = ++clock;
      next[d] = this.firstSlot[d]!;
      path[depth++] = d;
      stack[stacked++] = d;
    };
    for (let root = 0; root < n; root++) {
      if (visited[root] === 0) enter(root);
      while (depth > 0) {
        const d = path[depth - 1]!;
        if (next[d]! < this.firstSlot[d + 1]!) {
          const p = this.before(this.slotOf[next[d]!++]!);
          if (p === NONE) continue;
          if (visited[p] === 0) enter(p);
          else if (this.number[p] === NONE && visited[p]! < low[d]!) low[d] = visited[p]!;
          continue;
        }
        depth--;
        if (low[d] === visited[d]) {
          for (let x = NONE; x !== d;) {
            x = stack[--stacked]!;
            this.number[x] = this.count;
            this.member[listed++] = x;
          }
          this.first[++this.count] = listed;
        }
        if (depth > 0 && low[d]! < low[path[depth - 1]!]!) low[path[depth - 1]!] = low[d]!;
      }
    }
  }

  /** Open is what has an end to come, and all that comes after something open. */
  private findOpen(ends: readonly number[]): Uint8Array {
    const open = new Uint8Array(this.count);
    const afterOpen = (d: number, k: number) => {
      for (let s = this.firstSlot[d]!; s < this.firstSlot[d + 1]!; s++) {
        const p = this.before(this.slotOf[s]!);
        if (p !== NONE && this.number[p] !== k && open[this.number[p]!] === 1) return true;
      }
      return false;
    };
    for (let k = 0; k < this.count; k++)
      open[k] = Number(this.members(k).some((d) => ends[this.nodes[d]!]! > 0 || afterOpen(d, k)));
    return open;
  }
}
