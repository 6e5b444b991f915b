// stats.ts - statistics of an interval: by operation, call site, rank; waiting by state; messages; lengths of calls. Exact: every call, also
// one that its rank never came back from, that overlaps the interval counts, its time only as far as it lies inside. Read chunk by chunk, what is counted so far is said.
import { Kind } from '../decode/layout';
import type { Entry } from '../decode/layout';
import { bytesOf, callsOf } from '../decode/records';
import type { EventChunk } from '../decode/records';
import { WAIT_STATES } from '../decode/waits';
import { messageFilter } from '../model/filter';
import type { Filter } from '../model/filter';
import { NEVER_RETURNED } from '../model/open';
import { earliestOf, passingIn } from '../model/passing';
import type { Passing } from '../model/passing';
import { spansIn } from '../model/spans';
import type { Spans } from '../model/spans';
import type { Trace } from '../model/trace';
import { Recorded, openPassing, opensIn } from './open_calls';
import { ahead, rangeOf } from './walk';

export const LENGTH_BINS = 40; // of powers of two, from 1 ns

export interface StatsQuery {
  from: number;
  to: number;
  ranks: number[]; // empty: all
  filter: Filter;
}

export interface Row {
  name: string;
  calls: number;
  open: number; // of them: ranks never came back from these
  ns: number; // inside of the interval
  bytes: number;
  waitNs: number;
}

export interface Stats {
  from: number;
  to: number;
  read: number; // chunks
  of: number;
  calls: number;
  open: number;
  ns: number;
  operations: Row[];
  sites: (Row & { site: number })[];
  ranks: (Row & { rank: number })[];
  waits: { state: string; count: number; ns: number }[];
  messages: { count: number; bytes: number; largest: number };
  lengths: number[]; // calls by power of two of their length
}

class Sums {
  readonly stats: Stats;
  private readonly ops = new Map<string, Row>();
  private readonly sites = new Map<number, Row & { site: number }>();
  private readonly ranks = new Map<number, Row & { rank: number }>();
  private readonly waits = new Map<string, { state: string; count: number; ns: number }>();
  private readonly wanted: Set<number> | null;

  constructor(
    private readonly trace: Trace,
    private readonly q: StatsQuery,
    of: number,
  ) {
    this.wanted = q.ranks.length > 0 ? new Set(q.ranks) : null;
    const messages = { count: 0, bytes: 0, largest: 0 };
    const lists = { operations: [], sites: [], ranks: [], waits: [], lengths: new Array<number>(LENGTH_BINS).fill(0) };
    this.stats = { from: q.from, to: q.to, read: 0, of, calls: 0, open: 0, ns: 0, messages, ...lists };
  }

  isWanted(rank: number): boolean {
    return this.wanted === null || this.wanted.has(rank);
  }

  private rowOf<K, R extends Row>(rows: Map<K, R>, key: K, make: () => R): R {
    let row = rows.get(key);
    if (!row) rows.set(key, (row = make()));
    return row;
  }

  events({ chunk, passes }: Passing, withCarried: boolean): void {
    const { from, to } = this.q;
    for (const s of chunk.segments) {
      if (!this.isWanted(s.rank) || (s.carried && !withCarried)) continue;
      for (let i = s.first; i < s.first + s.count; i++) {
        const start = chunk.start[i]!;
        const end = start + chunk.duration[i]!;
        if (start >= to) break;
        if (end <= from || !passes(i, s)) continue;
        this.event(chunk, i, s.rank, Math.min(end, to) - Math.max(start, from));
      }
    }
  }

  private wait(state: string, ns: number, rows: (Row | undefined)[]): void {
    const sum = this.waits.get(state) ?? { state, count: 0, ns: 0 };
    this.waits.set(state, { state, count: sum.count + 1, ns: sum.ns + ns });
    for (const row of rows) if (row) row.waitNs += ns;
  }

  private event(chunk: EventChunk, i: number, rank: number, ns: number): void {
    const { stats } = this;
    const s = chunk.signature[i]!;
    const calls = callsOf(chunk, i);
    const bytes = bytesOf(chunk, i);
    const op = this.trace.meta.ops[chunk.signatures.op[s]!] ?? '?';
    const site = chunk.signatures.callSite[s]!;
    const empty = { calls: 0, open: 0, ns: 0, bytes: 0, waitNs: 0 };
    const call = opensIn(chunk)?.[i];
    const rows = [
      this.rowOf(this.ops, op, () => ({ name: op, ...empty })),
      this.rowOf(this.sites, site, () => ({ name: op, site, ...empty })),
      this.rowOf(this.ranks, rank, () => ({ name: String(rank), rank, ...empty })),
    ];
    for (const row of rows) {
      row.calls += calls;
      row.open += call ? 1 : 0;
      row.ns += ns;
      row.bytes += bytes;
    }
    if (call?.waits) this.wait(NEVER_RETURNED, ns, rows);
    stats.calls += calls;
    stats.open += call ? 1 : 0;
    stats.ns += ns;
    stats.lengths[Math.min(LENGTH_BINS - 1, Math.floor(Math.log2(Math.max(1, chunk.duration[i]!))))]! += calls;
  }

  spans(spans: Spans): void {
    const { from, to, filter } = this.q;
    const sites = new Set(filter.sites);
    const classes = new Set(filter.classes);
    for (let i = 0; i < spans.count; i++) {
      const ns = Math.min(to, spans.to[i]!) - Math.max(from, spans.from[i]!);
      const rank = this.trace.rankOfLane(spans.lane[i]!);
      if (ns <= 0 || !this.isWanted(rank)) continue;
      if ((sites.size > 0 && !sites.has(spans.site[i]!)) || (classes.size > 0 && !classes.has(spans.class[i]!)))
        continue;
      const site = this.sites.get(spans.site[i]!);
      const rows = [site, this.ranks.get(rank), site && this.ops.get(site.name)];
      this.wait(WAIT_STATES[spans.state[i]!] || 'waiting', ns, rows);
    }
  }

  /** Of who sent it. */
  message(src: number, bytes: number): void {
    if (!this.isWanted(src)) return;
    const { messages } = this.stats;
    messages.count++;
    messages.bytes += bytes;
    messages.largest = Math.max(messages.largest, bytes);
  }

  sealed(): Stats {
    const most = <R extends Row>(rows: Map<unknown, R>) => [...rows.values()].sort((a, b) => b.ns - a.ns);
    return {
      ...this.stats,
      lengths: [...this.stats.lengths],
      operations: most(this.ops),
      sites: most(this.sites),
      ranks: [...this.ranks.values()].sort((a, b) => a.rank - b.rank),
      waits: [...this.waits.values()].sort((a, b) => b.ns - a.ns),
    };
  }
}

export async function statsOf(
  trace: Trace,
  q: StatsQuery,
  signal: AbortSignal,
  say: (stats: Stats) => void,
): Promise<Stats> {
  const [first, last] = rangeOf(trace, q.ranks);
  const events = trace.eventEntries(q.from, q.to, first, last);
  const waits = trace.waitEntriesOf(q.from, q.to, first, last);
  const messages = trace.messageEntries(q.from, q.to, first, last);
  const all: Entry[] = [...events, ...waits, ...messages];
  const sums = new Sums(trace, q, all.length);
  const isEarliest = earliestOf(events);
  const passes = messageFilter(q.filter, trace.callSites);
  const recorded = new Recorded(trace);
  let said = performance.now();
  const isCalls = new Set(events);
  const begin = (e: Entry) =>
    isCalls.has(e)
      ? trace.events(e, signal)
      : e.kind === Kind.Waits
        ? trace.waits(e, signal)
        : trace.messages(e, signal);
  for await (const e of ahead(all, signal, begin)) {
    if (sums.stats.read < events.length) {
      const p = await passingIn(trace, e, q.filter, false, signal);
      recorded.see(p.chunk);
      sums.events(p, isEarliest(e));
    } else if (sums.stats.read < events.length + waits.length) sums.spans(await spansIn(trace, e, signal));
    else {
      const c = await trace.messages(e, signal);
      for (let i = 0; i < c.count; i++)
        if (c.sendStart[i]! >= q.from && c.sendStart[i]! < q.to && passes(c, i)) sums.message(c.src[i]!, c.bytes[i]!);
    }
    sums.stats.read++;
    if (performance.now() - said < 250) continue;
    said = performance.now();
    say(sums.sealed());
  }
  sums.events(openPassing(trace, q.filter, recorded), false);
  return sums.sealed();
}
