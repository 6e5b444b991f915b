// queries.ts - what can be asked of an open trace, a row each: what it is given, what it answers. All run beside the page,
// in the worker. A new one: a function in a file of its own, its types and its row here.
import type { Alike } from '../model/alike';
import type { Issue } from '../model/analysis';
import type { Field } from '../model/field';
import type { Instant, InstantQuery } from '../model/instant';
import type { Logical, LogicalQuery } from '../model/logical';
import type { Call, Thing } from '../model/picked';
import type { ProfileNode } from '../model/profile';
import type { Section, SectionQuery } from '../model/section';
import type { Snapshot, StatesQuery } from '../model/snapshot';
import { trafficIn } from '../model/traffic';
import type { Traffic, TrafficQuery } from '../model/traffic';
import type { Trace } from '../model/trace';
import type { Camera, Picture } from './camera';
import { alikeRanks } from './alike';
import { chainOf } from './chain';
import type { Chain, ChainQuery } from './chain';
import { distributionOf } from './distribution';
import type { Distribution, DistributionQuery } from './distribution';
import { findEnds } from './ends';
import { fieldOf, profileOf, profileSource, samplesOf } from './field';
import type { FieldGiven, ProfileGiven } from './field';
import { worstInstance } from './instance';
import { instantOf } from './instant';
import { iterationsOf } from './iterations';
import type { IterationsQuery } from './iterations';
import { logicalOf } from './logical';
import { overview } from './overview';
import { neighbour, underPointer } from './pick';
import type { Under } from './pick';
import { Drawing } from './picture';
import { protocolOf, verdictsOf } from './protocol';
import type { ProtocolAnswer, ProtocolQuery, VerdictsQuery } from './protocol';
import type { Judged } from '../model/protocol';
import { search } from './search';
import type { Found, SearchQuery } from './search';
import { sectionOf } from './section';
import { sharesOf } from './shares';
import type { SharesQuery } from './shares';
import { censusOf } from './census';
import type { Census, CensusQuery } from './census';
import { countStates, statesOf } from './states';
import { statsOf } from './stats';
import type { Stats, StatsQuery } from './stats';
import { tableOf } from './table';
import type { TablePage, TableQuery } from './table';
import { thingOf } from './things';

export interface Queries {
  picture: { given: Camera; answer: Picture };
  pick: { given: { camera: Camera; x: number; y: number }; answer: Under };
  step: {
    given: { camera: Camera; of: Call | { rank: number; thread: number; start: number }; forward: boolean };
    answer: Thing | null;
  };
  thing: { given: string; answer: Thing | null };
  overview: { given: null; answer: Float32Array };
  alike: { given: null; answer: Alike | null };
  traffic: { given: TrafficQuery; answer: Traffic };
  stats: { given: StatsQuery; answer: Stats };
  search: { given: SearchQuery; answer: Found };
  table: { given: TableQuery; answer: TablePage };
  distribution: { given: DistributionQuery; answer: Distribution };
  chain: { given: ChainQuery; answer: Chain };
  iterations: { given: IterationsQuery; answer: Float64Array };
  shares: { given: SharesQuery; answer: Float32Array };
  instance: { given: Issue; answer: Thing | null };
  states: { given: StatesQuery; answer: Snapshot };
  census: { given: CensusQuery; answer: Census };
  countStates: { given: null; answer: { steps: number; whole: boolean; share: number } };
  instant: { given: InstantQuery; answer: Instant };
  protocol: { given: ProtocolQuery; answer: ProtocolAnswer };
  verdicts: { given: VerdictsQuery; answer: (Judged | null)[] | null };
  section: { given: SectionQuery; answer: Section };
  logical: { given: LogicalQuery; answer: Logical };
  field: { given: FieldGiven; answer: Field };
  profile: { given: ProfileGiven; answer: ProfileNode };
  samples: { given: null; answer: { start: number; end: number }[] };
}

export type Query = keyof Queries;
type Given<Q extends Query> = Queries[Q]['given'];
type Answer<Q extends Query> = Queries[Q]['answer'];

/** say: what is known so far. */
export type Run<Q extends Query> = (
  trace: Trace,
  given: Given<Q>,
  signal: AbortSignal,
  say: (part: Answer<Q>) => void,
) => Promise<Answer<Q>>;

const PATIENCE_MS = 90; // until a picture is shown that is not complete

async function picture(
  trace: Trace,
  camera: Camera,
  signal: AbortSignal,
  say: (part: Picture) => void,
): Promise<Picture> {
  const drawing = new Drawing(trace, camera);
  const later = () => setTimeout(() => drawing.hasBars() && say(drawing.draw()), PATIENCE_MS);
  let timer = later();
  try {
    const load = drawing.load(signal, (rough) => {
      clearTimeout(timer);
      if (rough) say(drawing.draw());
      timer = later();
    });
    await Promise.all([load, findEnds(trace)]);
  } finally {
    clearTimeout(timer);
  }
  return drawing.draw();
}

/** Lower is earlier; those of 0 and 1 wait for nobody. */
export const QUERIES: { [Q in Query]: { run: Run<Q>; priority: number } } = {
  pick: { run: async (trace, { camera, x, y }) => underPointer(trace, camera, x, y), priority: 0 },
  step: { run: async (trace, { camera, of, forward }) => neighbour(trace, camera, of, forward), priority: 0 },
  picture: { run: picture, priority: 1 },
  thing: { run: thingOf, priority: 1 },
  overview: { run: overview, priority: 1 },
  alike: { run: alikeRanks, priority: 2 },
  traffic: { run: trafficIn, priority: 1 },
  instance: { run: worstInstance, priority: 2 },
  instant: { run: instantOf, priority: 1 },
  stats: { run: statsOf, priority: 2 },
  search: { run: search, priority: 2 },
  table: { run: tableOf, priority: 2 },
  distribution: { run: distributionOf, priority: 2 },
  chain: { run: chainOf, priority: 2 },
  iterations: { run: iterationsOf, priority: 2 },
  shares: { run: sharesOf, priority: 2 },
  states: { run: statesOf, priority: 1 },
  section: { run: sectionOf, priority: 1 },
  logical: { run: logicalOf, priority: 1 },
  census: { run: censusOf, priority: 3 },
  countStates: { run: countStates, priority: 3 },
  protocol: { run: protocolOf, priority: 2 },
  verdicts: { run: verdictsOf, priority: 1 },
  field: { run: (trace, ...rest) => fieldOf(profileSource(trace), ...rest), priority: 1 },
  profile: { run: (trace, given, signal) => profileOf(profileSource(trace), given, signal), priority: 2 },
  samples: { run: (trace) => samplesOf(profileSource(trace)), priority: 1 },
};
