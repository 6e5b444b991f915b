// live_profile.ts - the profile of a step that still runs: merged samples (mpitrace/sample/1, docs/LIVE.md) as the samples that a finished trace
// has, so that all fields are made of both alike. What waits is not known while it runs. Bounded: neighbours become one, with their sums. Pure.
import { Known } from '../decode/samples';
import type { Sample } from '../decode/samples';
import { list, num, str } from './analysis';
import type { CallSite, Json } from './analysis';
import type { ProfileShape } from './profile';

const CELLS_MAX = 1 << 20; // some 50 bytes each
const SAMPLES_MAX = 2048;
const OTHER = 'other calls';
/** Of a node: what it did since is in a later sample. */
const NOTHING_NEW = new Set(['lags', 'not due', 'no samples']);

/** A cell while a sample is read. */
interface Sums {
  calls: number;
  ns: number;
  bytes: number;
}

/** What one thread was in at the end of the sample before. */
interface Inside {
  key: number;
  ns: number;
}

interface Thread {
  rank: number;
  thread: number;
  known: number;
  cpu: number;
  ready: number;
  resident: number;
  cells: [number, Sums][]; // by key, in its order
}

const SITES = 2 ** 24; // keys are operation * SITES + call site + 1

const opOf = (key: number): number => Math.floor(key / SITES);
const siteOf = (key: number): number => (key % SITES) - 1;

/** Threads in order of rank and thread, as the lanes of a trace are. Times of cells are ns: nodes have clocks of their own. */
function sampleOf(head: Pick<Sample, 'number' | 'samples' | 'start' | 'end'>, threads: Thread[]): Sample {
  const cells = threads.reduce((n, t) => n + t.cells.length, 0);
  const numbers = (n: number) => new Float64Array(n);
  const s: Sample = {
    ...head,
    lane: new Uint32Array(threads.length),
    known: Uint8Array.from(threads, (t) => t.known),
    cpu: Float64Array.from(threads, (t) => t.cpu),
    ready: Float64Array.from(threads, (t) => t.ready),
    resident: Float64Array.from(threads, (t) => t.resident),
    firstCell: new Uint32Array(threads.length + 1),
    op: new Uint16Array(cells),
    site: numbers(cells),
    calls: numbers(cells),
    ticks: numbers(cells),
    bytes: numbers(cells),
    wait: numbers(cells),
  };
  let at = 0;
  threads.forEach((t, i) => {
    for (const [key, x] of t.cells) {
      [s.op[at], s.site[at], s.calls[at], s.ticks[at], s.bytes[at]] = [opOf(key), siteOf(key), x.calls, x.ns, x.bytes];
      at++;
    }
    s.firstCell[i + 1] = at;
  });
  return s;
}

/** A sample with who its threads are, since lanes change when a thread is new. */
interface Kept {
  sample: Sample;
  rank: Uint32Array;
  thread: Uint32Array;
}

function threadsOf(k: Kept): Thread[] {
  const { sample: s } = k;
  return [...k.rank].map((rank, i) => {
    const cells: [number, Sums][] = [];
    for (let c = s.firstCell[i]!; c < s.firstCell[i + 1]!; c++)
      cells.push([s.op[c]! * SITES + s.site[c]! + 1, { calls: s.calls[c]!, ns: s.ticks[c]!, bytes: s.bytes[c]! }]);
    const [cpu, ready, resident] = [s.cpu[i]!, s.ready[i]!, s.resident[i]!];
    return { rank, thread: k.thread[i]!, known: s.known[i]!, cpu, ready, resident, cells };
  });
}

function keep(head: Pick<Sample, 'number' | 'samples' | 'start' | 'end'>, threads: Thread[]): Kept {
  threads.sort((a, b) => a.rank - b.rank || a.thread - b.thread);
  return {
    sample: sampleOf(head, threads),
    rank: Uint32Array.from(threads, (t) => t.rank),
    thread: Uint32Array.from(threads, (t) => t.thread),
  };
}

const byKey = (sums: Map<number, Sums>): [number, Sums][] => [...sums].sort((a, b) => a[0] - b[0]);

/** Both intervals as one. A thread that was silent in the second has what it did there in a later one. */
function joined(a: Kept, b: Kept): Kept {
  const all = new Map<string, Thread>();
  for (const t of [...threadsOf(a), ...threadsOf(b)]) {
    const key = `${t.rank} ${t.thread}`;
    const had = all.get(key);
    if (!had) {
      all.set(key, t);
      continue;
    }
    const sums = new Map(had.cells);
    for (const [k, x] of t.cells) {
      const y = sums.get(k);
      sums.set(k, y ? { calls: y.calls + x.calls, ns: y.ns + x.ns, bytes: y.bytes + x.bytes } : x);
    }
    const silent = had.known & t.known & Known.Silent;
    const known = ((had.known | t.known) & ~Known.Silent) | silent;
    const resident = t.known & Known.Resident ? t.resident : had.resident;
    all.set(key, { ...t, known, cpu: had.cpu + t.cpu, ready: had.ready + t.ready, resident, cells: byKey(sums) });
  }
  const { number, samples, start } = a.sample;
  return keep({ number, samples: samples + b.sample.samples, start, end: b.sample.end }, [...all.values()]);
}

export class LiveProfile {
  private kept: Kept[] = [];
  private cells = 0;
  private readonly ops = new Map<string, number>();
  private readonly opNames: string[] = [];
  private readonly sites = new Map<number, CallSite>();
  private readonly siteIds = new Map<string, number>();
  private readonly inside = new Map<string, Inside>();
  private readonly threads: number[] = []; // of each rank
  readonly nodes: string[] = []; // by rank
  private firstLane = new Uint32Array(1);
  private begin = NaN; // seconds since 1970
  private last = 0; // number of the newest
  private readonly most: { cells: number; samples: number };

  constructor(most: { cells?: number; samples?: number } = {}) {
    this.most = { cells: CELLS_MAX, samples: SAMPLES_MAX, ...most };
  }

  get newest(): number {
    return this.last;
  }

  /** As samples of a trace are: in the order of time, ns since the beginning of the first. */
  get samples(): readonly Sample[] {
    return this.kept.map((k) => k.sample);
  }

  /** ns from the beginning of the first sample to the end of the newest. */
  get runtime(): number {
    return this.kept.at(-1)?.sample.end ?? 0;
  }

  get shape(): ProfileShape {
    const { firstLane, opNames: ops, nodes, sites } = this;
    return { meta: { ranks: this.threads.length, firstLane, ops }, nodes, sites, nsPerTick: () => 1 };
  }

  /** Place from 1 of the sample that a number belongs to; 0: it is not kept. */
  placeOf(number: number): number {
    return 1 + this.kept.findIndex(({ sample: s }) => number >= s.number && number < s.number + s.samples);
  }

  /** The next one. Whether places of earlier ones have changed, since neighbours became one. */
  take(x: Json): boolean {
    const number = num(x, 'number') ?? 0;
    if (number <= this.last) return false;
    if (this.last > 0 && number !== this.last + 1) this.inside.clear(); // what was between is not known
    this.last = number;
    const time = num(x, 'time') ?? 0;
    const gap = Math.max(0, ...list(x, 'nodes').map((n) => num(n, 'gap_s') ?? 0));
    if (Number.isNaN(this.begin)) this.begin = time - (gap > 0 ? gap : 1);
    const start = this.runtime;
    const end = Math.max(start + 1, Math.round((time - this.begin) * 1e9));
    const made = keep({ number, samples: 1, start, end }, this.readThreads(x));
    this.kept.push(made);
    this.cells += made.sample.op.length;
    this.place([made]);
    if (this.cells <= this.most.cells && this.kept.length <= this.most.samples) return false;
    this.thin();
    return true;
  }

  /** Pairs of the older half become one, so that what came last is finest. */
  private thin(): void {
    const half = Math.floor(this.kept.length / 4) * 2;
    const older: Kept[] = [];
    for (let i = 0; i < half; i += 2) older.push(joined(this.kept[i]!, this.kept[i + 1]!));
    this.kept = [...older, ...this.kept.slice(half)];
    this.cells = this.kept.reduce((n, k) => n + k.sample.op.length, 0);
    this.place(older);
  }

  /** Lanes of these samples; of all when there is a thread more. */
  private place(made: readonly Kept[]): void {
    const first = new Uint32Array(this.threads.length + 1);
    this.threads.forEach((n, rank) => (first[rank + 1] = first[rank]! + n));
    const isNew = first.length !== this.firstLane.length || first.some((x, i) => x !== this.firstLane[i]);
    this.firstLane = first;
    for (const k of isNew ? this.kept : made)
      k.rank.forEach((rank, i) => (k.sample.lane[i] = first[rank]! + k.thread[i]!));
  }

  // ---- reading one ----

  private opAt(name: string): number {
    let op = this.ops.get(name);
    if (op === undefined) {
      op = this.opNames.push(name) - 1;
      this.ops.set(name, op);
    }
    return op;
  }

  private keyOf(name: Json): number {
    const op = str(name, 'op') || OTHER;
    const place = str(name, 'callsite');
    const at = this.opAt(op) * SITES;
    if (place === '') return at;
    const word = `${op}\n${place}\n${str(name, 'function')}`;
    let site = this.siteIds.get(word);
    if (site === undefined) {
      site = this.siteIds.size;
      this.siteIds.set(word, site);
      this.sites.set(site, { op, place, function: str(name, 'function') });
    }
    return at + Math.min(site + 1, SITES - 1);
  }

  private readThreads(x: Json): Thread[] {
    const keys = list(x, 'names').map((name) => this.keyOf(name));
    const nodes = list(x, 'nodes');
    const found: Thread[] = [];
    for (const r of list(x, 'ranks')) {
      const rank = num(r, 'rank');
      if (rank === undefined || !Number.isInteger(rank) || rank < 0 || rank >= 1 << 22) continue; // before MPI_Init
      const node = nodes[num(r, 'node') ?? -1];
      while (this.threads.length <= rank) {
        this.threads.push(1);
        this.nodes.push('');
      }
      this.nodes[rank] = str(node, 'node');
      for (const t of list(r, 'threads'))
        found.push(this.readThread(rank, t, keys, node, num(r, 'resident_bytes') ?? 0));
    }
    return found;
  }

  private readThread(rank: number, t: Json, keys: number[], node: Json, resident: number): Thread {
    const thread = Math.max(0, Math.min(4095, Math.floor(num(t, 'thread') ?? 0)));
    this.threads[rank] = Math.max(this.threads[rank]!, thread + 1);
    if (NOTHING_NEW.has(str(node, 'state'))) {
      return { rank, thread, known: Known.Silent, cpu: 0, ready: 0, resident: 0, cells: [] };
    }
    const sums = this.readCells(`${rank} ${thread}`, t, keys, num(node, 'ns_per_tick') ?? 0);
    const known = Known.System | (resident > 0 ? Known.Resident : 0);
    const [cpu, ready] = [num(t, 'cpu_ns') ?? 0, num(t, 'wait_ns') ?? 0];
    return { rank, thread, known, cpu, ready, resident, cells: byKey(sums) };
  }

  /** Calls that ended, less what the samples before had of them already, and what goes on up to now. */
  private readCells(who: string, t: Json, keys: number[], nsPerTick: number): Map<number, Sums> {
    const sums = new Map<number, Sums>();
    const at = (key: number): Sums => {
      let x = sums.get(key);
      if (!x) sums.set(key, (x = { calls: 0, ns: 0, bytes: 0 }));
      return x;
    };
    for (const row of list(t, 'totals')) {
      const [name, calls, ticks, bytes] = Array.isArray(row) ? (row as unknown[]).map(Number) : [];
      const key = keys[name ?? -1];
      if (key === undefined) continue;
      const x = at(key);
      x.calls += calls || 0;
      x.ns += (ticks || 0) * nsPerTick;
      x.bytes += bytes || 0;
    }
    const before = this.inside.get(who);
    const key = keys[num(t, 'in') ?? -1];
    if (key === undefined) this.inside.delete(who);
    else {
      const ns = (num(t, 'in_ticks') ?? 0) * nsPerTick;
      at(key).ns += ns;
      this.inside.set(who, { key, ns });
    }
    if (before) takeOff(sums, before);
    return sums;
  }
}

/** Of a call that went on only its operation may have been known: then it ended at a call site of that. */
function takeOff(sums: Map<number, Sums>, { key, ns }: Inside): void {
  const own = sums.get(key);
  if (own && own.ns >= ns) {
    own.ns -= ns;
    return;
  }
  const ofOp = [...sums].filter(([k]) => opOf(k) === opOf(key)).sort((a, b) => b[1].ns - a[1].ns)[0];
  if (ofOp) ofOp[1].ns = Math.max(0, ofOp[1].ns - ns);
}
