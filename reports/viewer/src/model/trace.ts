// trace.ts - an open trace: what is in it and which chunks an interval of time and ranks needs.
import { Damaged } from '../decode/bytes';
import { ENTRY_BYTES, Kind, SUPERBLOCK_BYTES, readIndex, readMeta, readSuperblock } from '../decode/layout';
import type { Entry, Meta } from '../decode/layout';
import { readEvents, readMessages } from '../decode/records';
import type { EventChunk, MessageChunk } from '../decode/records';
import { readFlow, readSummary } from '../decode/tiles';
import type { FlowTile, SummaryTile } from '../decode/tiles';
import { Chunks } from '../io/chunks';
import type { Source } from '../io/source';
import { callSites, communicators, list, num, str } from './analysis';
import type { CallSite, Json } from './analysis';

export class Trace {
  readonly callSites: Map<number, CallSite>;
  readonly comms: Map<number, string>;
  readonly nodes: string[]; // by rank
  private readonly byKind = new Map<Kind, Entry[]>();
  private readonly tiles = new Map<string, Entry>(); // SUMMARY, TOP and FLOW by place

  private constructor(
    readonly source: Source,
    readonly chunks: Chunks,
    readonly meta: Meta,
    readonly analysis: Json,
    entries: Entry[],
  ) {
    for (const e of entries) {
      const same = this.byKind.get(e.kind) ?? [];
      if (same.length === 0) this.byKind.set(e.kind, same);
      same.push(e);
      if (e.kind === Kind.Summary || e.kind === Kind.Top || e.kind === Kind.Flow)
        this.tiles.set(placeOf(e.kind, e.rankLevel, e.level, e.group, e.seq), e);
    }
    this.callSites = callSites(analysis);
    this.comms = communicators(analysis);
    this.nodes = [];
    for (const x of list(analysis, 'per_rank')) this.nodes[num(x, 'rank') ?? -1] = str(x, 'node');
  }

  static async open(source: Source): Promise<Trace> {
    const head = await source.read(0, Math.min(SUPERBLOCK_BYTES, source.bytes));
    const superblock = readSuperblock(head, source.bytes);
    const index = await source.read(superblock.indexOffset, superblock.entries * ENTRY_BYTES);
    const entries = readIndex(index, superblock);
    const chunks = new Chunks(source);
    const metaEntry = entries.find((e) => e.kind === Kind.Meta);
    const analysisEntry = entries.find((e) => e.kind === Kind.Analysis);
    if (!metaEntry || !analysisEntry) throw new Damaged('The file has no description or no analysis.');
    const [meta, analysis] = await Promise.all([
      chunks.load(metaEntry, readMeta),
      chunks.load(analysisEntry, (data) => JSON.parse(new TextDecoder().decode(data)) as Json),
    ]);
    return new Trace(source, chunks, meta, analysis, entries);
  }

  private kind(kind: Kind): Entry[] {
    return this.byKind.get(kind) ?? [];
  }

  eventEntries(from: number, to: number, firstRank: number, lastRank: number): Entry[] {
    const first = Math.floor(firstRank / this.meta.groupRanks);
    const last = Math.floor(lastRank / this.meta.groupRanks);
    return this.kind(Kind.Events).filter((e) => e.group >= first && e.group <= last && e.start < to && e.end > from);
  }

  messageEntries(from: number, to: number): Entry[] {
    return this.kind(Kind.Messages).filter((e) => e.start < to && e.end > from);
  }

  tile(kind: Kind, level: number, seq: number, rankLevel = 0, group = 0): Entry | undefined {
    return this.tiles.get(placeOf(kind, rankLevel, level, group, seq));
  }

  events(e: Entry): Promise<EventChunk> {
    return this.chunks.load(e, (data) => readEvents(data, this.meta, e.group));
  }

  messages(e: Entry): Promise<MessageChunk> {
    return this.chunks.load(e, (data) => readMessages(data, this.meta));
  }

  summary(e: Entry): Promise<SummaryTile> {
    return this.chunks.load(e, (data) => readSummary(data, this.meta, e));
  }

  flow(e: Entry): Promise<FlowTile> {
    return this.chunks.load(e, (data) => readFlow(data, this.meta));
  }
}

function placeOf(kind: Kind, rankLevel: number, level: number, group: number, seq: number): string {
  return `${kind}.${rankLevel}.${level}.${group}.${seq}`;
}
