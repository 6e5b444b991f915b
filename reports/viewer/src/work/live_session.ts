// live_session.ts - what views of a running step ask, answered on the spot: the samples so far are in memory, and bounded. Asked again when one comes.
import type { LiveProfile } from '../model/live_profile';
import { fieldOf, profileOf, samplesOf } from './field';
import type { ProfileSource } from './field';
import type { Queries } from './queries';

type LiveQuery = 'field' | 'profile' | 'samples';

export class LiveSession {
  private readonly asked = new Map<string, AbortController>();
  private readonly again = new Map<string, () => void>(); // who wants to know of new samples
  private until = Infinity; // number of the last sample that is shown
  busy = 0;

  constructor(private readonly profile: LiveProfile) {}

  get nodes(): string[] {
    return this.profile.nodes;
  }

  get meta(): { runtime: number } {
    return { runtime: this.source().samples.at(-1)?.end ?? 0 };
  }

  /** Nothing behind this number is there until it is Infinity again. */
  freeze(number: number): void {
    this.until = number;
  }

  grown(): void {
    for (const ask of this.again.values()) ask();
  }

  private source(): ProfileSource {
    const { profile } = this;
    const all = profile.samples;
    const samples = Number.isFinite(this.until) ? all.filter((s) => s.number <= this.until) : all;
    return {
      shape: () => Promise.resolve(profile.shape),
      nodes: profile.nodes,
      switches: () => new Map(),
      samples,
      sample: (at) => Promise.resolve(samples[at]!),
    };
  }

  ask<Q extends LiveQuery>(
    asker: string,
    query: Q,
    given: Queries[Q]['given'],
    take: (answer: Queries[Q]['answer'], last: boolean) => void,
    refuse: (error: Error) => void,
  ): void {
    this.giveUp(asker);
    const run = () => void this.run(asker, query, given, take, refuse);
    if (query === 'samples') this.again.set(asker, run);
    run();
  }

  private async run<Q extends LiveQuery>(
    asker: string,
    query: Q,
    given: Queries[Q]['given'],
    take: (answer: Queries[Q]['answer'], last: boolean) => void,
    refuse: (error: Error) => void,
  ): Promise<void> {
    const mine = new AbortController();
    this.asked.get(asker)?.abort();
    this.asked.set(asker, mine);
    const source = this.source();
    const answers = {
      field: () => fieldOf(source, given as Queries['field']['given'], mine.signal, () => undefined),
      profile: () => profileOf(source, given as Queries['profile']['given'], mine.signal),
      samples: () => samplesOf(source),
    };
    this.busy++;
    try {
      const answer = (await answers[query]()) as Queries[Q]['answer'];
      if (!mine.signal.aborted) take(answer, true);
    } catch (error) {
      if (!mine.signal.aborted) refuse(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.busy--;
    }
  }

  giveUp(asker: string): void {
    this.asked.get(asker)?.abort();
    this.asked.delete(asker);
    this.again.delete(asker);
  }
}
