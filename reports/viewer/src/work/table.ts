// table.ts - the calls or messages of an interval as rows in any order. All are looked at; of more than ROWS_MAX the first in that
// order are kept, and their number is said. What was sorted last is remembered, so that pages of it cost nothing.
import { bytesOf, callsOf, threadOf } from '../decode/records';
import type { Entry } from '../decode/layout';
import type { EventChunk, MessageChunk, Segment } from '../decode/records';
import { segmentOf } from '../decode/records';
import { eventIn } from '../decode/positions';
import type { Filter } from '../model/filter';
import type { Passing } from '../model/passing';
import type { MessageFact } from '../model/picked';
import type { Trace } from '../model/trace';
import { waitedIn } from '../model/waited';
import { OPEN_ENTRY, openChunk, openIndex, opensIn } from './open_calls';
import { Order } from './sorting';
import type { Place } from './sorting';
import { eventThing, messageFact } from './things';
import { eachCall, eachMessage } from './walk';

export type TableKind = 'events' | 'messages';

export interface TableQuery {
  kind: TableKind;
  from: number;
  to: number;
  ranks: number[]; // empty: all
  filter: Filter;
  sort: string; // a key of the rows
  descending: boolean;
  first: number; // of the page
  count: number;
  picked: string; // of which the place is told
}

export interface EventRow {
  ref: string;
  rank: number;
  thread: number;
  op: string;
  class: number;
  start: number;
  duration: number;
  wait: number;
  calls: number;
  bytes: number;
  peer: number;
  tag: number;
  comm: number;
  site: number;
  open: boolean; // the rank never came back from it: to its end; bytes and tag are not known
}

export type MessageRow = MessageFact & { transit: number; late: number };

export interface TablePage {
  kind: TableKind;
  first: number;
  rows: (EventRow | MessageRow)[];
  total: number; // that there are
  calls: number; // that they stand for: unsuccessful tests one after the other are one
  open: number; // of them: ranks never came back from these
  kept: number; // that can be shown
  read: number; // chunks
  of: number;
  at: number; // of what is picked; -1: it is not among them
}

interface Listing {
  key: string;
  order: Order;
  calls: number;
  open: number;
  read: number;
  of: number;
}

const SAY_MS = 250;
const known = new WeakMap<Trace, Listing>();

/** Places of names in their order. */
function placesOf<K>(names: Iterable<readonly [K, string]>): Map<K, number> {
  const sorted = [...names].sort((a, b) => a[1].localeCompare(b[1], 'en', { numeric: true }));
  return new Map(sorted.map(([key], i) => [key, i]));
}

interface Names {
  ops: Map<number, number>;
  sites: Map<number, number>;
  comms: Map<number, number>;
}

function namesOf(trace: Trace): Names {
  return {
    ops: placesOf(trace.meta.ops.map((name, i) => [i, name] as const)),
    sites: placesOf([...trace.callSites].map(([id, s]) => [id, `${s.place} ${s.function}`] as const)),
    comms: placesOf(trace.comms),
  };
}

type EventKey = (c: EventChunk, i: number, s: Segment, p: Passing) => number;

function eventKey(sort: string, names: Names): EventKey {
  const signature = (c: EventChunk, i: number) => c.signature[i]!;
  const keys: Record<string, EventKey> = {
    rank: (_c, _i, s) => s.rank,
    thread: (c, i) => threadOf(c, i),
    op: (c, i) => names.ops.get(c.signatures.op[signature(c, i)]!) ?? -1,
    start: (c, i) => c.start[i]!,
    duration: (c, i) => c.duration[i]!,
    returned: (c) => (opensIn(c) ? 0 : 1),
    wait: (_c, i, s, p) => p.waitNs(i, s),
    calls: (c, i) => callsOf(c, i),
    bytes: (c, i) => bytesOf(c, i),
    peer: (c, i) => c.signatures.peer[signature(c, i)]!,
    tag: (c, i) => c.signatures.tag[signature(c, i)]!,
    comm: (c, i) => names.comms.get(c.signatures.comm[signature(c, i)]!) ?? -1,
    site: (c, i) => names.sites.get(c.signatures.callSite[signature(c, i)]!) ?? -1,
  };
  return keys[sort] ?? keys.start!;
}

function messageRow(f: MessageFact): MessageRow {
  return { ...f, transit: f.recvEnd - f.sendStart, late: Math.max(0, f.sendStart - f.completionStart) };
}

function messageKey(row: MessageRow, sort: string, names: Names): number {
  if (sort === 'comm') return names.comms.get(row.comm) ?? -1;
  if (sort === 'sendCallSite' || sort === 'recvCallSite') return names.sites.get(row[sort]) ?? -1;
  const value = (row as unknown as Record<string, unknown>)[sort];
  return typeof value === 'number' ? value : row.sendStart;
}

type Say = (l: Listing) => Promise<void>;

/** After each chunk: say how far it is, now and then. */
function teller(say: Say): Say {
  let said = performance.now();
  return async (l) => {
    if (performance.now() - said < SAY_MS) return;
    said = performance.now();
    await say(l);
  };
}

async function listEvents(trace: Trace, q: TableQuery, l: Listing, signal: AbortSignal, say: Say): Promise<void> {
  const keyOf = eventKey(q.sort, namesOf(trace));
  const take = (p: Passing, i: number, s: Segment, entry: number) => {
    l.order.add(entry, i, keyOf(p.chunk, i, s, p), p.chunk.start[i]!);
    l.calls += callsOf(p.chunk, i);
    l.open += Number(entry === OPEN_ENTRY);
  };
  await eachCall(trace, q, q.sort === 'wait', signal, take, (read, of) => say(Object.assign(l, { read, of })));
}

async function listMessages(trace: Trace, q: TableQuery, l: Listing, signal: AbortSignal, say: Say): Promise<void> {
  const names = namesOf(trace);
  const take = (c: MessageChunk, i: number, e: Entry) =>
    l.order.add(e.id, i, messageKey(messageRow(messageFact('', c, i)), q.sort, names), c.sendStart[i]!);
  await eachMessage(trace, q, signal, take, (read, of) => say(Object.assign(l, { read, of })));
}

function openRow(trace: Trace, index: number): EventRow {
  const chunk = openChunk(trace);
  const { ref, rank, thread, op, class: kind, start, duration, peer } = eventThing(trace, { chunk, index });
  const { comm, site, waits } = opensIn(chunk)![index]!;
  const unknown = { calls: 1, bytes: 0, tag: -1, open: true };
  return {
    ref,
    rank,
    thread,
    op,
    class: kind,
    start,
    duration,
    peer,
    comm,
    site,
    wait: waits ? duration : 0,
    ...unknown,
  };
}

async function eventRow(trace: Trace, { entry, index }: Place, signal: AbortSignal): Promise<EventRow> {
  if (entry === OPEN_ENTRY) return openRow(trace, index);
  const e = trace.entryOf(entry)!;
  const chunk = await trace.events(e, signal);
  const thing = eventThing(trace, { chunk, index });
  const segment = segmentOf(chunk, index);
  const waited = trace.version > 1 ? await waitedIn(trace, e, signal) : null;
  const { ref, rank, thread, op, start, duration, calls, bytes, peer, tag, comm, callSite } = thing;
  const wait = waited?.ns(segment.lane, start, start + duration) ?? 0;
  return {
    ...{ ref, rank, thread, op, class: thing.class, start, duration, wait },
    ...{ calls, bytes, peer, tag, comm, site: callSite, open: false },
  };
}

async function rowOf(trace: Trace, kind: TableKind, place: Place, signal: AbortSignal): Promise<EventRow | MessageRow> {
  if (kind === 'events') return eventRow(trace, place, signal);
  const c = await trace.messages(trace.entryOf(place.entry)!, signal);
  return messageRow(messageFact(`m${place.entry}.${place.index}`, c, place.index));
}

/** Where what is picked stands in its chunk. */
async function placeOf(trace: Trace, ref: string): Promise<Place | null> {
  const [a, b, c] = ref.slice(1).split('.').map(Number) as [number, number, number];
  if (ref[0] === 'n') {
    const index = openIndex(openChunk(trace), a, b);
    return index >= 0 ? { entry: OPEN_ENTRY, index } : null;
  }
  if (ref[0] === 'm' || ref[0] === 'o') return { entry: a, index: b };
  if (ref[0] !== 'e' || !(a < trace.meta.windows) || !(b < trace.lanes)) return null;
  const e = trace.eventEntry(a, b);
  return e ? { entry: e.id, index: eventIn(await trace.events(e), b, c) } : null;
}

async function pageOf(trace: Trace, q: TableQuery, l: Listing, signal: AbortSignal): Promise<TablePage> {
  const rows: (EventRow | MessageRow)[] = [];
  l.order.sort();
  for (const place of l.order.slice(q.first, q.count)) rows.push(await rowOf(trace, q.kind, place, signal));
  const picked = q.picked === '' ? null : await placeOf(trace, q.picked);
  const isKind = (q.kind === 'messages') === q.picked.startsWith('m');
  const at = picked && isKind ? l.order.find(picked) : -1;
  const { total, kept } = l.order;
  const { calls, open, read, of } = l;
  return { kind: q.kind, first: q.first, rows, total, calls, open, kept, read, of, at };
}

export async function tableOf(
  trace: Trace,
  q: TableQuery,
  signal: AbortSignal,
  say: (page: TablePage) => void,
): Promise<TablePage> {
  const { from, to, ranks, filter, kind, sort, descending } = q;
  const key = JSON.stringify([from, to, ranks, filter, kind, sort, descending]);
  const same = known.get(trace);
  if (same?.key === key) return pageOf(trace, q, same, signal);
  const l: Listing = { key, order: new Order(descending), calls: 0, open: 0, read: 0, of: 0 };
  const tell = teller(async (part) => say(await pageOf(trace, q, part, signal)));
  if (kind === 'events') await listEvents(trace, q, l, signal, tell);
  else await listMessages(trace, q, l, signal, tell);
  known.set(trace, l);
  return pageOf(trace, q, l, signal);
}
