// instant_calls.ts - what an instant has besides messages: collectives, between the root and the others or from all to all, and one-sided
// transfers. They fade as messages do after their call ends. In: chunks of calls.
import { bytesOf } from '../decode/records';
import type { EventChunk, Segment } from '../decode/records';
import type { Gathering, InstantQuery } from '../model/instant';
import type { Passing } from '../model/passing';
import { earliestOf, passingIn } from '../model/passing';
import type { Trace } from '../model/trace';
import { eachPart, pairKey } from './cuts';
import { waitsForRoot } from './needs';

const CHUNKS_MAX = 512; // of 64 ranks each, or so
const CALLS_MAX = 1 << 20;
const RMA = 5; // class

const ONE_SIDED = /^MPI_R?(Put|Get|Accumulate|Get_accumulate)$|^MPI_(Fetch_and_op|Compare_and_swap)$/;

export interface Transfer {
  kind: 'collective' | 'one-sided';
  src: number;
  dst: number;
  bytes: number;
  weight: number;
}

export interface InstantCalls {
  gatherings: Gathering[];
  transfers: Transfer[];
  collectives: number; // calls of them, by communicator and number
  leftOut: boolean; // too many calls to look at
}

/** A part of a collective. */
interface Part {
  rank: number;
  bytes: number;
  weight: number;
}

interface Meeting {
  comm: number;
  op: string;
  root: number; // world rank, or -1
  parts: Part[];
}

/** Data of a one-sided call from its first to its second rank. */
function wayOf(op: string, origin: number, target: number): [number, number] {
  return /^MPI_R?Get$/.test(op) ? [target, origin] : [origin, target];
}

class Finder {
  readonly meetings = new Map<string, Meeting>();
  readonly transfers: Transfer[] = [];

  constructor(
    private readonly trace: Trace,
    private readonly q: InstantQuery,
    private readonly weightOf: (start: number, end: number) => number,
  ) {}

  /** Calls of a segment; what goes on from an earlier chunk counts in the first only. */
  add(p: Passing, s: Segment, isFirst: boolean): void {
    if (s.carried && !isFirst) return;
    eachPart(p.chunk, s, (i, comm, k) => this.part(p, s, i, pairKey(comm, k)));
    const { class: kind } = p.chunk.signatures;
    for (let i = s.first; i < s.first + s.count; i++) if (kind[p.chunk.signature[i]!] === RMA) this.oneSided(p, s, i);
  }

  private weight(c: EventChunk, i: number): number {
    return this.weightOf(c.start[i]!, c.start[i]! + c.duration[i]!);
  }

  private bytesIf(p: Passing, s: Segment, i: number): number {
    const bytes = bytesOf(p.chunk, i);
    return bytes >= this.q.least && p.passes(i, s) ? bytes : -1;
  }

  private part(p: Passing, s: Segment, i: number, key: string): void {
    const { chunk: c } = p;
    const weight = this.weight(c, i);
    const bytes = weight > 0 ? this.bytesIf(p, s, i) : -1;
    if (bytes < 0) return;
    const { signatures } = c;
    const what = c.signature[i]!;
    const op = this.trace.meta.ops[signatures.op[what]!] ?? '';
    const found = this.meetings.get(key) ?? {
      comm: signatures.comm[what]!,
      op,
      root: signatures.peer[what]!,
      parts: [],
    };
    found.parts.push({ rank: s.rank, bytes, weight });
    this.meetings.set(key, found);
  }

  private oneSided(p: Passing, s: Segment, i: number): void {
    const { chunk: c } = p;
    const what = c.signature[i]!;
    const target = c.signatures.peer[what]!;
    const op = this.trace.meta.ops[c.signatures.op[what]!] ?? '';
    const weight = target >= 0 && ONE_SIDED.test(op) ? this.weight(c, i) : 0;
    const bytes = weight > 0 ? this.bytesIf(p, s, i) : -1;
    if (bytes < 0) return;
    const [src, dst] = wayOf(op, s.rank, target);
    this.transfers.push({ kind: 'one-sided', src, dst, bytes, weight });
  }

  done(): InstantCalls {
    const only = this.q.only && new Set(this.q.only);
    const isWanted = (...ranks: number[]) => only === null || ranks.some((rank) => only.has(rank));
    const gatherings: Gathering[] = [];
    let transfers = this.transfers;
    let collectives = 0;
    for (const m of this.meetings.values()) {
      const way = m.root >= 0 ? waitsForRoot(m.op) : '';
      const ranks = m.parts.map((x) => x.rank).sort((a, b) => a - b);
      if (!isWanted(...ranks, ...(way === '' ? [] : [m.root]))) continue;
      collectives++;
      if (way !== '') transfers = transfers.concat(rooted(m, way));
      else {
        const bytes = m.parts.reduce((n, x) => n + x.bytes, 0);
        const weight = m.parts.reduce((most, x) => Math.max(most, x.weight), 0);
        gatherings.push({ comm: m.comm, op: m.op, ranks, bytes, weight });
      }
    }
    gatherings.sort((a, b) => b.weight * b.ranks.length - a.weight * a.ranks.length);
    return { gatherings, transfers: transfers.filter((x) => isWanted(x.src, x.dst)), collectives, leftOut: false };
  }
}

/** Between the root and each other that is in it. */
function rooted(m: Meeting, way: 'from' | 'to'): Transfer[] {
  const others = m.parts.filter((x) => x.rank !== m.root);
  return others.map(({ rank, bytes, weight }) => {
    const [src, dst] = way === 'from' ? [m.root, rank] : [rank, m.root];
    return { kind: 'collective' as const, src, dst, bytes, weight };
  });
}

/** Of calls since a moment; weightOf: 0 for those that are not shown. */
export async function callsOfInstant(
  trace: Trace,
  q: InstantQuery,
  from: number,
  weightOf: (start: number, end: number) => number,
  signal: AbortSignal = new AbortController().signal,
): Promise<InstantCalls> {
  const entries = trace.eventEntries(from, q.at + 1, 0, trace.meta.ranks - 1);
  const calls = entries.reduce((n, e) => n + e.records, 0);
  if (entries.length > CHUNKS_MAX || calls > CALLS_MAX)
    return { gatherings: [], transfers: [], collectives: 0, leftOut: true };
  const finder = new Finder(trace, q, weightOf);
  const isFirst = earliestOf(entries);
  for (const e of entries) {
    const p = await passingIn(trace, e, q.filter, false, signal);
    for (const s of p.chunk.segments) finder.add(p, s, isFirst(e));
  }
  return finder.done();
}
