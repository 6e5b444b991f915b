// instant.ts - the traffic of an instant: messages under way, and those that have just come, fading with a half-life; between each two
// ranks one flow of each class. From the messages where few chunks hold them, else from sums over a short while before. Collectives and
// one-sided transfers: instant_calls.ts. In: trace.
import { messageFilter } from '../model/filter';
import { FLOW_KINDS } from '../model/instant';
import type { Flow, FlowKind, Instant, InstantQuery } from '../model/instant';
import type { Points } from '../model/points';
import { trafficIn } from '../model/traffic';
import type { Traffic } from '../model/traffic';
import type { Trace } from '../model/trace';
import { callsOfInstant } from './instant_calls';
import type { InstantCalls } from './instant_calls';

export const HALF_LIVES = 4; // a message is shown for so many after it has come

const CHUNKS_MAX = 512; // of 64 ranks each, or so
const MESSAGES_MAX = 400000;
const GATHERINGS_MAX = 64; // shown
const NO_CALLS: InstantCalls = { gatherings: [], transfers: [], collectives: 0, leftOut: false };

/** 1 while a message is under way, 0 before, then halved each half-life; 0 where it is gone. */
export function weightAt(at: number, start: number, end: number, halfLife: number): number {
  if (at < start) return 0;
  if (at <= end) return 1;
  const halves = (at - end) / Math.max(1, halfLife);
  return halves > HALF_LIVES ? 0 : 2 ** -halves;
}

class Sums {
  private readonly flows = new Map<number, Flow>();
  underWay = 0;

  constructor(private readonly count: number) {}

  add(kind: FlowKind, src: number, dst: number, messages: number, bytes: number, weight: number): void {
    const key = (FLOW_KINDS.indexOf(kind) * this.count + src) * this.count + dst;
    const flow = this.flows.get(key) ?? { kind, src, dst, messages: 0, bytes: 0, weight: 0 };
    flow.messages += messages;
    flow.bytes += bytes;
    flow.weight = Math.max(flow.weight, weight);
    this.flows.set(key, flow);
    if (weight === 1 && kind === 'p2p') this.underWay += messages;
  }

  addCalls({ transfers }: InstantCalls): void {
    for (const x of transfers) this.add(x.kind, x.src, x.dst, 1, x.bytes, x.weight);
  }

  done(q: InstantQuery, exact: boolean, each: Points['what'], calls: InstantCalls): Instant {
    const all = [...this.flows.values()].sort((a, b) => b.bytes * b.weight - a.bytes * a.weight || b.weight - a.weight);
    const ends = new Set(all.flatMap((f) => [f.src, f.dst]));
    for (const x of calls.gatherings) for (const rank of x.ranks) ends.add(rank);
    const messages = all.filter((f) => f.kind === 'p2p');
    const sum = (of: (f: Flow) => number) => messages.reduce((n, f) => n + of(f), 0);
    const totals = { messages: sum((f) => f.messages), bytes: sum((f) => f.bytes), ranks: ends.size };
    const shown = { flows: all.slice(0, q.flows), all: all.length, underWay: this.underWay };
    const { gatherings, collectives, leftOut } = calls;
    const transfers = calls.transfers.reduce((n, x) => n + Number(x.kind === 'one-sided'), 0);
    const rest = { gatherings: gatherings.slice(0, GATHERINGS_MAX), collectives, transfers, callsLeftOut: leftOut };
    return { at: q.at, exact, each, ...shown, ...totals, ...rest };
  }
}

function wanted(q: InstantQuery): (src: number, dst: number) => boolean {
  if (q.only === null) return () => true;
  const only = new Set(q.only);
  return (src, dst) => only.has(src) || only.has(dst);
}

function ofTraffic(t: Traffic, q: InstantQuery, calls: InstantCalls): Instant {
  const sums = new Sums(t.points.of.length);
  const isWanted = wanted(q);
  for (const [key, bytes] of t.bytes) {
    const [src, dst] = [Math.floor(key / t.count), key % t.count].map((p) => t.points.first[p]!) as [number, number];
    if (isWanted(src, dst)) sums.add('p2p', src, dst, t.messages.get(key) ?? 0, bytes, 0.7);
  }
  sums.addCalls(calls);
  return sums.done(q, false, t.points.what, calls);
}

export async function instantOf(trace: Trace, q: InstantQuery, signal?: AbortSignal): Promise<Instant> {
  const from = q.at - HALF_LIVES * q.halfLife;
  const entries = trace.messageEntries(from, q.at + 1);
  const messages = entries.reduce((n, e) => n + e.records, 0);
  const weight = (start: number, end: number) => weightAt(q.at, start, end, q.halfLife);
  const calls = q.calls ? await callsOfInstant(trace, q, from, weight, signal) : NO_CALLS;
  if (entries.length > CHUNKS_MAX || messages > MESSAGES_MAX) {
    const { filter } = q;
    return ofTraffic(await trafficIn(trace, { from, to: q.at + 1, kind: 'p2p', filter }, signal), q, calls);
  }
  const sums = new Sums(trace.meta.ranks);
  const passes = messageFilter(q.filter, trace.callSites);
  const isWanted = wanted(q);
  for (const entry of entries) {
    const c = await trace.messages(entry, signal);
    for (let i = 0; i < c.count; i++) {
      const weight = weightAt(q.at, c.sendStart[i]!, Math.max(c.sendEnd[i]!, c.recvEnd[i]!), q.halfLife);
      if (weight === 0 || c.bytes[i]! < q.least || !passes(c, i) || !isWanted(c.src[i]!, c.dst[i]!)) continue;
      sums.add('p2p', c.src[i]!, c.dst[i]!, 1, c.bytes[i]!, weight);
    }
  }
  sums.addCalls(calls);
  return sums.done(q, true, 'rank', calls);
}
