// section.ts - a part of the run with the numbers of its events and its epochs. Both count from the beginning of the run, so one pass
// goes through it as far as anybody looked, and leaves a keyframe now and then; a section goes on from the last one before it, reads
// until all its epochs are over, and no further than AHEAD. In memory are keyframes and what is pending, whatever the run's length.
import type { Section, SectionQuery } from '../model/section';
import type { Trace } from '../model/trace';
import { Feed, recordedMembers } from './epoch_feed';
import { orderedIn, spansOf } from './ordered';
import type { Ordered, Span } from './ordered';
import { Recorder } from './section_record';

const KEPT = 4; // windows
const KEYFRAMES_MAX = 64;
const AHEAD = 1 << 18; // events behind a section that are looked at to know its epochs
const nobody = () => undefined;

/** Where to go on: before event `step` of a window. */
interface Keyframe {
  at: number;
  step: number;
  time: number; // ns: events before it start no later
  feed: Feed;
}

export class Pass {
  private readonly spans: Span[];
  private readonly kept = new Map<number, Promise<Ordered>>();
  private readonly live: Keyframe; // the pass itself
  private keyframes: Keyframe[];
  private busy: Promise<void> = Promise.resolve();

  constructor(readonly trace: Trace) {
    if (trace.version === 1)
      throw new Error('This file is of version 1, which does not say what belongs together: analyze its trace again.');
    this.spans = spansOf(trace);
    const feed = Feed.begin(trace.meta.ranks, recordedMembers(trace.analysis, trace.meta.ranks), nobody);
    this.live = { at: 0, step: 0, time: -Infinity, feed };
    this.keyframes = [{ ...this.live, feed: feed.copy(nobody) }];
  }

  ordered(at: number): Promise<Ordered> {
    const known = this.kept.get(at);
    const { window, entries, until } = this.spans[at]!;
    const found = known ?? orderedIn(this.trace, window, entries, until);
    this.kept.delete(at);
    this.kept.set(at, found);
    if (!known) found.catch(() => this.kept.get(at) === found && this.kept.delete(at));
    for (const old of this.kept.keys()) if (this.kept.size > KEPT) this.kept.delete(old);
    return found;
  }

  get windows(): number {
    return this.spans.length;
  }

  /** Go through the run up to that time. */
  async reach(time: number, signal: AbortSignal, say: (reached: number) => void): Promise<void> {
    while (this.live.at < this.spans.length && this.live.time < time) {
      signal.throwIfAborted();
      this.busy = this.busy.catch(nobody).then(() => this.passWindow(time));
      await this.busy;
      say(this.live.time);
      await new Promise((done) => setTimeout(done)); // others want something too
    }
  }

  private async passWindow(time: number): Promise<void> {
    const { live } = this;
    if (live.at >= this.spans.length || live.time >= time) return;
    const o = await this.ordered(live.at);
    for (; live.step < o.order.length; live.step++) {
      const i = o.order[live.step]!;
      live.time = o.time[i]!;
      if (live.feed.isDue(o, i)) {
        live.feed.stream.look();
        this.keep({ ...live, feed: live.feed.copy(nobody) });
      }
      live.feed.put(o, i);
    }
    live.at++;
    live.step = 0;
    live.time = Math.max(live.time, this.spans[live.at - 1]!.until);
  }

  /** When there are many, every other one goes. */
  private keep(k: Keyframe): void {
    this.keyframes.push(k);
    if (this.keyframes.length > KEYFRAMES_MAX) this.keyframes = this.keyframes.filter((_, i) => i % 2 === 0);
  }

  before(time: number): Keyframe {
    return this.keyframes.reduce((best, k) => (k.time < time ? k : best), this.keyframes[0]!);
  }
}

const known = new WeakMap<Trace, Pass>();

export function passOf(trace: Trace): Pass {
  const pass = known.get(trace) ?? new Pass(trace);
  known.set(trace, pass);
  return pass;
}

export async function sectionOf(
  trace: Trace,
  query: SectionQuery,
  signal: AbortSignal,
  say: (part: Section) => void,
): Promise<Section> {
  const pass = passOf(trace);
  const runtime = Math.max(1, trace.meta.runtime);
  const from = query.from > 0 ? query.from : -Infinity; // an import may begin before
  await pass.reach(from, signal, (time) => say(new Recorder(trace, query).underWay(Math.min(1, time / runtime))));
  const start = pass.before(from);
  const recorder = new Recorder(trace, query);
  const feed = start.feed.copy(recorder.takeEpoch);
  let ahead = 0;
  let step = start.step;
  for (let at = start.at; at < pass.windows; at++) {
    signal.throwIfAborted();
    const o = await pass.ordered(at);
    for (; step < o.order.length; step++) {
      const i = o.order[step]!;
      const isInside = recorder.takes(o.time[i]!, feed.stream.counted);
      feed.put(o, i);
      recorder.put(o, i, feed, isInside);
      ahead += Number(recorder.isFull);
      if (recorder.isComplete || ahead > AHEAD) return finished(feed, recorder, false);
    }
    step = 0;
    await new Promise((done) => setTimeout(done));
  }
  return finished(feed, recorder, true);
}

function finished(feed: Feed, recorder: Recorder, atEnd: boolean): Section {
  if (!recorder.isComplete) feed.stream.finish(atEnd);
  return recorder.finish();
}
