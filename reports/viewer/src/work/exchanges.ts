// exchanges.ts - messages whose events are numbered from 0 by rank, in the order of postproc/protocol/traffic.c: what a protocol is checked against.
// In: ordered.ts, window by window.  Out: messages, one after the other. Memory holds one window, and numbers of messages under way.
import { Kind } from '../decode/layout';
import type { Trace } from '../model/trace';
import { What, orderedIn, placeOfKey, spansOf } from './ordered';
import type { Ordered, Span } from './ordered';

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

export class Exchanges {
  private readonly counted: Float64Array; // events by rank
  private readonly underWay = new Map<number, number>(); // by message: the number of its first event
  private readonly spans: Span[];

  constructor(private readonly trace: Trace) {
    if (trace.version === 1)
      throw new Error('This file is of version 1, which does not say which calls made a message: analyze it again.');
    this.counted = new Float64Array(trace.meta.ranks);
    this.spans = trace.kind(Kind.Messages).length > 0 ? spansOf(trace) : [];
  }

  /** take() gets messages in the order in which the later of both ends comes; done() is told of each window. */
  async each(signal: AbortSignal, take: (m: Exchange) => void, done: (share: number) => void): Promise<void> {
    const { spans } = this;
    for (const [i, { window, entries, until }] of spans.entries()) {
      signal.throwIfAborted();
      this.visit(await orderedIn(this.trace, window, entries, until, signal), take);
      done((i + 1) / spans.length);
    }
  }

  private visit(o: Ordered, take: (m: Exchange) => void): void {
    for (const i of o.order) {
      const number = this.counted[o.rank[i]!]!++;
      if (o.what[i] === What.Part) continue;
      const key = o.thing[i]!;
      const other = this.underWay.get(key);
      if (other === undefined) {
        this.underWay.set(key, number);
        continue;
      }
      this.underWay.delete(key);
      const isReceive = o.what[i] === What.Receive;
      take(exchangeOf(o, key, isReceive ? other : number, isReceive ? number : other));
    }
  }
}

function exchangeOf(o: Ordered, key: number, sendEvent: number, receiveEvent: number): Exchange {
  const [chunk, index] = placeOfKey(key);
  const c = o.messages.get(chunk)!;
  return {
    sender: c.src[index]!,
    receiver: c.dst[index]!,
    sendEvent,
    receiveEvent,
    sendCallSite: c.sendCallSite[index]!,
    receiveCallSite: c.recvCallSite[index]!,
    start: c.sendStart[index]!,
    end: c.recvEnd[index]!,
    chunk,
    index,
  };
}
