// nearby.ts - messages and wait states of an interval. Of a chunk of many thousand only those that lie in it are worked out: which they are
// is known from the numbers of the calls that they refer to. So calls of other windows are read only for what reaches over.
import { groupOfLane, lanesOfGroup } from '../decode/meta';
import type { Meta } from '../decode/meta';
import type { Positions } from '../decode/positions';
import { Kind } from '../decode/layout';
import type { Entry } from '../decode/layout';
import { NOWHERE } from '../decode/records';
import type { EventChunk, MessageChunk, Segment } from '../decode/records';
import { How } from '../decode/waits';
import type { Waits } from '../decode/waits';
import { callRun, completionOf, workOut } from './messages';
import type { CallRun, Calls, Linked } from './messages';
import { isShown, someSpans } from './spans';
import type { Spans } from './spans';
import type { Trace } from './trace';

/** Of a chunk of calls, by lane of its group: the first call that ends in the interval or behind, the first that begins behind it; the call
 * of an earlier window that goes on into the interval. */
interface Bounds {
  firstLane: number;
  begin: Uint32Array;
  end: Uint32Array;
  carriedWindow: Int32Array; // -1: there is none
  carriedIndex: Uint32Array;
}

function emptyBounds(firstLane: number, lanes: number): Bounds {
  const [begin, end, carriedIndex] = [new Uint32Array(lanes), new Uint32Array(lanes), new Uint32Array(lanes)];
  return { firstLane, begin, end, carriedIndex, carriedWindow: new Int32Array(lanes).fill(-1) };
}

/** Which calls of a lane and window lie in the interval, from call to call: fast where the next one is of the same lane. */
class Edge {
  known = false; // false: the calls are not here
  lo = 0; // the first that ends in the interval or behind it
  hi = 0; // the first that begins behind it
  private lane = -1;
  private window = -1;

  constructor(private readonly find: (lane: number, window: number) => [number, number] | undefined) {}

  turnTo(p: Positions, i: number): void {
    if (p.lane[i] === this.lane && p.window[i] === this.window) return;
    this.lane = p.lane[i]!;
    this.window = p.window[i]!;
    const found = this.find(this.lane, this.window);
    this.known = found !== undefined;
    if (!found) return;
    this.lo = found[0];
    this.hi = found[1];
  }
}

/** The first call of a run for which a condition holds that holds for all behind it: its number in the run. */
function firstOf(s: { first: number; count: number }, holds: (i: number) => boolean): number {
  let low = 0;
  for (let high = s.count; low < high;) {
    const middle = (low + high) >> 1;
    if (holds(s.first + middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Records in a row about calls of one lane and window, which ascend by index. */
interface Run {
  lane: number;
  window: number;
  of: Positions;
  first: number;
  count: number;
}

const runs = new WeakMap<object, Run[]>(); // by what they are of

function runsOf(owner: object, count: number, positions: (i: number) => Positions): Run[] {
  const known = runs.get(owner);
  if (known) return known;
  const list: Run[] = [];
  let run = null as Run | null;
  for (let i = 0; i < count; i++) {
    const of = positions(i);
    const [lane, window] = [of.lane[i]!, of.window[i]!];
    if (run?.of === of && run.lane === lane && run.window === window) run.count++;
    else list.push((run = { lane, window, of, first: i, count: 1 }));
  }
  runs.set(owner, list);
  return list;
}

export class Nearby implements Calls {
  private readonly held = new Map<number, EventChunk>(); // by entry: stays while this does
  private readonly bounds: (Bounds | undefined)[] = []; // by window and group
  private readonly last: CallRun[] = []; // by lane: what was asked for last
  private readonly here: Uint8Array; // by group and window
  private readonly groups: number;
  private readonly firstWindow: number; // of the interval
  private readonly lastWindow: number;
  private readonly wanted = new Set<Entry>(); // chunks of calls that are not here
  private readonly messagesHere = new Map<number, MessageChunk>(); // by entry
  private readonly spansHere = new Map<number, Spans>();

  constructor(
    private readonly trace: Trace,
    private readonly from: number,
    private readonly to: number,
  ) {
    this.groups = Math.ceil(trace.meta.ranks / trace.meta.groupRanks);
    this.here = new Uint8Array(this.groups * trace.meta.windows);
    [this.firstWindow, this.lastWindow] = trace.windowsOf(from, to);
  }

  get meta(): Meta {
    return this.trace.meta;
  }

  /** A chunk of calls if it is here; else it is wanted. */
  private chunkOf(e: Entry): EventChunk | undefined {
    const chunk = this.held.get(e.id) ?? this.trace.chunks.peek<EventChunk>(e);
    if (chunk) this.held.set(e.id, chunk);
    else this.wanted.add(e);
    return chunk;
  }

  run(lane: number, window: number): CallRun | null {
    const known = this.last[lane];
    if (known?.window === window) return known;
    const e = this.trace.eventEntry(window, lane);
    const chunk = e && this.chunkOf(e);
    const found = chunk ? callRun(chunk, lane, window) : null;
    if (found) this.last[lane] = found;
    return found;
  }

  /** Whether the calls of a lane and window are here, or there are none; else they are wanted. */
  private isHere(lane: number, window: number): boolean {
    const key = groupOfLane(this.meta, lane) * this.meta.windows + window;
    if (this.here[key] === 1) return true;
    const e = this.trace.eventEntry(window, lane);
    if (e && !this.chunkOf(e)) return false;
    this.here[key] = 1; // and stays, since it is held
    return true;
  }

  /** Of a lane and a window of the interval; undefined: not here. */
  private boundsOf(lane: number, window: number): Bounds | undefined {
    const group = groupOfLane(this.meta, lane);
    const key = (window - this.firstWindow) * this.groups + group;
    const known = this.bounds[key];
    if (known) return known;
    const e = this.trace.eventEntry(window, lane);
    const chunk = e && this.chunkOf(e);
    if (e && !chunk) return undefined;
    return (this.bounds[key] = this.findBounds(chunk, group));
  }

  private findBounds(chunk: EventChunk | undefined, group: number): Bounds {
    const [firstLane, endLane] = lanesOfGroup(this.meta, group);
    const b = emptyBounds(firstLane, endLane - firstLane);
    for (const s of chunk?.segments ?? []) this.addBounds(b, chunk!, s);
    return b;
  }

  private addBounds(b: Bounds, { start, duration }: EventChunk, s: Segment): void {
    const at = s.lane - b.firstLane;
    const endsInside = (i: number) => start[i]! + duration[i]! > this.from;
    if (!s.carried) {
      b.begin[at] = firstOf(s, endsInside);
      b.end[at] = firstOf(s, (i) => start[i]! >= this.to);
    } else if (endsInside(s.first)) [b.carriedWindow[at], b.carriedIndex[at]] = [s.window, s.index];
  }

  /** Calls of a lane and window from the first that ends in the interval or behind to the first that begins behind it. */
  private edges(lane: number, window: number): [number, number] | undefined {
    if (window > this.lastWindow) return [0, 0];
    const b = this.boundsOf(lane, Math.max(window, this.firstWindow));
    if (!b) return undefined;
    const at = lane - b.firstLane;
    if (window >= this.firstWindow) return [b.begin[at]!, b.end[at]!];
    return [b.carriedWindow[at] === window ? b.carriedIndex[at]! : Infinity, Infinity];
  }

  private edge(): Edge {
    return new Edge((lane, window) => this.edges(lane, window));
  }

  /** Whether all calls of positions are here. */
  private areHere(p: Positions, list: readonly number[]): boolean {
    let [lane, window, all] = [-1, -1, true];
    for (const i of list) {
      if (p.window[i] === NOWHERE || (p.lane[i] === lane && p.window[i] === window)) continue;
      lane = p.lane[i]!;
      window = p.window[i]!;
      if (!this.isHere(lane, window)) all = false;
    }
    return all;
  }

  /** Try, and read what was wanted for it, until it is done. */
  private async until<T>(attempt: () => T | null, signal: AbortSignal): Promise<T> {
    for (;;) {
      this.wanted.clear();
      const done = attempt();
      if (done) return done;
      const read = async (e: Entry) => this.held.set(e.id, await this.trace.events(e, signal));
      await Promise.all(Array.from(this.wanted, read));
      signal.throwIfAborted();
    }
  }

  /** Messages that reach into the interval, each at its place in the chunk; others begin at infinity, or are here since they were asked
   * for before. Calls: when those of the picture are here. */
  async messages(e: Entry, signal: AbortSignal, calls: Promise<unknown>): Promise<void> {
    const { trace } = this;
    const isWhole = trace.version === 1 || e.kind === Kind.Top;
    const [m] = await Promise.all([isWhole ? null : trace.linked(e, signal), calls]);
    const chunk = m
      ? await trace.chunks.blaming(e, () => this.until(() => this.workOutMessages(m), signal))
      : await trace.messages(e, signal);
    this.messagesHere.set(e.id, chunk);
  }

  private workOutMessages(m: Linked): MessageChunk | null {
    const { links } = m;
    const { receive, completion, send } = links;
    const found: number[] = [];
    const sent = this.edge();
    let known = true;
    for (const run of runsOf(m, links.count, (i) => completionOf(links, i))) {
      const edges = this.edges(run.lane, run.window);
      const { index } = run.of;
      const end = run.first + run.count;
      for (let i = run.first + (edges ? firstOf(run, (k) => index[k]! >= edges[0]) : 0); i < end; i++) {
        if (m.here[i] === 1) continue;
        sent.turnTo(send, i);
        if (sent.known && send.index[i]! >= sent.hi) continue;
        if (!edges || !sent.known) known = false;
        else found.push(i);
      }
    }
    const here = [receive, completion, send].map((p) => this.areHere(p, found));
    if (!known || here.includes(false)) return null;
    workOut(m, this, found);
    return m.chunk;
  }

  /** Wait states of calls in the interval, in the same way. */
  async spans(e: Entry, signal: AbortSignal, calls: Promise<unknown>): Promise<void> {
    const [w] = await Promise.all([this.trace.waits(e, signal), calls]);
    const work = () => this.until(() => this.workOutSpans(w), signal);
    this.spansHere.set(e.id, await this.trace.chunks.blaming(e, work));
  }

  private workOutSpans(w: Waits): Spans | null {
    const found: number[] = [];
    const { index } = w.at;
    for (const run of runsOf(w, w.count, () => w.at)) {
      const edges = this.edges(run.lane, run.window);
      if (!edges) return null;
      const end = run.first + run.count;
      for (let k = run.first + firstOf(run, (i) => index[i]! >= edges[0]); k < end && index[k]! < edges[1]; k++)
        if (isShown(w, k)) found.push(k);
    }
    const timed = found.filter((k) => w.how[k] !== How.Ns);
    const here = [this.areHere(w.at, found), this.areHere(w.causer, timed)];
    return here.includes(false) ? null : someSpans(w, found, this);
  }

  /** What is done, of one chunk. */
  messagesOf(e: Entry): MessageChunk | undefined {
    return this.messagesHere.get(e.id);
  }

  spansOf(e: Entry): Spans | undefined {
    return this.spansHere.get(e.id);
  }
}
