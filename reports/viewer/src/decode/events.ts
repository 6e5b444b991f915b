// events.ts - a chunk of calls: whose they are, which signatures they have, when they were.
import { Bytes, Damaged } from './bytes';
import { knotFor, nsAt, rounded } from './clock';
import type { Clock } from './clock';
import { lanesOfGroup, rankOfLane } from './meta';
import type { Meta } from './meta';
import { RECORDS_MAX, sparse } from './records';
import type { CollectiveNumber, EventChunk, Segment, Signatures } from './records';
import { readTimes } from './times';

const FORM = 1;
const HEAD_WORDS = 8;
const WORDS_MAX = 4; // that an event has of its own
const NUMBERS_MAX = 1 << 22;
const enum Extra {
  Calls = 0,
  Bytes = 1,
}

/** What the calls of a group refer to. */
export interface Context {
  meta: Meta;
  group: number;
  window: number;
  signatures: Signatures;
  clocks: Map<number, Clock>; // those of the group's lanes
}

interface Run extends Segment {
  begin: number; // tick
}

/** Numbers that some events have, as they are read. */
class Extras {
  readonly calls = { index: [] as number[], value: [] as number[] };
  readonly bytes = { index: [] as number[], value: [] as number[] };

  read(c: Bytes, event: number): void {
    const words = c.varint();
    if (words > WORDS_MAX) throw new Damaged('too many words of an event');
    for (let i = 0; i < words; i++) {
      const word = c.varint();
      const what = word % 4;
      const to = what === Extra.Calls ? this.calls : what === Extra.Bytes ? this.bytes : null;
      if (!to) continue;
      if (to.index[to.index.length - 1] === event) to.value.pop();
      else to.index.push(event);
      to.value.push((word - what) / 4);
    }
  }
}

class Lanes {
  private readonly end: number;
  private next: number;

  constructor(private readonly context: Context) {
    [this.next, this.end] = lanesOfGroup(context.meta, context.group);
  }

  /** The lane that so many stand before, as a segment. */
  read(c: Bytes): { lane: number; rank: number; thread: number } {
    const lane = this.next + c.varint();
    if (lane >= this.end) throw new Damaged('there is no such lane');
    this.next = lane + 1;
    const rank = rankOfLane(this.context.meta, lane);
    return { lane, rank, thread: lane - this.context.meta.firstLane[rank]! };
  }
}

function signatureRange({ signatures, meta, group }: Context, rank: number): [number, number] {
  const at = rank - group * meta.groupRanks;
  return [signatures.first[at]!, signatures.first[at + 1]!];
}

function clockOf({ clocks, meta }: Context, lane: number): Clock {
  const clock = clocks.get(meta.clockOf ? meta.clockOf[lane]! : 0);
  if (!clock) throw new Damaged('there is no such clock');
  return clock;
}

function readNumbers(c: Bytes, first: number, count: number, room: number): CollectiveNumber[] {
  const n = c.varint();
  if (n > room) throw new Damaged('too many numbers of collectives');
  const numbers: CollectiveNumber[] = [];
  let index = 0;
  for (let i = 0; i < n; i++) {
    index += c.varint();
    const comm = c.varint();
    if (index >= count || comm > 0xffffffff) throw new Damaged('impossible number of a collective');
    numbers.push({ index: first + index, comm, k: c.varint() - 1 });
  }
  return numbers;
}

/** Runs, whose events follow those that are carried. */
function readRuns(c: Bytes, context: Context): { runs: Run[]; count: number } {
  const n = c.varint();
  const lanes = new Lanes(context);
  const runs: Run[] = [];
  let count = 0;
  let numbers = 0;
  for (let i = 0; i < n; i++) {
    const place = lanes.read(c);
    const events = c.varint();
    const begin = c.varint();
    if (events < 1 || events > RECORDS_MAX - count) throw new Damaged('too many events');
    const run = { ...place, begin, carried: false, window: context.window, index: 0, first: count, count: events };
    runs.push({ ...run, numbers: readNumbers(c, count, events, NUMBERS_MAX - numbers) });
    numbers += runs[i]!.numbers.length;
    count += events;
  }
  return { runs, count };
}

interface Carried {
  segments: Segment[];
  start: number[];
  duration: number[];
  signature: number[];
}

function readCarried(c: Bytes, context: Context, extras: Extras): Carried {
  const n = c.varint();
  const lanes = new Lanes(context);
  const out: Carried = { segments: [], start: [], duration: [], signature: [] };
  for (let i = 0; i < n; i++) {
    const place = lanes.read(c);
    const back = c.varint();
    const index = c.varint();
    const id = c.varint();
    const enter = c.varint();
    const leave = enter + c.varint();
    const k = c.varint() - 1;
    const [firstId, endId] = signatureRange(context, place.rank);
    if (back < 1 || back > context.window || id >= endId - firstId || !Number.isSafeInteger(leave))
      throw new Damaged('impossible carried event');
    extras.read(c, i);
    const clock = clockOf(context, place.lane);
    out.segments.push({
      ...place,
      carried: true,
      window: context.window - back,
      index,
      first: i,
      count: 1,
      numbers: [{ index: i, comm: context.signatures.comm[firstId + id]!, k }],
    });
    out.start.push(nsAt(clock, enter));
    out.duration.push(nsAt(clock, leave) - out.start[i]!);
    out.signature.push(firstId + id);
  }
  return out;
}

interface Payload {
  words: Uint32Array; // signature id << 1 | has extra words, of each event
  extra: Bytes;
  times: Float64Array; // gap and duration in ticks: by id, then in order
  next: Uint32Array; // by id: its first pair of times
}

let kept = new Uint32Array(0);

/** Until the next are read. */
function readWords(column: Bytes, count: number, ids: number): Uint32Array {
  if (kept.length < count) kept = new Uint32Array(count);
  const words = kept.subarray(0, count);
  for (let i = 0; i < count; i++) {
    const word = column.varint();
    if (word >= 2 * ids) throw new Damaged('there is no such signature');
    words[i] = word;
  }
  if (column.left > 0) throw new Damaged('there are too many signatures');
  return words;
}

function groupsOf(words: Uint32Array, ids: number): Uint32Array {
  const next = new Uint32Array(ids + 1);
  for (let i = 0; i < words.length; i++) next[(words[i]! >>> 1) + 1]!++;
  for (let id = 0; id < ids; id++) next[id + 1]! += next[id]!;
  return next;
}

/** The columns of all events; ids: so many signatures the rank has that has most. */
function readPayload(c: Bytes, expected: number, ids: number): Payload {
  const head = Array.from({ length: HEAD_WORDS }, () => c.u32());
  const [count, period, signature, extra, tables, symbols, others, form] = head as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  c.u64(); // begin tick: each run has its own
  if (count !== expected || count > signature || form !== FORM) throw new Damaged('the columns have another number');
  const words = readWords(new Bytes(c.slice(signature)), count, ids);
  const extraWords = new Bytes(c.slice(extra));
  const [ofTables, ofSymbols, ofOthers] = [tables, symbols, others].map((length) => new Bytes(c.slice(length)));
  const columns = { period, tables: ofTables!, symbols: ofSymbols!, others: ofOthers!, bits: c.slice(c.left) };
  return { words, extra: extraWords, times: readTimes(columns, count), next: groupsOf(words, ids) };
}

/** The knot for a tick, searched upwards from knot k: its number, tick, ns, ns per tick; and the tick of the next. */
function knotAt(clock: Clock, tick: number, k: number): [number, number, number, number, number] {
  const at = knotFor(clock, tick, k);
  const until = at + 1 < clock.tick.length ? clock.tick[at + 1]! : Infinity;
  return [at, clock.tick[at]!, clock.ns[at]!, clock.nsPerTick[at]!, until];
}

/** Times and signatures of a run, whose events stand at `shift` behind their place in the payload. */
function placeRun(run: Run, shift: number, p: Payload, context: Context, out: EventChunk, extras: Extras): void {
  const { words, times, next } = p;
  const { start, duration, signature } = out;
  const [firstId, endId] = signatureRange(context, run.rank);
  const ids = endId - firstId;
  const clock = clockOf(context, run.lane);
  let tick = run.begin;
  let [k, knot, base, rate, until] = knotAt(clock, tick, 0);
  for (let i = run.first; i < run.first + run.count; i++) {
    const word = words[i]!;
    const id = word >>> 1;
    if (id >= ids) throw new Damaged('there is no such signature');
    const at = 2 * next[id]!++;
    tick += times[at]!;
    if (tick >= until) [k, knot, base, rate, until] = knotAt(clock, tick, k);
    const begin = rounded(base + (tick - knot) * rate);
    tick += times[at + 1]!;
    if (tick >= until) [k, knot, base, rate, until] = knotAt(clock, tick, k);
    start[shift + i] = begin;
    duration[shift + i] = rounded(base + (tick - knot) * rate) - begin;
    signature[shift + i] = firstId + id;
    if ((word & 1) !== 0) extras.read(p.extra, shift + i);
  }
  if (!Number.isSafeInteger(tick)) throw new Damaged('a time is too large');
}

export function readEvents(data: Uint8Array, context: Context): EventChunk {
  const c = new Bytes(data);
  const { runs, count } = readRuns(c, context);
  const extras = new Extras();
  const carried = readCarried(c, context, extras);
  let most = 0;
  for (const run of runs) {
    const [first, end] = signatureRange(context, run.rank);
    most = Math.max(most, end - first);
  }
  const payload = readPayload(c, count, most);
  const shift = carried.segments.length;
  const out: EventChunk = {
    count: shift + count,
    segments: carried.segments,
    start: new Float64Array(shift + count),
    duration: new Float64Array(shift + count),
    signature: new Uint32Array(shift + count),
    signatures: context.signatures,
    calls: sparse(),
    bytes: sparse(),
    threads: null,
    wait: null,
  };
  out.start.set(carried.start);
  out.duration.set(carried.duration);
  out.signature.set(carried.signature);
  for (const run of runs) {
    placeRun(run, shift, payload, context, out, extras);
    const { begin: _, numbers, ...segment } = run;
    const shifted = numbers.map((n) => ({ ...n, index: n.index + shift }));
    out.segments.push({ ...segment, first: run.first + shift, numbers: shifted });
  }
  if (payload.extra.left > 0) throw new Damaged('there are words after those of the events');
  out.calls = sparse(extras.calls.index, extras.calls.value);
  out.bytes = sparse(extras.bytes.index, extras.bytes.value);
  return out;
}
