// ordered.ts - sends, receives and parts in collectives of a window, in the order in which postproc/protocol/traffic.c feeds them, so that events of a
// rank have the same numbers: by the start of the call (a send's own; a receive's is the call that completes it), then lane, index, sends
// first. In: chunks of calls and messages.  Out: columns, an event each.
import { Kind } from '../decode/layout';
import type { Entry } from '../decode/layout';
import { RECORDS_MAX } from '../decode/records';
import type { EventChunk, MessageChunk } from '../decode/records';
import { completionOf } from '../model/messages';
import type { Linked } from '../model/messages';
import type { Trace } from '../model/trace';
import { eachPart } from './cuts';

export const enum What {
  Send = 0,
  Receive = 1,
  Part = 2,
}

const SUBS = 4; // columns that tell events of one call apart

/** One window; order names events of it, first to last. */
export interface Ordered {
  window: number;
  order: Uint32Array;
  time: Float64Array; // ns
  rank: Uint32Array;
  lane: Uint32Array;
  index: Uint32Array; // of the call in its window and lane
  what: Uint8Array;
  thing: Float64Array; // a message's key; of a part: its number in parts
  parts: Part[];
  messages: Map<number, MessageChunk>; // by number of their chunk
}

export interface Part {
  chunk: EventChunk;
  event: number;
  comm: number;
  k: number;
}

/** A message's name in numbers: its chunk and its place there. */
export function messageKey(chunk: number, i: number): number {
  return chunk * RECORDS_MAX + i;
}

export function placeOfKey(key: number): [number, number] {
  return [Math.floor(key / RECORDS_MAX), key % RECORDS_MAX];
}

/** Numbers of events by time, those of the same time as rest() says. Sorting times alone costs a fraction of what a comparison in script does, so
 * each time carries the number of its event in its lower bits, where both have room in a double. */
function sortedBy(time: Float64Array, rest: (a: number, b: number) => number): Uint32Array {
  const n = time.length;
  const order = new Uint32Array(n);
  let [first, last, isWhole] = [Infinity, -Infinity, true];
  for (let i = 0; i < n; i++) {
    const t = time[i]!;
    order[i] = i;
    if (t < first) first = t;
    if (t > last) last = t;
    if (!Number.isInteger(t)) isWhole = false;
  }
  const room = 2 ** Math.ceil(Math.log2(Math.max(2, n)));
  if (!isWhole || (last - first + 1) * room > Number.MAX_SAFE_INTEGER)
    return order.sort((a, b) => time[a]! - time[b]! || rest(a, b));
  const keys = new Float64Array(n);
  for (let i = 0; i < n; i++) keys[i] = (time[i]! - first) * room + i;
  keys.sort();
  for (let i = 0; i < n; i++) order[i] = keys[i]! - Math.floor(keys[i]! / room) * room;
  sortRuns(order, time, rest);
  return order;
}

/** Of those that are in order of time, the ones of the same time. */
function sortRuns(order: Uint32Array, time: Float64Array, rest: (a: number, b: number) => number): void {
  for (let begin = 0, end = 0; begin < order.length; begin = end) {
    for (end = begin + 1; end < order.length && time[order[end]!] === time[order[begin]!];) end++;
    if (end > begin + 1) order.subarray(begin, end).sort(rest);
  }
}

class Gathering {
  readonly time: number[] = [];
  readonly rank: number[] = [];
  readonly lane: number[] = [];
  readonly index: number[] = [];
  readonly what: number[] = [];
  readonly thing: number[] = [];
  readonly sub: number[] = [];
  readonly parts: Part[] = [];
  readonly messages = new Map<number, MessageChunk>();

  private put(time: number, rank: number, lane: number, index: number, what: What, thing: number): void {
    this.time.push(time);
    this.rank.push(rank);
    this.lane.push(lane);
    this.index.push(index);
    this.what.push(what);
    this.thing.push(thing);
  }

  addParts(trace: Trace, chunk: EventChunk): void {
    for (const s of chunk.segments) {
      if (s.carried) continue;
      eachPart(chunk, s, (event, comm, k) => {
        const index = s.index + event - s.first;
        this.put(chunk.start[event]!, trace.rankOfLane(s.lane), s.lane, index, What.Part, this.parts.length);
        this.sub.push(0, 0, 0, 0);
        this.parts.push({ chunk, event, comm, k });
      });
    }
  }

  /** Those of which both ends are in the window of their chunk, or the others. */
  addMessages(entry: Entry, window: number, { links, chunk }: Linked, near: boolean): void {
    const { send, receive } = links;
    this.messages.set(entry.id, chunk);
    for (let i = 0; i < links.count; i++) {
      const end = completionOf(links, i);
      if ((send.window[i] === entry.seq && end.window[i] === entry.seq) !== near) continue;
      const key = messageKey(entry.id, i);
      if (send.window[i] === window) {
        this.put(chunk.sendStart[i]!, chunk.src[i]!, send.lane[i]!, send.index[i]!, What.Send, key);
        this.sub.push(chunk.dst[i]!, chunk.comm[i]!, chunk.tag[i]! >>> 0, receive.index[i]!);
      }
      if (end.window[i] === window) {
        this.put(chunk.completionStart[i]!, chunk.dst[i]!, end.lane[i]!, end.index[i]!, What.Receive, key);
        this.sub.push(receive.window[i]!, receive.lane[i]!, receive.index[i]!, chunk.src[i]!);
      }
    }
  }

  finish(window: number): Ordered {
    const { lane, index, what, sub } = this;
    const time = Float64Array.from(this.time);
    const bySub = (a: number, b: number) => {
      for (let k = 0; k < SUBS; k++) {
        const d = sub[SUBS * a + k]! - sub[SUBS * b + k]!;
        if (d !== 0) return d;
      }
      return a - b;
    };
    const order = sortedBy(
      time,
      (a, b) => lane[a]! - lane[b]! || index[a]! - index[b]! || what[a]! - what[b]! || bySub(a, b),
    );
    return {
      window,
      order,
      time,
      rank: Uint32Array.from(this.rank),
      lane: Uint32Array.from(lane),
      index: Uint32Array.from(index),
      what: Uint8Array.from(what),
      thing: Float64Array.from(this.thing),
      parts: this.parts,
      messages: this.messages,
    };
  }
}

/** A window and its chunks of calls. */
export interface Span {
  window: number;
  entries: Entry[];
  until: number; // ns, where the next one begins
}

/** Windows in which calls start, in order. */
export function spansOf(trace: Trace): Span[] {
  const byWindow = new Map<number, Entry[]>();
  for (const e of trace.kind(Kind.Events)) {
    const list = byWindow.get(e.seq);
    if (list) list.push(e);
    else byWindow.set(e.seq, [e]);
  }
  const windows = [...byWindow.keys()].sort((a, b) => a - b);
  return windows.map((window, i) => {
    const next = i + 1 < windows.length ? byWindow.get(windows[i + 1]!)![0]!.start : Infinity;
    return { window, entries: byWindow.get(window)!, until: next };
  });
}

/** Where the last call ends that starts in a window: its message may be known in a later one. */
function lastEnd(chunks: readonly EventChunk[]): number {
  let end = -Infinity;
  for (const c of chunks)
    for (const s of c.segments)
      for (let i = s.first; i < s.first + s.count && !s.carried; i++) end = Math.max(end, c.start[i]! + c.duration[i]!);
  return end;
}

/** Chunks of messages of which a send or a receive may be in a window of [since, until]. A message stands in the chunk of the window in which
 * all of it was known, clocks that contradict it aside; the chunk's interval holds its sends and ends of receives. */
function chunksOf(trace: Trace, window: number, since: number, until: number): Entry[] {
  const reaches = (e: Entry) => (e.seq > window ? e.start <= until : e.seq === window || e.end > since);
  return trace.kind(Kind.Messages).filter(reaches);
}

export async function orderedIn(
  trace: Trace,
  window: number,
  entries: readonly Entry[],
  until: number,
  signal?: AbortSignal,
): Promise<Ordered> {
  const chunks = await Promise.all(entries.map((e) => trace.events(e, signal)));
  const out = new Gathering();
  // what nothing tells apart stays in the order of traffic.c: messages within the window first
  const wanted = chunksOf(trace, window, entries[0]?.start ?? 0, Math.max(until, lastEnd(chunks))).sort(
    (a, b) => a.seq - b.seq || a.group - b.group,
  );
  const found = await Promise.all(
    wanted.map(async (e): Promise<[Entry, Linked]> => {
      await trace.messages(e, signal); // works out times
      return [e, await trace.linked(e, signal)];
    }),
  );
  for (const [e, linked] of found) out.addMessages(e, window, linked, true);
  for (const c of chunks) out.addParts(trace, c);
  for (const [e, linked] of found) out.addMessages(e, window, linked, false);
  return out.finish(window);
}
