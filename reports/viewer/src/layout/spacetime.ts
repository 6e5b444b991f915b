// spacetime.ts - where events of the space-time view are: levels of a logical clock, in which a dense burst and a pause take the same room, and
// what filters leave of them. An epoch has levels of its own on all its ranks, so that it is a band; epochs that do not depend on
// each other may share levels. Pure.
import { Role, digitsOf } from '../model/section';
import type { Section } from '../model/section';

/** The logical clock. */
export interface Levels {
  of: Uint32Array; // by event
  first: Uint32Array; // by epoch: its levels, first to last
  last: Uint32Array;
  count: number;
}

/** Events by epoch: those of epoch e are list[first[e]] .. list[first[e + 1] - 1], in their order. */
function byEpoch(s: Section): { first: Uint32Array; list: Uint32Array } {
  const { count, epoch } = s.events;
  const first = new Uint32Array(s.epochs.length + 1);
  for (let i = 0; i < count; i++) if (epoch[i]! >= 0) first[epoch[i]! + 1]!++;
  for (let e = 0; e < s.epochs.length; e++) first[e + 1]! += first[e]!;
  const next = first.slice();
  const list = new Uint32Array(first[s.epochs.length]!);
  for (let i = 0; i < count; i++) if (epoch[i]! >= 0) list[next[epoch[i]!]!++] = i;
  return { first, list };
}

/** The event that stands for all parts of an event's collective, as far as they are one epoch. */
function nodeOf(s: Section, i: number): number {
  if (s.events.role[i] !== Role.Part) return i;
  const first = s.collectives[s.events.thing[i]!]!.parts[0]!;
  return s.events.epoch[first] === s.events.epoch[i] ? first : i;
}

/** Within one epoch: one more than the event before on the rank, and than the send of what is received. */
class Clock {
  private readonly before: Int32Array; // on the same rank, in the section
  private readonly wanted: Uint32Array; // by node: events that come before it and have no level yet
  private readonly after: number[][] = [];

  constructor(
    private readonly s: Section,
    private readonly level: Uint32Array,
  ) {
    const { count, rank } = s.events;
    this.before = new Int32Array(count);
    this.wanted = new Uint32Array(count);
    const last = new Map<number, number>();
    for (let i = 0; i < count; i++) {
      this.before[i] = last.get(rank[i]!) ?? -1;
      last.set(rank[i]!, i);
    }
  }

  private sources(i: number, within: number): number[] {
    const { epoch, role, thing } = this.s.events;
    const found: number[] = [];
    const add = (j: number) => j >= 0 && epoch[j] === within && found.push(nodeOf(this.s, j));
    add(this.before[i]!);
    if (role[i] === Role.Receive) add(this.s.messages.send[thing[i]!]!);
    return found;
  }

  /** Levels of an epoch's events, from base on; returns the last one. */
  run(epoch: number, list: Uint32Array, base: number): number {
    const { s, level, wanted, after } = this;
    const nodes = new Set<number>();
    for (const i of list) {
      const node = nodeOf(s, i);
      nodes.add(node);
      for (const from of this.sources(i, epoch)) {
        if (from === node) continue;
        (after[from] ??= []).push(node);
        wanted[node]!++;
      }
    }
    for (const node of nodes) level[node] = base;
    const ready = [...nodes].filter((node) => wanted[node] === 0);
    let last = base;
    for (let k = 0; k < ready.length; k++) {
      const node = ready[k]!;
      last = Math.max(last, level[node]!);
      for (const to of after[node] ?? []) {
        level[to] = Math.max(level[to]!, level[node]! + 1);
        if (--wanted[to]! === 0) ready.push(to);
      }
    }
    // a record that contradicts itself goes in circles: what is left stands in its order
    for (const node of nodes) if (wanted[node]! > 0) level[node] = ++last;
    for (const i of list) level[i] = level[nodeOf(s, i)]!;
    return last;
  }
}

export function levelsOf(s: Section): Levels {
  const of = new Uint32Array(s.events.count);
  const { first: begin, list } = byEpoch(s);
  const [first, last] = [new Uint32Array(s.epochs.length), new Uint32Array(s.epochs.length)];
  const next = new Map<number, number>(); // by rank: its first free level
  const clock = new Clock(s, of);
  let count = 0;
  for (let e = 0; e < s.epochs.length; e++) {
    const own = list.subarray(begin[e], begin[e + 1]);
    let base = 0;
    for (const i of own) base = Math.max(base, next.get(s.events.rank[i]!) ?? 0);
    const end = clock.run(e, own, base);
    for (const i of own) next.set(s.events.rank[i]!, end + 1);
    [first[e], last[e]] = [base, end];
    count = Math.max(count, end + 1);
  }
  return { of, first, last, count };
}

// ---- what filters leave ----

export const enum Seen {
  Hidden = 0,
  Grey = 1,
  Drawn = 2,
}

export interface Choice {
  ranks: Uint8Array | null; // 1: chosen; null: all
  others: boolean; // what is filtered away is grey, not hidden
  hideOrphans: boolean;
  hideEmpty: boolean;
  epochs: [number, number] | null; // numbers, first to last
  numbers: [number, number] | null; // of events on their ranks
  passes: ((message: number) => boolean) | null; // by what the check says
  groupOf: Int32Array | null; // by rank: its line; null: each rank has one
}

export interface Diagram {
  lines: number; // that are drawn
  lineOf: Int32Array; // by rank; -1: it has none
  ranksOf: number[][]; // by line
  seen: Uint8Array; // Seen, by event
  orphan: Uint8Array; // by event: who it is with is filtered away
  level: Float64Array; // by event, in 0 .. levels
  levels: number;
  digits: number; // of the longest number of an event
  bands: Band[];
  drawn: number; // events
  emptyEpochs: number;
  orphans: number;
  isFiltered: boolean;
  clock: { begin: number; end: number } | null; // ns of the first and the last level, where they are spaced by time
}

/** An epoch: levels and lines that it covers. */
export interface Band {
  epoch: number;
  first: number; // levels
  last: number;
  runs: Run[];
  empty: boolean;
}

/** Neighbouring lines, and the levels that the epoch has on them. */
export interface Run {
  line: number;
  lastLine: number;
  first: number;
  last: number;
}

export function isFiltered(c: Choice): boolean {
  return c.ranks !== null || c.epochs !== null || c.numbers !== null || c.passes !== null;
}

function placeLines(ranks: number, c: Choice): { lineOf: Int32Array; ranksOf: number[][] } {
  const lineOf = new Int32Array(ranks).fill(-1);
  const ranksOf: number[][] = [];
  const lines = new Map<number, number>();
  for (let rank = 0; rank < ranks; rank++) {
    if (c.ranks && c.ranks[rank] === 0 && !c.others) continue;
    const group = c.groupOf ? c.groupOf[rank]! : rank;
    const line = lines.get(group) ?? ranksOf.push([]) - 1;
    lines.set(group, line);
    ranksOf[line]!.push(rank);
    lineOf[rank] = line;
  }
  return { lineOf, ranksOf };
}

/** Whom an event is with is not among the ranks chosen. */
function isOrphan(s: Section, c: Choice, i: number): boolean {
  if (!c.ranks) return false;
  const { rank, role, thing } = s.events;
  if (role[i] !== Role.Part) {
    const { src, dst } = s.messages;
    return c.ranks[role[i] === Role.Send ? dst[thing[i]!]! : src[thing[i]!]!] === 0;
  }
  const { parts } = s.collectives[thing[i]!]!;
  return parts.length > 1 && !parts.some((p) => rank[p] !== rank[i] && c.ranks![rank[p]!] === 1);
}

const between = (x: number, range: [number, number] | null) => !range || (x >= range[0] && x <= range[1]);

function passes(s: Section, c: Choice, i: number, orphan: boolean): boolean {
  const { rank, number, epoch, role, thing } = s.events;
  return (
    (!c.ranks || c.ranks[rank[i]!] === 1) &&
    !(orphan && c.hideOrphans) &&
    between(number[i]!, c.numbers) &&
    (!c.epochs || between(s.epochs[epoch[i]!]?.number ?? 0, c.epochs)) &&
    (!c.passes || (role[i] !== Role.Part && c.passes(thing[i]!)))
  );
}

/** Levels without those of epochs that are left out: level -> where it is. */
function squeeze(levels: Levels, isLeft: (epoch: number) => boolean): { to: Uint32Array; count: number } {
  const used = new Int32Array(levels.count + 1);
  for (let e = 0; e < levels.first.length; e++) {
    if (!isLeft(e)) continue;
    used[levels.first[e]!]!++;
    used[levels.last[e]! + 1]!--;
  }
  const to = new Uint32Array(levels.count + 1);
  let [depth, count] = [0, 0];
  for (let level = 0; level < levels.count; level++) {
    depth += used[level]!;
    to[level] = count;
    count += Number(depth > 0);
  }
  to[levels.count] = count;
  return { to, count };
}

/** Lines of one epoch, with their levels; neighbours with the same ones are one run. */
function runsOf(lines: Map<number, [number, number]>): Run[] {
  const runs: Run[] = [];
  for (const [line, [first, last]] of [...lines].sort((a, b) => a[0] - b[0])) {
    const before = runs[runs.length - 1];
    if (before && before.lastLine === line - 1 && before.first === first && before.last === last)
      before.lastLine = line;
    else runs.push({ line, lastLine: line, first, last });
  }
  return runs;
}

/** What of the events is seen. */
function lookAt(s: Section, c: Choice): Pick<Diagram, 'seen' | 'orphan' | 'drawn' | 'orphans'> & { in: Uint8Array } {
  const { count, rank, epoch } = s.events;
  const seen = new Uint8Array(count);
  const orphan = new Uint8Array(count);
  const drawnIn = new Uint8Array(s.epochs.length);
  let [drawn, orphans] = [0, 0];
  for (let i = 0; i < count; i++) {
    orphan[i] = Number(isOrphan(s, c, i));
    const isOn = passes(s, c, i, orphan[i] === 1);
    seen[i] = isOn ? Seen.Drawn : c.others ? Seen.Grey : Seen.Hidden;
    drawn += Number(isOn);
    orphans += Number((!c.ranks || c.ranks[rank[i]!] === 1) && orphan[i] === 1);
    if (isOn && epoch[i]! >= 0) drawnIn[epoch[i]!] = 1;
  }
  return { seen, orphan, drawn, orphans, in: drawnIn };
}

const TIME_LEVELS_MAX = 1e7;
const NS_A_LEVEL = 100;

/** Where events are: by the logical clock, or by time. */
function places(s: Section, levels: Levels, byTime: boolean, isLeft: (epoch: number) => boolean) {
  const { count, time } = s.events;
  const level = new Float64Array(count);
  if (!byTime) {
    const { to, count: left } = squeeze(levels, isLeft);
    for (let i = 0; i < count; i++) level[i] = to[levels.of[i]!]!;
    const band = (e: number): [number, number] => [to[levels.first[e]!]!, to[levels.last[e]!]!];
    return { level, levels: Math.max(1, left), band, clock: null };
  }
  // a receive is where its message is there: its call may begin before the send does
  const { role, thing } = s.events;
  const at = (i: number) => (role[i] === Role.Receive ? Math.max(time[i]!, s.messages.recvEnd[thing[i]!]!) : time[i]!);
  const begin = time[0] ?? 0;
  let end = begin + 1;
  for (let i = 0; i < count; i++) end = Math.max(end, at(i));
  const n = Math.max(levels.count, Math.min(TIME_LEVELS_MAX, (end - begin) / NS_A_LEVEL));
  for (let i = 0; i < count; i++) level[i] = ((at(i) - begin) / (end - begin)) * (n - 1);
  return { level, levels: Math.max(1, n), band: null, clock: { begin, end } };
}

export function diagramOf(s: Section, levels: Levels, ranks: number, c: Choice, byTime: boolean): Diagram {
  const { count, rank, epoch } = s.events;
  const { lineOf, ranksOf } = placeLines(ranks, c);
  const { in: drawnIn, ...look } = lookAt(s, c);
  const filtered = isFiltered(c);
  const hideEmpty = filtered && c.hideEmpty;
  const place = places(s, levels, byTime, (e) => !hideEmpty || drawnIn[e] === 1);
  const covered: Map<number, [number, number]>[] = s.epochs.map(() => new Map());
  for (let i = 0; i < count; i++) {
    const [e, line] = [epoch[i]!, lineOf[rank[i]!]!];
    if (hideEmpty && e >= 0 && drawnIn[e] === 0) look.seen[i] = Seen.Hidden;
    if (look.seen[i] === Seen.Hidden || line < 0 || e < 0) continue;
    const at = place.level[i]!;
    const span = covered[e]!.get(line);
    if (place.band) covered[e]!.set(line, place.band(e));
    else covered[e]!.set(line, span ? [Math.min(span[0], at), Math.max(span[1], at)] : [at, at]);
  }
  const bands: Band[] = [];
  let emptyEpochs = 0;
  s.epochs.forEach((_, e) => {
    const empty = drawnIn[e] === 0;
    emptyEpochs += Number(empty);
    if (empty && hideEmpty) return;
    const runs = runsOf(covered[e]!);
    const [first, last] = place.band?.(e) ?? [
      Math.min(...runs.map((r) => r.first)),
      Math.max(...runs.map((r) => r.last)),
    ];
    bands.push({ epoch: e, first, last, runs, empty });
  });
  return {
    lines: ranksOf.length,
    lineOf,
    ranksOf,
    ...look,
    level: place.level,
    levels: place.levels,
    digits: digitsOf(s),
    bands,
    emptyEpochs,
    isFiltered: filtered,
    clock: place.clock,
  };
}

/** Bands that a name can tell: an epoch without events shares its levels with others, and its name would stand at theirs. */
export function namedBands(bands: readonly Band[]): Band[] {
  const end = bands.reduce((most, b) => Math.max(most, b.last + 1), 0);
  const edges = new Int32Array(end + 1);
  for (const b of bands) {
    if (b.empty) continue;
    edges[b.first]!++;
    edges[b.last + 1]!--;
  }
  const covered = new Uint32Array(end + 1); // levels below that have events
  for (let level = 0, open = 0; level < end; level++) {
    open += edges[level]!;
    covered[level + 1] = covered[level]! + Number(open > 0);
  }
  return bands.filter((b) => !b.empty || covered[b.last + 1] === covered[b.first]);
}
