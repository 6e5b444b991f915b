// cuts.ts - the trace as steps from one consistent global state to the next, window by window: the calls of a window, what each has to wait
// for, their order (linear.ts). One pass from the beginning counts the steps and keeps what a window needs to know of those before it:
// a keyframe; from then on any window is made by itself.
import { Kind } from '../decode/layout';
import type { Entry } from '../decode/layout';
import { runOf } from '../decode/positions';
import { Flag, NOWHERE } from '../decode/records';
import type { EventChunk, Segment } from '../decode/records';
import { list, num } from '../model/analysis';
import { NEVER, linearise } from '../model/linear';
import type { Order, Problem } from '../model/linear';
import { completionOf } from '../model/messages';
import type { Linked } from '../model/messages';
import type { Open as OpenCall } from '../model/open';
import type { Trace } from '../model/trace';
import { Needs, waitsForAll, waitsForRoot } from './needs';
import { hasOpenWindow, openWindow } from './open_states';

const KEPT = 3; // windows

/** A call that could not be entered or left in its window. */
interface LeftOver {
  lane: number;
  window: number;
  index: number;
  entered: boolean;
}

/** What a window knows of those before it. */
interface Keyframe {
  first: number; // number of its first step
  leftOver: LeftOver[];
  open: Map<string, Open>; // collectives by communicator and number
}

interface Open {
  came: number;
  window: number; // of who came last
}

interface Span {
  window: number;
  entries: Entry[];
  until: number; // ns, where the next one begins
}

export interface Collective {
  comm: number;
  k: number;
  op: number;
  root: number; // world rank, or -1
  calls: number[]; // its parts here
  cameBefore: number; // in earlier windows, and gone since
}

/** A window's calls, in the numbers of its Problem. */
export interface Window {
  at: number; // its place among the windows
  first: number; // number of its first step
  problem: Problem;
  order: Order;
  lane: Uint32Array; // by call
  part: Uint32Array; // by call: its chunk
  event: Uint32Array; // by call: its number there
  chunks: EventChunk[];
  collectives: Collective[];
  needs: Needs;
  opens: OpenCall[] | null; // by call, in the window of those that nobody came back from
}

/** Parts of collectives of a run: the number of the event, which one it is. */
export function eachPart(c: EventChunk, s: Segment, take: (event: number, comm: number, k: number) => void): void {
  const next = new Map<number, number>();
  const { flags, comm } = c.signatures;
  let told = 0;
  for (let i = s.first; i < s.first + s.count; i++) {
    for (let n = s.numbers[told]; n && n.index <= i; n = s.numbers[++told]) next.set(n.comm, n.k);
    const what = c.signature[i]!;
    if ((flags[what]! & Flag.Collective) === 0) continue;
    const on = comm[what]!;
    const k = next.get(on) ?? -1;
    if (k < 0) continue;
    next.set(on, k + 1);
    take(i, on, k);
  }
}

export const pairKey = (comm: number, k: number) => `${comm} ${k}`;

export class Cuts {
  readonly spans: Span[];
  readonly lastEnd: Float64Array; // by lane: end of its last call, as far as counted
  readonly firstStart: Float64Array;
  readonly used = new Map<number, [number, number]>(); // by communicator: from when to when calls were made on it
  logical = 0;
  forced = 0;
  private readonly keyframes: Keyframe[] = [{ first: 0, leftOver: [], open: new Map() }];
  private readonly kept = new Map<number, Window>();
  private readonly sizes = new Map<number, number>();
  private pass: Promise<void> | null = null;

  constructor(readonly trace: Trace) {
    if (trace.version === 1)
      throw new Error('This file is of version 1, which does not say what belongs together: analyze its trace again.');
    const byWindow = new Map<number, Entry[]>();
    for (const e of trace.kind(Kind.Events)) byWindow.set(e.seq, [...(byWindow.get(e.seq) ?? []), e]);
    const seqs = [...byWindow.keys()].sort((a, b) => a - b);
    this.spans = seqs.map((window, i) => {
      const next = i + 1 < seqs.length ? byWindow.get(seqs[i + 1]!)![0]!.start : Infinity;
      return { window, entries: byWindow.get(window)!, until: next };
    });
    if (hasOpenWindow(trace)) this.spans.push({ window: trace.meta.windows, entries: [], until: Infinity });
    this.lastEnd = new Float64Array(trace.lanes).fill(-Infinity);
    this.firstStart = new Float64Array(trace.lanes).fill(Infinity);
    list(trace.analysis, 'communicators').forEach((x, i) => {
      const id = num(x, 'id') ?? i;
      const size = (num(x, 'size') ?? 0) + (num(x, 'remote_size') ?? 0);
      const world = trace.comms.get(id) === 'MPI_COMM_WORLD' ? trace.meta.ranks : 0;
      this.sizes.set(id, Math.max(size, world));
    });
  }

  /** Windows that are counted. */
  get counted(): number {
    return this.keyframes.length - 1;
  }

  get isWhole(): boolean {
    return this.counted === this.spans.length;
  }

  /** Steps in windows before that one. */
  stepsBefore(at: number): number {
    return this.keyframes[at]!.first;
  }

  /** Number of steps that are counted. */
  get steps(): number {
    return this.keyframes[this.counted]!.first;
  }

  /** Count all windows up to that one; say() after each. */
  async count(upTo: number, signal: AbortSignal, say: () => void): Promise<void> {
    while (this.counted <= upTo && !this.isWhole) {
      signal.throwIfAborted();
      if (this.pass) await this.pass;
      else {
        this.pass = this.countNext().finally(() => (this.pass = null));
        await this.pass;
      }
      say();
      await new Promise((done) => setTimeout(done)); // others want something too
    }
  }

  private async countNext(): Promise<void> {
    const at = this.counted;
    const w = await this.make(at);
    if (at !== this.counted) return;
    this.note(w);
    this.logical += w.order.logical;
    this.forced += w.order.forced;
    this.keyframes.push({ first: w.first + w.order.count, leftOver: this.leftOver(w), open: this.open(w) });
  }

  private note(w: Window): void {
    const { start, end } = w.problem;
    for (let call = 0; call < start.length; call++) {
      const lane = w.lane[call]!;
      if (!w.opens) {
        this.lastEnd[lane] = Math.max(this.lastEnd[lane]!, end[call]!);
        this.firstStart[lane] = Math.min(this.firstStart[lane]!, start[call]!);
      }
      const comm = w.chunks[w.part[call]!]!.signatures.comm[this.signature(w, call)]!;
      const use = this.used.get(comm);
      if (!use) this.used.set(comm, [start[call]!, end[call]!]);
      else [use[0], use[1]] = [Math.min(use[0], start[call]!), Math.max(use[1], end[call]!)];
    }
  }

  signature(w: Window, call: number): number {
    return w.chunks[w.part[call]!]!.signature[w.event[call]!]!;
  }

  private leftOver(w: Window): LeftOver[] {
    const at = w.needs.positions;
    return w.order.leftOver.map((call) => ({
      lane: w.lane[call]!,
      window: at.window[call]!,
      index: at.index[call]!,
      entered: w.order.entered[call] !== NEVER,
    }));
  }

  /** Collectives that are not complete, but those to which nobody comes any more. */
  private open(w: Window): Map<string, Open> {
    const open = new Map<string, Open>();
    for (const [key, old] of this.keyframes[w.at]!.open) if (old.window >= w.at - 1) open.set(key, old);
    for (const c of w.collectives) {
      const came = c.cameBefore + c.calls.reduce((n, x) => n + Number(this.isNew(w, x)), 0);
      if (came === this.sizes.get(c.comm)) open.delete(pairKey(c.comm, c.k));
      else open.set(pairKey(c.comm, c.k), { came, window: w.at });
    }
    return open;
  }

  private isNew(w: Window, call: number): boolean {
    const step = w.order.entered[call]!;
    return step >= 0 && step !== NEVER;
  }

  /** Whether calls that nobody came back from are entered in a window, and all that were recorded are over. */
  isOpen(at: number): boolean {
    return this.spans[at]?.entries.length === 0;
  }

  /** The place of the window that a moment is in, among those of calls that were recorded. */
  placeOf(time: number): number {
    const at = this.spans.findIndex((s) => time < s.until);
    return at < 0 ? Math.max(0, this.spans.length - 1) : at;
  }

  /** The place of the window whose steps lead to a state, of those counted. */
  placeOfStep(step: number): number {
    let at = 0;
    while (at + 1 < this.counted && this.keyframes[at + 1]!.first < step) at++;
    return at;
  }

  /** All windows before it are counted. */
  async window(at: number): Promise<Window> {
    const known = this.kept.get(at);
    const w = known ?? (await this.make(at));
    this.kept.delete(at);
    this.kept.set(at, w);
    for (const old of this.kept.keys()) if (this.kept.size > KEPT) this.kept.delete(old);
    return w;
  }

  private async make(at: number): Promise<Window> {
    const keyframe = this.keyframes[at]!;
    if (this.isOpen(at))
      return openWindow(
        this.trace,
        at,
        keyframe.first,
        this.lastEnd.reduce((a, b) => Math.max(a, b)),
      );
    const found = await this.gather(at, keyframe);
    const needs = new Needs(this.trace.meta, found.positions, found.laneFirst, this.spans[at]!.window);
    for (const m of await this.links(at, keyframe)) this.addLinks(needs, m);
    const groups = this.collectives(found, keyframe);
    await this.sizeUp(at, found, groups);
    for (const x of groups.rooted) needs.add(x.call, x.root);
    const { laneFirst, start, end, entered } = found;
    const problem: Problem = {
      laneFirst,
      start,
      end,
      entered,
      since: at > 0 ? this.spans[at - 1]!.until : -Infinity,
      until: this.spans[at]!.until,
      ...needs.table(),
      group: groups.of,
      waits: groups.waits,
      groupCount: groups.all.length,
      parts: groups.parts,
      size: groups.size,
    };
    const { lane, part, event, chunks } = found;
    const order = linearise(problem);
    return {
      at,
      first: keyframe.first,
      problem,
      order,
      lane,
      part,
      event,
      chunks,
      collectives: groups.all,
      needs,
      opens: null,
    };
  }

  /** Calls by lane: those left over, the one carried in, those that start here. */
  private async gather(at: number, keyframe: Keyframe): Promise<Calls> {
    const { entries, window } = this.spans[at]!;
    const since = at > 0 ? this.spans[at - 1]!.until : -Infinity;
    const chunks = await Promise.all(entries.map((e) => this.trace.events(e)));
    const calls = new Gathered(this.trace.lanes, [...chunks]);
    for (const x of keyframe.leftOver) {
      const e = this.trace.eventEntry(x.window, x.lane);
      if (e) calls.leave(x, await this.trace.events(e));
    }
    chunks.forEach((c, part) => {
      for (const s of c.segments)
        if (!s.carried || (at > 0 && c.start[s.first]! + c.duration[s.first]! > since)) calls.add(part, s, window);
    });
    return calls.finish();
  }

  /** Messages that may be completed by calls of this window. A chunk of an earlier one may hold the message of a call that began there and is
   * open over its end: then its interval reaches into this one. */
  private links(at: number, keyframe: Keyframe): Promise<Linked[]> {
    const { window, until } = this.spans[at]!;
    const since = at > 0 ? this.spans[at - 1]!.until : -Infinity;
    const first = keyframe.leftOver.reduce((w, x) => Math.min(w, x.window), window);
    const reaches = (e: Entry) => (e.seq >= first ? e.start <= until : e.end > since);
    const wanted = this.trace.kind(Kind.Messages).filter(reaches);
    return Promise.all(wanted.map((e) => this.trace.linked(e)));
  }

  private addLinks(needs: Needs, { links }: Linked): void {
    for (let i = 0; i < links.count; i++) {
      const end = completionOf(links, i);
      const { window, lane, index } = end;
      const receiver = needs.callAt(lane[i]!, window[i]!, index[i]!);
      const sender = needs.callAt(links.send.lane[i]!, links.send.window[i]!, links.send.index[i]!);
      // of which the end is not known, the receive is what it waits for no longer than it lasts
      if (receiver >= 0 && links.completion.window[i] !== NOWHERE)
        needs.message(receiver, sender, links.send.lane[i]!, links.send.window[i]!);
      if (sender >= 0) {
        const { receive } = links;
        const other = needs.callAt(receive.lane[i]!, receive.window[i]!, receive.index[i]!);
        needs.receiver(sender, other, receive.lane[i]!);
      }
    }
  }

  private collectives(calls: Calls, keyframe: Keyframe): Groups {
    const n = calls.lane.length;
    const groups: Groups = {
      all: [],
      of: new Int32Array(n).fill(-1),
      waits: new Uint8Array(n),
      rooted: [],
      parts: new Uint32Array(0),
      size: new Uint32Array(0),
    };
    const byKey = new Map<string, number>();
    calls.eachPart((call, comm, k) => {
      const key = pairKey(comm, k);
      const g = byKey.get(key) ?? groups.all.length;
      if (g === groups.all.length) {
        byKey.set(key, g);
        const signature = calls.chunks[calls.part[call]!]!.signature[calls.event[call]!]!;
        const { signatures } = calls.chunks[calls.part[call]!]!;
        const op = signatures.op[signature]!;
        const root = signatures.peer[signature]!;
        const cameBefore = keyframe.open.get(key)?.came ?? 0;
        groups.all.push({ comm, k, op, root, calls: [], cameBefore });
      }
      groups.of[call] = g;
      groups.all[g]!.calls.push(call);
    });
    this.rules(calls, groups);
    return groups;
  }

  /** Who of a collective waits for whom. */
  private rules(calls: Calls, groups: Groups): void {
    const { ops } = this.trace.meta;
    for (const c of groups.all) {
      const name = ops[c.op] ?? '';
      const root = c.calls.find((x) => this.trace.rankOfLane(calls.lane[x]!) === c.root);
      for (const call of c.calls) {
        if (waitsForAll(name) || (call === root && waitsForRoot(name) === 'to')) groups.waits[call] = 1;
        if (root !== undefined && call !== root && waitsForRoot(name) === 'from') groups.rooted.push({ call, root });
      }
    }
  }

  /** How many parts of each are still to come; where some are missing here, those of the next window count as well. */
  private async sizeUp(at: number, calls: Calls, groups: Groups): Promise<void> {
    const coming = groups.all.map((c) => c.calls.reduce((n, x) => n + Number(calls.entered[x] === 0), 0));
    const missing = (g: number) => (this.sizes.get(groups.all[g]!.comm) ?? 0) - groups.all[g]!.cameBefore - coming[g]!;
    const short = new Map<string, number>();
    groups.all.forEach((c, g) => missing(g) > 0 && short.set(pairKey(c.comm, c.k), g));
    groups.size = Uint32Array.from(coming, (n, g) => (missing(g) > 0 ? 0 : n));
    const next = this.spans[at + 1];
    const leaves = (g: number) =>
      groups.all[g]!.calls.some((x) => groups.waits[x] === 1 && calls.end[x]! <= this.spans[at]!.until);
    if (next && [...short.values()].some(leaves)) {
      const chunks = await Promise.all(next.entries.map((e) => this.trace.events(e)));
      for (const c of chunks)
        for (const s of c.segments) {
          if (s.carried) continue;
          eachPart(c, s, (_, comm, k) => {
            const g = short.get(pairKey(comm, k));
            if (g !== undefined) coming[g]!++;
          });
        }
    }
    groups.parts = Uint32Array.from(coming);
  }
}

interface Groups {
  all: Collective[];
  of: Int32Array;
  waits: Uint8Array;
  rooted: { call: number; root: number }[];
  parts: Uint32Array;
  size: Uint32Array;
}

interface Calls {
  laneFirst: Uint32Array;
  start: Float64Array;
  end: Float64Array;
  entered: Uint8Array;
  lane: Uint32Array;
  part: Uint32Array;
  event: Uint32Array;
  chunks: EventChunk[];
  positions: { window: Uint32Array; lane: Uint32Array; index: Uint32Array };
  eachPart(take: (call: number, comm: number, k: number) => void): void;
}

/** Events of a chunk in a row. */
interface Piece {
  part: number;
  segment: Segment;
  first: number; // in the chunk
  count: number;
  entered: boolean;
}

class Gathered {
  private readonly pieces: Piece[][];

  constructor(
    lanes: number,
    private readonly chunks: EventChunk[],
  ) {
    this.pieces = Array.from({ length: lanes }, () => []);
  }

  leave(x: LeftOver, c: EventChunk): void {
    const segment = runOf(c, x.lane);
    if (!segment || x.index >= segment.count) return;
    let part = this.chunks.indexOf(c);
    if (part < 0) part = this.chunks.push(c) - 1;
    this.pieces[x.lane]!.push({ part, segment, first: segment.first + x.index, count: 1, entered: x.entered });
  }

  add(part: number, segment: Segment, window: number): void {
    const pieces = this.pieces[segment.lane]!;
    const index = (p: Piece) => p.segment.index + p.first - p.segment.first;
    const here = (p: Piece) => p.segment.window === segment.window && index(p) === segment.index;
    if (segment.carried && (segment.window >= window || pieces.some(here))) return;
    pieces.push({ part, segment, first: segment.first, count: segment.count, entered: segment.carried });
  }

  finish(): Calls {
    const lanes = this.pieces.length;
    const laneFirst = new Uint32Array(lanes + 1);
    this.pieces.forEach((list, lane) => {
      // what is left over from a later window than a carried call began in stands behind that
      list.sort((a, b) => a.segment.window - b.segment.window || a.first - b.first);
      laneFirst[lane + 1] = laneFirst[lane]! + list.reduce((n, p) => n + p.count, 0);
    });
    const n = laneFirst[lanes]!;
    const calls: Calls = {
      laneFirst,
      start: new Float64Array(n),
      end: new Float64Array(n),
      entered: new Uint8Array(n),
      lane: new Uint32Array(n),
      part: new Uint32Array(n),
      event: new Uint32Array(n),
      chunks: this.chunks,
      positions: { window: new Uint32Array(n), lane: new Uint32Array(n), index: new Uint32Array(n) },
      eachPart: (take) => this.eachPart(take),
    };
    let at = 0;
    for (const list of this.pieces) for (const p of list) at = this.put(p, at, calls);
    return calls;
  }

  private put(p: Piece, at: number, out: Calls): number {
    const c = this.chunks[p.part]!;
    for (let i = p.first; i < p.first + p.count; i++, at++) {
      out.start[at] = c.start[i]!;
      out.end[at] = c.start[i]! + c.duration[i]!;
      out.entered[at] = Number(p.entered);
      out.lane[at] = p.segment.lane;
      out.part[at] = p.part;
      out.event[at] = i;
      out.positions.window[at] = p.segment.window;
      out.positions.lane[at] = p.segment.lane;
      out.positions.index[at] = p.segment.index + i - p.segment.first;
    }
    return at;
  }

  private eachPart(take: (call: number, comm: number, k: number) => void): void {
    let at = 0;
    for (const list of this.pieces)
      for (const p of list) {
        const base = at - p.first;
        const inside = (event: number) => event >= p.first && event < p.first + p.count;
        eachPart(this.chunks[p.part]!, p.segment, (event, comm, k) => inside(event) && take(base + event, comm, k));
        at += p.count;
      }
  }
}

const known = new WeakMap<Trace, Cuts>();

export function cutsOf(trace: Trace): Cuts {
  const cuts = known.get(trace) ?? new Cuts(trace);
  known.set(trace, cuts);
  return cuts;
}
