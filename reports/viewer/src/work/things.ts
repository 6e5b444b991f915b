// things.ts - facts of single calls, messages and collective operations, by what is under the pointer or by their names. An event's ref is
// e<window>.<lane>.<index> (version 1: o<chunk>.<index>; one that a rank never came back from: n<rank>.<thread>), a message's m<chunk>.<index>, a collective's c<communicator>.<k>.<a call of it>.
import { Kind } from '../decode/layout';
import type { Entry } from '../decode/layout';
import { Flag, NOWHERE, bytesOf, callsOf, collectiveOf, segmentOf, threadOf } from '../decode/records';
import type { EventChunk, EventRef, MessageChunk } from '../decode/records';
import { eventIn } from '../decode/positions';
import { eventAt } from '../layout/pick';
import { NEVER_RETURNED } from '../model/open';
import type { Open } from '../model/open';
import type { Call, CollectiveThing, EventThing, MessageFact, MessageThing, Thing, WaitFact } from '../model/picked';
import type { Trace } from '../model/trace';
import { bytesCameTo, waitsOf } from '../model/waits';
import { openChunk, openIndex, opensIn } from './open_calls';

const MESSAGES_SHOWN = 64;
const PART_CHUNKS_MAX = 1024; // that a collective is looked for in

/** Where calls of version 1 are: their chunk has no window. */
const homes = new WeakMap<EventChunk, Entry>();

export function refOf(trace: Trace, e: EventRef): string {
  const s = segmentOf(e.chunk, e.index);
  if (opensIn(e.chunk)) return `n${s.rank}.${s.thread}`;
  if (s.window !== NOWHERE) return `e${s.window}.${s.lane}.${s.index + e.index - s.first}`;
  const home = homes.get(e.chunk) ?? trace.kind(Kind.Events).find((x) => trace.chunks.peek(x) === e.chunk);
  if (home) homes.set(e.chunk, home);
  return `o${home?.id ?? -1}.${e.index}`;
}

/** Facts of a call, as others name it. */
export function shortCall(trace: Trace, e: EventRef): Call {
  const { chunk, index: i } = e;
  const s = chunk.signature[i]!;
  return {
    ref: refOf(trace, e),
    rank: segmentOf(chunk, i).rank,
    thread: threadOf(chunk, i),
    op: trace.meta.ops[chunk.signatures.op[s]!] ?? '?',
    callSite: chunk.signatures.callSite[s]!,
    start: chunk.start[i]!,
    duration: chunk.duration[i]!,
  };
}

/** What the call's own record says. */
export function eventThing(trace: Trace, e: EventRef): EventThing {
  const { chunk, index: i } = e;
  const { signatures: of } = chunk;
  const s = chunk.signature[i]!;
  return {
    kind: 'event',
    ...shortCall(trace, e),
    class: of.class[s]!,
    peer: of.peer[s]!,
    tag: of.tag[s]!,
    comm: of.comm[s]!,
    bytes: bytesOf(chunk, i),
    calls: callsOf(chunk, i),
    collective: collectiveOf(chunk, i),
    ...(opensIn(chunk) ? openFacts(opensIn(chunk)![i]!) : {}),
  };
}

/** Of a call that a rank never came back from; what it would have moved is not known. */
function openFacts(x: Open): Partial<EventThing> {
  const { comm, needs, waits } = x;
  const waited = { state: NEVER_RETURNED, ns: x.to - x.from, part: false, waits: true, causer: null };
  return { comm, open: { needs }, waits: waits ? [waited] : [], messages: [] };
}

export function messageFact(ref: string, c: MessageChunk, i: number): MessageFact {
  return {
    ref,
    src: c.src[i]!,
    dst: c.dst[i]!,
    bytes: c.bytes[i]!,
    tag: c.tag[i]!,
    comm: c.comm[i]!,
    sendStart: c.sendStart[i]!,
    sendEnd: c.sendEnd[i]!,
    recvStart: c.recvStart[i]!,
    completionStart: c.completionStart[i]!,
    recvEnd: c.recvEnd[i]!,
    sendCallSite: c.sendCallSite[i]!,
    recvCallSite: c.recvCallSite[i]!,
  };
}

async function waitFacts(trace: Trace, e: EventRef): Promise<WaitFact[]> {
  const waits = await waitsOf(trace, e);
  return waits.map(({ causer, ...rest }) => ({ ...rest, causer: causer ? shortCall(trace, causer) : null }));
}

/** Messages whose receive or send this call completed; else those that it started. */
async function messagesWith(trace: Trace, e: EventRef): Promise<MessageFact[]> {
  const { rank } = segmentOf(e.chunk, e.index);
  const start = e.chunk.start[e.index]!;
  const end = start + e.chunk.duration[e.index]!;
  const [completed, started]: [MessageFact[], MessageFact[]] = [[], []];
  for (const entry of trace.messageEntries(start, end + 1, rank, rank)) {
    const c = await trace.messages(entry);
    for (let i = 0; i < c.count; i++) {
      const receives = c.dst[i] === rank && c.recvEnd[i] === end && c.completionStart[i] === start;
      const sends = c.src[i] === rank && c.sendEnd[i] === end && c.sendStart[i]! <= start;
      const begins = (c.src[i] === rank && c.sendStart[i] === start) || (c.dst[i] === rank && c.recvStart[i] === start);
      if (receives || sends) completed.push(messageFact(`m${entry.id}.${i}`, c, i));
      else if (begins) started.push(messageFact(`m${entry.id}.${i}`, c, i));
    }
  }
  return completed.length > 0 ? completed : started;
}

/** A call with all that the file knows about it. */
export async function wholeEvent(trace: Trace, e: EventRef): Promise<EventThing> {
  const thing = eventThing(trace, e);
  if (thing.open) return thing;
  const waits = await waitFacts(trace, e);
  const bytes = thing.bytes + (await bytesCameTo(trace, e));
  const messages = trace.meta.messages > 0 && thing.class <= 2 ? await messagesWith(trace, e) : [];
  const shown = messages.slice(0, MESSAGES_SHOWN);
  return { ...thing, bytes, waits, messages: shown, messagesLeftOut: messages.length - shown.length };
}

/** The call of that name. */
export async function eventOf(trace: Trace, ref: string): Promise<EventRef | null> {
  const [a, b, c] = ref.slice(1).split('.').map(Number) as [number, number, number];
  if (ref[0] === 'n') {
    const chunk = openChunk(trace);
    const index = openIndex(chunk, a, b);
    return index >= 0 ? { chunk, index } : null;
  }
  if (ref[0] === 'o') {
    const entry = trace.entryOf(a);
    const chunk = entry?.kind === Kind.Events ? await trace.events(entry) : null;
    return chunk && b < chunk.count ? { chunk, index: b } : null;
  }
  const entry = a < trace.meta.windows && b < trace.lanes ? trace.eventEntry(a, b) : undefined;
  const chunk = entry && (await trace.events(entry));
  const index = chunk ? eventIn(chunk, b, c) : -1;
  return chunk && index >= 0 ? { chunk, index } : null;
}

/** The call of a rank that starts at a moment. */
async function callAt(trace: Trace, rank: number, start: number): Promise<Call | null> {
  for (const entry of trace.eventEntries(start, start + 1, rank, rank)) {
    const chunk = await trace.events(entry);
    const index = eventAt([chunk], rank, start, 1)?.index ?? -1;
    if (index >= 0 && chunk.start[index] === start) return shortCall(trace, { chunk, index });
  }
  return null;
}

async function messageThing(trace: Trace, ref: string): Promise<MessageThing | null> {
  const [id, i] = ref.slice(1).split('.').map(Number) as [number, number];
  const entry = trace.entryOf(id);
  if (!entry || (entry.kind !== Kind.Messages && entry.kind !== Kind.Top)) return null;
  const chunk = await trace.messages(entry);
  if (i >= chunk.count) return null;
  const fact = messageFact(ref, chunk, i);
  const sendCall = await callAt(trace, fact.src, fact.sendStart);
  const receiveCall = await callAt(trace, fact.dst, fact.completionStart);
  return { kind: 'message', ...fact, sendCall, receiveCall };
}

/** Parts of one collective in a chunk: of each run the k-th on its communicator. */
function* partsIn(chunk: EventChunk, comm: number, k: number): Generator<number> {
  const { flags, comm: on } = chunk.signatures;
  for (const s of chunk.segments) {
    let at = -1;
    let next = 0;
    let number: number = -1;
    for (let i = s.first; i < s.first + s.count; i++) {
      while (next < s.numbers.length && s.numbers[next]!.index <= i) {
        const n = s.numbers[next++]!;
        if (n.comm === comm) [number, at] = [n.k, n.index];
      }
      if (at < 0 || i < at) continue;
      const signature = chunk.signature[i]!;
      if ((flags[signature]! & Flag.Collective) === 0 || on[signature] !== comm) continue;
      if (number === k) yield i;
      if (number >= 0) number++;
    }
  }
}

/** All parts of a collective operation: in the windows around a call of it. */
async function collectiveThing(trace: Trace, ref: string, signal: AbortSignal): Promise<CollectiveThing | null> {
  const [comm, k, ...rest] = ref.slice(1).split('.');
  const one = await eventOf(trace, `e${rest.join('.')}`);
  if (!one) return null;
  const own = eventThing(trace, one);
  const wanted = new Set(trace.membersOf(Number(comm)));
  const parts = new Map<number, Call & { bytes: number }>();
  const air = own.duration + 1;
  const all = trace.eventEntries(own.start - air, own.start + own.duration + air, 0, trace.meta.ranks - 1);
  const near = (e: Entry) => Math.abs((e.start + e.end) / 2 - own.start);
  const entries = all.sort((a, b) => near(a) - near(b)).slice(0, PART_CHUNKS_MAX);
  for (const entry of entries) {
    const chunk = await trace.events(entry, signal);
    for (const index of partsIn(chunk, Number(comm), Number(k))) {
      const part = { ...shortCall(trace, { chunk, index }), bytes: bytesOf(chunk, index) };
      if (wanted.size === 0 || wanted.has(part.rank)) parts.set(part.rank, part);
    }
    if (wanted.size > 0 && parts.size === wanted.size) break;
  }
  const list = [...parts.values()].sort((a, b) => a.rank - b.rank);
  return { kind: 'collective', ref, op: own.op, comm: Number(comm), k: Number(k), parts: list, members: wanted.size };
}

/** The collective operation that a call is a part of; null: of none, or its number is not known. */
export function collectiveRef(thing: EventThing): string | null {
  return thing.collective < 0 ? null : `c${thing.comm}.${thing.collective}.${thing.ref.slice(1)}`;
}

export async function thingOf(trace: Trace, ref: string, signal: AbortSignal): Promise<Thing | null> {
  if (!/^[eomnc]\d+(\.\d+)+$/.test(ref)) return null;
  if (ref[0] === 'm') return messageThing(trace, ref);
  if (ref[0] === 'c') return collectiveThing(trace, ref, signal);
  const found = await eventOf(trace, ref);
  return found && wholeEvent(trace, found);
}
