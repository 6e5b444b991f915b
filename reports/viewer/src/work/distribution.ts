// distribution.ts - how often which lengths or sizes occur in an interval: a bin for each quarter of a power of two, and one for none.
// Limits of the filter on the same metric are not heeded, so that what a limit leaves out is seen beside it.
import { bytesOf, callsOf } from '../decode/records';
import type { MessageChunk, Segment } from '../decode/records';
import type { Filter } from '../model/filter';
import type { Passing } from '../model/passing';
import type { Trace } from '../model/trace';
import { opensIn } from './open_calls';
import { eachCall, eachMessage } from './walk';
import type { Progress } from './walk';

export type Metric = 'duration' | 'wait' | 'callBytes' | 'messageBytes' | 'transit';

export const BINS_EACH = 4; // of a power of two
export const BINS = 50 * BINS_EACH;

export interface DistributionQuery {
  metric: Metric;
  from: number;
  to: number;
  ranks: number[]; // empty: all
  filter: Filter;
}

export interface Distribution {
  metric: Metric;
  count: Float64Array; // by bin; of the first: nothing at all
  sum: Float64Array;
  total: number;
  open: number; // of them: calls that ranks never came back from
  least: number; // above nothing
  most: number;
  read: number; // chunks
  of: number;
}

/** From where on values are in a bin. */
export function binStart(bin: number): number {
  return bin === 0 ? 0 : 2 ** ((bin - 1) / BINS_EACH);
}

function binOf(value: number): number {
  if (!(value > 0)) return 0;
  return Math.min(BINS - 1, Math.max(0, Math.floor(Math.log2(value) * BINS_EACH + 1e-9)) + 1);
}

/** Without the limits of the metric itself. */
function others(filter: Filter, metric: Metric): Filter {
  if (metric === 'duration') return { ...filter, minNs: 0, maxNs: 0 };
  if (metric === 'wait') return { ...filter, minWaitNs: 0, maxWaitNs: 0 };
  if (metric === 'transit') return { ...filter, minTransitNs: 0, maxTransitNs: 0 };
  return { ...filter, minBytes: 0, maxBytes: 0 };
}

class Bins {
  readonly all: Distribution;

  constructor(metric: Metric) {
    const bins = () => new Float64Array(BINS);
    this.all = { metric, count: bins(), sum: bins(), total: 0, open: 0, least: Infinity, most: 0, read: 0, of: 0 };
  }

  add(value: number, times = 1): void {
    const { all } = this;
    const bin = binOf(value);
    all.count[bin]! += times;
    all.sum[bin]! += value;
    all.total += times;
    all.most = Math.max(all.most, value);
    if (value > 0) all.least = Math.min(all.least, value);
  }

  sealed(): Distribution {
    return { ...this.all, count: this.all.count.slice(), sum: this.all.sum.slice() };
  }
}

async function ofCalls(trace: Trace, q: DistributionQuery, bins: Bins, signal: AbortSignal, done: Progress) {
  const walk = { ...q, filter: others(q.filter, q.metric) };
  const isWait = q.metric === 'wait';
  const take = (p: Passing, i: number, s: Segment) => {
    const { chunk } = p;
    if (opensIn(chunk)) {
      if (q.metric === 'callBytes') return; // not known
      bins.all.open++;
    }
    if (q.metric === 'duration') bins.add(chunk.duration[i]!, callsOf(chunk, i));
    else bins.add(isWait ? p.waitNs(i, s) : bytesOf(chunk, i));
  };
  await eachCall(trace, walk, isWait, signal, take, done);
}

async function ofMessages(trace: Trace, q: DistributionQuery, bins: Bins, signal: AbortSignal, done: Progress) {
  const walk = { ...q, filter: others(q.filter, q.metric) };
  const isTransit = q.metric === 'transit';
  const take = (c: MessageChunk, i: number) => bins.add(isTransit ? c.recvEnd[i]! - c.sendStart[i]! : c.bytes[i]!);
  await eachMessage(trace, walk, signal, take, done);
}

const SAY_MS = 200;

export async function distributionOf(
  trace: Trace,
  q: DistributionQuery,
  signal: AbortSignal,
  say: (d: Distribution) => void,
): Promise<Distribution> {
  const bins = new Bins(q.metric);
  let said = performance.now();
  const done = (read: number, of: number) => {
    Object.assign(bins.all, { read, of });
    if (performance.now() - said < SAY_MS) return;
    said = performance.now();
    say(bins.sealed());
  };
  const isOfCalls = q.metric === 'duration' || q.metric === 'wait' || q.metric === 'callBytes';
  await (isOfCalls ? ofCalls : ofMessages)(trace, q, bins, signal, done);
  return bins.sealed();
}
