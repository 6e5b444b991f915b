// distribution.ts - how often which lengths or sizes occur in an interval: a bin for each quarter of a power of two, and one for none.
// Limits of the filter on the same metric are not heeded, so that what a limit leaves out is seen beside it.
import { bytesOf, callsOf } from '../decode/records';
import { messageFilter } from '../model/filter';
import type { Filter } from '../model/filter';
import { earliestOf, passingIn } from '../model/passing';
import type { Trace } from '../model/trace';

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

  constructor(metric: Metric, of: number) {
    const bins = () => new Float64Array(BINS);
    this.all = { metric, count: bins(), sum: bins(), total: 0, least: Infinity, most: 0, read: 0, of };
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

type Done = (bins: Bins) => void;

async function ofCalls(trace: Trace, q: DistributionQuery, signal: AbortSignal, done: Done): Promise<Bins> {
  const wanted = q.ranks.length > 0 ? new Set(q.ranks) : null;
  const entries = trace.eventEntries(q.from, q.to, 0, trace.meta.ranks - 1);
  const isEarliest = earliestOf(entries);
  const bins = new Bins(q.metric, entries.length);
  const filter = others(q.filter, q.metric);
  for (const e of entries) {
    signal.throwIfAborted();
    const p = await passingIn(trace, e, filter, q.metric === 'wait', signal);
    const { chunk } = p;
    for (const s of chunk.segments) {
      if ((wanted && !wanted.has(s.rank)) || (s.carried && !isEarliest(e))) continue;
      for (let i = s.first; i < s.first + s.count && chunk.start[i]! < q.to; i++) {
        if (chunk.start[i]! + chunk.duration[i]! <= q.from || !p.passes(i, s)) continue;
        if (q.metric === 'duration') bins.add(chunk.duration[i]!, callsOf(chunk, i));
        else bins.add(q.metric === 'wait' ? p.waitNs(i, s) : bytesOf(chunk, i));
      }
    }
    bins.all.read++;
    done(bins);
  }
  return bins;
}

async function ofMessages(trace: Trace, q: DistributionQuery, signal: AbortSignal, done: Done): Promise<Bins> {
  const wanted = q.ranks.length > 0 ? new Set(q.ranks) : null;
  const entries = trace.messageEntries(q.from, q.to);
  const passes = messageFilter(others(q.filter, q.metric), trace.callSites);
  const bins = new Bins(q.metric, entries.length);
  for (const e of entries) {
    signal.throwIfAborted();
    const c = await trace.messages(e, signal);
    for (let i = 0; i < c.count; i++) {
      if (c.sendStart[i]! >= q.to || c.recvEnd[i]! <= q.from || !passes(c, i)) continue;
      if (wanted && !wanted.has(c.src[i]!) && !wanted.has(c.dst[i]!)) continue;
      bins.add(q.metric === 'transit' ? c.recvEnd[i]! - c.sendStart[i]! : c.bytes[i]!);
    }
    bins.all.read++;
    done(bins);
  }
  return bins;
}

const SAY_MS = 200;

export async function distributionOf(
  trace: Trace,
  q: DistributionQuery,
  signal: AbortSignal,
  say: (d: Distribution) => void,
): Promise<Distribution> {
  let said = performance.now();
  const done = (bins: Bins) => {
    if (performance.now() - said < SAY_MS) return;
    said = performance.now();
    say(bins.sealed());
  };
  const isOfCalls = q.metric === 'duration' || q.metric === 'wait' || q.metric === 'callBytes';
  return (await (isOfCalls ? ofCalls(trace, q, signal, done) : ofMessages(trace, q, signal, done))).sealed();
}
