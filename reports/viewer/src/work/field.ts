// field.ts - read the samples of an interval and make of them the field, or the profile, that is asked for.
import { Kind } from '../decode/layout';
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

/** Where samples are from: a trace, or a step that still runs. */
export interface ProfileSource {
  shape(): Promise<ProfileShape>;
  nodes: readonly string[]; // by rank
  switches(): ReadonlyMap<string, string>; // by node
  /** In the order of time. */
  samples: readonly { start: number; end: number }[];
  sample(at: number, signal: AbortSignal): Promise<Sample>;
}

export function profileSource(trace: Trace): ProfileSource {
  const samples = trace.kind(Kind.Samples);
  return {
    async shape() {
      const { clockOf } = trace.meta;
      const rate = await trace.clockRates();
      return {
        meta: trace.meta,
        nodes: trace.nodes,
        sites: trace.callSites,
        nsPerTick: (lane) => rate[clockOf ? clockOf[lane]! : 0]!,
      };
    },
    nodes: trace.nodes,
    switches: () => switchesOf(trace.analysis),
    samples,
    sample: (at, signal) => trace.sample(samples[at]!, signal),
  };
}

/** Places of the samples that overlap an interval, or of the one that is asked for by its place from 1: first, and behind the last. */
function placesOf(source: ProfileSource, from: number, to: number, sample: number): [number, number] {
  const all = source.samples;
  if (sample > 0) return [Math.min(sample, all.length) - 1, Math.min(sample, all.length)];
  const first = all.findIndex((e) => e.start < to && e.end > from);
  if (first < 0) return [Math.max(0, all.length - 1), all.length];
  let end = first;
  while (end < all.length && all[end]!.start < to) end++;
  return [first, end];
}

function lanesInOrder(source: ProfileSource, { meta }: ProfileShape, ranks: number[], order: ThreadOrder): number[] {
  const { firstLane } = meta;
  const all = ranks.length > 0 ? ranks.filter((r) => r < meta.ranks) : Array.from({ length: meta.ranks }, (_, r) => r);
  const switches = order === 'switch' ? source.switches() : null;
  const place = (rank: number) => {
    const name = source.nodes[rank] ?? '';
    return switches ? `${switches.get(name) ?? '~'} ${name}` : name;
  };
  const compare = new Intl.Collator('en', { numeric: true }).compare;
  all.sort((a, b) => (order === 'rank' ? 0 : compare(place(a), place(b))) || a - b);
  return all.flatMap((r) => Array.from({ length: firstLane[r + 1]! - firstLane[r]! }, (_, t) => firstLane[r]! + t));
}

async function eachSample(
  source: ProfileSource,
  [first, end]: [number, number],
  signal: AbortSignal,
  take: (s: Sample) => void,
): Promise<void> {
  for (let at = first; at < end; at++) {
    signal.throwIfAborted();
    take(await source.sample(at, signal));
  }
}

export async function fieldOf(
  source: ProfileSource,
  { from, to, sample, since, ranks, threads, query }: FieldGiven,
  signal: AbortSignal,
  say: (part: Field) => void,
): Promise<Field> {
  const one = placesOf(source, from, to, sample);
  const first = query.cumulative ? 0 : since;
  const places: [number, number] =
    sample > 0 && first >= 0 ? [Math.min(first, source.samples.length - 1), one[1]] : one;
  const shape = await source.shape();
  const lanes = lanesInOrder(source, shape, ranks, threads);
  const builder = new FieldBuilder(shape, query, lanes, places[1] - places[0], places[0]);
  let said = performance.now();
  await eachSample(source, places, signal, (s) => {
    builder.add(s);
    if (performance.now() - said < SAID_MS) return;
    said = performance.now();
    say(builder.field());
  });
  return builder.field();
}

export async function profileOf(source: ProfileSource, given: ProfileGiven, signal: AbortSignal): Promise<ProfileNode> {
  const samples: Sample[] = [];
  const places = placesOf(source, given.from, given.to, given.sample);
  await eachSample(source, places, signal, (s) => samples.push(s));
  return profileTree(await source.shape(), samples, given.by);
}

/** When each sample was taken, in the order of time. */
export function samplesOf(source: ProfileSource): Promise<{ start: number; end: number }[]> {
  return Promise.resolve(source.samples.map(({ start, end }) => ({ start, end })));
}
