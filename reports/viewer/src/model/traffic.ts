// traffic.ts - who sent how much to whom in an interval: exact from the messages when few chunks hold them, of the
// whole run from the matrix of the analysis, else from flow tiles, whose ends are taken in proportion. A message counts
// where its send starts.
import { Kind } from '../decode/layout';
import type { Entry } from '../decode/layout';
import type { MessageChunk } from '../decode/records';
import { list, num } from './analysis';
import { flowPoints, rankPoints } from './points';
import type { Points } from './points';
import type { Trace } from './trace';

const EXACT_CHUNKS = 8;
const SMALL_CHUNKS = 64; // so many, where they hold few messages
const SMALL_MESSAGES = 200000;
const TILES = 12;
const POINTS = 64; // of the whole run, where compute nodes are too few to show much
const NODES_FEW = 8;

export interface Traffic {
  points: Points;
  count: number; // of points
  exact: boolean;
  messages: Map<number, number>; // by source * count + destination
  bytes: Map<number, number>;
}

function empty(points: Points, exact: boolean): Traffic {
  return { points, count: points.first.length, exact, messages: new Map(), bytes: new Map() };
}

function add(t: Traffic, src: number, dst: number, messages: number, bytes: number): void {
  const key = src * t.count + dst;
  t.messages.set(key, (t.messages.get(key) ?? 0) + messages);
  t.bytes.set(key, (t.bytes.get(key) ?? 0) + bytes);
}

function addChunk(t: Traffic, c: MessageChunk, from: number, to: number): void {
  for (let i = 0; i < c.count; i++)
    if (c.sendStart[i]! >= from && c.sendStart[i]! < to) add(t, c.src[i]!, c.dst[i]!, 1, c.bytes[i]!);
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

/** Of the whole run, from the analysis; null where that leaves out pairs. */
function fromAnalysis(trace: Trace): Traffic | null {
  const { ranks } = trace.meta;
  const pairs = list(trace.analysis, 'matrix', 'p2p');
  if (pairs.length === 0 || (num(trace.analysis, 'matrix', 'p2p_pairs_left_out') ?? 0) > 0) return null;
  const t = empty(rankPoints(ranks, 2 ** Math.max(0, Math.ceil(Math.log2(ranks / POINTS)))), true);
  const { of } = t.points;
  for (const x of pairs) {
    const src = of[num(x, 'src') ?? -1];
    const dst = of[num(x, 'dst') ?? -1];
    if (src !== undefined && dst !== undefined) add(t, src, dst, num(x, 'messages') ?? 0, num(x, 'bytes') ?? 0);
  }
  return t;
}

function areFew(trace: Trace, entries: Entry[]): boolean {
  const messages = entries.reduce((sum, e) => sum + e.records, 0);
  const few = entries.length <= SMALL_CHUNKS && messages <= SMALL_MESSAGES;
  return entries.length <= EXACT_CHUNKS || (trace.version > 1 && few);
}

export async function trafficIn(trace: Trace, from: number, to: number): Promise<Traffic> {
  const { meta } = trace;
  const entries = trace.messageEntries(from, to);
  if (!areFew(trace, entries)) {
    const whole = from <= 0 && to >= meta.runtime && meta.flowRanks === 0 && meta.flowPoints < NODES_FEW;
    return (whole && fromAnalysis(trace)) || fromFlow(trace, from, to);
  }
  const t = empty(rankPoints(meta.ranks, 1), true);
  for (const chunk of await Promise.all(entries.map((e) => trace.messages(e)))) addChunk(t, chunk, from, to);
  return t;
}
