// pick.ts - what is under the pointer, and the next call of a rank. Of what a picture has read: nothing is loaded.
import type { Entry } from '../decode/layout';
import type { EventChunk, EventRef, MessageChunk } from '../decode/records';
import type { SummaryTile } from '../decode/tiles';
import { PLANES } from '../decode/tiles';
import { CLASSES } from '../layout/color';
import { count, duration, percent, plural } from '../layout/format';
import { eventAt, messageAt, neighbourEvent } from '../layout/pick';
import type { Line } from '../layout/pick';
import { planBars, planMessages, planTiles } from '../layout/plan';
import { rankRange, rowAt, rowOfRanks, visibleRows, yOf } from '../layout/rows';
import { UNRECORDED, openLength, opensInWords } from '../layout/unrecorded_words';
import { writeNumbers } from '../model/address';
import { isFiltering, messageFilter } from '../model/filter';
import { isRunning } from '../model/open';
import type { Open } from '../model/open';
import type { Call, Thing } from '../model/picked';
import type { Trace } from '../model/trace';
import type { Camera } from './camera';
import { describeMembers, membersOfCalls, membersOfTiles, wholeRun } from './group';
import { eventThing, messageFact } from './things';

const REACH = 5; // CSS pixels
const WHO_CHARS = 60; // of a group's ranks
const COLUMN = 4; // CSS pixels on either side of the pointer, of which the shares of a group are

export interface Shares {
  kind: 'shares';
  ref?: string; // of the call that it is about, as of what is picked
  title: string;
  rows: [string, string][];
}

export type Under = Thing | Shares | null;

function windowOf(camera: Camera) {
  const { from, to, width, rows, members } = camera;
  const shown = visibleRows(rows, camera.height);
  const ranks = rankRange(members, shown.first, shown.last);
  const rowHeight = members ? 1 : rows.height;
  return { from, to, width, firstRank: ranks.first, lastRank: ranks.last, rowHeight, sorted: members !== null };
}

function here<T>(trace: Trace, entries: Entry[]): { entry: Entry; value: T }[] {
  return entries.flatMap((entry) => {
    const value = trace.chunks.peek<T>(entry);
    return value === undefined ? [] : [{ entry, value }];
  });
}

/** The thread whose part of the bar is at y; -1: all. */
export function threadAt(trace: Trace, camera: Camera, rank: number, inBar: number): number {
  const { firstLane } = trace.meta;
  const lanes = firstLane[rank + 1]! - firstLane[rank]!;
  if (lanes < 2 || camera.rows.bar * camera.ratio < 2 * lanes) return -1;
  return Math.max(0, Math.min(lanes - 1, Math.floor((inBar / camera.rows.bar) * lanes)));
}

/** x, y: CSS pixels in the plot. */
export function underPointer(trace: Trace, camera: Camera, x: number, y: number): Under {
  const { rows, from, to, width, members } = camera;
  const row = rowAt(rows, y);
  const ranks = row < 0 ? [] : members ? members[row]! : [row];
  const inBar = y - (row >= 0 ? yOf(rows, row) : 0) - rows.pad;
  const onBar = row >= 0 && (rows.height < 4 || (inBar >= -1 && inBar <= rows.bar + 1));
  const time = from + (x / width) * (to - from);
  const w = windowOf(camera);
  const plan = planBars(trace, w);
  const isEvents = plan.detail === 'events';
  const thread = isEvents && ranks.length === 1 ? threadAt(trace, camera, ranks[0]!, inBar) : -1;
  if (onBar && isEvents && ranks.length === 1) {
    const chunks = here<EventChunk>(trace, plan.entries).map((c) => c.value);
    const event = eventAt(chunks, ranks[0]!, time, (3 * (to - from)) / width, thread);
    if (event) return eventThing(trace, event);
  }
  const open = onBar && ranks.length === 1 ? openAt(trace, ranks[0]!, thread, time) : null;
  if (open) return open;
  const missing = onBar && (isEvents || ranks.length > 1) ? unrecordedAt(trace, ranks, thread, time) : null;
  if (missing) return missing;
  if (camera.showMessages && !onBar) return messageUnder(trace, camera, x, y);
  if (ranks.length > 1) return groupAt(trace, camera, ranks, time);
  return plan.detail === 'summary' && ranks.length === 1 ? sharesAt(trace, camera, ranks[0]!, time) : null;
}

/** Where single calls of one of these ranks, or of that thread of the only one, are missing. */
function unrecordedAt(trace: Trace, ranks: number[], thread: number, time: number): Shares | null {
  const until = (rank: number) =>
    thread < 0 ? trace.recordedUntil[rank]! : trace.laneRecordedUntil[trace.meta.firstLane[rank]! + thread]!;
  const missing = ranks.filter((rank) => until(rank) <= time);
  if (time < 0 || time >= trace.meta.runtime || missing.length === 0) return null;
  if (ranks.length === 1) return { kind: 'shares', title: `Rank ${ranks[0]}`, rows: [['', UNRECORDED]] };
  const at = missing.flatMap((rank) => trace.opens.get(rank)?.find((x) => x.from <= time && time < x.to) ?? []);
  const waiting = at.filter((x) => x.waits).length;
  const opens = opensInWords(trace.analysis);
  const rows: [string, string][] = [
    [`wait in ${opens}`, count(waiting)],
    [`are in ${opens}`, count(at.length - waiting)],
    [UNRECORDED, count(missing.length - at.length)],
    ['recorded', count(ranks.length - missing.length)],
  ];
  return { kind: 'shares', title: plural(ranks.length, 'rank'), rows: rows.filter(([, n]) => n !== '0') };
}

/** A call that the rank, or that thread of it, never came back from. */
function openAt(trace: Trace, rank: number, thread: number, time: number): Shares | null {
  const isHere = (x: Open) => x.from <= time && time < x.to && (thread < 0 || x.thread === thread);
  const open = trace.opens.get(rank)?.find(isHere);
  if (!open) return null;
  const site = trace.callSites.get(open.site)?.place ?? '';
  const rows: [string, string][] = [['lasts', openLength(trace.analysis, open.to - open.from)]];
  if (site) rows.push(['at', site]);
  if (open.waits) rows.push(['waits for', open.needs >= 0 ? `rank ${open.needs}` : 'others']);
  const ref = `n${rank}.${open.thread}`;
  return {
    kind: 'shares',
    ref,
    title: `Rank ${rank} ${isRunning(trace.analysis) ? 'is in' : 'never comes back from'} ${open.op || 'a call'}`,
    rows,
  };
}

function messageUnder(trace: Trace, camera: Camera, x: number, y: number): Thing | null {
  const { rows, from, to, width } = camera;
  const rowOf = rowOfRanks(camera.members, trace.meta.ranks);
  const shown = visibleRows(rows, camera.height);
  const inside = (row: number) => row >= shown.first && row <= shown.last;
  const passes = isFiltering(camera.filter) ? messageFilter(camera.filter, trace.callSites) : () => true;
  const at = (ns: number) => ((ns - from) / (to - from)) * width;
  const edge = (row: number, low: boolean) => yOf(rows, row) + rows.pad + (low ? rows.bar : 0);
  const place = (c: MessageChunk, i: number): Line | null => {
    const [start, end] = [c.sendStart[i]!, c.recvEnd[i]!];
    if (Math.min(start, end) > to || Math.max(start, end) < from || !passes(c, i)) return null;
    const [a, b] = [rowOf[c.src[i]!]!, rowOf[c.dst[i]!]!];
    if (a < 0 || b < 0 || (!inside(a) && !inside(b))) return null;
    return { x1: at(c.sendStart[i]!), y1: edge(a, b > a), x2: at(c.recvEnd[i]!), y2: edge(b, b <= a) };
  };
  const ready = planMessages(trace, windowOf(camera)).entries.flatMap((entry) => {
    const value = trace.peekMessages(entry);
    return value ? [{ entry, value }] : [];
  });
  const found = messageAt(
    ready.map((c) => c.value),
    place,
    x,
    y,
    REACH,
  );
  if (!found) return null;
  const { entry } = ready.find((c) => c.value === found.chunk)!;
  return { kind: 'message', ...messageFact(`m${entry.id}.${found.index}`, found.chunk, found.index) };
}

/** Over a row of several ranks: their mean, and who differs most from it. */
function groupAt(trace: Trace, camera: Camera, ranks: number[], time: number): Shares {
  const w = windowOf(camera);
  const reach = (COLUMN * (w.to - w.from)) / w.width;
  const [from, to] = [time - reach, time + reach];
  const plan = planBars(trace, w);
  const members =
    plan.detail === 'events'
      ? membersOfCalls(trace, ranks, plan.entries, from, to)
      : membersOfTiles(trace, ranks, planTiles(trace, w), from, to);
  const title = `${plural(ranks.length, 'rank')}, ${duration(to - from)}`;
  const who = writeNumbers(ranks);
  const short = who.length > WHO_CHARS ? `${who.slice(0, who.lastIndexOf(',', WHO_CHARS))}, …` : who;
  return { kind: 'shares', title, rows: [['ranks', short.replaceAll(',', ', ')], ...describeMembers(members)] };
}

/** Over summary tiles: the shares of the bin. */
function sharesAt(trace: Trace, camera: Camera, rank: number, time: number): Shares | null {
  const { meta } = trace;
  if (time < 0 || time >= meta.runtime) return null;
  const plan = planTiles(trace, windowOf(camera));
  const each = meta.rowFactor ** plan.rankLevel;
  const unit = Math.floor(rank / each);
  const span = meta.runtime / 2 ** plan.level;
  const seq = Math.floor(time / span);
  const first = unit * each;
  const last = Math.min(meta.ranks, first + each) - 1;
  const bin = Math.min(meta.bins - 1, Math.floor(((time - seq * span) / span) * meta.bins));
  const title = `${first === last ? `Rank ${first}` : `Ranks ${first}–${last}`}, ${duration(span / meta.bins)}`;
  const entry = plan.entries.find((e) => e.seq === seq && e.group === Math.floor(unit / meta.rows));
  const tile = entry && trace.chunks.peek<SummaryTile>(entry);
  const row = unit % meta.rows;
  if (entry && !tile) return { kind: 'shares', title, rows: [['', 'not loaded yet']] };
  const part = (c: number) =>
    tile && row < tile.rows ? tile.share[((c - 1) * tile.rows + row) * meta.bins + bin]! / 255 : 0;
  const rows: [string, string][] = [];
  for (let c = 1; c <= PLANES; c++) if (part(c) > 0) rows.push([CLASSES[c]!.name, percent(part(c))]);
  if (meta.threads > 1) rows.push(['', 'of the first thread']);
  const missing = trace.meta.firstLane.subarray(first, last + 1).some((lane) => trace.laneRecordedUntil[lane]! <= time);
  if (rows.length === 0) rows.push(missing ? ['', UNRECORDED] : ['outside MPI', '100 %']);
  if (last > first) rows.push(...wholeRun(trace, first, last));
  return { kind: 'shares', title, rows };
}

/** The next or the previous call of a rank's thread. */
export function neighbour(
  trace: Trace,
  camera: Camera,
  of: Call | { rank: number; thread: number; start: number },
  forward: boolean,
): Thing | null {
  const chunks = here<EventChunk>(trace, planBars(trace, windowOf(camera)).entries)
    .map((c) => c.value)
    .filter((c) => 'segments' in c);
  const next: EventRef | null = neighbourEvent(chunks, of.rank, of.start, forward, of.thread);
  return next && eventThing(trace, next);
}
