// v1.ts - the description and the calls of version 1, as what version 2 makes of them. Its messages are those of
// top.ts.
import { Bytes, Damaged, columnsOf } from './bytes';
import { checkMeta, readOps, readShape } from './meta';
import type { Meta } from './meta';
import { CLASSES, NOWHERE, RECORDS_MAX, emptySignatures, sparse } from './records';
import type { EventChunk, Segment, Sparse } from './records';
import { fill } from './top';

const COLUMNS = 12;
const SEGMENTS_MAX = 1 << 20;

export function readMetaV1(data: Uint8Array): Meta {
  const c = new Bytes(data);
  const { size, summary } = readShape(c);
  const levels = c.u32();
  const flowRanks = c.u32();
  const totals = { threads: c.u32(), segmentNs: c.u64(), events: c.u64(), messages: c.u64() };
  if (flowRanks < 1 || totals.segmentNs < 1) throw new Damaged('the description of the file is impossible');
  const flowPoints = Math.ceil(size.ranks / flowRanks);
  const rest = { topLevels: levels, flowLevels: levels, flowPoints, flowRanks, windows: 0, clocks: 0, waits: 0 };
  const numbers = { ...size, ...summary, ...totals, ...rest };
  checkMeta(numbers);
  const ops = readOps(c);
  const flowOf = Uint32Array.from({ length: size.ranks }, (_, rank) => Math.floor(rank / flowRanks));
  const firstLane = Uint32Array.from({ length: size.ranks + 1 }, (_, rank) => rank);
  return { ...numbers, threads: Math.max(1, totals.threads), flowOf, firstLane, clockOf: null, ops };
}

function readSegments(c: Bytes, meta: Meta, group: number): { segments: Segment[]; bins: number[]; count: number } {
  const n = c.varint();
  if (n > SEGMENTS_MAX) throw new Damaged('too many segments');
  const segments: Segment[] = [];
  const bins: number[] = [];
  let count = 0;
  for (let i = 0; i < n; i++) {
    const row = c.varint();
    const carried = (c.varint() & 1) === 1;
    bins.push(c.varint());
    const [rank, events] = [group * meta.groupRanks + row, c.varint()];
    if (row >= meta.groupRanks || rank >= meta.ranks || events > RECORDS_MAX - count)
      throw new Damaged('impossible segment');
    const nowhere = { thread: 0, lane: rank, window: NOWHERE, index: 0, numbers: [] };
    segments.push({ ...nowhere, rank, carried, first: count, count: events });
    count += events;
  }
  return { segments, bins, count };
}

/** The events of which value() is not the usual one. */
function others(count: number, usual: number, value: () => number): Sparse {
  const index: number[] = [];
  const values: number[] = [];
  for (let i = 0; i < count; i++) {
    const x = value();
    if (x === usual) continue;
    index.push(i);
    values.push(x);
  }
  return sparse(index, values);
}

/** Each event has a signature of its own: that is what version 1 wrote. */
export function readEventsV1(data: Uint8Array, meta: Meta, group: number): EventChunk {
  const c = new Bytes(data);
  const { segments, bins, count } = readSegments(c, meta, group);
  if (count * COLUMNS > c.left) throw new Damaged('too few bytes for the events'); // before memory is taken
  const columns = columnsOf(c, COLUMNS);
  const column = (k: number) => columns[k]!;
  const start = new Float64Array(count);
  const duration = new Float64Array(count);
  segments.forEach((segment, n) => {
    let clock = bins[n]! * meta.segmentNs;
    for (let i = segment.first; i < segment.first + segment.count; i++) {
      start[i] = clock + column(0).zigzag();
      duration[i] = column(1).varint();
      clock = start[i]! + duration[i]!;
    }
  });
  const signatures = emptySignatures(count);
  const threads = new Uint32Array(count);
  fill(signatures.op, count, () => column(2).varint());
  fill(signatures.class, count, () => Math.min(column(3).varint(), CLASSES));
  fill(signatures.callSite, count, () => column(4).varint() - 1);
  fill(signatures.comm, count, () => column(5).varint());
  fill(threads, count, () => column(6).varint());
  fill(signatures.peer, count, () => column(7).zigzag());
  fill(signatures.tag, count, () => column(8).zigzag());
  fill(signatures.bytes, count, () => column(9).varint());
  const calls = others(count, 1, () => column(10).varint());
  const wait = others(count, 0, () => column(11).varint());
  for (let i = 0; i < count; i++)
    if (signatures.class[i]! >= CLASSES || signatures.op[i]! >= meta.ops.length) throw new Damaged('impossible event');
  return {
    count,
    segments,
    start,
    duration,
    signature: Uint32Array.from({ length: count }, (_, i) => i),
    signatures,
    calls,
    bytes: sparse(),
    threads,
    wait,
  };
}
