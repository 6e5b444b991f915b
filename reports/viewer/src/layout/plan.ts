// plan.ts - which chunks a picture needs: the events themselves when they are few enough to be seen one by one, else
// summary tiles whose bins are about a pixel wide; messages themselves, else the largest of each tile. Pure.
import { Kind } from '../decode/layout';
import type { Entry } from '../decode/layout';
import type { Trace } from '../model/trace';

const CHUNKS_MAX = 16; // of one kind in one picture
const EVENTS_ALWAYS = 20000; // this few are always drawn one by one
const EVENTS_PER_ROW_PIXEL = 1;
const MESSAGE_CHUNKS_MAX = 16;
const MESSAGES_MAX = 40000;

export interface Window {
  from: number;
  to: number;
  width: number; // pixels
  firstRank: number;
  lastRank: number;
  rowHeight: number; // pixels
}

export interface BarPlan {
  detail: 'events' | 'summary';
  entries: Entry[];
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
  while (level < rankLevels - 1 && w.rowHeight * rowFactor ** level < 1.9) level++;
  return level;
}

function timeLevelFor(trace: Trace, w: Window): number {
  const { runtime, bins, timeLevels } = trace.meta;
  const wanted = (runtime / (w.to - w.from)) * w.width; // bins over the run, one a pixel
  const level = Math.floor(Math.log2(Math.max(1, wanted / bins)));
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

export function planSummary(trace: Trace, w: Window): Entry[] {
  const rankLevel = rankLevelFor(trace, w);
  let level = timeLevelFor(trace, w);
  let entries = tilesAt(trace, w, level, rankLevel);
  while (entries.length > CHUNKS_MAX && level > 0) entries = tilesAt(trace, w, --level, rankLevel);
  return entries;
}

export function planBars(trace: Trace, w: Window): BarPlan {
  const entries = trace.eventEntries(w.from, w.to, w.firstRank, w.lastRank);
  const events = estimate(entries, w.from, w.to);
  const rows = Math.min(w.lastRank - w.firstRank + 1, (w.lastRank - w.firstRank + 1) * w.rowHeight);
  const dense = events > Math.max(EVENTS_ALWAYS, EVENTS_PER_ROW_PIXEL * w.width * rows);
  const finest = timeLevelFor(trace, w) === trace.meta.timeLevels - 1;
  const limit = finest ? 2 * CHUNKS_MAX : CHUNKS_MAX;
  if (entries.length <= limit && (!dense || (finest && events < 4 * EVENTS_ALWAYS)))
    return { detail: 'events', entries };
  return { detail: 'summary', entries: planSummary(trace, w) };
}

export function planMessages(trace: Trace, w: Window): MessagePlan {
  const all = trace.messageEntries(w.from, w.to, w.firstRank, w.lastRank);
  const total = estimate(all, w.from, w.to);
  if (all.length <= MESSAGE_CHUNKS_MAX && total <= MESSAGES_MAX) return { detail: 'all', entries: all, total };
  const tiles = trace.version === 1 ? 2 : 4; // that hold 1024 messages, or half of that
  const { runtime, topLevels } = trace.meta;
  const wanted = (tiles * runtime) / (w.to - w.from);
  const level = Math.min(topLevels - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, wanted)))));
  const width = runtime / 2 ** level;
  const entries: Entry[] = [];
  for (let seq = Math.max(0, Math.floor(w.from / width) - 1); seq * width < w.to && seq < 2 ** level; seq++) {
    const e = trace.tile(Kind.Top, level, seq);
    if (e) entries.push(e);
  }
  return { detail: 'largest', entries, total };
}
