// section_record.ts - gathers what the space-time view is given: events inside of a section, their messages, collectives and epochs.
import type { EpochSpan } from '../model/epochs';
import { Role } from '../model/section';
import type { Section, SectionCollective, SectionEpoch, SectionMessages, SectionQuery } from '../model/section';
import type { Trace } from '../model/trace';
import type { Feed } from './epoch_feed';
import { What, placeOfKey } from './ordered';
import type { Ordered } from './ordered';

const NONE = -1;

/** Columns that grow. */
class Rows {
  readonly rank: number[] = [];
  readonly number: number[] = [];
  readonly time: number[] = [];
  readonly role: number[] = [];
  readonly thing: number[] = [];
  readonly window: number[] = [];
  readonly lane: number[] = [];
  readonly index: number[] = [];
}

interface MessageRow {
  key: number;
  of: Ordered;
  send: number;
  receive: number;
  sendNumber: number;
  receiveNumber: number;
}

export class Recorder {
  private readonly rows = new Rows();
  private readonly messages: MessageRow[] = [];
  private readonly collectives: SectionCollective[] = [];
  private readonly byKey = new Map<string | number, number>();
  private readonly epochs: SectionEpoch[] = [];
  private readonly epochOf: number[] = []; // by event
  private readonly ofRank: number[][]; // events of a rank: their numbers follow each other
  private begin: Uint32Array | null = null; // number of a rank's first event of the section
  private end: Uint32Array | null = null; // and of the first behind it
  private unknown = 0; // events whose epoch is not known yet
  private to = Infinity; // ns
  private cut = false;

  constructor(
    private readonly trace: Trace,
    private readonly query: SectionQuery,
  ) {
    this.ofRank = Array.from({ length: trace.meta.ranks }, () => []);
    if (query.to < trace.meta.runtime) this.to = query.to;
  }

  /** The section has all its events. */
  get isFull(): boolean {
    return this.end !== null;
  }

  get isComplete(): boolean {
    return this.isFull && this.unknown === 0;
  }

  /** Whether an event of that time, the next one, is inside. counted: events by rank so far. */
  takes(time: number, counted: Uint32Array): boolean {
    if (this.query.from > 0 && time < this.query.from) return false;
    this.begin ??= counted.slice();
    if (this.end) return false;
    this.cut = this.rows.rank.length >= this.query.most;
    if (time < this.to && !this.cut) return true;
    this.end = counted.slice();
    this.to = Math.min(this.to, time);
    return false;
  }

  /** An event that was fed. */
  put(o: Ordered, i: number, feed: Feed, isInside: boolean): void {
    const what = o.what[i]!;
    if (what === What.Part) {
      if (isInside) this.add(o, i, feed, this.collective(o, i));
      return;
    }
    const key = o.thing[i]!;
    const known = this.byKey.get(key);
    if (!isInside && known === undefined) return;
    const at = known ?? this.message(key, o);
    const m = this.messages[at]!;
    const event = isInside ? this.rows.rank.length : NONE;
    if (what === What.Send) [m.send, m.sendNumber] = [event, feed.number];
    else [m.receive, m.receiveNumber] = [event, feed.number];
    if (feed.other >= 0) {
      if (what === What.Send) m.receiveNumber = feed.other;
      else m.sendNumber = feed.other;
    }
    if (isInside) this.add(o, i, feed, at);
  }

  private message(key: number, of: Ordered): number {
    const at = this.messages.push({ key, of, send: NONE, receive: NONE, sendNumber: NONE, receiveNumber: NONE }) - 1;
    this.byKey.set(key, at);
    return at;
  }

  private collective(o: Ordered, i: number): number {
    const { chunk, event, comm, k } = o.parts[o.thing[i]!]!;
    const key = `${comm} ${k}`;
    const known = this.byKey.get(key); // of one whose members are not known each part is an epoch's own, and drawn with the others
    const at = known ?? this.collectives.length;
    if (known === undefined) {
      const s = chunk.signature[event]!;
      const op = this.trace.meta.ops[chunk.signatures.op[s]!] ?? '?';
      const members = this.trace.membersOf(comm).length;
      this.collectives.push({ comm, k, op, callSite: chunk.signatures.callSite[s]!, members, parts: [] });
      this.byKey.set(key, at);
    }
    this.collectives[at]!.parts.push(this.rows.rank.length);
    return at;
  }

  private add(o: Ordered, i: number, feed: Feed, thing: number): void {
    const { rows } = this;
    const rank = o.rank[i]!;
    this.ofRank[rank]!.push(rows.rank.length);
    rows.rank.push(rank);
    rows.number.push(feed.number);
    rows.time.push(o.time[i]!);
    rows.role.push(o.what[i]! === What.Part ? Role.Part : o.what[i]! === What.Send ? Role.Send : Role.Receive);
    rows.thing.push(thing);
    rows.window.push(o.window);
    rows.lane.push(o.lane[i]!);
    rows.index.push(o.index[i]!);
    this.epochOf.push(NONE);
    this.unknown++;
  }

  /** An epoch that is over. */
  readonly takeEpoch = (number: number, spans: readonly EpochSpan[], surely: boolean): void => {
    const { begin, end } = this;
    if (!begin) return;
    let [begins, ends, here] = [true, true, false];
    const at = this.epochs.length;
    for (const { rank, first, last } of spans) {
      begins &&= first >= begin[rank]!;
      ends &&= !end || last < end[rank]!;
      const list = this.ofRank[rank]!;
      const until = Math.min(last - begin[rank]! + 1, list.length);
      for (let k = Math.max(0, first - begin[rank]!); k < until; k++) {
        this.epochOf[list[k]!] = at;
        this.unknown--;
        here = true;
      }
    }
    if (here) this.epochs.push({ number: surely ? number : 0, begins, ends });
  };

  /** What is known while the section is not reached yet. */
  underWay(counted: number): Section {
    return { ...this.finish(), counted, whole: false };
  }

  finish(): Section {
    const { rows, query } = this;
    return {
      from: query.from,
      to: this.cut ? this.to : query.to,
      cut: this.cut,
      counted: 1,
      whole: true,
      events: {
        count: rows.rank.length,
        rank: Uint32Array.from(rows.rank),
        number: Uint32Array.from(rows.number),
        time: Float64Array.from(rows.time),
        role: Uint8Array.from(rows.role),
        thing: Int32Array.from(rows.thing),
        epoch: Int32Array.from(this.epochOf),
        window: Uint32Array.from(rows.window),
        lane: Uint32Array.from(rows.lane),
        index: Uint32Array.from(rows.index),
      },
      messages: this.messageColumns(),
      collectives: this.collectives,
      epochs: this.epochs,
    };
  }

  private messageColumns(): SectionMessages {
    const list = this.messages.map((m) => {
      const [id, i] = placeOfKey(m.key);
      return { ...m, id, i, c: m.of.messages.get(id)! };
    });
    return {
      count: list.length,
      send: Int32Array.from(list, (m) => m.send),
      receive: Int32Array.from(list, (m) => m.receive),
      src: Uint32Array.from(list, (m) => m.c.src[m.i]!),
      dst: Uint32Array.from(list, (m) => m.c.dst[m.i]!),
      sendNumber: Int32Array.from(list, (m) => m.sendNumber),
      receiveNumber: Int32Array.from(list, (m) => m.receiveNumber),
      bytes: Float64Array.from(list, (m) => m.c.bytes[m.i]!),
      tag: Int32Array.from(list, (m) => m.c.tag[m.i]!),
      comm: Uint32Array.from(list, (m) => m.c.comm[m.i]!),
      sendStart: Float64Array.from(list, (m) => m.c.sendStart[m.i]!),
      recvEnd: Float64Array.from(list, (m) => m.c.recvEnd[m.i]!),
      sendSite: Int32Array.from(list, (m) => m.c.sendCallSite[m.i]!),
      receiveSite: Int32Array.from(list, (m) => m.c.recvCallSite[m.i]!),
      chunk: Uint32Array.from(list, (m) => m.id),
      place: Uint32Array.from(list, (m) => m.i),
    };
  }
}
