// super_epochs.ts - how many messages of an epoch are in flight at once, which is the buffers that it needs, and consecutive epochs merged
// while they need no more than a budget together: postproc/protocol/epochs_need.c and epochs_super.c for the epochs of a section. Pure.
import type { Section } from './section';

/** The most at once, from the begin of sends to the ends of receives. */
export interface Need {
  rank: number; // -1: all receivers together
  messages: number;
  bytes: number;
  largest: number; // bytes of the largest message
}

export interface EpochNeed {
  total: Need;
  receivers: Need[]; // ascending rank
  whole: boolean; // false: parts of it are outside of the section, so it may need more
}

/** From ns on so many messages are in flight. */
interface Turn {
  ns: number;
  level: number;
}

/** Epochs first to last, in numbers of the section. */
export interface SuperRun {
  first: number;
  last: number;
  need: number; // buffers, of all of it
}

export interface SuperEpochs {
  runs: SuperRun[];
  over: number; // that are one epoch which alone needs more
}

interface Flight {
  from: number;
  to: number;
  dst: number;
  bytes: number;
}

/** Messages by epoch. */
function flightsOf(s: Section): Flight[][] {
  const { messages: m, events } = s;
  const found: Flight[][] = s.epochs.map(() => []);
  for (let k = 0; k < m.count; k++) {
    const epoch = events.epoch[m.send[k]! >= 0 ? m.send[k]! : m.receive[k]!]!;
    if (epoch < 0) continue;
    const to = Math.max(m.recvEnd[k]!, m.sendStart[k]! + 1);
    found[epoch]!.push({ from: m.sendStart[k]!, to, dst: m.dst[k]!, bytes: m.bytes[k]! });
  }
  return found;
}

/** Begins and ends in order of time; what ends comes first: a buffer may be used again at once. */
function ends(flights: readonly Flight[]): { ns: number; by: 1 | -1; flight: Flight }[] {
  const list = flights.flatMap((flight) => [
    { ns: flight.from, by: 1 as const, flight },
    { ns: flight.to, by: -1 as const, flight },
  ]);
  return list.sort((a, b) => a.ns - b.ns || a.by - b.by);
}

class Count {
  private messages = 0;
  private bytes = 0;
  readonly most: Need;

  constructor(rank: number) {
    this.most = { rank, messages: 0, bytes: 0, largest: 0 };
  }

  turn(by: 1 | -1, bytes: number): void {
    this.messages += by;
    this.bytes += by * bytes;
    const { most } = this;
    most.messages = Math.max(most.messages, this.messages);
    most.bytes = Math.max(most.bytes, this.bytes);
    most.largest = Math.max(most.largest, bytes);
  }
}

export function needsOf(s: Section): EpochNeed[] {
  return flightsOf(s).map((flights, epoch) => {
    const total = new Count(-1);
    const receivers = new Map<number, Count>();
    for (const { by, flight } of ends(flights)) {
      const own = receivers.get(flight.dst) ?? new Count(flight.dst);
      receivers.set(flight.dst, own);
      own.turn(by, flight.bytes);
      total.turn(by, flight.bytes);
    }
    const { begins, ends: over, number } = s.epochs[epoch]!;
    return {
      total: total.most,
      receivers: [...receivers.values()].map((x) => x.most).sort((a, b) => a.rank - b.rank),
      whole: begins && over && number > 0,
    };
  });
}

function curve(flights: readonly Flight[]): Turn[] {
  const turns: Turn[] = [];
  let level = 0;
  const list = ends(flights);
  list.forEach(({ ns, by }, i) => {
    level += by;
    if (list[i + 1]?.ns !== ns) turns.push({ ns, level });
  });
  return turns;
}

/** The sum of two curves, of the first one from turn `from` on, and its largest level. */
function sum(a: readonly Turn[], from: number, b: readonly Turn[]): { turns: Turn[]; most: number } {
  const turns: Turn[] = [];
  let [i, k, most] = [from, 0, 0];
  let [x, y] = [from > 0 ? a[from - 1]!.level : 0, 0];
  while (i < a.length || k < b.length) {
    const ns = Math.min(a[i]?.ns ?? Infinity, b[k]?.ns ?? Infinity);
    if (a[i]?.ns === ns) x = a[i++]!.level;
    if (b[k]?.ns === ns) y = b[k++]!.level;
    turns.push({ ns, level: x + y });
    most = Math.max(most, x + y);
  }
  return { turns, most };
}

function firstNotBefore(turns: readonly Turn[], ns: number): number {
  let [low, high] = [0, turns.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (turns[middle]!.ns < ns) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Greedily: an epoch joins the run before it while all of them need at most `budget` buffers at once. */
export function mergeEpochs(s: Section, needs: readonly EpochNeed[], budget: number): SuperEpochs {
  const runs: SuperRun[] = [];
  let turns: Turn[] = [];
  let over = 0;
  flightsOf(s).forEach((flights, epoch) => {
    const fresh = curve(flights);
    const own = needs[epoch]!.total.messages;
    const run = runs[runs.length - 1];
    const from = fresh.length > 0 ? firstNotBefore(turns, fresh[0]!.ns) : turns.length;
    const both = run && run.need <= budget && own <= budget ? sum(turns, from, fresh) : null;
    if (!run || !both || both.most > budget) {
      over += Number(own > budget);
      runs.push({ first: epoch, last: epoch, need: own });
      turns = fresh;
      return;
    }
    run.last = epoch;
    run.need = Math.max(run.need, both.most);
    turns.length = from;
    for (const t of both.turns) turns.push(t);
  });
  return { runs, over };
}

/** The receiver that needs most at once, and in which epoch. */
export function deepest(needs: readonly EpochNeed[]): { epoch: number; need: Need; total: Need } | null {
  let best: { epoch: number; need: Need; total: Need } | null = null;
  needs.forEach(({ receivers, total }, epoch) => {
    for (const need of receivers) if (need.messages > (best?.need.messages ?? 0)) best = { epoch, need, total };
  });
  return best;
}
