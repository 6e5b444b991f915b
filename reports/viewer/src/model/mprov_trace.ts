// mprov_trace.ts - a log as a trace holds it: description, index and decoded chunks, without a file between. All is in one window; there are
// no summary tiles: a log is short enough to be drawn event by event.
import { Kind } from '../decode/layout';
import type { Entry } from '../decode/layout';
import type { Links } from '../decode/links';
import type { Meta } from '../decode/meta';
import { emptyPositions } from '../decode/positions';
import type { Positions } from '../decode/positions';
import type { EventChunk, Segment, Signatures, Sparse } from '../decode/records';
import { linked } from './messages';
import { LOG_OPS, analysisOf } from './mprov_analysis';
import type { Site } from './mprov_analysis';
import { TICK_NS } from './mprov';
import type { Log, LogEvent, LogLink } from './mprov';

const GROUP_RANKS = 16; // as files have them: names of calls and messages are the same
const POINT_TO_POINT = 1; // class of calls
const NO_SITE = -1;

export interface Made {
  meta: Meta;
  analysis: Record<string, unknown>;
  entries: Entry[];
  chunks: Map<number, unknown>; // by id of the entry
}

function metaOf(log: Log, runtime: number): Meta {
  const ranks = log.ranks.length;
  const one = { rows: 1, bins: 1, timeLevels: 1, rankLevels: 1, topLevels: 1, flowLevels: 1, flowPoints: 1 };
  return {
    ...one,
    ranks,
    runtime,
    groupRanks: GROUP_RANKS,
    rowFactor: 2,
    flowOf: new Uint32Array(ranks),
    flowRanks: 0,
    windows: 1,
    threads: 1,
    firstLane: Uint32Array.from({ length: ranks + 1 }, (_, i) => i),
    clocks: 1,
    clockOf: null,
    events: log.events,
    messages: log.links.length,
    waits: 0,
    ops: LOG_OPS,
  };
}

/** Numbers of call sites, in the order in which ranks have them. */
class Sites {
  readonly list: Site[] = [];
  private readonly known = new Map<string, number>();

  of({ sends, line }: LogEvent): number {
    if (line === 0) return NO_SITE;
    const op = sends ? 0 : 1;
    const key = `${op} ${line}`;
    const at = this.known.get(key) ?? this.list.push({ op, line, calls: 0 }) - 1;
    this.known.set(key, at);
    this.list[at]!.calls++;
    return at;
  }
}

const NONE: Sparse = { index: new Uint32Array(0), value: new Float64Array(0) };

/** What events of a rank have in common: operation, call site and peer. */
function chunkOf(log: Log, firstRank: number, sites: Sites): EventChunk {
  const ranks = log.ranks.slice(firstRank, firstRank + GROUP_RANKS);
  const all = ranks.flat();
  const [op, callSite, peer, first] = [[] as number[], [] as number[], [] as number[], [0]];
  const signature: number[] = [];
  const segments: Segment[] = [];
  ranks.forEach((events, i) => {
    const rank = firstRank + i;
    const run = { rank, thread: 0, lane: rank, carried: false, window: 0, index: 0, numbers: [] };
    if (events.length > 0) segments.push({ ...run, first: signature.length, count: events.length });
    const known = new Map<string, number>();
    for (const x of events) {
      const site = sites.of(x);
      const key = `${x.sends} ${site} ${x.peer}`;
      if (!known.has(key)) {
        known.set(key, op.push(x.sends ? 0 : 1) - 1);
        callSite.push(site);
        peer.push(x.peer);
      }
      signature.push(known.get(key)!);
    }
    first.push(op.length);
  });
  const n = op.length;
  const signatures: Signatures = {
    first: Uint32Array.from(first),
    op: Uint32Array.from(op),
    class: new Uint8Array(n).fill(POINT_TO_POINT),
    callSite: Int32Array.from(callSite),
    comm: new Uint32Array(n),
    peer: Int32Array.from(peer),
    tag: new Int32Array(n),
    bytes: new Float64Array(n),
    messageBytes: new Float64Array(n),
    flags: new Uint8Array(n),
  };
  return {
    count: all.length,
    segments,
    start: Float64Array.from(all, (x) => x.ns),
    duration: new Float64Array(all.length).fill(TICK_NS),
    signature: Uint32Array.from(signature),
    signatures,
    calls: NONE,
    bytes: NONE,
    threads: null,
    wait: null,
  };
}

function linksOf(list: LogLink[]): Links {
  const at = (lane: (l: LogLink) => number, index: (l: LogLink) => number): Positions => {
    const p = emptyPositions(list.length);
    p.window.fill(0);
    list.forEach((l, i) => ([p.lane[i], p.index[i]] = [lane(l), index(l)]));
    return p;
  };
  const receive = at(
    (l) => l.dst,
    (l) => l.receive,
  );
  const send = at(
    (l) => l.src,
    (l) => l.send,
  );
  const signature = new Int32Array(list.length).fill(-1);
  return { count: list.length, receive, completion: receive, send, sent: send, signature };
}

export function traceOfLog(log: Log, name: string): Made {
  const runtime = log.ranks.reduce((end, events) => Math.max(end, (events.at(-1)?.ns ?? -TICK_NS) + TICK_NS), 0);
  const entries: Entry[] = [];
  const chunks = new Map<number, unknown>();
  const put = (kind: Kind, group: number, records: number, chunk: unknown) => {
    const nowhere = { offset: 0, packedBytes: 0, rawBytes: 0, crc: 0 };
    const id = entries.length;
    entries.push({ id, kind, level: 0, rankLevel: 0, group, seq: 0, records, start: 0, end: runtime + 1, ...nowhere });
    chunks.set(id, chunk);
  };
  const sites = new Sites();
  const groups = Math.ceil(log.ranks.length / GROUP_RANKS);
  const byGroup: LogLink[][] = Array.from({ length: groups }, () => []);
  for (const link of log.links) byGroup[Math.floor(link.dst / GROUP_RANKS)]!.push(link);
  for (let g = 0; g < groups; g++) {
    const chunk = chunkOf(log, g * GROUP_RANKS, sites);
    if (chunk.count > 0) put(Kind.Events, g, chunk.count, chunk);
  }
  byGroup.forEach((list, g) => {
    list.sort((a, b) => a.dst - b.dst || a.receive - b.receive);
    if (list.length > 0) put(Kind.Messages, g, list.length, linked(linksOf(list)));
  });
  return { meta: metaOf(log, runtime), analysis: analysisOf(log, name, sites.list), entries, chunks };
}
