// states.ts - a consistent global state of the trace: the one at a moment, after so many changes, or the next one at which something happens.
// In: windows of cuts.ts.  Out: a snapshot, plain facts about each rank and each collective that is active.
import { bytesOf } from '../decode/records';
import { list, num, str } from '../model/analysis';
import { NEVER, Step } from '../model/linear';
import { diedBySelf } from '../model/open';
import type { Open } from '../model/open';
import { Doing } from '../model/snapshot';
import type { Change, Need, Snapshot, StatesQuery } from '../model/snapshot';
import type { Trace } from '../model/trace';
import { Cuts, cutsOf } from './cuts';
import type { Window } from './cuts';
import { putOpen } from './open_states';
import { isBlocking, isReceive } from './ops';

const NEEDS_MAX = 64; // of a rank, listed
const WINDOW_AT_ONCE = 1 << 15; // steps looked at before others come first

/** Between two steps: so many of a window are done. */
interface Place {
  w: Window;
  done: number;
}

/** The call that a lane is in or was in last; -1: none here. */
function lastCall(w: Window, lane: number, done: number): number {
  const { laneFirst } = w.problem;
  let low = laneFirst[lane]!;
  for (let high = laneFirst[lane + 1]!; low < high;) {
    const middle = (low + high) >> 1;
    if (w.order.entered[middle]! < done) low = middle + 1;
    else high = middle;
  }
  return low - 1 >= laneFirst[lane]! ? low - 1 : -1;
}

const isIn = (w: Window, call: number, done: number) => call >= 0 && w.order.left[call]! >= done;

class Reader {
  private readonly members = new Map<number, number[]>();
  private readonly lacking = new Map<number, number[]>(); // by collective, of the place asked for last
  private lackingAt: Place | null = null;
  readonly died: Set<number>;

  constructor(
    readonly trace: Trace,
    readonly cuts: Cuts,
  ) {
    this.died = diedBySelf(trace.analysis);
  }

  opOf(w: Window, call: number): string {
    if (w.opens) return w.opens[call]!.op;
    const c = w.chunks[w.part[call]!]!;
    return this.trace.meta.ops[c.signatures.op[this.cuts.signature(w, call)]!] ?? '';
  }

  peerOf(w: Window, call: number): number {
    return w.chunks[w.part[call]!]!.signatures.peer[this.cuts.signature(w, call)]!;
  }

  isBlocking(w: Window, call: number): boolean {
    const { signatures } = w.chunks[w.part[call]!]!;
    const s = this.cuts.signature(w, call);
    return isBlocking(this.trace.meta.ops[signatures.op[s]!] ?? '', signatures.class[s]!);
  }

  /** World ranks of a communicator; all, if nobody tells. */
  membersOf(comm: number): number[] {
    let found = this.members.get(comm);
    if (!found) {
      found = this.trace.membersOf(comm);
      const { ranks } = this.trace.meta;
      if (this.trace.comms.get(comm) === 'MPI_COMM_WORLD') found = Array.from({ length: ranks }, (_, rank) => rank);
      this.members.set(comm, found);
    }
    return found;
  }

  /** What a rank's call waits for: ranks, and whether their part is done; of those that a collective lacks the first. */
  needsOf({ w, done }: Place, call: number): Need[] {
    const { order } = w;
    const found = new Map<number, boolean>();
    const add = (rank: number, there: boolean) => found.set(rank, there && (found.get(rank) ?? true));
    const g = w.problem.group[call]!;
    if (g < 0 || w.problem.waits[call] === 0)
      for (const x of w.needs.from(call))
        add(x.rank, x.other === -2 || (x.other >= 0 && order.entered[x.other]! < done));
    else if (order.completed[g]! >= done)
      for (const rank of this.absent(w, g, done)) {
        add(rank, false);
        if (found.size >= NEEDS_MAX) break;
      }
    const receives = found.size === 0 && g < 0 && this.isBlocking(w, call);
    if (receives)
      for (const x of w.needs.to(call)) {
        // a send that lasted until its receive began waited for it
        const begins = x.other >= 0 ? order.entered[x.other]! : -1;
        if (begins < order.left[call]! && begins !== NEVER && begins >= done) add(x.rank, false);
      }
    return Array.from(found, ([rank, there]) => ({ rank, there, receives }));
  }

  /** Members of a collective that have not come; of those that are known. All who wait in it ask. */
  absent(w: Window, g: number, done: number): number[] {
    if (this.lackingAt?.w !== w || this.lackingAt.done !== done) {
      this.lacking.clear();
      this.lackingAt = { w, done };
    }
    let found = this.lacking.get(g);
    if (!found) this.lacking.set(g, (found = this.findAbsent(w, g, done)));
    return found;
  }

  private findAbsent(w: Window, g: number, done: number): number[] {
    const c = w.collectives[g]!;
    const came = new Set<number>();
    for (const call of c.calls) if (w.order.entered[call]! < done) came.add(this.trace.rankOfLane(w.lane[call]!));
    const known = c.cameBefore > 0 ? c.calls.map((x) => this.trace.rankOfLane(w.lane[x]!)) : this.membersOf(c.comm);
    return known.filter((rank) => !came.has(rank));
  }

  waits(place: Place, call: number): boolean {
    if (place.w.opens) return place.w.opens[call]!.waits;
    return this.isBlocking(place.w, call) && this.needsOf(place, call).some((x) => !x.there);
  }
}

/** Moments of what went wrong, ascending. */
function errorTimes(trace: Trace): number[] {
  const times: number[] = [];
  for (const x of list(trace.analysis, 'correctness'))
    for (const example of list(x, 'examples')) {
      const time = num(example, 'time_s');
      if (time !== undefined) times.push(Math.round(time * 1e9)); // as times of calls are
    }
  return times.sort((a, b) => a - b);
}

// ---- one state ----

/** A snapshot in which nobody has begun. */
function blank(trace: Trace) {
  const { ranks } = trace.meta;
  return {
    doing: new Uint8Array(ranks),
    op: new Uint16Array(ranks),
    class: new Uint8Array(ranks),
    comm: new Int32Array(ranks).fill(-1),
    site: new Int32Array(ranks).fill(-1),
    peer: new Int32Array(ranks).fill(-1),
    bytes: new Float64Array(ranks),
    since: new Float64Array(ranks),
    until: new Float64Array(ranks),
    needs: {},
    arrows: [],
    collectives: [],
    alive: [],
    ends: list(trace.analysis, 'per_rank').map((row) => str(row, 'state')),
    open: [],
    unreturned: list(trace.analysis, 'per_rank').map(
      (row) => 1e9 * ((num(row, 'unreturned_s') ?? 0) + (num(row, 'hung_s') ?? 0)),
    ),
    ops: trace.meta.ops,
  };
}

const DEAD = new Set(['aborted', 'lost']);

function isLast({ cuts }: Reader, { w, done }: Place): boolean {
  return cuts.isWhole && w.first + done >= cuts.steps;
}

/** A rank is what that of its threads does that is furthest from going on. */
function putRank(r: Reader, place: Place, rank: number, out: Snapshot): void {
  const { w, done } = place;
  const { firstLane } = r.trace.meta;
  let [begun, ended] = [false, true];
  for (let lane = firstLane[rank]!; lane < firstLane[rank + 1]!; lane++) {
    const call = lastCall(w, lane, done);
    begun ||= call >= 0 || r.cuts.firstStart[lane]! <= out.time;
    if (w.opens) continue; // all that was recorded is over
    if (isIn(w, call, done)) {
      ended = false;
      putCall(r, place, rank, call, out);
    } else {
      const next = call >= 0 ? call + 1 : w.problem.laneFirst[lane]!;
      if (r.cuts.lastEnd[lane]! > out.time || next < w.problem.laneFirst[lane + 1]!) ended = false;
    }
  }
  if (out.doing[rank]! > Doing.NotBegun) return;
  const until = r.trace.recordedUntil[rank]!;
  if (!begun && until === Infinity) return;
  const gone = ended && r.cuts.isWhole;
  const dies = DEAD.has(out.ends[rank] ?? '');
  const calls = r.trace.opens.get(rank) ?? [];
  const entered = isLast(r, place) ? calls : calls.filter((x) => x.from <= out.time);
  if (gone && entered.length > 0 && !r.died.has(rank)) return putOpen(r.trace, entered, rank, out);
  if (until <= out.time || (gone && until < Infinity)) return putUnrecorded(r, place, rank, entered[0], out);
  if (!begun) return;
  const goesOn = calls.length > 0 && !r.died.has(rank); // into its last call
  out.doing[rank] = !gone || goesOn ? Doing.Outside : dies ? Doing.Dead : Doing.Over;
  for (let lane = firstLane[rank]!; lane < firstLane[rank + 1]!; lane++) {
    const call = w.opens ? -1 : lastCall(w, lane, done);
    const since = call >= 0 ? w.problem.end[call]! : gone ? r.cuts.lastEnd[lane]! : 0;
    out.since[rank] = Math.max(out.since[rank]!, since);
  }
}

/** Single calls of it are missing. Who died by itself did so in the call that it never came back from, or nobody knows when. */
function putUnrecorded(r: Reader, place: Place, rank: number, entered: Open | undefined, out: Snapshot): void {
  const dies = r.died.has(rank) && (entered || isLast(r, place));
  out.doing[rank] = dies ? Doing.Dead : Doing.Unknown;
  out.since[rank] = dies ? (entered?.from ?? NaN) : out.time;
}

function putCall(r: Reader, place: Place, rank: number, call: number, out: Snapshot): void {
  const { w } = place;
  const needs = r.needsOf(place, call);
  const blocking = r.isBlocking(w, call);
  const waits = blocking && needs.some((x) => !x.there);
  const doing = waits ? Doing.Waits : blocking ? Doing.Blocking : Doing.NonBlocking;
  if (doing < out.doing[rank]!) return;
  const c = w.chunks[w.part[call]!]!;
  const s = r.cuts.signature(w, call);
  const of = c.signatures;
  out.doing[rank] = doing;
  out.op[rank] = of.op[s]!;
  out.class[rank] = of.class[s]!;
  out.comm[rank] = of.comm[s]!;
  out.site[rank] = of.callSite[s]!;
  out.peer[rank] = of.peer[s]!;
  out.bytes[rank] = bytesOf(c, w.event[call]!);
  out.since[rank] = w.problem.start[call]!;
  out.until[rank] = w.problem.end[call]!;
  out.needs[rank] = needs.slice(0, NEEDS_MAX);
  if (w.problem.group[call]! < 0) putArrows(r, place, rank, call, needs, blocking, out);
}

/** Along the data: from who sends to who receives; the head is at the rank whose call it is. */
function putArrows(
  r: Reader,
  { w }: Place,
  rank: number,
  call: number,
  needs: Need[],
  blocking: boolean,
  out: Snapshot,
): void {
  const op = r.opOf(w, call);
  const peer = r.peerOf(w, call);
  const receives = isReceive(op);
  const sources = new Set(w.needs.from(call).map((x) => x.rank));
  const there = new Map(needs.map((x) => [x.rank, x.there]));
  if (sources.size === 0 && receives && peer >= 0) sources.add(peer);
  for (const source of sources)
    out.arrows.push({ from: source, to: rank, at: rank, blocking, sent: there.get(source) ?? true });
  const targets = new Set<number>();
  if (!receives || /Sendrecv/.test(op)) {
    if (peer >= 0 && out.class[rank] === 1) targets.add(peer);
    for (const x of w.needs.to(call)) targets.add(x.rank);
  }
  for (const target of targets) out.arrows.push({ from: rank, to: target, at: rank, blocking, sent: true });
}

function putCollectives(r: Reader, { w, done }: Place, out: Snapshot): void {
  const seen = new Set<number>();
  for (let lane = 0; lane < r.trace.lanes; lane++) {
    const call = lastCall(w, lane, done);
    if (w.opens || !isIn(w, call, done)) continue;
    const g = w.problem.group[call]!;
    if (g < 0 || seen.has(g) || w.order.completed[g]! < done) continue;
    seen.add(g);
    const c = w.collectives[g]!;
    const came: number[] = [];
    for (const x of c.calls) if (w.order.entered[x]! < done) came.push(r.trace.rankOfLane(w.lane[x]!));
    const size = Math.max(r.membersOf(c.comm).length, c.calls.length + c.cameBefore);
    const missing = r.absent(w, g, done);
    const op = r.trace.meta.ops[c.op] ?? '';
    const gone = came.length + c.cameBefore;
    out.collectives.push({ comm: c.comm, k: c.k, op, root: c.root, size, came, gone, missing });
  }
}

function changeAt(r: Reader, w: Window, i: number): Change {
  const what = w.order.what[i]!;
  const kind = w.order.kind[i]!;
  if (kind === Step.Complete) {
    const c = w.collectives[what]!;
    return { kind: 'complete', rank: -1, op: r.trace.meta.ops[c.op] ?? '', comm: c.comm };
  }
  const rank = r.trace.rankOfLane(w.lane[what]!);
  const comm = w.chunks[w.part[what]!]!.signatures.comm[r.cuts.signature(w, what)]!;
  return { kind: kind === Step.Enter ? 'enter' : 'leave', rank, op: r.opOf(w, what), comm };
}

function snapshot(r: Reader, { place, found, halted }: Arrived): Snapshot {
  const { w, done } = place;
  const { trace, cuts } = r;
  const { ranks } = trace.meta;
  const begin = cuts.spans[w.at]!.entries[0]?.start ?? Math.max(0, w.problem.since);
  const out: Snapshot = {
    step: w.first + done,
    steps: cuts.steps,
    whole: cuts.isWhole,
    logical: cuts.logical,
    forced: cuts.forced,
    found,
    halted,
    time: done > 0 ? w.order.time[done - 1]! : begin,
    change: done > 0 ? changeAt(r, w, done - 1) : null,
    ...blank(trace),
  };
  for (let rank = 0; rank < ranks; rank++) putRank(r, place, rank, out);
  putCollectives(r, place, out);
  out.alive = aliveAt(r, out.time);
  return out;
}

/** Communicators that MPI gives, and those between the first and the last call on them. */
function aliveAt({ trace, cuts }: Reader, time: number): number[] {
  const rows = list(trace.analysis, 'communicators').map((x, i) => ({
    id: num(x, 'id') ?? i,
    made: str(x, 'created_by') !== '',
  }));
  const inUse = (id: number) => {
    const use = cuts.used.get(id);
    return use !== undefined && use[0] <= time && use[1] >= time;
  };
  return rows.filter((x) => !x.made || inUse(x.id)).map((x) => x.id);
}

// ---- to another state ----

/** Inside a closed container, where nobody else has part in it. */
function isHidden(r: Reader, w: Window, i: number, hidden: Int32Array): boolean {
  const what = w.order.what[i]!;
  if (w.order.kind[i] === Step.Complete) {
    const box = hidden[r.trace.rankOfLane(w.lane[w.collectives[what]!.calls[0]!]!)]!;
    return box > 0 && !reaches(r, w, what, box, hidden);
  }
  const box = hidden[r.trace.rankOfLane(w.lane[what]!)]!;
  if (box === 0) return false;
  const peer = r.peerOf(w, what);
  if (peer >= 0 && hidden[peer] !== box) return false;
  const outside = (x: { rank: number }) => hidden[x.rank] !== box;
  if (w.needs.from(what).some(outside) || w.needs.to(what).some(outside)) return false;
  const g = w.problem.group[what]!;
  return g < 0 || !reaches(r, w, g, box, hidden);
}

/** Whether a collective has members outside. */
function reaches(r: Reader, w: Window, g: number, box: number, hidden: Int32Array): boolean {
  const c = w.collectives[g]!;
  const outside = (rank: number) => rank >= 0 && hidden[rank] !== box;
  return r.membersOf(c.comm).some(outside) || c.calls.some((x) => outside(r.trace.rankOfLane(w.lane[x]!)));
}

type Test = (w: Window, i: number) => boolean;

function testFor(r: Reader, given: StatesQuery, now: number): Test | null {
  const { hidden } = given;
  if (given.stop === 'blocks')
    return (w, i) => {
      const call = w.order.what[i]!;
      const enters = w.order.kind[i] === Step.Enter && r.trace.rankOfLane(w.lane[call]!) === given.rank;
      return enters && r.waits({ w, done: i + 1 }, call);
    };
  if (given.stop === 'completes') return (w, i) => w.order.kind[i] === Step.Complete;
  if (given.stop === 'error') {
    const next = errorTimes(r.trace).find((time) => time > now);
    return next === undefined ? null : (w, i) => w.order.time[i]! >= next;
  }
  return (w, i) => !hidden || !isHidden(r, w, i, hidden);
}

class Walk {
  constructor(
    private readonly cuts: Cuts,
    private readonly signal: AbortSignal,
    private readonly said: () => void,
  ) {}

  async windowAt(at: number): Promise<Window> {
    await this.cuts.count(at, this.signal, this.said);
    return this.cuts.window(at);
  }

  private async breathe(i: number): Promise<void> {
    if (i % WINDOW_AT_ONCE !== 0) return;
    await new Promise((done) => setTimeout(done));
    this.signal.throwIfAborted();
  }

  /** Behind the next step that passes; null: there is none. */
  async forward(from: Place, test: Test): Promise<Place | null> {
    let { w, done } = from;
    for (;;) {
      for (let i = done; i < w.order.count; i++) {
        if (test(w, i)) return { w, done: i + 1 };
        await (i % WINDOW_AT_ONCE === 0 ? this.breathe(i) : undefined);
      }
      if (w.at + 1 >= this.cuts.spans.length) return null;
      w = await this.windowAt(w.at + 1);
      done = 0;
    }
  }

  /** Before the last step that passes; null: there is none. */
  async back(from: Place, test: Test): Promise<Place | null> {
    let { w, done } = from;
    for (;;) {
      for (let i = done - 1; i >= 0; i--) {
        if (test(w, i)) return { w, done: i };
        if (i % WINDOW_AT_ONCE === 0) await this.breathe(i);
      }
      if (w.at === 0) return null;
      w = await this.windowAt(w.at - 1);
      done = w.order.count;
    }
  }
}

function doneAt(w: Window, time: number): number {
  let low = 0;
  for (let high = w.order.count; low < high;) {
    const middle = (low + high) >> 1;
    if (w.order.time[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

async function begin(walk: Walk, cuts: Cuts, given: StatesQuery, signal: AbortSignal): Promise<Place> {
  if (given.step === undefined) {
    const time = given.time ?? 0;
    const w = await walk.windowAt(cuts.placeOf(time));
    const done = doneAt(w, time);
    const behind = done === w.order.count && cuts.isOpen(w.at + 1) ? await walk.windowAt(w.at + 1) : w;
    return doneAt(behind, time) > 0 ? { w: behind, done: doneAt(behind, time) } : { w, done };
  }
  while (!cuts.isWhole && cuts.steps < given.step) await cuts.count(cuts.counted, signal, () => undefined);
  const w = await walk.windowAt(cuts.placeOfStep(given.step));
  return { w, done: Math.min(w.order.count, Math.max(0, given.step - w.first)) };
}

interface Arrived {
  place: Place;
  found: boolean;
  halted: boolean;
}

async function moved(walk: Walk, r: Reader, from: Place, given: StatesQuery): Promise<Arrived> {
  const now = from.done > 0 ? from.w.order.time[from.done - 1]! : -Infinity;
  const test = testFor(r, given, now);
  const halts = given.halt === '' ? null : testFor(r, { ...given, stop: given.halt }, now);
  let place = from;
  if (!test) return { place, found: false, halted: false };
  for (let n = 0; n < Math.abs(given.by); n++) {
    const next = given.by > 0 ? await walk.forward(place, test) : await walk.back(place, test);
    if (!next) {
      const end = given.by > 0 ? r.cuts.spans.length - 1 : 0;
      const w = await walk.windowAt(end);
      const atEnd = { w, done: given.by > 0 ? w.order.count : 0 };
      // calls that nobody comes back from begin behind all steps, and so does what is wrong with them
      const ends = given.stop === 'error' && given.by > 0;
      const found = n > 0 || (ends && w.first + atEnd.done > place.w.first + place.done);
      return { place: given.stop === '' || ends ? atEnd : place, found, halted: false };
    }
    place = next;
    if (halts?.(place.w, place.done - 1)) return { place, found: true, halted: true };
  }
  return { place, found: true, halted: false };
}

/** Count the steps of the whole trace, saying how far that is. */
export async function countStates(
  trace: Trace,
  _: null,
  signal: AbortSignal,
  say: (part: { steps: number; whole: boolean; share: number }) => void,
): Promise<{ steps: number; whole: boolean; share: number }> {
  const cuts = cutsOf(trace);
  const now = () => ({ steps: cuts.steps, whole: cuts.isWhole, share: cuts.counted / Math.max(1, cuts.spans.length) });
  await cuts.count(cuts.spans.length, signal, () => say(now()));
  return now();
}

export async function statesOf(trace: Trace, given: StatesQuery, signal: AbortSignal): Promise<Snapshot> {
  const cuts = cutsOf(trace);
  if (cuts.spans.length === 0) throw new Error('This trace holds no single calls, so there are no states of them.');
  const r = new Reader(trace, cuts);
  const walk = new Walk(cuts, signal, () => undefined);
  const from = await begin(walk, cuts, given, signal);
  return snapshot(r, given.by === 0 ? { place: from, found: true, halted: false } : await moved(walk, r, from, given));
}
