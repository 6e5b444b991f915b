// plan.ts - which chunks a picture needs: the calls themselves where summary tiles would be coarser than pixels and they
// are not too many to read, else tiles whose bins are about a pixel wide; messages themselves, else the largest of each tile. Pure.
import { Kind } from '../decode/layout';
import type { Entry } from '../decode/layout';
import type { Trace } from '../model/trace';

const TILES_MAX = 16; // of one picture
const FEW_EVENTS = 30000; // in view: always call by call
const EVENT_CHUNKS_MAX = 320;
const RECORDS_MAX = 1200000; // to be read for a picture
const RECORDS_FOR_A_PIXEL = 160000; // by which bins are wider than they should be, for that many it is worth waiting
const COARSE = 1.2; // CSS pixels of a bin
const MESSAGE_CHUNKS_MAX = 192;
const MESSAGES_MAX = 60000; // in view
const MESSAGES_FEW = 20000; // in view: worth reading more for
const MESSAGE_RECORDS_MAX = [160000, 600000] as const; // to be read for a picture; for few in view

export interface Window {
  from: number;
  to: number;
  width: number; // CSS pixels
  firstRank: number;
  lastRank: number;
  rowHeight: number; // CSS pixels
  sorted?: boolean; // rows are not in the order of ranks: each rank needs its own
}

export interface BarPlan {
  detail: 'events' | 'summary';
  entries: Entry[];
  absent: boolean; // calls would be shown, if this were not a part of a trace without them
}

export interface MessagePlan {
  detail: 'all' | 'largest';
  entries: Entry[];
  total: number; // messages in the chunks or tiles
}

/** How many records of the entries lie in the window, if they are spread evenly. */
function estimate(entries: Entry[], from: number, to: number): number {
  let sum = 0;
  for (const e of entries) {
    const inside = Math.min(e.end, to) - Math.max(e.start, from);
    sum += e.records * Math.min(1, Math.max(0, inside / Math.max(1, e.end - e.start)));
  }
  return sum;
}

function rankLevelFor(trace: Trace, w: Window): number {
  const { rowFactor, rankLevels } = trace.meta;
  let level = 0;
  while (!w.sorted && level < rankLevels - 1 && w.rowHeight * rowFactor ** level < 0.9) level++;
  return level;
}

function timeLevelFor(trace: Trace, w: Window): number {
  const { runtime, bins, timeLevels } = trace.meta;
  const wanted = (runtime / (w.to - w.from)) * w.width; // bins over the run, one a pixel
  const level = Math.ceil(Math.log2(Math.max(1, wanted / bins)) - 0.26); // bins of 0.6 to 1.2 pixels
  return Math.min(timeLevels - 1, Math.max(0, level));
}

function tilesAt(trace: Trace, w: Window, level: number, rankLevel: number): Entry[] {
  const { runtime, rows, rowFactor } = trace.meta;
  const ranksPerTile = rows * rowFactor ** rankLevel;
  const width = runtime / 2 ** level;
  const entries: Entry[] = [];
  const lastSeq = Math.min(2 ** level - 1, Math.floor(w.to / width));
  for (let g = Math.floor(w.firstRank / ranksPerTile); g <= Math.floor(w.lastRank / ranksPerTile); g++)
    for (let seq = Math.max(0, Math.floor(w.from / width)); seq <= lastSeq; seq++) {
      const e = trace.tile(Kind.Summary, level, seq, rankLevel, g);
      if (e) entries.push(e);
    }
  return entries;
}

/** Tiles of one level; `level` and `rankLevel` also where there is no tile since nothing happened. */
export interface TilePlan {
  entries: Entry[];
  level: number;
  rankLevel: number;
}

const areThere = (trace: Trace, entries: Entry[]) => entries.every((e) => trace.isThere(e));

export function planTiles(trace: Trace, w: Window): TilePlan {
  const { rowFactor, rows } = trace.meta;
  const rankLevel = rankLevelFor(trace, w);
  const down = Math.ceil((w.lastRank - w.firstRank + 1) / (rows * rowFactor ** rankLevel)) + 1;
  let level = timeLevelFor(trace, w);
  let entries = tilesAt(trace, w, level, rankLevel);
  const most = Math.max(TILES_MAX, 6 * down);
  while (level > 0 && (entries.length > most || !areThere(trace, entries)))
    entries = tilesAt(trace, w, --level, rankLevel);
  return { entries, level, rankLevel };
}

export function planSummary(trace: Trace, w: Window): Entry[] {
  return planTiles(trace, w).entries;
}

export function planBars(trace: Trace, w: Window): BarPlan {
  const { runtime, bins } = trace.meta;
  const entries = trace.eventEntries(w.from, w.to, w.firstRank, w.lastRank);
  const records = entries.reduce((sum, e) => sum + e.records, 0);
  const inView = estimate(entries, w.from, w.to);
  const tiles = planTiles(trace, w);
  const bin = ((runtime / (bins * 2 ** tiles.level)) * w.width) / (w.to - w.from);
  const worth = inView <= FEW_EVENTS ? RECORDS_MAX : Math.min(RECORDS_MAX, RECORDS_FOR_A_PIXEL * bin);
  const readable = entries.length <= EVENT_CHUNKS_MAX && records <= worth;
  const best = readable && (inView <= FEW_EVENTS || bin > COARSE);
  const waits = trace.waitEntriesOf(w.from, w.to, w.firstRank, w.lastRank);
  const absent = best && !(areThere(trace, entries) && areThere(trace, waits));
  if (best && !absent) return { detail: 'events', entries, absent };
  return { detail: 'summary', entries: tiles.entries, absent };
}

export function planMessages(trace: Trace, w: Window): MessagePlan {
  const all = trace.messageEntries(w.from, w.to, w.firstRank, w.lastRank);
  const total = estimate(all, w.from, w.to);
  const records = all.reduce((sum, e) => sum + e.records, 0);
  const most = MESSAGE_RECORDS_MAX[total <= MESSAGES_FEW ? 1 : 0];
  if (all.length <= MESSAGE_CHUNKS_MAX && records <= most && total <= MESSAGES_MAX && areThere(trace, all))
    return { detail: 'all', entries: all, total };
  const tiles = trace.version === 1 ? 2 : 4; // that hold 1024 messages, or half of that
  const { runtime, topLevels } = trace.meta;
  const wanted = (tiles * runtime) / (w.to - w.from);
  const level = Math.min(topLevels - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, wanted)))));
  const width = runtime / 2 ** level;
  const entries: Entry[] = [];
  for (let seq = Math.max(0, Math.floor(w.from / width) - 1); seq * width < w.to && seq < 2 ** level; seq++) {
    const e = trace.tile(Kind.Top, level, seq);
    if (e && trace.isThere(e)) entries.push(e);
  }
  return { detail: 'largest', entries, total };
}
