// traffic.ts - who sent how much to whom in an interval: exact from the messages when few chunks hold them,
// else from flow tiles, whose ends are taken in proportion. A message counts where its send starts.
import { Kind } from '../decode/layout';
import type { Entry } from '../decode/layout';
import type { MessageChunk } from '../decode/records';
import type { Trace } from './trace';

const EXACT_CHUNKS = 8;
const TILES = 12;

export interface Traffic {
  nodes: number;
  ranksPerNode: number;
  exact: boolean;
  messages: Map<number, number>; // by source * nodes + destination
  bytes: Map<number, number>;
}

function empty(nodes: number, ranksPerNode: number, exact: boolean): Traffic {
  return { nodes, ranksPerNode, exact, messages: new Map(), bytes: new Map() };
}

function add(t: Traffic, src: number, dst: number, messages: number, bytes: number): void {
  const key = src * t.nodes + dst;
  t.messages.set(key, (t.messages.get(key) ?? 0) + messages);
  t.bytes.set(key, (t.bytes.get(key) ?? 0) + bytes);
}

function addChunk(t: Traffic, c: MessageChunk, from: number, to: number): void {
  for (let i = 0; i < c.count; i++)
    if (c.sendStart[i]! >= from && c.sendStart[i]! < to) add(t, c.src[i]!, c.dst[i]!, 1, c.bytes[i]!);
}

function flowTiles(trace: Trace, from: number, to: number): { entry: Entry; share: number }[] {
  const { runtime, messageLevels } = trace.meta;
  const tiles = Math.max(1, Math.min(2 ** 16, (TILES * runtime) / Math.max(to - from, 1)));
  const level = Math.max(0, Math.min(messageLevels - 1, Math.floor(Math.log2(tiles))));
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
  const t = empty(Math.ceil(trace.meta.ranks / trace.meta.flowRanks), trace.meta.flowRanks, exact);
  const loaded = await Promise.all(tiles.map((x) => trace.flow(x.entry)));
  loaded.forEach((tile, n) => {
    const { share } = tiles[n]!;
    for (let i = 0; i < tile.src.length; i++)
      add(t, tile.src[i]!, tile.dst[i]!, tile.messages[i]! * share, tile.bytes[i]! * share);
  });
  return t;
}

export async function trafficIn(trace: Trace, from: number, to: number): Promise<Traffic> {
  const entries = trace.messageEntries(from, to);
  if (entries.length > EXACT_CHUNKS) return fromFlow(trace, from, to);
  const t = empty(trace.meta.ranks, 1, true);
  for (const chunk of await Promise.all(entries.map((e) => trace.messages(e)))) addChunk(t, chunk, from, to);
  return t;
}
