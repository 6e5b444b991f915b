// traffic.ts - who sent how much to whom in an interval: exact from the messages when few chunks hold them, of the
// whole run from the matrix of the analysis, else from flow tiles, whose ends are taken in proportion. A message counts
// where its send starts. Collective and one-sided traffic is known of the whole run only. Late time: how long one was waited for.
import { Kind } from '../decode/layout';
import type { Entry } from '../decode/layout';
import type { MessageChunk } from '../decode/records';
import { list, num, str } from './analysis';
import { isFiltering, messageFilter } from './filter';
import type { Filter } from './filter';
import { flowPoints, rankPoints } from './points';
import type { Points } from './points';
import { isWaitingState, spansIn } from './spans';
import type { Trace } from './trace';

const EXACT_CHUNKS = 8;
const SMALL_CHUNKS = 64; // so many, where they hold few messages
const SMALL_MESSAGES = 200000;
const TILES = 12;
const POINTS = 64; // of the whole run, where compute nodes are too few to show much
const NODES_FEW = 8;
const LATE_CHUNKS = 256;

export type TrafficKind = 'p2p' | 'whole' | 'collective' | 'rma' | 'late';

export interface TrafficQuery {
  from: number; // ns; of p2p and late
  to: number;
  kind: TrafficKind;
  filter: Filter;
}

export interface Traffic {
  kind: TrafficKind;
  wholeRun: boolean; // whatever the interval
  leftOut: number; // pairs that the analysis does not list
  points: Points;
  count: number; // of points
  exact: boolean;
  messages: Map<number, number>; // by source * count + destination; of late time: waits
  bytes: Map<number, number>; // of late time: ns
}

function empty(points: Points, exact: boolean): Traffic {
  const rest = { kind: 'p2p' as TrafficKind, wholeRun: false, leftOut: 0 };
  return { ...rest, points, count: points.first.length, exact, messages: new Map(), bytes: new Map() };
}

function add(t: Traffic, src: number, dst: number, messages: number, bytes: number): void {
  const key = src * t.count + dst;
  t.messages.set(key, (t.messages.get(key) ?? 0) + messages);
  t.bytes.set(key, (t.bytes.get(key) ?? 0) + bytes);
}

function addChunk(t: Traffic, c: MessageChunk, q: TrafficQuery, sites: Trace['callSites']): void {
  const passes = messageFilter(q.filter, sites);
  for (let i = 0; i < c.count; i++)
    if (c.sendStart[i]! >= q.from && c.sendStart[i]! < q.to && passes(c, i))
      add(t, c.src[i]!, c.dst[i]!, 1, c.bytes[i]!);
}

function flowTiles(trace: Trace, from: number, to: number): { entry: Entry; share: number }[] {
  const { runtime, flowLevels } = trace.meta;
  const tiles = Math.max(1, Math.min(2 ** 16, (TILES * runtime) / Math.max(to - from, 1)));
  const level = Math.max(0, Math.min(flowLevels - 1, Math.floor(Math.log2(tiles))));
  const width = runtime / 2 ** level;
  const found: { entry: Entry; share: number }[] = [];
  for (let seq = Math.max(0, Math.floor(from / width)); seq < 2 ** level && seq * width < to; seq++) {
    const entry = trace.tile(Kind.Flow, level, seq);
    const share = (Math.min(to, (seq + 1) * width) - Math.max(from, seq * width)) / width;
    if (entry) found.push({ entry, share: Math.min(1, share) });
  }
  return found;
}

async function fromFlow(trace: Trace, from: number, to: number): Promise<Traffic> {
  const tiles = flowTiles(trace, from, to);
  const exact = tiles.every((x) => x.share > 0.9999);
  const t = empty(flowPoints(trace), exact);
  const loaded = await Promise.all(tiles.map((x) => trace.flow(x.entry)));
  loaded.forEach((tile, n) => {
    const { share } = tiles[n]!;
    for (let i = 0; i < tile.src.length; i++)
      add(t, tile.src[i]!, tile.dst[i]!, tile.messages[i]! * share, tile.bytes[i]! * share);
  });
  return t;
}

function eachFor(ranks: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(ranks / POINTS)));
}

/** Of the whole run, from a matrix of the analysis, between so many points at most. */
function fromAnalysis(trace: Trace, kind: 'p2p' | 'collective' | 'rma', each: number): Traffic {
  const t = empty(rankPoints(trace.meta.ranks, each), true);
  t.wholeRun = true;
  t.leftOut = num(trace.analysis, 'matrix', `${kind}_pairs_left_out`) ?? 0;
  const { of } = t.points;
  for (const x of list(trace.analysis, 'matrix', kind)) {
    const src = of[num(x, 'src') ?? -1];
    const dst = of[num(x, 'dst') ?? -1];
    const number = num(x, 'messages') ?? num(x, 'operations') ?? 0;
    if (src !== undefined && dst !== undefined) add(t, src, dst, number, num(x, 'bytes') ?? 0);
  }
  return t;
}

function areFew(trace: Trace, entries: Entry[]): boolean {
  const messages = entries.reduce((sum, e) => sum + e.records, 0);
  const few = entries.length <= SMALL_CHUNKS && messages <= SMALL_MESSAGES;
  return entries.length <= EXACT_CHUNKS || (trace.version > 1 && few);
}

/** Who was waited for by whom, from the wait states of the interval; of the whole run, where these are many, from the sums. */
async function lateTime(trace: Trace, q: TrafficQuery, signal?: AbortSignal): Promise<Traffic> {
  const last = trace.meta.ranks - 1;
  const entries = trace.waitEntriesOf(q.from, q.to, 0, last);
  const t = empty(rankPoints(trace.meta.ranks, 1), true);
  if (trace.version === 1 || entries.length > LATE_CHUNKS) {
    t.exact = false;
    t.wholeRun = true;
    t.leftOut = num(trace.analysis, 'wait_states_left_out') ?? 0;
    for (const x of list(trace.analysis, 'wait_states')) {
      const [rank, causer] = [num(x, 'rank'), num(x, 'causer')];
      if (rank === undefined || causer === undefined || !isWaitingState(str(x, 'state'))) continue;
      if (rank < trace.meta.ranks && causer < trace.meta.ranks)
        add(t, causer, rank, num(x, 'count') ?? 0, (num(x, 'seconds') ?? 0) * 1e9);
    }
    return t;
  }
  for (const e of entries) {
    const spans = await spansIn(trace, e, signal);
    for (let i = 0; i < spans.count; i++) {
      const ns = Math.min(q.to, spans.to[i]!) - Math.max(q.from, spans.from[i]!);
      if (ns > 0 && spans.causer[i]! >= 0) add(t, spans.causer[i]!, trace.rankOfLane(spans.lane[i]!), 1, ns);
    }
  }
  return t;
}

async function messagesIn(trace: Trace, q: TrafficQuery, signal?: AbortSignal): Promise<Traffic> {
  const { meta } = trace;
  const entries = trace.messageEntries(q.from, q.to);
  const whole = q.kind === 'whole' || (q.from <= 0 && q.to >= meta.runtime);
  const isListed = list(trace.analysis, 'matrix', 'p2p').length > 0;
  if (q.kind === 'whole' && isListed) return fromAnalysis(trace, 'p2p', 1);
  if (!areFew(trace, entries) && !isFiltering(q.filter)) {
    const few = meta.flowRanks === 0 && meta.flowPoints < NODES_FEW;
    const left = num(trace.analysis, 'matrix', 'p2p_pairs_left_out') ?? 0;
    if (whole && few && isListed && left === 0) return fromAnalysis(trace, 'p2p', eachFor(meta.ranks));
    return fromFlow(trace, q.from, q.to);
  }
  const t = empty(rankPoints(meta.ranks, 1), true);
  for (const chunk of await Promise.all(entries.map((e) => trace.messages(e, signal))))
    addChunk(t, chunk, q, trace.callSites);
  return t;
}

export async function trafficIn(trace: Trace, q: TrafficQuery, signal?: AbortSignal): Promise<Traffic> {
  const t =
    q.kind === 'late'
      ? await lateTime(trace, q, signal)
      : q.kind === 'collective' || q.kind === 'rma'
        ? fromAnalysis(trace, q.kind, 1)
        : await messagesIn(trace, q, signal);
  return { ...t, kind: q.kind };
}
