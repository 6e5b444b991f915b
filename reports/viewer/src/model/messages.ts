// messages.ts - messages as they are drawn, from the calls that made them: times are those of the calls, bytes, tag and
// communicator those of a signature of the sender.
import { Damaged } from '../decode/bytes';
import type { Links } from '../decode/links';
import { groupOfLane, rankOfLane } from '../decode/meta';
import type { Meta } from '../decode/meta';
import { eventIn } from '../decode/positions';
import type { Positions } from '../decode/positions';
import { NOWHERE, emptyMessages } from '../decode/records';
import type { EventChunk, EventRef, MessageChunk, Signatures } from '../decode/records';

/** Chunks of calls by group and window. */
export class Parts {
  private readonly chunks = new Map<number, EventChunk>();
  private lastKey = -1;
  private last: EventChunk | undefined;

  constructor(private readonly meta: Meta) {}

  key(lane: number, window: number): number {
    return groupOfLane(this.meta, lane) * this.meta.windows + window;
  }

  put(key: number, chunk: EventChunk): void {
    this.chunks.set(key, chunk);
  }

  /** The chunk with an event, and the event's number there. */
  find(p: Positions, i: number): EventRef {
    const key = this.key(p.lane[i]!, p.window[i]!);
    if (key !== this.lastKey) {
      this.last = this.chunks.get(key);
      this.lastKey = key;
    }
    const index = this.last ? eventIn(this.last, p.lane[i]!, p.index[i]!) : -1;
    if (index < 0) throw new Damaged('it refers to a call that is not there');
    return { chunk: this.last!, index };
  }
}

/** Keys of the chunks of calls that positions are in. */
export function keysOf(meta: Meta, ...columns: Positions[]): Set<number> {
  const parts = new Parts(meta);
  const keys = new Set<number>();
  for (const p of columns)
    for (let i = 0; i < p.window.length; i++)
      if (p.window[i] !== NOWHERE) keys.add(parts.key(p.lane[i]!, p.window[i]!));
  return keys;
}

function signatureOf(s: Signatures, rankInGroup: number, id: number): number {
  const at = s.first[rankInGroup]! + id;
  if (at >= s.first[rankInGroup + 1]!) throw new Damaged('there is no such signature');
  return at;
}

export function messagesOf(links: Links, parts: Parts, meta: Meta): MessageChunk {
  const out = emptyMessages(links.count);
  for (let i = 0; i < links.count; i++) {
    const receive = parts.find(links.receive, i);
    const completion = links.completion.window[i] !== NOWHERE ? parts.find(links.completion, i) : receive;
    const send = parts.find(links.send, i);
    const src = rankOfLane(meta, links.send.lane[i]!);
    const { signatures } = send.chunk;
    const own = send.chunk.signature[send.index]!;
    const explicit = links.signature[i]!;
    const of = explicit < 0 ? own : signatureOf(signatures, src % meta.groupRanks, explicit);
    out.sendStart[i] = send.chunk.start[send.index]!;
    out.sendEnd[i] = out.sendStart[i]! + send.chunk.duration[send.index]!;
    out.recvStart[i] = receive.chunk.start[receive.index]!;
    out.completionStart[i] = completion.chunk.start[completion.index]!;
    out.recvEnd[i] = out.completionStart[i]! + completion.chunk.duration[completion.index]!;
    out.bytes[i] = signatures.messageBytes[of]!;
    out.src[i] = src;
    out.dst[i] = rankOfLane(meta, links.receive.lane[i]!);
    out.tag[i] = signatures.tag[of]!;
    out.comm[i] = signatures.comm[of]!;
    out.sendCallSite[i] = signatures.callSite[own]!;
    out.recvCallSite[i] = receive.chunk.signatures.callSite[receive.chunk.signature[receive.index]!]!;
  }
  return out;
}
