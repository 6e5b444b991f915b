// logical.ts - logical time in an interval: its calls, what each had to wait for as the file tells it, then their steps and lateness
// (model/logical.ts). In: chunks of calls, messages, wait states.  Out: columns, a call each, by lane and step.
import type { Entry } from '../decode/layout';
import type { Links } from '../decode/links';
import { Flag, NOWHERE } from '../decode/records';
import type { EventChunk, Segment } from '../decode/records';
import { runOf } from '../decode/positions';
import type { Positions } from '../decode/positions';
import { LOGICAL_CALLS_MAX, Part, UNKNOWN, lateSites, latenessOf, lowerBound, stepsOf } from '../model/logical';
import type { Happened, Logical, LogicalQuery } from '../model/logical';
import { earliestOf, passingIn } from '../model/passing';
import type { Passing } from '../model/passing';
import { isFiltering } from '../model/filter';
import type { Filter } from '../model/filter';
import type { Trace } from '../model/trace';
import { eachPart, pairKey } from './cuts';
import { Needs, waitsForRoot } from './needs';

const LATE_PROGRESS = 25;
const POLLING = 26;
const NEIGHBOURS = 22;
const FOR_MEMBER = 27;
/** One above who caused it. Late senders and receivers are messages. */
const ABOVE = new Set([NEIGHBOURS, LATE_PROGRESS, POLLING, FOR_MEMBER]);
/** As high as who caused it: collectives, also those that a wait completes, and what is like one. */
const LEVEL = new Set([4, 6, 8, 9, 10, 11, 12, 13, 14, 21, 23, 24]);

/** What lasts longer than moving its bytes can, or is larger, may wait for the receiver (postproc/stream/progress.h, totals/states.h). */
const EAGER_BYTES = 4096;
const SEND_FIRST_NS = 50000;
const SEND_BYTE_NS = 10;

/** Calls in a row of one lane. */
interface Piece {
  entry: Entry;
  chunk: EventChunk;
  segment: Segment;
  first: number;
  count: number;
}

/** Those that overlap the interval: they follow each other. */
function pieceOf(entry: Entry, chunk: EventChunk, segment: Segment, from: number, to: number): Piece {
  const end = segment.first + segment.count;
  let first = segment.first;
  while (first < end && chunk.start[first]! + chunk.duration[first]! <= from) first++;
  let last = first;
  while (last < end && chunk.start[last]! < to) last++;
  return { entry, chunk, segment, first, count: last - first };
}

/** How many calls an interval has. Chunks that lie within are not read: calls that go on in another one count twice. */
async function countIn(trace: Trace, entries: Entry[], from: number, to: number, signal: AbortSignal): Promise<number> {
  const isEarliest = earliestOf(entries);
  let calls = 0;
  for (const e of entries) {
    if (e.start >= from && e.end <= to) calls += e.records;
    else
      for (const s of (await trace.events(e, signal)).segments)
        if (!s.carried || isEarliest(e)) calls += pieceOf(e, await trace.events(e, signal), s, from, to).count;
  }
  return calls;
}

/** Calls of an interval in the order of lanes, and where they come from. */
class Gathered {
  readonly pieces: Piece[][];
  readonly laneFirst: Uint32Array;
  readonly count: number;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly signature: Uint32Array;
  readonly positions: Positions;
  readonly chunks: EventChunk[] = []; // by number in part
  readonly part: Uint32Array; // by call: its chunk
  readonly needs: Needs;

  constructor(
    readonly trace: Trace,
    pieces: Piece[][],
  ) {
    this.pieces = pieces;
    this.laneFirst = new Uint32Array(pieces.length + 1);
    pieces.forEach((list, lane) => {
      this.laneFirst[lane + 1] = this.laneFirst[lane]! + list.reduce((n, x) => n + x.count, 0);
    });
    const n = (this.count = this.laneFirst[pieces.length]!);
    [this.start, this.end] = [new Float64Array(n), new Float64Array(n)];
    [this.signature, this.part] = [new Uint32Array(n), new Uint32Array(n)];
    this.positions = { window: new Uint32Array(n), lane: new Uint32Array(n), index: new Uint32Array(n) };
    const numbers = new Map<EventChunk, number>();
    let at = 0;
    for (const list of pieces) for (const piece of list) at = this.put(piece, at, numbers);
    this.needs = new Needs(trace.meta, this.positions, this.laneFirst, 0);
  }

  private put({ chunk, segment, first, count }: Piece, at: number, numbers: Map<EventChunk, number>): number {
    let number = numbers.get(chunk);
    if (number === undefined) numbers.set(chunk, (number = this.chunks.push(chunk) - 1));
    for (let i = first; i < first + count; i++, at++) {
      this.start[at] = chunk.start[i]!;
      this.end[at] = chunk.start[i]! + chunk.duration[i]!;
      this.signature[at] = chunk.signature[i]!;
      this.part[at] = number;
      this.positions.window[at] = segment.window;
      this.positions.lane[at] = segment.lane;
      this.positions.index[at] = segment.index + i - segment.first;
    }
    return at;
  }

  callAt(p: Positions, i: number): number {
    return p.window[i] === NOWHERE ? -1 : this.needs.callAt(p.lane[i]!, p.window[i]!, p.index[i]!);
  }

  signaturesOf(call: number): EventChunk['signatures'] {
    return this.chunks[this.part[call]!]!.signatures;
  }

  opOf(call: number): string {
    return this.trace.meta.ops[this.signaturesOf(call).op[this.signature[call]!]!] ?? '';
  }
}

async function gather(trace: Trace, entries: Entry[], from: number, to: number, signal: AbortSignal) {
  const isEarliest = earliestOf(entries);
  const pieces: Piece[][] = Array.from({ length: trace.lanes }, () => []);
  const inOrder = [...entries].sort((a, b) => a.seq - b.seq || a.group - b.group);
  const chunks = await Promise.all(inOrder.map((e) => trace.events(e, signal)));
  chunks.forEach((chunk, k) => {
    const e = inOrder[k]!;
    for (const s of chunk.segments) {
      if (s.carried && !isEarliest(e)) continue;
      const piece = pieceOf(e, chunk, s, from, to);
      if (piece.count > 0) pieces[s.lane]!.push(piece);
    }
  });
  return new Gathered(trace, pieces);
}

// ---- what calls wait for ----

interface Edge {
  call: number;
  needs: number;
  more: number;
}

/** In columns, found by the call. */
function tableOf(edges: readonly Edge[], calls: number): Pick<Happened, 'needFirst' | 'need' | 'more'> {
  const needFirst = new Uint32Array(calls + 1);
  for (const x of edges) needFirst[x.call + 1]!++;
  for (let call = 0; call < calls; call++) needFirst[call + 1]! += needFirst[call]!;
  const next = needFirst.slice();
  const [need, more] = [new Uint32Array(edges.length), new Uint8Array(edges.length)];
  for (const x of edges) {
    const at = next[x.call]!++;
    need[at] = x.needs;
    more[at] = x.more;
  }
  return { needFirst, need, more };
}

class Causes {
  readonly edges: Edge[] = [];
  readonly messages: [number, number][] = [];
  outside = 0;

  constructor(private readonly g: Gathered) {}

  /** A call that began before another was over. */
  private add(call: number, needs: number, more: number): boolean {
    if (call < 0) return false;
    if (needs < 0) this.outside++;
    else this.edges.push({ call, needs, more });
    return needs >= 0;
  }

  async ofMessages(e: Entry, signal: AbortSignal): Promise<void> {
    const { g } = this;
    const { links } = await g.trace.linked(e, signal);
    for (let i = 0; i < links.count; i++) {
      const send = g.callAt(links.send, i);
      const received = g.callAt(links.completion, i); // of which the end is not known, it was waited for no longer than it lasted
      if (this.add(received, send, 1)) this.messages.push([send, received]);
      const sent = g.callAt(links.sent, i);
      const receive = g.callAt(links.receive, i);
      if (sent >= 0 && this.waited(sent, send, receive, send < 0 ? 0 : this.bytesOf(links, i, send)))
        this.add(sent, receive, 1);
    }
  }

  /** Of a message: those of what it was prepared with, or of the call that sent it. */
  private bytesOf(links: Links, i: number, send: number): number {
    const { g } = this;
    const of = g.signaturesOf(send);
    const { meta } = g.trace;
    const rank = g.trace.rankOfLane(g.positions.lane[send]!);
    const prepared = links.signature[i]!;
    return of.messageBytes[prepared < 0 ? g.signature[send]! : of.first[rank % meta.groupRanks]! + prepared] ?? 0;
  }

  /** Whether the call that was over when a message was sent had to wait for its receive. */
  private waited(sent: number, send: number, receive: number, bytes: number): boolean {
    const { start, end } = this.g;
    if (send >= 0 && /^MPI_I?Ssend/.test(this.g.opOf(send))) return true;
    if (receive < 0 || !(start[sent]! < start[receive]! && end[sent]! >= start[receive]!)) return false;
    return bytes > EAGER_BYTES || end[sent]! - start[sent]! > SEND_FIRST_NS + bytes * SEND_BYTE_NS;
  }

  async ofWaits(e: Entry, signal: AbortSignal): Promise<void> {
    const w = await this.g.trace.waits(e, signal);
    for (let i = 0; i < w.count; i++) {
      const state = w.state[i]!;
      if (w.causer.window[i] === NOWHERE || (!ABOVE.has(state) && !LEVEL.has(state))) continue;
      this.add(this.g.callAt(w.at, i), this.g.callAt(w.causer, i), ABOVE.has(state) ? 1 : 0);
    }
  }
}

/** What a call does in a collective; root: it is. Scans are taken as all-to-all, as the analysis does. */
function partOf(op: string, root: boolean): Part {
  const name = op.replace(/_c$/, '');
  const rooted = waitsForRoot(name);
  if (/^MPI_I|Neighbor/.test(name)) return Part.None;
  if (rooted === 'from') return root ? Part.Root : Part.AfterRoot;
  return rooted === 'to' && !root ? Part.None : Part.All;
}

function collectivesOf(g: Gathered): Pick<Happened, 'group' | 'part' | 'groupSize'> {
  const [group, part] = [new Int32Array(g.count).fill(-1), new Uint8Array(g.count)];
  const numbers = new Map<string, number>();
  const size: number[] = [];
  let at = 0;
  for (const list of g.pieces)
    for (const { chunk, segment, first, count } of list) {
      const base = at - first;
      eachPart(chunk, segment, (event, comm, k) => {
        if (event < first || event >= first + count) return;
        const call = base + event;
        const key = pairKey(comm, k);
        const number = numbers.get(key) ?? size.push(0) - 1;
        numbers.set(key, number);
        size[number]!++;
        group[call] = number;
        const peer = chunk.signatures.peer[chunk.signature[event]!]!;
        part[call] = partOf(g.opOf(call), peer === segment.rank);
      });
      at += count;
    }
  return { group, part, groupSize: Uint32Array.from(size) };
}

/** Starting up and shutting down are no part of the run, tests in vain no steps. */
function countsOf(g: Gathered): Uint8Array {
  const counts = new Uint8Array(g.count).fill(2);
  const { ranks } = g.trace.meta;
  const [begins, ends] = [new Float64Array(ranks).fill(-Infinity), new Float64Array(ranks).fill(Infinity)];
  const rankOf = (call: number) => g.trace.rankOfLane(g.positions.lane[call]!);
  const kind = g.trace.meta.ops.map((op) => (/^MPI_Init(_thread)?$/.test(op) ? 1 : op === 'MPI_Finalize' ? 2 : 0));
  for (let call = 0; call < g.count; call++) {
    const what = kind[g.signaturesOf(call).op[g.signature[call]!]!];
    if (what === 1) begins[rankOf(call)] = g.end[call]!;
    if (what === 2) ends[rankOf(call)] = g.start[call]!;
  }
  for (let call = 0; call < g.count; call++) {
    const rank = rankOf(call);
    if (g.start[call]! < begins[rank]! || g.end[call]! > ends[rank]!) counts[call] = 1;
    if ((g.signaturesOf(call).flags[g.signature[call]!]! & Flag.Polls) !== 0) counts[call] = 0;
  }
  return counts;
}

// ---- all of it ----

const NOTHING: Omit<Logical, 'from' | 'to' | 'tooMany'> = {
  laneFirst: new Uint32Array(1),
  step: new Uint32Array(0),
  late: new Float64Array(0),
  start: new Float64Array(0),
  end: new Float64Array(0),
  op: new Uint16Array(0),
  site: new Int32Array(0),
  window: new Uint32Array(0),
  index: new Uint32Array(0),
  hidden: new Uint8Array(0),
  messageFrom: new Uint32Array(0),
  messageTo: new Uint32Array(0),
  steps: 0,
  most: 0,
  sites: [],
  leftOut: 0,
  outside: 0,
};

type Column = Float64Array | Uint32Array | Int32Array | Uint16Array;

/** A loop of one's own is many times as fast as the array's from(). */
function filled<T extends Column>(out: T, value: (i: number) => number): T {
  for (let i = 0; i < out.length; i++) out[i] = value(i);
  return out;
}

/** The calls that are steps, in the columns of the answer. */
function columnsOf(g: Gathered, h: Happened, causes: Causes): Omit<Logical, 'from' | 'to' | 'tooMany'> {
  const steps = stepsOf(h);
  const late = latenessOf(h, steps);
  const number = new Int32Array(g.count).fill(-1);
  const shown = new Uint32Array(g.count);
  const laneFirst = new Uint32Array(h.laneFirst.length);
  let n = 0;
  for (let lane = 0; lane + 1 < laneFirst.length; lane++) {
    for (let call = h.laneFirst[lane]!; call < h.laneFirst[lane + 1]!; call++) {
      if (h.counts[call] === 0) continue;
      number[call] = n;
      shown[n++] = call;
    }
    laneFirst[lane + 1] = n;
  }
  const messages = causes.messages.filter(([a, b]) => number[a]! >= 0 && number[b]! >= 0);
  const of = (column: ArrayLike<number>) => (i: number) => column[shown[i]!]!;
  const site = filled(new Int32Array(n), of(h.site));
  const lateness = filled(new Float64Array(n), of(late));
  const sites = lateSites(site, lateness);
  const opOf = (i: number) => g.signaturesOf(shown[i]!).op[g.signature[shown[i]!]!]!;
  return {
    laneFirst,
    step: filled(new Uint32Array(n), of(steps.step)),
    late: lateness,
    start: filled(new Float64Array(n), of(g.start)),
    end: filled(new Float64Array(n), of(g.end)),
    op: filled(new Uint16Array(n), opOf),
    site,
    window: filled(new Uint32Array(n), of(g.positions.window)),
    index: filled(new Uint32Array(n), of(g.positions.index)),
    hidden: new Uint8Array(n),
    messageFrom: filled(new Uint32Array(messages.length), (i) => number[messages[i]![0]]!),
    messageTo: filled(new Uint32Array(messages.length), (i) => number[messages[i]![1]]!),
    steps: steps.steps,
    most: sites.reduce((most, x) => Math.max(most, x.maxNs), 0),
    sites,
    leftOut: steps.leftOut,
    outside: causes.outside,
  };
}

async function workOut(trace: Trace, from: number, to: number, signal: AbortSignal): Promise<Logical> {
  if (trace.version === 1)
    throw new Error('This file is of version 1, which does not say what belongs together: analyze its trace again.');
  const last = trace.meta.ranks - 1;
  const entries = trace.eventEntries(from, to, 0, last);
  const calls = await countIn(trace, entries, from, to, signal);
  if (calls > LOGICAL_CALLS_MAX) return { from, to, tooMany: calls, ...NOTHING };
  const g = await gather(trace, entries, from, to, signal);
  const causes = new Causes(g);
  for (const e of trace.messageEntries(from, to)) await causes.ofMessages(e, signal);
  for (const e of trace.waitEntriesOf(from, to, 0, last)) await causes.ofWaits(e, signal);
  signal.throwIfAborted();
  const site = new Int32Array(g.count);
  for (let call = 0; call < g.count; call++) site[call] = g.signaturesOf(call).callSite[g.signature[call]!]!;
  const { laneFirst, end } = g;
  const needs = { ...tableOf(causes.edges, g.count), ...collectivesOf(g) };
  const happened: Happened = { laneFirst, end, site, counts: countsOf(g), ...needs };
  return { from, to, tooMany: 0, ...columnsOf(g, happened, causes) };
}

const known = new WeakMap<Trace, Logical>(); // of the interval that was asked for last

/** Of an interval, whatever the filter. */
export async function logicalIn(trace: Trace, from: number, to: number, signal: AbortSignal): Promise<Logical> {
  const last = known.get(trace);
  if (last && last.from === from && last.to === to) return last;
  const found = await workOut(trace, from, to, signal);
  known.set(trace, found);
  return found;
}

/** Which of them the filter hides. */
async function hiddenOf(trace: Trace, l: Logical, filter: Filter, signal: AbortSignal): Promise<Uint8Array> {
  const hidden = new Uint8Array(l.step.length);
  if (!isFiltering(filter)) return hidden;
  const passing = new Map<Entry, Promise<Passing>>();
  const passingOf = (e: Entry) => {
    const p = passing.get(e) ?? passingIn(trace, e, filter, false, signal);
    passing.set(e, p);
    return p;
  };
  for (let lane = 0; lane + 1 < l.laneFirst.length; lane++) {
    for (let call = l.laneFirst[lane]!; call < l.laneFirst[lane + 1]!;) {
      const window = l.window[call]!;
      const e = trace.eventEntry(window, lane);
      const p = e && (await passingOf(e));
      const run = p && runOf(p.chunk, lane);
      for (; call < l.laneFirst[lane + 1]! && l.window[call] === window; call++)
        hidden[call] = run && p.passes(run.first + l.index[call]!, run) ? 0 : 1;
    }
  }
  return hidden;
}

export async function logicalOf(trace: Trace, q: LogicalQuery, signal: AbortSignal): Promise<Logical> {
  const found = await logicalIn(trace, q.from, q.to, signal);
  return { ...found, hidden: await hiddenOf(trace, found, q.filter, signal) };
}

/** Lateness of calls of a run, asked for by their numbers in its chunk as these ascend. */
export function latenessOfRun(l: Logical | null, s: Segment): (event: number) => number {
  if (!l || l.tooMany > 0) return () => UNKNOWN;
  const end = l.laneFirst[s.lane + 1]!;
  let at = lowerBound(l, s.lane, s.window, 0);
  return (event) => {
    const index = s.index + event - s.first;
    while (at < end && l.window[at] === s.window && l.index[at]! < index) at++;
    return at < end && l.window[at] === s.window && l.index[at] === index ? l.late[at]! : UNKNOWN;
  };
}
