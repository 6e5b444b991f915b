// exchanges.ts - messages and parts in collectives as events of ranks, in order and numbered from 0: protocol/traffic.c again. A send is
// where its call starts, a receive where the call that completes it does; of those that begin in one call sends come first, then receives in
// the order in which they were posted. Memory holds one window, and messages between windows.
import { Kind } from '../decode/layout';
import type { Entry } from '../decode/layout';
import type { Links } from '../decode/links';
import { Flag } from '../decode/records';
import type { EventChunk, MessageChunk, Segment } from '../decode/records';
import { completionOf } from '../model/messages';
import type { Trace } from '../model/trace';

/** A message of which both events are numbered. */
export interface Exchange {
  sender: number;
  receiver: number;
  sendEvent: number;
  receiveEvent: number;
  sendCallSite: number;
  receiveCallSite: number;
  start: number; // ns: of the send, and the end of the receive
  end: number;
  chunk: number; // its entry, and its number there
  index: number;
}

const enum What {
  Send,
  Receive,
  Part,
}

interface Event {
  ns: number;
  lane: number;
  index: number; // the call
  what: What;
  sub: readonly number[]; // order of those of one call
  rank: number;
  message: Exchange | null;
}

const NOT_YET = -1;

function inOrder(a: Event, b: Event): number {
  const first = a.ns - b.ns || a.lane - b.lane || a.index - b.index || a.what - b.what;
  if (first !== 0) return first;
  for (let i = 0; i < a.sub.length; i++) {
    const d = a.sub[i]! - (b.sub[i] ?? 0);
    if (d !== 0) return d;
  }
  return 0;
}

/** The send and the receive of a message. */
function endsOf(links: Links, c: MessageChunk, i: number, chunk: number): [Event, Event] {
  const { send, receive } = links;
  const end = completionOf(links, i);
  const [sender, receiver] = [c.src[i]!, c.dst[i]!];
  const sites = { sendCallSite: c.sendCallSite[i]!, receiveCallSite: c.recvCallSite[i]! };
  const extent = { start: c.sendStart[i]!, end: c.recvEnd[i]! };
  const message = { sender, receiver, sendEvent: NOT_YET, receiveEvent: NOT_YET, ...sites, ...extent, chunk, index: i };
  const sent: Event = {
    ns: c.sendStart[i]!,
    lane: send.lane[i]!,
    index: send.index[i]!,
    what: What.Send,
    sub: [receiver, c.comm[i]!, c.tag[i]! >>> 0, receive.index[i]!],
    rank: sender,
    message,
  };
  const received: Event = {
    ns: c.completionStart[i]!,
    lane: end.lane[i]!,
    index: end.index[i]!,
    what: What.Receive,
    sub: [receive.window[i]!, receive.lane[i]!, receive.index[i]!, sender],
    rank: receiver,
    message,
  };
  return [sent, received];
}

const NO_SUB: readonly number[] = [];

/** Parts in collectives of which is known which one they are. */
function partsOf(c: EventChunk, s: Segment, take: (event: number) => void): void {
  const known = new Map<number, boolean>(); // by communicator
  const { flags, comm } = c.signatures;
  let told = 0;
  for (let i = s.first; i < s.first + s.count; i++) {
    for (let n = s.numbers[told]; n && n.index <= i; n = s.numbers[++told]) known.set(n.comm, n.k >= 0);
    const what = c.signature[i]!;
    if ((flags[what]! & Flag.Collective) !== 0 && known.get(comm[what]!)) take(i);
  }
}

export class Exchanges {
  private readonly counted: Float64Array; // by rank
  private readonly far = new Map<number, Event[]>(); // by window
  private readonly chunks = new Map<number, Entry[]>(); // of messages, by window
  private readonly calls = new Map<number, Entry[]>();
  readonly windows: number[];

  constructor(private readonly trace: Trace) {
    if (trace.version === 1)
      throw new Error('This file is of version 1, which does not say which calls made a message: analyze it again.');
    this.counted = new Float64Array(trace.meta.ranks);
    const put = (to: Map<number, Entry[]>, e: Entry) => to.set(e.seq, [...(to.get(e.seq) ?? []), e]);
    for (const e of trace.kind(Kind.Messages)) put(this.chunks, e);
    for (const e of trace.kind(Kind.Events)) put(this.calls, e);
    this.windows = [...new Set([...this.chunks.keys(), ...this.calls.keys()])].sort((a, b) => a - b);
  }

  /** take() gets messages in the order in which the later of both ends comes; done() is told of each window. */
  async each(signal: AbortSignal, take: (m: Exchange) => void, done: (share: number) => void): Promise<void> {
    const { windows } = this;
    for (const [i, window] of windows.entries()) {
      await this.keep(window, signal, true);
      done((0.5 * (i + 1)) / windows.length);
    }
    for (const [i, window] of windows.entries()) {
      const events = await this.keep(window, signal, false);
      events.push(...(await this.parts(window, signal)));
      for (const event of this.far.get(window) ?? []) events.push(event);
      this.far.delete(window);
      this.visit(events, take);
      done(0.5 + (0.5 * (i + 1)) / windows.length);
    }
  }

  /** Events of messages with an end in another window, which are kept; or of the others. */
  private async keep(window: number, signal: AbortSignal, far: boolean): Promise<Event[]> {
    const near: Event[] = [];
    for (const entry of this.chunks.get(window) ?? []) {
      signal.throwIfAborted();
      const { links } = await this.trace.linked(entry, signal);
      const isFar = (i: number) => links.send.window[i] !== window || completionOf(links, i).window[i] !== window;
      const wanted = Array.from({ length: links.count }, (_, i) => i).filter((i) => isFar(i) === far);
      if (wanted.length === 0) continue;
      const c = await this.trace.messages(entry, signal);
      for (const i of wanted) {
        const ends = endsOf(links, c, i, entry.id);
        if (!far) near.push(...ends);
        else ends.forEach((event, k) => this.putFar((k === 0 ? links.send : completionOf(links, i)).window[i]!, event));
      }
    }
    return near;
  }

  private putFar(window: number, event: Event): void {
    const list = this.far.get(window) ?? [];
    if (list.length === 0) this.far.set(window, list);
    list.push(event);
  }

  private async parts(window: number, signal: AbortSignal): Promise<Event[]> {
    const events: Event[] = [];
    for (const entry of this.calls.get(window) ?? []) {
      const c = await this.trace.events(entry, signal);
      for (const s of c.segments) {
        if (s.carried) continue;
        partsOf(c, s, (i) => {
          const index = s.index + i - s.first;
          const { lane, rank } = s;
          events.push({ ns: c.start[i]!, lane, index, what: What.Part, sub: NO_SUB, rank, message: null });
        });
      }
    }
    return events;
  }

  private visit(events: Event[], take: (m: Exchange) => void): void {
    for (const { what, rank, message } of events.sort(inOrder)) {
      const number = this.counted[rank]!++;
      if (!message) continue;
      if (what === What.Send) message.sendEvent = number;
      else message.receiveEvent = number;
      if (message.sendEvent !== NOT_YET && message.receiveEvent !== NOT_YET) take(message);
    }
  }
}
