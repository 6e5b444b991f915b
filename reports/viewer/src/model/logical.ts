// logical.ts - logical steps of calls, and how late they end there, as postproc/stream/sweep.c and lateness.c define them (docs/SEMANTICS.md,
// Logical time). In: the calls of an interval and what each had to wait for, by work/logical.ts.  Out: a step and a lateness a call. Pure.

import type { Filter } from './filter';

/** Calls whose steps are worked out at once: they lie in memory, and so many take one to three seconds. */
export const LOGICAL_CALLS_MAX = 1 << 19;

export const UNKNOWN = -1; // in place of a lateness: nobody to compare with

/** What a call does in the collective that it is a part of. */
export const enum Part {
  None = 0, // it is in none, or waits for nobody there
  All = 1, // it is left after the last has come
  Root = 2, // it is the root that others wait for, and waits for nobody
  AfterRoot = 3,
}

/** Calls by lane, those of a lane in its order. */
export interface Happened {
  laneFirst: Uint32Array; // by lane its first call, and at the end their number
  end: Float64Array; // ns
  site: Int32Array; // call sites; -1: not known
  counts: Uint8Array; // 0: it is no step (a test in vain); 1: a step; 2: a step whose lateness counts
  needFirst: Uint32Array; // by call, and at the end their number
  need: Uint32Array; // calls that were entered before it was left
  more: Uint8Array; // by need: its step is so much higher than theirs
  group: Int32Array; // collective, or -1
  part: Uint8Array; // Part
  groupSize: Uint32Array; // by collective: calls of it that are here
}

export interface Steps {
  step: Uint32Array; // by call, from 1
  steps: number; // the highest
  leftOut: number; // needs that were not heeded: they wait for each other
}

/** The parked lane whose call ends first. */
class Earliest {
  private readonly size: number;
  private readonly lane: Int32Array; // a tree: of two the one that ends first; -1: none

  constructor(
    lanes: number,
    private readonly end: Float64Array, // by lane
  ) {
    this.size = 2 ** Math.ceil(Math.log2(Math.max(2, lanes)));
    this.lane = new Int32Array(2 * this.size).fill(-1);
  }

  put(lane: number, isParked: boolean): void {
    let at = this.size + lane;
    this.lane[at] = isParked ? lane : -1;
    for (at >>= 1; at > 0; at >>= 1) {
      const [a, b] = [this.lane[2 * at]!, this.lane[2 * at + 1]!];
      this.lane[at] = b < 0 || (a >= 0 && this.end[a]! <= this.end[b]!) ? a : b;
    }
  }

  get first(): number {
    return this.lane[1]!;
  }
}

/** Lanes that wait for the same, as lists linked both ways: a lane that gives up leaves its own. */
class Queues {
  private readonly head: Int32Array; // by thing: lane + 1
  private readonly next: Int32Array; // by lane: lane + 1
  private readonly before: Int32Array; // by lane: lane + 1
  private readonly thing: Int32Array; // by lane

  constructor(things: number, lanes: number) {
    this.head = new Int32Array(things);
    [this.next, this.before, this.thing] = [new Int32Array(lanes), new Int32Array(lanes), new Int32Array(lanes)];
  }

  first(thing: number): number {
    return this.head[thing]! - 1;
  }

  add(thing: number, lane: number): void {
    const other = this.head[thing]!;
    if (other > 0) this.before[other - 1] = lane + 1;
    this.next[lane] = other;
    this.before[lane] = 0;
    this.thing[lane] = thing;
    this.head[thing] = lane + 1;
  }

  remove(lane: number): void {
    const [next, before] = [this.next[lane]!, this.before[lane]!];
    if (next > 0) this.before[next - 1] = before;
    if (before > 0) this.next[before - 1] = next;
    else this.head[this.thing[lane]!] = next;
  }
}

/** Each lane goes on until it needs a call that nobody has entered yet, and on when that is. */
class Walk {
  readonly result: Steps;
  private readonly at: Uint32Array; // by lane: its call
  private readonly now: Uint32Array; // by lane: step
  private readonly needAt: Uint32Array; // by lane: the next need of its call
  private readonly begun: Uint8Array; // by lane: its call is entered
  private readonly givenUp: Uint8Array; // by lane: what its call needs next is not waited for
  private readonly parkedEnd: Float64Array;
  private readonly entered: Uint32Array; // by call: 1 more than the step with which it began; 0: it has not
  private readonly came: Uint32Array; // by collective
  private readonly most: Uint32Array; // by collective: the highest step of who came
  private readonly rootStep: Uint32Array; // by collective: 1 more than that of its root; 0: that has not come
  private readonly ready: number[] = [];
  private readonly earliest: Earliest;
  private readonly queues: Queues; // of calls, then of collectives

  constructor(private readonly p: Happened) {
    const lanes = p.laneFirst.length - 1;
    const calls = p.end.length;
    const groups = p.groupSize.length;
    const byLane = () => new Uint32Array(lanes);
    this.at = p.laneFirst.slice(0, lanes);
    [this.now, this.needAt] = [byLane(), byLane()];
    [this.begun, this.givenUp] = [new Uint8Array(lanes), new Uint8Array(lanes)];
    this.parkedEnd = new Float64Array(lanes);
    this.entered = new Uint32Array(calls);
    [this.came, this.most, this.rootStep] = [new Uint32Array(groups), new Uint32Array(groups), new Uint32Array(groups)];
    this.earliest = new Earliest(lanes, this.parkedEnd);
    this.queues = new Queues(calls + groups, lanes);
    this.result = { step: new Uint32Array(calls), steps: 0, leftOut: 0 };
  }

  run(): Steps {
    for (let lane = this.at.length - 1; lane >= 0; lane--) this.ready.push(lane);
    for (;;) {
      for (let lane = this.ready.pop(); lane !== undefined; lane = this.ready.pop()) this.go(lane);
      const stuck = this.earliest.first; // the others wait for it, or it for them
      if (stuck < 0) return this.result;
      this.result.leftOut++;
      this.givenUp[stuck] = 1;
      this.wake(stuck);
    }
  }

  private wake(lane: number): void {
    this.queues.remove(lane);
    this.earliest.put(lane, false);
    this.ready.push(lane);
  }

  private wakeAll(thing: number): void {
    for (let lane = this.queues.first(thing); lane >= 0; lane = this.queues.first(thing)) this.wake(lane);
  }

  private park(lane: number, thing: number): void {
    this.parkedEnd[lane] = this.p.end[this.at[lane]!]!;
    this.earliest.put(lane, true);
    this.queues.add(thing, lane);
  }

  private go(lane: number): void {
    const { p, result } = this;
    const end = p.laneFirst[lane + 1]!;
    for (let call = this.at[lane]!; call < end; call = ++this.at[lane]!) {
      if (this.begun[lane] === 0) this.enter(lane, call);
      if (!this.hasNeeds(lane, call)) return;
      const step = this.now[lane]!;
      result.step[call] = step;
      if (step > result.steps) result.steps = step;
      this.begun[lane] = 0;
    }
  }

  private enter(lane: number, call: number): void {
    const { p } = this;
    if (p.counts[call] !== 0) this.now[lane]!++;
    const step = this.now[lane]!;
    this.begun[lane] = 1;
    this.needAt[lane] = p.needFirst[call]!;
    this.entered[call] = step + 1;
    this.wakeAll(call);
    const g = p.group[call]!;
    if (g < 0) return;
    this.came[g]!++;
    this.most[g] = Math.max(this.most[g]!, step);
    if (p.part[call] === Part.Root) this.rootStep[g] = step + 1;
    if (p.part[call] === Part.Root || this.came[g] === p.groupSize[g]) this.wakeAll(p.end.length + g);
  }

  private raise(lane: number, step: number): void {
    if (step > this.now[lane]!) this.now[lane] = step;
  }

  /** Whether the call has all that it needs; else its lane waits. */
  private hasNeeds(lane: number, call: number): boolean {
    const { p, givenUp } = this;
    for (; this.needAt[lane]! < p.needFirst[call + 1]!; this.needAt[lane]!++) {
      const k = this.needAt[lane]!;
      const other = p.need[k]!;
      const known = this.entered[other]!;
      if (known > 0) this.raise(lane, known - 1 + p.more[k]!);
      else if (givenUp[lane] === 0) {
        this.park(lane, other);
        return false;
      }
      givenUp[lane] = 0;
    }
    return this.hasMet(lane, call);
  }

  private hasMet(lane: number, call: number): boolean {
    const { p, givenUp } = this;
    const g = p.group[call]!;
    if (g < 0 || p.part[call] === Part.None || p.part[call] === Part.Root) return true;
    const isAll = this.came[g] === p.groupSize[g];
    const isThere = isAll || (p.part[call] === Part.AfterRoot && this.rootStep[g] !== 0);
    if (!isThere && givenUp[lane] === 0) {
      this.park(lane, p.end.length + g);
      return false;
    }
    givenUp[lane] = 0;
    this.raise(lane, p.part[call] === Part.All ? this.most[g]! : this.rootStep[g]! - 1);
    return true;
  }
}

export function stepsOf(happened: Happened): Steps {
  return new Walk(happened).run();
}

/** By call: how much later it ends than the earliest of its call site at its step, ns; UNKNOWN. */
export function latenessOf(p: Happened, { step }: Steps): Float64Array {
  const late = new Float64Array(step.length).fill(UNKNOWN);
  const sites = p.site.reduce((most, site) => Math.max(most, site), 0) + 1;
  const counts = (call: number) => p.counts[call] === 2 && p.site[call]! >= 0;
  const groups = new Map<number, { first: number; calls: number }>();
  for (let call = 0; call < step.length; call++) {
    if (!counts(call)) continue;
    const key = step[call]! * sites + p.site[call]!;
    const g = groups.get(key);
    if (!g) groups.set(key, { first: p.end[call]!, calls: 1 });
    else {
      g.first = Math.min(g.first, p.end[call]!);
      g.calls++;
    }
  }
  for (let call = 0; call < step.length; call++) {
    const g = counts(call) ? groups.get(step[call]! * sites + p.site[call]!) : undefined;
    if (g && g.calls > 1) late[call] = p.end[call]! - g.first;
  }
  return late;
}

/** As `analysis.callsites[].lateness` has it. */
export interface LateSite {
  site: number;
  calls: number; // that could be compared
  totalNs: number;
  maxNs: number;
  maxCall: number; // of maxNs
}

/** By call site, the latest in all first. */
export function lateSites(site: Int32Array, late: Float64Array): LateSite[] {
  const sites = new Map<number, LateSite>();
  for (let call = 0; call < late.length; call++) {
    const ns = late[call]!;
    if (ns === UNKNOWN) continue;
    const x = sites.get(site[call]!) ?? { site: site[call]!, calls: 0, totalNs: 0, maxNs: 0, maxCall: call };
    x.calls++;
    x.totalNs += ns;
    if (ns > x.maxNs) [x.maxNs, x.maxCall] = [ns, call];
    sites.set(x.site, x);
  }
  return [...sites.values()].sort((a, b) => b.totalNs - a.totalNs);
}

// ---- of an interval ----

export interface LogicalQuery {
  from: number; // ns
  to: number;
  filter: Filter;
}

/** Calls of the interval by lane, those of a lane by step. Tests in vain have no step of their own and are not here. */
export interface Logical {
  from: number;
  to: number;
  tooMany: number; // calls of the interval, nearly, where that are more than LOGICAL_CALLS_MAX: nothing else is known; 0
  laneFirst: Uint32Array; // by lane its first call, and at the end their number
  step: Uint32Array; // from 1, at the beginning of the interval
  late: Float64Array; // ns; UNKNOWN
  start: Float64Array; // ns
  end: Float64Array;
  op: Uint16Array;
  site: Int32Array;
  window: Uint32Array; // with lane and index the name of a call
  index: Uint32Array;
  hidden: Uint8Array; // 1: by the filter
  messageFrom: Uint32Array; // calls: began to send; received
  messageTo: Uint32Array;
  steps: number;
  most: number; // the largest lateness, ns
  sites: LateSite[];
  leftOut: number; // needs that contradict each other
  outside: number; // messages and waits of which the other call is not in the interval
}

/** Where a call of a lane is, or would be. */
export function lowerBound(l: Logical, lane: number, window: number, index: number): number {
  let [low, high] = [l.laneFirst[lane] ?? 0, l.laneFirst[lane + 1] ?? 0];
  while (low < high) {
    const middle = (low + high) >> 1;
    const w = l.window[middle]!;
    if (w < window || (w === window && l.index[middle]! < index)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A call's place among those of its lane; -1: it is not there. */
export function placeOf(l: Logical, lane: number, window: number, index: number): number {
  const at = lowerBound(l, lane, window, index);
  return at < (l.laneFirst[lane + 1] ?? 0) && l.window[at] === window && l.index[at] === index ? at : -1;
}
