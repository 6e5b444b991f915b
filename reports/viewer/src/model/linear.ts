// linear.ts - the changes of state of all lanes in one order that nothing contradicts: a lane enters and leaves calls in its order, a call
// that takes messages is left when these were sent, a collective when those came whom it waits for. Among what is possible the earliest goes
// first, so where times contradict nothing the order is that of time. In: the calls of one window, by states.ts.  Out: steps. Pure.

export const enum Step {
  Enter = 0, // of a call
  Leave = 1,
  Complete = 2, // of a collective: all have come
}

export const NEVER = 0x7fffffff; // in place of a step: not in this window
export const BEFORE = -1; // it was in an earlier window
export const LATER = -1; // in place of a call: it is in a later window

/** Calls of all lanes: those of a lane in a row and in its order. */
export interface Problem {
  laneFirst: Uint32Array; // by lane its first call, and at the end their number
  start: Float64Array; // ns
  end: Float64Array;
  entered: Uint8Array; // 1: in an earlier window
  since: number; // ns: what was to happen before, in an earlier window, waits no longer than this one
  until: number; // ns: calls that end later are left in a later window
  needFirst: Uint32Array; // by call, and at the end their number
  need: Int32Array; // calls to be entered before this is left; or LATER
  group: Int32Array; // collective that it is a part of, or -1
  waits: Uint8Array; // 1: it is left after the last of its collective was entered
  groupCount: number;
  parts: Uint32Array; // by collective: parts to come in this window and, if known, later
  size: Uint32Array; // by collective: parts to come in this window if that completes it, else 0
}

export interface Order {
  count: number;
  kind: Uint8Array; // Step
  what: Uint32Array; // call; of Complete the collective
  time: Float64Array; // ns, never less than before
  entered: Int32Array; // by call: step
  left: Int32Array;
  completed: Int32Array; // by collective: step
  logical: number; // steps that stand behind what their time says
  forced: number; // steps taken though what they wait for did not come: the trace contradicts itself, or is not whole
  leftOver: number[]; // calls that were to be entered or left and could not be
}

/** Lanes by when they can go on. */
class Heap {
  private readonly lanes: Uint32Array;
  private count = 0;

  constructor(
    size: number,
    private readonly time: Float64Array,
    private readonly phase: Uint8Array,
  ) {
    this.lanes = new Uint32Array(size);
  }

  /** Of two at the same time a call is entered before another is left. */
  private before(a: number, b: number): boolean {
    const d = this.time[a]! - this.time[b]!;
    if (d !== 0) return d < 0;
    const p = this.phase[a]! - this.phase[b]!;
    return p !== 0 ? p < 0 : a < b;
  }

  push(lane: number): void {
    let at = this.count++;
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (!this.before(lane, this.lanes[up]!)) break;
      this.lanes[at] = this.lanes[up]!;
      at = up;
    }
    this.lanes[at] = lane;
  }

  pop(): number {
    if (this.count === 0) return -1;
    const top = this.lanes[0]!;
    const last = this.lanes[--this.count]!;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.count) break;
      if (child + 1 < this.count && this.before(this.lanes[child + 1]!, this.lanes[child]!)) child++;
      if (!this.before(this.lanes[child]!, last)) break;
      this.lanes[at] = this.lanes[child]!;
      at = child;
    }
    this.lanes[at] = last;
    return top;
  }
}

class Merge {
  readonly order: Order;
  private readonly at: Uint32Array; // by lane: its next call
  private readonly phase: Uint8Array; // 0: to be entered, 1: to be left
  private readonly time: Float64Array;
  private readonly heap: Heap;
  private readonly came: Uint32Array; // by collective: parts entered here
  private readonly waiting = new Map<number, number[]>(); // lanes by the call that they wait for; by -1 - collective
  private now = -Infinity;

  constructor(private readonly p: Problem) {
    const lanes = p.laneFirst.length - 1;
    const calls = p.start.length;
    const most = 2 * calls + p.groupCount;
    this.at = p.laneFirst.slice(0, lanes);
    this.phase = new Uint8Array(lanes);
    this.time = new Float64Array(lanes);
    this.heap = new Heap(lanes, this.time, this.phase);
    this.came = new Uint32Array(p.groupCount);
    this.order = {
      count: 0,
      kind: new Uint8Array(most),
      what: new Uint32Array(most),
      time: new Float64Array(most),
      entered: new Int32Array(calls).fill(NEVER),
      left: new Int32Array(calls).fill(NEVER),
      completed: new Int32Array(p.groupCount).fill(NEVER),
      logical: 0,
      forced: 0,
      leftOver: [],
    };
    p.entered.forEach((entered, call) => entered === 1 && (this.order.entered[call] = BEFORE));
  }

  run(): Order {
    for (let lane = 0; lane < this.at.length; lane++) this.offer(lane);
    do for (let lane = this.heap.pop(); lane >= 0; lane = this.heap.pop()) this.go(lane);
    while (this.force());
    this.at.forEach((call, lane) => this.leaveOver(call, this.p.laneFirst[lane + 1]!));
    return this.order;
  }

  /** The lane's next change, if that is in this window. */
  private offer(lane: number): void {
    const call = this.at[lane]!;
    if (call === this.p.laneFirst[lane + 1]!) return;
    const leaves = this.order.entered[call] !== NEVER;
    const when = leaves ? this.p.end[call]! : this.p.start[call]!;
    if (leaves && when > this.p.until) return;
    this.phase[lane] = leaves ? 1 : 0;
    this.time[lane] = when;
    this.heap.push(lane);
  }

  /** What a call that is to be left waits for yet, as a key of waiting; undefined: nothing. */
  private obstacle(call: number): number | undefined {
    const { needFirst, need, waits, group, parts } = this.p;
    for (let k = needFirst[call]!; k < needFirst[call + 1]!; k++) {
      const other = need[k]!;
      if (other === LATER) return NEVER;
      if (this.order.entered[other] === NEVER) return other;
    }
    const g = group[call]!;
    return waits[call] === 1 && this.came[g]! < parts[g]! ? -1 - g : undefined;
  }

  private go(lane: number): void {
    const call = this.at[lane]!;
    if (this.phase[lane] === 0) {
      this.put(Step.Enter, call, this.time[lane]!);
      this.come(call);
      this.wake(call);
    } else {
      const key = this.obstacle(call);
      if (key !== undefined) return this.park(lane, key);
      this.put(Step.Leave, call, this.time[lane]!);
      this.at[lane]!++;
    }
    this.offer(lane);
  }

  private put(kind: Step, what: number, time: number): void {
    const { order } = this;
    if (time < this.now) order.logical++;
    else this.now = time;
    if (kind === Step.Enter) order.entered[what] = order.count;
    else if (kind === Step.Leave) order.left[what] = order.count;
    else order.completed[what] = order.count;
    order.kind[order.count] = kind;
    order.what[order.count] = what;
    order.time[order.count++] = this.now;
  }

  private come(call: number): void {
    const g = this.p.group[call]!;
    if (g < 0) return;
    this.came[g]!++;
    if (this.came[g] === this.p.size[g]) this.put(Step.Complete, g, this.now);
    if (this.came[g] === this.p.parts[g]) this.wake(-1 - g);
  }

  /** The earliest of those that wait for what does not come. */
  private force(): boolean {
    let first = -1;
    for (const list of this.waiting.values())
      for (const lane of list) {
        const overdue = this.p.until === Infinity || this.time[lane]! < this.p.since;
        if (overdue && (first < 0 || this.time[lane]! < this.time[first]!)) first = lane;
      }
    if (first < 0) return false;
    for (const [key, list] of this.waiting) {
      const rest = list.filter((lane) => lane !== first);
      if (rest.length > 0) this.waiting.set(key, rest);
      else this.waiting.delete(key);
    }
    this.order.forced++;
    this.put(Step.Leave, this.at[first]!++, this.time[first]!);
    this.offer(first);
    return true;
  }

  private park(lane: number, key: number): void {
    const list = this.waiting.get(key);
    if (list) list.push(lane);
    else this.waiting.set(key, [lane]);
  }

  private wake(key: number): void {
    const list = this.waiting.get(key);
    if (!list) return;
    this.waiting.delete(key);
    for (const lane of list) this.heap.push(lane);
  }

  /** Of one lane's calls those whose time has come and that wait. */
  private leaveOver(from: number, to: number): void {
    for (let call = from; call < to; call++) {
      const entered = this.order.entered[call] !== NEVER;
      if (!entered || this.p.end[call]! <= this.p.until) this.order.leftOver.push(call);
    }
  }
}

export function linearise(problem: Problem): Order {
  return new Merge(problem).run();
}
