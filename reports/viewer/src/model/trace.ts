// trace.ts - an open trace: what is in it and which chunks an interval of time and ranks needs.
import { Damaged } from '../decode/damaged';
import { readClock } from '../decode/clock';
import type { Clock } from '../decode/clock';
import { readEvents, readEventsV1 } from '../decode/events';
import { foreignFormat, importTrace } from '../decode/foreign';
import { ENTRY_BYTES, Kind, SUPERBLOCK_BYTES } from '../decode/layout';
import type { Entry } from '../decode/layout';
import { readLinks } from '../decode/links';
import { groupOfLane, lanesOfGroup, rankOfLane, readMeta } from '../decode/meta';
import type { Meta } from '../decode/meta';
import type { Positions } from '../decode/positions';
import { Reader } from '../decode/reader';
import { readMessages } from '../decode/records';
import type { EventChunk, EventRef, MessageChunk, Signatures } from '../decode/records';
import { readSample } from '../decode/samples';
import type { Sample } from '../decode/samples';
import { noSignatures, readSignatures } from '../decode/signatures';
import { readFlow, readSummary } from '../decode/tiles';
import type { FlowTile, SummaryTile } from '../decode/tiles';
import { How, readWaits } from '../decode/waits';
import type { Waits } from '../decode/waits';
import { Chunks } from '../io/chunks';
import { FileSource } from '../io/source';
import type { Source } from '../io/source';
import { callSites, communicators, list, num, numbers, parseJson, str } from './analysis';
import type { CallSite, Json } from './analysis';
import { Cursor, Parts, keysOf, linked, workOut } from './messages';
import type { Linked } from './messages';
import { opensOf, recordedUntil, recordedUntilOf } from './open';
import type { Open } from './open';

const FOREIGN_BYTES_MAX = 64 * 2 ** 20; // a million calls

/** What a file says of itself; text: the analysis as it lies there. */
export interface Raw {
  version: number;
  meta: Meta;
  text: Uint8Array;
}

/** A trace of another tool, as this one's. */
async function imported(source: Source, format: number): Promise<Source> {
  if (source.bytes > FOREIGN_BYTES_MAX)
    throw new Error(`The file is over ${FOREIGN_BYTES_MAX} bytes: mpitrace import reads it.`);
  const bytes = await importTrace(format, source.name, await source.read(0, source.bytes));
  return new FileSource(new Blob([bytes as BlobPart]), source.name);
}

export class Trace {
  readonly callSites: Map<number, CallSite>;
  readonly comms: Map<number, string>;
  readonly nodes: string[]; // by rank
  readonly opens: Map<number, Open[]>; // by rank: calls that it never came back from
  readonly recordedUntil: Float64Array; // by rank, ns: from then on single calls are missing; Infinity: none are
  readonly laneRecordedUntil: Float64Array; // the same by lane
  private readonly byKind = new Map<Kind, Entry[]>();
  private readonly places = new Map<number, Map<number, Entry>>(); // by kind and level, by place there
  private windowStart: Float64Array | null = null; // of windows with calls
  private receivers: Map<number, Set<number>> | null | undefined; // groups that a group sends to; null: not known

  private constructor(
    readonly source: Source,
    readonly chunks: Chunks,
    readonly version: number,
    readonly meta: Meta,
    readonly analysis: Json,
    private readonly entries: Entry[],
    private readonly reader: Reader,
  ) {
    for (const e of entries) {
      const same = this.byKind.get(e.kind) ?? [];
      if (same.length === 0) this.byKind.set(e.kind, same);
      same.push(e);
      const key = levelKey(e.kind, e.rankLevel, e.level);
      const level = this.places.get(key) ?? new Map<number, Entry>();
      if (level.size === 0) this.places.set(key, level);
      level.set(placeKey(e.group, e.seq), e);
    }
    this.callSites = callSites(analysis);
    this.comms = communicators(analysis, meta.ranks);
    this.opens = opensOf(analysis);
    this.recordedUntil = recordedUntil(analysis, meta.ranks, meta.events);
    this.laneRecordedUntil = recordedUntilOf(analysis, meta);
    this.nodes = [];
    for (const x of list(analysis, 'per_rank')) this.nodes[num(x, 'rank') ?? -1] = str(x, 'node');
  }

  /** early: called with what is known before the analysis is parsed here, that somebody else may parse it at the same time. */
  static async open(source: Source, early: (known: Raw) => void = () => undefined): Promise<Trace> {
    const head = await source.read(0, Math.min(SUPERBLOCK_BYTES, source.bytes));
    const format = foreignFormat(head);
    if (format >= 0) return Trace.open(await imported(source, format), early);
    const reader = await Reader.create();
    const { version, ...index } = reader.superblock(head, source.bytes);
    const entries = reader.index(await source.read(index.indexOffset, index.entries * ENTRY_BYTES));
    const chunks = new Chunks(source);
    const metaEntry = entries.find((e) => e.kind === Kind.Meta);
    const analysisEntry = entries.find((e) => e.kind === Kind.Analysis);
    if (!metaEntry || !analysisEntry) throw new Damaged('The file has no description or no analysis.');
    const [meta, text] = await Promise.all([
      chunks.load(metaEntry, (data) => readMeta(reader, data, version)),
      chunks.load(analysisEntry, (data) => data),
    ]);
    chunks.forget(analysisEntry);
    early({ version, meta, text });
    return new Trace(source, chunks, version, meta, parseJson(text), entries, reader);
  }

  /** Load and decode a chunk. */
  private load<T>(e: Entry, read: (reader: Reader, data: Uint8Array, entry: Entry) => T, signal?: AbortSignal) {
    return this.chunks.load(e, (data) => read(this.reader, data, e), signal);
  }

  /** Whether it can be read: of a part of a trace, most cannot. */
  isThere(e: Entry): boolean {
    return this.source.has?.(e.offset, e.packedBytes) ?? true;
  }

  /** Index entries of one kind, in the order of the file. */
  kind(kind: Kind): Entry[] {
    return this.byKind.get(kind) ?? [];
  }

  /** The chunk of that name. */
  private entry(kind: Kind, rankLevel: number, level: number, group: number, seq: number): Entry | undefined {
    return this.places.get(levelKey(kind, rankLevel, level))?.get(placeKey(group, seq));
  }

  eventEntries(from: number, to: number, firstRank: number, lastRank: number): Entry[] {
    const first = Math.floor(firstRank / this.meta.groupRanks);
    const last = Math.floor(lastRank / this.meta.groupRanks);
    return this.kind(Kind.Events).filter((e) => e.group >= first && e.group <= last && e.start < to && e.end > from);
  }

  /** Chunks with messages that overlap the interval; with ranks, those that may have one from or to these. */
  messageEntries(from: number, to: number, firstRank = 0, lastRank = this.meta.ranks - 1): Entry[] {
    const groups = this.receiverGroups(firstRank, lastRank);
    return this.kind(Kind.Messages).filter(
      (e) => (!groups || groups.has(e.group)) && e.start < to && (e.end > from || e.start >= from),
    );
  }

  /** Groups of the ranks, and those that receive from them; null: any may. */
  private receiverGroups(firstRank: number, lastRank: number): Set<number> | null {
    const all = firstRank <= 0 && lastRank >= this.meta.ranks - 1;
    if (this.version === 1 || all) return null;
    if (this.receivers === undefined) this.receivers = this.findReceivers();
    if (!this.receivers) return null;
    const groups = new Set<number>();
    const last = Math.floor(lastRank / this.meta.groupRanks);
    for (let g = Math.floor(firstRank / this.meta.groupRanks); g <= last; g++) {
      groups.add(g);
      this.receivers.get(g)?.forEach((x) => groups.add(x));
    }
    return groups;
  }

  /** From the matrix of the analysis, unless that leaves out pairs. */
  private findReceivers(): Map<number, Set<number>> | null {
    const pairs = list(this.analysis, 'matrix', 'p2p');
    if (pairs.length === 0 || (num(this.analysis, 'matrix', 'p2p_pairs_left_out') ?? 0) > 0) return null;
    const found = new Map<number, Set<number>>();
    for (const x of pairs) {
      const [src, dst] = [num(x, 'src'), num(x, 'dst')];
      if (src === undefined || dst === undefined) return null;
      const group = Math.floor(src / this.meta.groupRanks);
      const to = found.get(group) ?? new Set<number>();
      if (to.size === 0) found.set(group, to);
      to.add(Math.floor(dst / this.meta.groupRanks));
    }
    return found;
  }

  /** Chunks with wait states of calls of ranks that overlap the interval. */
  waitEntriesOf(from: number, to: number, firstRank: number, lastRank: number): Entry[] {
    const first = Math.floor(firstRank / this.meta.groupRanks);
    const last = Math.floor(lastRank / this.meta.groupRanks);
    return this.kind(Kind.Waits).filter((e) => e.group >= first && e.group <= last && e.start <= to && e.end >= from);
  }

  /** The entry with that number in the index. */
  entryOf(id: number): Entry | undefined {
    return this.entries[id];
  }

  /** Chunks with wait states of calls of a rank that overlap the interval. */
  waitEntries(rank: number, from: number, to: number): Entry[] {
    const group = Math.floor(rank / this.meta.groupRanks);
    return this.kind(Kind.Waits).filter((e) => e.group === group && e.start <= to && e.end >= from);
  }

  tile(kind: Kind, level: number, seq: number, rankLevel = 0, group = 0): Entry | undefined {
    return this.entry(kind, rankLevel, level, group, seq);
  }

  private signatures(group: number): Promise<Signatures> {
    const e = this.entry(Kind.Signatures, 0, 0, group, 0);
    if (!e) return Promise.resolve(noSignatures(this.meta));
    return this.load(e, readSignatures);
  }

  private async clocks(group: number): Promise<Map<number, Clock>> {
    const { clockOf } = this.meta;
    const [first, end] = lanesOfGroup(this.meta, group);
    const ids = new Set(clockOf ? clockOf.subarray(first, end) : [0]);
    const clocks = new Map<number, Clock>();
    const load = async (id: number) => {
      const e = this.entry(Kind.Clock, 0, 0, id, 0);
      if (e) clocks.set(id, await this.load(e, readClock));
    };
    await Promise.all(Array.from(ids, load));
    return clocks;
  }

  events(e: Entry, signal?: AbortSignal): Promise<EventChunk> {
    if (this.version === 1) return this.load(e, readEventsV1, signal);
    const here = this.chunks.peek<EventChunk>(e);
    if (here) return Promise.resolve(here);
    // asked for with the calls, and so read with those of other groups, which they lie beside
    const context = Promise.all([this.signatures(e.group), this.clocks(e.group)]);
    context.catch(() => undefined); // who decodes says so
    const decode = async (data: Uint8Array) => {
      const [signatures, clocks] = await context;
      return readEvents(this.reader, data, e, { meta: this.meta, signatures, clocks });
    };
    return this.chunks.load(e, decode, signal);
  }

  /** The chunk of calls that a position is in. */
  eventEntry(window: number, lane: number): Entry | undefined {
    return this.entry(Kind.Events, 0, 0, groupOfLane(this.meta, lane), window);
  }

  /** The call at a position. */
  async eventAt(positions: Positions, i: number): Promise<EventRef> {
    const one = {
      window: positions.window.subarray(i, i + 1),
      lane: positions.lane.subarray(i, i + 1),
      index: positions.index.subarray(i, i + 1),
    };
    const { chunk, index } = new Cursor(await this.parts((put) => put(one))).find(one, 0);
    return { chunk, index };
  }

  /** The chunks of calls that positions refer to; choose names these. */
  private async parts(choose: (put: (p: Positions, of?: ArrayLike<number>) => void) => void): Promise<Parts> {
    const parts = new Parts(this.meta);
    const keys = new Set<number>();
    choose((p, of) => keysOf(parts, keys, p, of));
    const load = async (key: number) => {
      const e = this.entry(Kind.Events, 0, 0, Math.floor(key / this.meta.windows), key % this.meta.windows);
      if (e) parts.put(key, await this.events(e));
    };
    await Promise.all(Array.from(keys, load));
    return parts;
  }

  /** The chunks of calls that some wait states are about: those that waited, and those whose times tell how long. */
  partsFor(w: Waits, list: readonly number[]): Promise<Parts> {
    const timed = list.filter((k) => w.how[k] !== How.Ns);
    return this.parts((put) => (put(w.at, list), put(w.causer, timed)));
  }

  get lanes(): number {
    return this.meta.firstLane[this.meta.ranks]!;
  }

  /** World ranks of a communicator, as far as the analysis lists them. */
  membersOf(comm: number): number[] {
    const row = list(this.analysis, 'communicators').find((x, i) => (num(x, 'id') ?? i) === comm);
    return numbers(row, 'ranks').filter((rank) => rank >= 0 && rank < this.meta.ranks);
  }

  rankOfLane(lane: number): number {
    return rankOfLane(this.meta, lane);
  }

  /** All messages of a chunk. */
  async messages(e: Entry, signal?: AbortSignal): Promise<MessageChunk> {
    if (this.version === 1 || e.kind === Kind.Top) return this.load(e, readMessages, signal);
    const m = await this.linked(e, signal);
    if (m.left > 0) await this.chunks.blaming(e, () => this.workOutAll(m));
    return m.chunk;
  }

  private async workOutAll(m: Linked): Promise<void> {
    const ends = [m.links.receive, m.links.completion, m.links.send];
    const parts = await this.parts((put) => ends.forEach((p) => put(p)));
    workOut(m, parts);
  }

  /** Messages as references to calls, to be worked out (nearby.ts). */
  linked(e: Entry, signal?: AbortSignal): Promise<Linked> {
    return this.load(e, (...given) => linked(readLinks(...given)), signal);
  }

  /** Messages of a chunk as far as they are here; others begin at infinity. */
  peekMessages(e: Entry): MessageChunk | undefined {
    const found = this.chunks.peek<MessageChunk | Linked>(e);
    return found && ('links' in found ? found.chunk : found);
  }

  /** Windows that an interval touches: the first and the last one. */
  windowsOf(from: number, to: number): [number, number] {
    if (!this.windowStart) {
      this.windowStart = new Float64Array(this.meta.windows).fill(Infinity);
      for (const e of this.kind(Kind.Events))
        if (e.seq < this.meta.windows) this.windowStart[e.seq] = Math.min(this.windowStart[e.seq]!, e.start);
    }
    const starts = this.windowStart;
    let [first, last] = [0, starts.length - 1];
    while (last > 0 && starts[last]! >= to) last--;
    for (let w = 1; w <= last; w++) if (starts[w]! <= from) first = w;
    return [first, last];
  }

  waits(e: Entry, signal?: AbortSignal): Promise<Waits> {
    return this.load(e, readWaits, signal);
  }

  /** By clock: ns per tick over all of the run. Where it has several rates, they differ by less than samples can tell. */
  async clockRates(): Promise<Float64Array> {
    const rates = new Float64Array(this.meta.clocks).fill(1);
    for (const e of this.kind(Kind.Clock)) {
      const { tickNs } = await this.load(e, readClock);
      if (e.group < rates.length) rates[e.group] = tickNs;
    }
    return rates;
  }

  sample(e: Entry, signal?: AbortSignal): Promise<Sample> {
    return this.load(e, readSample, signal);
  }

  summary(e: Entry, signal?: AbortSignal): Promise<SummaryTile> {
    return this.chunks.load(e, (data) => readSummary(data, this.meta, e), signal);
  }

  flow(e: Entry, signal?: AbortSignal): Promise<FlowTile> {
    return this.load(e, readFlow, signal);
  }
}

function levelKey(kind: Kind, rankLevel: number, level: number): number {
  return (kind * 65536 + rankLevel) * 256 + level;
}

function placeKey(group: number, seq: number): number {
  return group * 2 ** 32 + seq;
}
