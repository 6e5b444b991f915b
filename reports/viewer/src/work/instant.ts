// instant.ts - the traffic of an instant: messages under way, and those that have just come, fading with a half-life; between each two
// ranks one flow. From the messages where few chunks hold them, else from sums over a short while before. In: trace.
import { messageFilter } from '../model/filter';
import type { Filter } from '../model/filter';
import type { Points } from '../model/points';
import { trafficIn } from '../model/traffic';
import type { Traffic } from '../model/traffic';
import type { Trace } from '../model/trace';

export const HALF_LIVES = 4; // a message is shown for so many after it has come

const CHUNKS_MAX = 64;
const MESSAGES_MAX = 400000;

export interface InstantQuery {
  at: number; // ns
  halfLife: number; // ns
  filter: Filter;
  least: number; // bytes of a message
  flows: number; // at most
  only: number[] | null; // ranks of which one is an end; null: all
}

export interface Flow {
  src: number;
  dst: number;
  messages: number;
  bytes: number;
  weight: number; // 1: under way; halved each half-life after it came
}

export interface Instant {
  at: number;
  exact: boolean; // single messages, not sums of a while
  each: 'rank' | 'ranks' | 'node'; // what src and dst stand for: the first rank of them
  flows: Flow[]; // the largest, by weighted bytes
  all: number; // flows that there are
  messages: number; // shown, of all flows
  bytes: number;
  underWay: number; // messages of these
  ranks: number; // that are an end of one
}

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

  add(src: number, dst: number, messages: number, bytes: number, weight: number): void {
    const key = src * this.count + dst;
    const flow = this.flows.get(key) ?? { src, dst, messages: 0, bytes: 0, weight: 0 };
    flow.messages += messages;
    flow.bytes += bytes;
    flow.weight = Math.max(flow.weight, weight);
    this.flows.set(key, flow);
    if (weight === 1) this.underWay += messages;
  }

  done(q: InstantQuery, exact: boolean, each: Points['what']): Instant {
    const all = [...this.flows.values()].sort((a, b) => b.bytes * b.weight - a.bytes * a.weight || b.weight - a.weight);
    const ends = new Set(all.flatMap((f) => [f.src, f.dst]));
    const sum = (of: (f: Flow) => number) => all.reduce((n, f) => n + of(f), 0);
    const totals = { messages: sum((f) => f.messages), bytes: sum((f) => f.bytes), ranks: ends.size };
    const shown = { flows: all.slice(0, q.flows), all: all.length, underWay: this.underWay };
    return { at: q.at, exact, each, ...shown, ...totals };
  }
}

function wanted(q: InstantQuery): (src: number, dst: number) => boolean {
  if (q.only === null) return () => true;
  const only = new Set(q.only);
  return (src, dst) => only.has(src) || only.has(dst);
}

function ofTraffic(t: Traffic, q: InstantQuery): Instant {
  const sums = new Sums(t.points.of.length);
  const isWanted = wanted(q);
  for (const [key, bytes] of t.bytes) {
    const [src, dst] = [Math.floor(key / t.count), key % t.count].map((p) => t.points.first[p]!) as [number, number];
    if (isWanted(src, dst)) sums.add(src, dst, t.messages.get(key) ?? 0, bytes, 0.7);
  }
  return sums.done(q, false, t.points.what);
}

export async function instantOf(trace: Trace, q: InstantQuery, signal?: AbortSignal): Promise<Instant> {
  const from = q.at - HALF_LIVES * q.halfLife;
  const entries = trace.messageEntries(from, q.at + 1);
  const messages = entries.reduce((n, e) => n + e.records, 0);
  if (entries.length > CHUNKS_MAX || messages > MESSAGES_MAX) {
    const { filter } = q;
    return ofTraffic(await trafficIn(trace, { from, to: q.at + 1, kind: 'p2p', filter }, signal), q);
  }
  const sums = new Sums(trace.meta.ranks);
  const passes = messageFilter(q.filter, trace.callSites);
  const isWanted = wanted(q);
  for (const entry of entries) {
    const c = await trace.messages(entry, signal);
    for (let i = 0; i < c.count; i++) {
      const weight = weightAt(q.at, c.sendStart[i]!, Math.max(c.sendEnd[i]!, c.recvEnd[i]!), q.halfLife);
      if (weight === 0 || c.bytes[i]! < q.least || !passes(c, i) || !isWanted(c.src[i]!, c.dst[i]!)) continue;
      sums.add(c.src[i]!, c.dst[i]!, 1, c.bytes[i]!, weight);
    }
  }
  return sums.done(q, true, 'rank');
}
