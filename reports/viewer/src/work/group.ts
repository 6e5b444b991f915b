// group.ts - what several ranks did of which one row, or less, is shown: their mean, and who differs most from it. Of what a picture has
// read; what summary tiles hold for many ranks at once is told of the whole run instead.
import { Kind } from '../decode/layout';
import type { Entry } from '../decode/layout';
import type { EventChunk } from '../decode/records';
import { PLANES } from '../decode/tiles';
import type { SummaryTile } from '../decode/tiles';
import { CLASSES } from '../layout/color';
import { duration, percent } from '../layout/format';
import type { TilePlan } from '../layout/plan';
import { list, num } from '../model/analysis';
import { peekSpans } from '../model/spans';
import type { Trace } from '../model/trace';

type Row = [string, string];

/** Shares of the time of each rank: by class, and of waiting where that is known. */
export interface Members {
  ranks: number[];
  inMpi: Float64Array;
  waiting: Float64Array | null;
  classes: Float64Array; // of all together
}

function noMembers(ranks: number[], knowsWaiting: boolean): Members {
  const n = ranks.length;
  const waiting = knowsWaiting ? new Float64Array(n) : null;
  return { ranks, inMpi: new Float64Array(n), waiting, classes: new Float64Array(PLANES + 1) };
}

const overlap = (from: number, to: number, a: number, b: number) => Math.max(0, Math.min(to, b) - Math.max(from, a));

/** From single calls and wait states between two moments. */
export function membersOfCalls(trace: Trace, ranks: number[], entries: Entry[], from: number, to: number): Members {
  const m = noMembers(ranks, trace.version > 1);
  const place = new Map(ranks.map((rank, k) => [rank, k]));
  const { firstLane } = trace.meta;
  const whole = (rank: number) => (to - from) * Math.max(1, firstLane[rank + 1]! - firstLane[rank]!);
  for (const e of entries) {
    const c = trace.chunks.peek<EventChunk>(e);
    for (const segment of c?.segments ?? []) {
      const k = place.get(segment.rank);
      if (!c || k === undefined) continue;
      for (let i = segment.first; i < segment.first + segment.count; i++) {
        const share = overlap(from, to, c.start[i]!, c.start[i]! + c.duration[i]!) / whole(segment.rank);
        m.inMpi[k]! += share;
        m.classes[c.signatures.class[c.signature[i]!]!]! += share / ranks.length;
      }
    }
  }
  if (m.waiting) addWaiting(trace, m.waiting, place, from, to, whole);
  addOpens(trace, m, from, to, whole);
  return m;
}

/** Calls that nobody came back from. */
function addOpens(trace: Trace, m: Members, from: number, to: number, whole: (rank: number) => number): void {
  m.ranks.forEach((rank, k) => {
    for (const open of trace.opens.get(rank) ?? []) {
      const share = overlap(from, to, open.from, open.to) / whole(rank);
      m.inMpi[k]! += share;
      m.classes[open.class]! += share / m.ranks.length;
      if (m.waiting && open.waits) m.waiting[k]! += share;
    }
  });
}

function addWaiting(
  trace: Trace,
  waiting: Float64Array,
  place: Map<number, number>,
  from: number,
  to: number,
  whole: (rank: number) => number,
): void {
  for (const e of trace.kind(Kind.Waits)) {
    if (e.start > to || e.end < from) continue;
    const spans = peekSpans(trace, e);
    for (let i = 0; spans && i < spans.count; i++) {
      const rank = trace.rankOfLane(spans.lane[i]!);
      const k = place.get(rank);
      if (k !== undefined) waiting[k]! += overlap(from, to, spans.from[i]!, spans.to[i]!) / whole(rank);
    }
  }
}

/** From tiles that have a row for each rank, between two moments. */
export function membersOfTiles(trace: Trace, ranks: number[], plan: TilePlan, from: number, to: number): Members {
  const { meta } = trace;
  const m = noMembers(ranks, false);
  const width = meta.runtime / 2 ** plan.level;
  const bin = width / meta.bins;
  ranks.forEach((rank, k) => {
    for (const e of plan.entries) {
      const tile = e.group === Math.floor(rank / meta.rows) ? trace.chunks.peek<SummaryTile>(e) : undefined;
      const row = rank % meta.rows;
      if (!tile || row >= tile.rows) continue;
      const begin = e.seq * width;
      const first = Math.max(0, Math.floor((from - begin) / bin));
      const last = Math.min(meta.bins - 1, Math.floor((to - begin) / bin));
      for (let c = 1; c <= PLANES; c++)
        for (let b = first; b <= last; b++) {
          const inside = overlap(from, to, begin + b * bin, begin + (b + 1) * bin) / (to - from);
          const share = (inside * tile.share[((c - 1) * tile.rows + row) * meta.bins + b]!) / 255;
          m.inMpi[k]! += share;
          m.classes[c]! += share / ranks.length;
        }
    }
  });
  return m;
}

function largest(values: Float64Array): number {
  return values.reduce((best, v, k) => (v > values[best]! ? k : best), 0);
}

/** Who waits most or, where that is not known or nobody does, who is most in MPI: its place among the ranks. */
export function worstOf(m: Members): number {
  const k = m.waiting ? largest(m.waiting) : 0;
  return m.waiting && m.waiting[k]! > 0 ? k : largest(m.inMpi);
}

/** For people: the mean by class, then who differs most. */
export function describeMembers(m: Members): Row[] {
  const rows: Row[] = [];
  const mean = (values: Float64Array) => values.reduce((sum, v) => sum + v, 0) / Math.max(1, values.length);
  for (let c = 1; c <= PLANES; c++)
    if (m.classes[c]! > 0.0005) rows.push([`mean, ${CLASSES[c]!.name}`, percent(m.classes[c]!)]);
  rows.push(['mean, outside MPI', percent(Math.max(0, 1 - mean(m.inMpi)))]);
  const who = (name: string, values: Float64Array, k: number) =>
    rows.push([name, `rank ${m.ranks[k]}, ${percent(Math.min(1, values[k]!))}`]);
  const useful = m.inMpi.map((v) => Math.max(0, 1 - v));
  who('most outside MPI', useful, largest(useful));
  who('least outside MPI', useful, largest(m.inMpi));
  if (m.waiting) {
    rows.push(['mean, waiting', percent(mean(m.waiting))]);
    who('waits most', m.waiting, largest(m.waiting));
  }
  return rows;
}

/** Of ranks that tiles hold as one row: the extremes of the whole run, by the analysis. */
export function wholeRun(trace: Trace, first: number, last: number): Row[] {
  const rows: Row[] = [];
  const most = (name: string, key: string) => {
    let best = { rank: -1, value: 0 };
    for (const x of list(trace.analysis, 'per_rank')) {
      const [rank, value] = [num(x, 'rank') ?? -1, num(x, key) ?? 0];
      if (rank >= first && rank <= last && value > best.value) best = { rank, value };
    }
    if (best.rank >= 0) rows.push([`${name}, whole run`, `rank ${best.rank}, ${duration(best.value * 1e9)}`]);
  };
  most('waits most', 'wait_s');
  most('most outside MPI', 'useful_s');
  return rows;
}
