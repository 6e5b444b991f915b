// messages.ts - messages as they are drawn, from the calls that made them: times are those of the calls, bytes, tag and
// communicator those of a signature of the sender.
import { Damaged } from '../decode/damaged';
import type { Links } from '../decode/links';
import { groupOfLane, rankOfLane } from '../decode/meta';
import type { Meta } from '../decode/meta';
import { runOf } from '../decode/positions';
import type { Positions } from '../decode/positions';
import { NOWHERE, emptyMessages } from '../decode/records';
import type { EventChunk, MessageChunk, Signatures } from '../decode/records';

/** Where calls are had from. */
export interface Calls {
  readonly meta: Meta;
  /** Those of a lane that start in a window; null: there are none, or they are not here. */
  run(lane: number, window: number): CallRun | null;
}

export interface CallRun {
  lane: number;
  window: number;
  chunk: EventChunk;
  first: number; // in the chunk
  count: number;
}

export function callRun(chunk: EventChunk, lane: number, window: number): CallRun | null {
  const s = runOf(chunk, lane);
  return s && { lane, window, chunk, first: s.first, count: s.count };
}

/** Chunks of calls by group and window. */
export class Parts implements Calls {
  private readonly chunks = new Map<number, EventChunk>();
  private readonly last: CallRun[] = []; // by lane: what was asked for last

  constructor(readonly meta: Meta) {}

  key(lane: number, window: number): number {
    return groupOfLane(this.meta, lane) * this.meta.windows + window;
  }

  put(key: number, chunk: EventChunk): void {
    this.chunks.set(key, chunk);
  }

  run(lane: number, window: number): CallRun | null {
    const known = this.last[lane];
    if (known?.window === window) return known;
    const chunk = this.chunks.get(this.key(lane, window));
    const found = chunk ? callRun(chunk, lane, window) : null;
    if (found) this.last[lane] = found;
    return found;
  }
}

/** Finds calls by their positions, one after the other: fast where the next one is of the same lane. Each column of positions has its own. */
export class Cursor {
  chunk!: EventChunk; // of the call that was found last
  index = -1; // its number there
  private run: CallRun | null = null;

  constructor(private readonly calls: Calls) {}

  find(p: Positions, i: number): this {
    const lane = p.lane[i]!;
    const window = p.window[i]!;
    let { run } = this;
    if (!run || run.lane !== lane || run.window !== window) {
      run = this.run = this.calls.run(lane, window);
      if (run) this.chunk = run.chunk;
    }
    const index = p.index[i]!;
    if (!run || index >= run.count) throw new Damaged('it refers to a call that is not there');
    this.index = run.first + index;
    return this;
  }

  get start(): number {
    return this.chunk.start[this.index]!;
  }

  get end(): number {
    return this.chunk.start[this.index]! + this.chunk.duration[this.index]!;
  }

  get signature(): number {
    return this.chunk.signature[this.index]!;
  }
}

/** Keys of the chunks of calls that positions are in; of: only of these. */
export function keysOf(parts: Parts, keys: Set<number>, p: Positions, of?: ArrayLike<number>): void {
  let [lane, window] = [-1, -1];
  const count = of ? of.length : p.window.length;
  for (let k = 0; k < count; k++) {
    const i = of ? of[k]! : k;
    if (p.window[i] === NOWHERE || (p.lane[i] === lane && p.window[i] === window)) continue;
    [lane, window] = [p.lane[i]!, p.window[i]!];
    keys.add(parts.key(lane, window));
  }
}

function signatureOf(s: Signatures, rankInGroup: number, id: number): number {
  const at = s.first[rankInGroup]! + id;
  if (at >= s.first[rankInGroup + 1]!) throw new Damaged('there is no such signature');
  return at;
}

/** Messages of a chunk of links: worked out are those that anybody asked for. Others begin and end never. */
export interface Linked {
  links: Links;
  chunk: MessageChunk;
  here: Uint8Array; // 1: worked out
  left: number; // that are not
}

export function linked(links: Links): Linked {
  const chunk = emptyMessages(links.count);
  chunk.sendStart.fill(Infinity);
  chunk.recvEnd.fill(Infinity);
  return { links, chunk, here: new Uint8Array(links.count), left: links.count };
}

/** The call that completed a message's receive: its column. */
export function completionOf(links: Links, i: number): Positions {
  return links.completion.window[i] !== NOWHERE ? links.completion : links.receive;
}

/** Work out some messages, or all; the chunks of their calls are all in parts. */
export function workOut(m: Linked, parts: Calls, of?: ArrayLike<number>): void {
  const { links, chunk: out } = m;
  const { meta } = parts;
  const [receive, completion, send] = [new Cursor(parts), new Cursor(parts), new Cursor(parts)];
  const count = of ? of.length : links.count;
  for (let k = 0; k < count; k++) {
    const i = of ? of[k]! : k;
    if (m.here[i] === 1) continue;
    receive.find(links.receive, i);
    send.find(links.send, i);
    completion.find(completionOf(links, i), i);
    const src = rankOfLane(meta, links.send.lane[i]!);
    const { signatures } = send.chunk;
    const own = send.signature;
    const explicit = links.signature[i]!;
    const what = explicit < 0 ? own : signatureOf(signatures, src % meta.groupRanks, explicit);
    out.sendStart[i] = send.start;
    out.sendEnd[i] = send.end;
    out.recvStart[i] = receive.start;
    out.completionStart[i] = completion.start;
    out.recvEnd[i] = completion.end;
    out.bytes[i] = signatures.messageBytes[what]!;
    out.src[i] = src;
    out.dst[i] = rankOfLane(meta, links.receive.lane[i]!);
    out.tag[i] = signatures.tag[what]!;
    out.comm[i] = signatures.comm[what]!;
    out.sendCallSite[i] = signatures.callSite[own]!;
    out.recvCallSite[i] = receive.chunk.signatures.callSite[receive.signature]!;
    m.here[i] = 1;
    m.left--;
  }
}
