// field.ts - read the samples of an interval and make of them the field, or the profile, that is asked for.
import { Kind } from '../decode/layout';
import type { Entry } from '../decode/layout';
import type { Sample } from '../decode/samples';
import { switchesOf } from '../layout/order';
import { FieldBuilder } from '../model/field';
import type { Field, FieldQuery } from '../model/field';
import { profileTree } from '../model/profile';
import type { EventBy, ProfileNode, ProfileShape } from '../model/profile';
import type { Trace } from '../model/trace';

/** In which order threads stand, before the field's own order. */
export type ThreadOrder = 'rank' | 'node' | 'switch';

export interface FieldGiven {
  from: number; // ns
  to: number;
  sample: number; // only the one at this place in the file, from 1; 0: all of the interval
  since: number; // and those after this one; -1: no others
  ranks: number[]; // empty: all
  threads: ThreadOrder;
  query: FieldQuery;
}

export interface ProfileGiven {
  from: number;
  to: number;
  sample: number;
  by: EventBy;
}

const SAID_MS = 200;

export async function shapeOf(trace: Trace): Promise<ProfileShape> {
  const { clockOf } = trace.meta;
  const rate = await trace.clockRates();
  return {
    meta: trace.meta,
    nodes: trace.nodes,
    sites: trace.callSites,
    nsPerTick: (lane) => rate[clockOf ? clockOf[lane]! : 0]!,
  };
}

/** Samples that overlap an interval, or the one at a place of the file, from 1. */
export function sampleEntries(trace: Trace, from: number, to: number, sample: number): Entry[] {
  const all = trace.kind(Kind.Samples);
  if (sample > 0) return all.slice(Math.min(sample, all.length) - 1, Math.min(sample, all.length));
  const shown = all.filter((e) => e.start < to && e.end > from);
  return shown.length > 0 ? shown : all.slice(-1);
}

function lanesInOrder(trace: Trace, ranks: number[], order: ThreadOrder): number[] {
  const { firstLane } = trace.meta;
  const all = ranks.length > 0 ? [...ranks] : Array.from({ length: trace.meta.ranks }, (_, r) => r);
  const switches = order === 'switch' ? switchesOf(trace.analysis) : null;
  const place = (rank: number) => {
    const name = trace.nodes[rank] ?? '';
    return switches ? `${switches.get(name) ?? '~'} ${name}` : name;
  };
  const compare = new Intl.Collator('en', { numeric: true }).compare;
  all.sort((a, b) => (order === 'rank' ? 0 : compare(place(a), place(b))) || a - b);
  return all.flatMap((r) => Array.from({ length: firstLane[r + 1]! - firstLane[r]! }, (_, t) => firstLane[r]! + t));
}

async function eachSample(
  trace: Trace,
  entries: Entry[],
  signal: AbortSignal,
  take: (s: Sample) => void,
): Promise<void> {
  for (const e of entries) {
    signal.throwIfAborted();
    take(await trace.sample(e, signal));
  }
}

export async function fieldOf(
  trace: Trace,
  { from, to, sample, since, ranks, threads, query }: FieldGiven,
  signal: AbortSignal,
  say: (part: Field) => void,
): Promise<Field> {
  const one = sampleEntries(trace, from, to, sample);
  const all = trace.kind(Kind.Samples);
  const first = query.cumulative ? 0 : since;
  const entries = sample > 0 && first >= 0 ? all.slice(Math.min(first, all.length - 1), sample) : one;
  const lanes = lanesInOrder(trace, ranks, threads);
  const before = Math.max(0, all.indexOf(entries[0]!));
  const builder = new FieldBuilder(await shapeOf(trace), query, lanes, entries.length, before);
  let said = performance.now();
  await eachSample(trace, entries, signal, (s) => {
    builder.add(s);
    if (performance.now() - said < SAID_MS) return;
    said = performance.now();
    say(builder.field());
  });
  return builder.field();
}

export async function profileOf(trace: Trace, given: ProfileGiven, signal: AbortSignal): Promise<ProfileNode> {
  const samples: Sample[] = [];
  const entries = sampleEntries(trace, given.from, given.to, given.sample);
  await eachSample(trace, entries, signal, (s) => samples.push(s));
  return profileTree(await shapeOf(trace), samples, given.by);
}

/** When each sample was taken, in the order of time. */
export async function samplesOf(trace: Trace): Promise<{ start: number; end: number }[]> {
  return Promise.resolve(trace.kind(Kind.Samples).map(({ start, end }) => ({ start, end })));
}
