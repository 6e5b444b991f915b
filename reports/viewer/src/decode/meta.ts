// meta.ts - the description of a trace: how many of what there are, lanes, clocks, places, names of operations.
import type { Reader } from './reader';

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

/** Names, each ended by a zero. */
function namesIn(text: Uint8Array): string[] {
  return new TextDecoder().decode(text).split('\0').slice(0, -1);
}

/** By rank: the point of its place. */
function flowOf(version: number, places: Uint32Array, ranks: number, placesOfPoint: number): Uint32Array {
  if (version > 1 && places.length === 0) return new Uint32Array(ranks);
  return Uint32Array.from({ length: ranks }, (_, r) => Math.floor((version > 1 ? places[r]! : r) / placesOfPoint));
}

/** What version 1 says only is 0 in version 2, and the reverse. */
export function readMeta(reader: Reader, data: Uint8Array, version: number): Meta {
  const c = reader.meta(data);
  const numbers = c.f64(); // in the order of enum mpix_meta_number
  const [ranks, runtime, groupRanks, rows, bins, rowFactor, timeLevels, rankLevels, ...rest] = numbers as unknown as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    ...number[],
  ];
  const size = { ranks, runtime, groupRanks, rows, bins, rowFactor, timeLevels, rankLevels };
  const [topLevels, flowLevels, flowPlaces, flowPoints, windows, clocks, events, messages, waits, threads] = rest as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const tiles = { topLevels, flowLevels, flowPoints, flowRanks: version > 1 ? 0 : flowPlaces };
  const totals = { windows, clocks, events, messages, waits };
  const [firstLane, clockOf, places, names] = [c.u32(), c.u32(), c.u32(), c.u8()];
  let most = Math.max(1, threads);
  for (let r = 0; r < ranks; r++) most = Math.max(most, firstLane[r + 1]! - firstLane[r]!);
  return {
    ...size,
    ...tiles,
    ...totals,
    threads: most,
    flowOf: flowOf(version, places, ranks, flowPlaces),
    firstLane,
    clockOf: clockOf.length > 0 ? clockOf : null,
    ops: namesIn(names),
  };
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
