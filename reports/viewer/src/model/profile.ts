// profile.ts - the profile of a run: what each thread did at each place between two moments, as a tree node → process → thread → event. One
// sample is what came in its interval, all up to one what came until then, those between two the difference. Pure.
import { Known } from '../decode/samples';
import type { Sample } from '../decode/samples';
import { rankOfLane } from '../decode/meta';
import type { Meta } from '../decode/meta';
import type { CallSite } from './analysis';

/** An event is an operation, or a call site of one. */
export type EventBy = 'op' | 'site';

/** What samples are of. */
export interface ProfileShape {
  meta: Pick<Meta, 'ranks' | 'firstLane' | 'ops'>;
  nodes: readonly string[]; // by rank
  sites: ReadonlyMap<number, CallSite>;
  nsPerTick(lane: number): number;
}

/** Sums over calls that ended in the interval. */
export interface Counts {
  calls: number;
  ns: number; // inside of MPI: exclusive, as no MPI call is inside of another one
  bytes: number;
  wait: number; // ns in wait states, as far as the file tells
}

/** What the kernel counted. */
export interface Usage {
  cpu: number; // ns on a processor
  ready: number; // ns ready to run, and on none
  resident: number; // bytes of the processes, as of the last sample
  length: number; // ns in which it was looked at, all threads together
}

export interface ProfileNode {
  kind: 'job' | 'node' | 'process' | 'thread' | 'event';
  name: string;
  id: number; // rank of a process, thread of it, event by its key; else -1
  counts: Counts;
  usage: Usage | null; // null: not known, and of events
  children: ProfileNode[];
}

/** Which event a cell is of. */
export function eventKey(by: EventBy, op: number, site: number): number {
  return by === 'op' ? op : site >= 0 ? site : -1 - op;
}

export function eventName(shape: ProfileShape, by: EventBy, key: number): string {
  const op = by === 'op' ? key : -1 - key;
  if (by === 'op' || key < 0) return shape.meta.ops[op] ?? 'other calls';
  const site = shape.sites.get(key);
  return site ? `${site.op}${site.place ? ` at ${site.place}` : ''}` : `call site ${key}`;
}

/** Whether an event's name is asked for: words divided by commas, each part of a name or with * for anything, of any case; those that begin
 * with - leave out. */
export function eventMatcher(pattern: string): (name: string) => boolean {
  const words = pattern
    .split(',')
    .map((x) => x.trim())
    .filter((x) => x !== '' && x !== '-');
  const test = (word: string) => {
    const parts = word.split('*').map((x) => x.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(word.includes('*') ? `^${parts.join('.*')}$` : parts.join(''), 'i');
  };
  const isOut = words.filter((x) => x.startsWith('-')).map((x) => test(x.slice(1)));
  const isIn = words.filter((x) => !x.startsWith('-')).map(test);
  return (name) => (isIn.length === 0 || isIn.some((t) => t.test(name))) && !isOut.some((t) => t.test(name));
}

const noCounts = (): Counts => ({ calls: 0, ns: 0, bytes: 0, wait: 0 });

function node(kind: ProfileNode['kind'], name: string, id: number): ProfileNode {
  return { kind, name, id, counts: noCounts(), usage: null, children: [] };
}

function addCounts(to: Counts, from: Counts, sign = 1): void {
  to.calls += sign * from.calls;
  to.ns += sign * from.ns;
  to.bytes += sign * from.bytes;
  to.wait += sign * from.wait;
}

/** Of one thread over all samples. */
interface ThreadSums {
  events: Map<number, Counts>;
  usage: Usage | null;
}

function addThread(sums: ThreadSums, s: Sample, at: number, by: EventBy, nsPerTick: number): void {
  for (let c = s.firstCell[at]!; c < s.firstCell[at + 1]!; c++) {
    const key = eventKey(by, s.op[c]!, s.site[c]!);
    const counts = sums.events.get(key) ?? noCounts();
    sums.events.set(key, counts);
    const [calls, bytes, wait] = [s.calls[c]!, s.bytes[c]!, s.wait[c]!];
    addCounts(counts, { calls, ns: s.ticks[c]! * nsPerTick, bytes, wait });
  }
  const known = s.known[at]!;
  if ((known & (Known.System | Known.Resident)) === 0) return;
  const usage = (sums.usage ??= { cpu: 0, ready: 0, resident: 0, length: 0 });
  if (known & Known.System) {
    usage.cpu += s.cpu[at]!;
    usage.ready += s.ready[at]!;
    usage.length += s.end - s.start;
  }
  if (known & Known.Resident) usage.resident = s.resident[at]!;
}

/** Everything below is added up. */
function seal(x: ProfileNode): ProfileNode {
  for (const child of x.children) {
    addCounts(x.counts, child.counts);
    if (!child.usage) continue;
    x.usage ??= { cpu: 0, ready: 0, resident: 0, length: 0 };
    x.usage.cpu += child.usage.cpu;
    x.usage.ready += child.usage.ready;
    x.usage.resident += child.usage.resident;
    x.usage.length += child.usage.length;
  }
  return x;
}

/** What all these samples say together; threads of which nothing is known are left out. Events with most time first. */
export function profileTree(shape: ProfileShape, samples: readonly Sample[], by: EventBy): ProfileNode {
  const threads = new Map<number, ThreadSums>();
  for (const s of samples)
    s.lane.forEach((lane, at) => {
      const sums = threads.get(lane) ?? { events: new Map<number, Counts>(), usage: null };
      threads.set(lane, sums);
      addThread(sums, s, at, by, shape.nsPerTick(lane));
    });
  const nodes = new Map<string, ProfileNode>();
  const processes = new Map<number, ProfileNode>();
  for (const [lane, sums] of [...threads].sort((a, b) => a[0] - b[0])) {
    const rank = rankOfLane(shape.meta as Meta, lane);
    const name = shape.nodes[rank] || 'unknown node';
    const host = nodes.get(name) ?? node('node', name, -1);
    nodes.set(name, host);
    let process = processes.get(rank);
    if (!process) {
      process = node('process', `rank ${rank}`, rank);
      processes.set(rank, process);
      host.children.push(process);
    }
    const thread = node('thread', `thread ${lane - shape.meta.firstLane[rank]!}`, lane - shape.meta.firstLane[rank]!);
    for (const [key, counts] of [...sums.events].sort((a, b) => b[1].ns - a[1].ns))
      thread.children.push({ ...node('event', eventName(shape, by, key), key), counts });
    process.children.push(seal(thread));
    thread.usage = sums.usage;
  }
  for (const process of processes.values()) seal(process);
  const job = node('job', 'all ranks', -1);
  job.children = [...nodes.values()].map(seal);
  return seal(job);
}

/** What b has more than a, of the same shape: negative where it has less. */
export function profileChange(a: ProfileNode | undefined, b: ProfileNode | undefined): ProfileNode {
  const either = (b ?? a)!;
  const change = node(either.kind, either.name, either.id);
  if (b) addCounts(change.counts, b.counts);
  if (a) addCounts(change.counts, a.counts, -1);
  if (either.kind !== 'event' && (a?.usage || b?.usage)) {
    const of = (key: keyof Usage) => (b?.usage?.[key] ?? 0) - (a?.usage?.[key] ?? 0);
    change.usage = { cpu: of('cpu'), ready: of('ready'), resident: of('resident'), length: of('length') };
  }
  const keyOf = (x: ProfileNode) => `${x.id} ${x.name}`;
  const before = new Map(a?.children.map((x) => [keyOf(x), x]));
  const after = new Set(b?.children.map(keyOf));
  for (const x of b?.children ?? []) change.children.push(profileChange(before.get(keyOf(x)), x));
  for (const x of a?.children ?? []) if (!after.has(keyOf(x))) change.children.push(profileChange(x, undefined));
  return change;
}
