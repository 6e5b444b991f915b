// meta.ts - the description of a trace: how many of what there are, lanes, clocks, places, names of operations.
import { Bytes, Damaged } from './bytes';

const RANKS_MAX = 1 << 20;
const LANES_MAX = 1 << 22;
const THREADS_MAX = 4096; // of a rank
const LEVELS_MAX = 32;
const ROWS_MAX = 4096; // and bins, of a summary tile
const ROW_FACTOR_MAX = 64;
const OPS_MAX = 65536;
const RUNTIME_MAX = 2 ** 53;

export interface Meta {
  ranks: number;
  runtime: number; // ns
  groupRanks: number;
  rows: number;
  bins: number;
  rowFactor: number;
  timeLevels: number;
  rankLevels: number;
  topLevels: number;
  flowLevels: number;
  flowPoints: number; // what flow tiles add up: compute nodes, or several of them in a row
  flowOf: Uint32Array; // by rank: its point
  flowRanks: number; // version 1, where a point is so many ranks in a row; else 0
  segmentNs: number; // version 1
  windows: number;
  threads: number; // of the rank that has most
  firstLane: Uint32Array; // by rank, and at the end the number of lanes
  clocks: number;
  clockOf: Uint32Array | null; // by lane; null: clock 0
  events: number;
  messages: number;
  waits: number;
  ops: string[];
}

export function readOps(c: Bytes): string[] {
  const count = c.u32();
  if (count > OPS_MAX) throw new Damaged('too many operations');
  const text = new TextDecoder();
  const names = Array.from({ length: count }, () => text.decode(c.slice(c.u8())));
  if (!names.every((name) => /^[!-~]*$/.test(name))) throw new Damaged('impossible name of an operation');
  return names;
}

/** What both versions ask of a description; before anything is made as large as it says. */
export function checkMeta(m: Omit<Meta, 'flowOf' | 'firstLane' | 'clockOf' | 'ops'>): void {
  const positive = [m.ranks, m.groupRanks, m.rows, m.bins, m.flowPoints, m.threads];
  const levels = [m.timeLevels, m.rankLevels, m.topLevels, m.flowLevels];
  const sane =
    positive.every((n) => n >= 1) &&
    levels.every((n) => n <= LEVELS_MAX) &&
    m.ranks <= RANKS_MAX &&
    m.groupRanks <= RANKS_MAX &&
    m.runtime <= RUNTIME_MAX &&
    m.rowFactor >= 2 &&
    m.rowFactor <= ROW_FACTOR_MAX &&
    m.rows <= ROWS_MAX &&
    m.bins <= ROWS_MAX;
  if (!sane) throw new Damaged('the description of the file is impossible');
}

/** Runs of {how many, value}: one value for each of `count`; null when there are no runs. */
function readRuns(c: Bytes, count: number, least: number, most: number): Uint32Array | null {
  const runs = c.varint();
  if (runs === 0) return null;
  if (runs > count) throw new Damaged('impossible runs in the description');
  const values = new Uint32Array(count);
  let at = 0;
  for (let i = 0; i < runs; i++) {
    const length = c.varint();
    const value = c.varint();
    if (length < 1 || length > count - at || value < least || value > most)
      throw new Damaged('impossible runs in the description');
    values.fill(value, at, at + length);
    at += length;
  }
  if (at !== count) throw new Damaged('impossible runs in the description');
  return values;
}

/** Lanes are numbered by (rank, thread). */
function lanesOf(threads: Uint32Array | null, ranks: number): Uint32Array {
  const first = new Uint32Array(ranks + 1);
  for (let r = 0; r < ranks; r++) {
    const next = first[r]! + (threads ? threads[r]! : 1);
    if (next > LANES_MAX) throw new Damaged('too many threads');
    first[r + 1] = next;
  }
  return first;
}

/** How large the run is, and its summary: the same in both versions. */
export function readShape(c: Bytes) {
  const size = { ranks: c.u32(), runtime: c.u64() };
  const summary = {
    groupRanks: c.u32(),
    rows: c.u32(),
    bins: c.u32(),
    rowFactor: c.u32(),
    timeLevels: c.u32(),
    rankLevels: c.u32(),
  };
  return { size, summary };
}

export function readMeta(data: Uint8Array): Meta {
  const c = new Bytes(data);
  const { size, summary } = readShape(c);
  const tiles = { topLevels: c.u32(), flowLevels: c.u32() };
  const [flowPlaces, places] = [c.u32(), c.u32()];
  const counts = { windows: c.u32(), clocks: c.u32() };
  const lanes = c.u32();
  const totals = { events: c.u64(), messages: c.u64(), waits: c.u64() };
  if (
    flowPlaces < 1 ||
    places < 1 ||
    counts.clocks < 1 ||
    Math.max(lanes, counts.clocks) > LANES_MAX ||
    Math.max(places, flowPlaces) > RANKS_MAX
  )
    throw new Damaged('the description of the file is impossible');
  const rest = { flowPoints: Math.ceil(places / flowPlaces), flowRanks: 0, segmentNs: 0, threads: 1 };
  const numbers = { ...size, ...summary, ...tiles, ...counts, ...totals, ...rest };
  checkMeta(numbers);
  const ops = readOps(c);
  const threads = readRuns(c, size.ranks, 1, THREADS_MAX);
  const firstLane = lanesOf(threads, size.ranks);
  if (firstLane[size.ranks] !== lanes) throw new Damaged('the description contradicts itself about threads');
  const clockOf = readRuns(c, lanes, 0, counts.clocks - 1);
  const flowOf = readRuns(c, size.ranks, 0, places - 1) ?? new Uint32Array(size.ranks);
  for (let r = 0; r < size.ranks; r++) flowOf[r] = Math.floor(flowOf[r]! / flowPlaces);
  if (c.left > 0) throw new Damaged('the description is too long');
  const most = threads ? threads.reduce((a, b) => Math.max(a, b), 1) : 1;
  return { ...numbers, threads: most, flowOf, firstLane, clockOf, ops };
}

/** The rank of a lane, by bisection. */
export function rankOfLane(meta: Meta, lane: number): number {
  const { firstLane, ranks } = meta;
  if (firstLane[ranks] === ranks) return lane;
  let low = 0;
  for (let high = ranks; high - low > 1;) {
    const middle = (low + high) >> 1;
    if (firstLane[middle]! <= lane) low = middle;
    else high = middle;
  }
  return low;
}

export function groupOfLane(meta: Meta, lane: number): number {
  return Math.floor(rankOfLane(meta, lane) / meta.groupRanks);
}

/** Lanes of a rank group: [first, end). */
export function lanesOfGroup(meta: Meta, group: number): [number, number] {
  const first = Math.min(meta.ranks, group * meta.groupRanks);
  const end = Math.min(meta.ranks, first + meta.groupRanks);
  return [meta.firstLane[first]!, meta.firstLane[end]!];
}
