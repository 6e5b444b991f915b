// epoch_feed.ts - events of a window to the decomposition, as postproc/protocol/epochs_trace.c feeds them: both ends of a message make one node, so do
// all parts of a collective. In: ordered events, members of communicators from the analysis.  Out: numbers of events.
import { EpochStream } from '../model/epochs';
import type { TakeEpoch } from '../model/epochs';
import { list, num, numbers, str } from '../model/analysis';
import type { Json } from '../model/analysis';
import { What } from './ordered';
import type { Ordered } from './ordered';

/** Collectives of a communicator that some members entered and others did not. */
interface Comm {
  done: number; // those before are over
  entered: Map<number, number>; // by number of the operation
}

/** How many members of each communicator have a record; others never come. */
export function recordedMembers(analysis: Json, ranks: number): Map<number, number> {
  const recorded = new Uint8Array(ranks);
  list(analysis, 'per_rank').forEach((x, i) => i < ranks && (recorded[i] = Number(str(x, 'state') !== 'missing')));
  const count = (x: Json, key: string) => numbers(x, key).filter((rank) => recorded[rank] === 1).length;
  const members = new Map<number, number>();
  for (const x of list(analysis, 'communicators')) {
    const id = num(x, 'id') ?? -1;
    if (id >= 0) members.set(id, count(x, 'ranks') + count(x, 'remote_ranks'));
  }
  return members;
}

const collectiveKey = (comm: number, k: number) => `${comm} ${k}`;

export class Feed {
  /** Of the event fed last: its number, and that of the other end if that came before; else -1. */
  number = 0;
  other = -1;

  private constructor(
    readonly stream: EpochStream,
    private readonly members: ReadonlyMap<number, number>,
    private readonly comms: Map<number, Comm>,
  ) {}

  static begin(ranks: number, members: ReadonlyMap<number, number>, take: TakeEpoch): Feed {
    return new Feed(new EpochStream(ranks, take), members, new Map());
  }

  copy(take: TakeEpoch): Feed {
    const comms = new Map<number, Comm>();
    for (const [id, c] of this.comms) comms.set(id, { done: c.done, entered: new Map(c.entered) });
    return new Feed(this.stream.copy(take), this.members, comms);
  }

  /** Whether components are looked for before event i is fed. */
  isDue(o: Ordered, i: number): boolean {
    return this.stream.isDue && this.isNew(o, i);
  }

  private isNew(o: Ordered, i: number): boolean {
    if (o.what[i] !== What.Part) return !this.stream.pending.has(o.thing[i]!);
    const { comm, k } = o.parts[o.thing[i]!]!;
    return this.isAlone(comm, k) || !this.comms.get(comm)?.entered.has(k);
  }

  private isAlone(comm: number, k: number): boolean {
    const members = this.members.get(comm) ?? 0;
    const c = this.comms.get(comm);
    return members === 0 || (c !== undefined && (k < c.done || (c.entered.get(k) ?? 0) >= members));
  }

  /** The next event. */
  put(o: Ordered, i: number): void {
    if (this.isDue(o, i)) this.stream.look();
    const rank = o.rank[i]!;
    this.other = -1;
    if (o.what[i] !== What.Part) this.putEnd(o.thing[i]!, rank);
    else {
      const { comm, k } = o.parts[o.thing[i]!]!;
      this.putPart(comm, k, rank);
    }
  }

  private putEnd(key: number, rank: number): void {
    const { stream } = this;
    const first = stream.pending.get(key);
    if (first) {
      stream.pending.delete(key);
      this.other = first.number;
      this.number = stream.enter(first.node, rank);
      return;
    }
    const node = stream.add(2);
    this.number = stream.enter(node, rank);
    stream.pending.set(key, { node, number: this.number });
  }

  private putPart(comm: number, k: number, rank: number): void {
    const { stream } = this;
    if (this.isAlone(comm, k)) {
      this.number = stream.enter(stream.add(1), rank);
      return;
    }
    const members = this.members.get(comm)!;
    const c = this.comms.get(comm) ?? { done: 0, entered: new Map<number, number>() };
    this.comms.set(comm, c);
    const key = collectiveKey(comm, k);
    const node = stream.pending.get(key)?.node ?? stream.add(members);
    if (!stream.pending.has(key)) stream.pending.set(key, { node, number: 0 });
    const entered = (c.entered.get(k) ?? 0) + 1;
    c.entered.set(k, entered);
    if (entered === members) stream.pending.delete(key);
    this.number = stream.enter(node, rank);
    while (c.entered.get(c.done) === members) c.entered.delete(c.done++);
  }
}
