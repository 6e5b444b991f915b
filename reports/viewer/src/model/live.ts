// live.ts - what is known of a running step: its samples in short, one after the other, what its ranks are in now, and which
// sample is looked at. Pure.
import { list, num, str, numbers } from './analysis';
import type { Json } from './analysis';
import type { Cell, Sheet } from './sheet';

/** Shares are 0 to 1, of the time since the sample before; null: not known. */
export interface LiveSample {
  number: number;
  time: number; // seconds since 1970
  ranks: number;
  silent: number; // nodes
  mpi: number | null; // of those that are known
  offProcessor: number | null;
  rows: (number | null)[]; // inside of MPI, of each rank, or of ranks that follow each other
}

/** Of how much of the ranks' time it is known what it was. */
export function knownShare({ rows, mpi }: LiveSample): number {
  const known = rows.filter((x) => x !== null).length;
  return rows.length > 0 ? known / rows.length : Number(mpi !== null);
}

const share = (x: unknown): number | null => (typeof x === 'number' ? x : null);

function sampleOf(x: Json): LiveSample {
  return {
    number: num(x, 'number') ?? 0,
    time: num(x, 'time') ?? 0,
    ranks: num(x, 'ranks') ?? 0,
    silent: num(x, 'nodes_silent') ?? 0,
    mpi: share(num(x, 'mpi')),
    offProcessor: share(num(x, 'off_processor')),
    rows: list(x, 'rows').map(share),
  };
}

export class LiveRun {
  over = false;
  private readonly all: LiveSample[] = [];
  private held: LiveSample[] | null = null; // while the page pauses: those that there were
  private chosen = 0; // number of a sample; 0: the newest, whichever that is

  /** That the page shows. */
  get samples(): readonly LiveSample[] {
    return this.held ?? this.all;
  }

  get pauses(): boolean {
    return this.held !== null;
  }

  get newest(): number {
    return this.all.at(-1)?.number ?? 0;
  }

  get follows(): boolean {
    return this.chosen === 0 && !this.pauses; // it may pause before there is a sample
  }

  /** The one that is looked at. */
  get shown(): LiveSample | null {
    if (this.chosen === 0) return this.samples.at(-1) ?? null;
    return this.samples.find((s) => s.number >= this.chosen) ?? this.samples.at(-1) ?? null;
  }

  /** An answer of the server; how many samples of it are new. */
  take(summary: Json): number {
    const before = this.all.length;
    for (const x of list(summary, 'samples')) {
      const sample = sampleOf(x);
      if (sample.number > this.newest) this.all.push(sample);
    }
    return this.all.length - before;
  }

  /** Before the first samples have come it is that number all the same: an address may be read first. */
  choose(number: number): void {
    this.chosen = Math.max(0, this.samples.length > 0 ? Math.min(number, this.newest) : number);
  }

  follow(): void {
    this.chosen = 0;
    this.held = null;
  }

  /** All that is shown stays as it is; what comes is kept. */
  pause(): void {
    this.chosen = this.newest;
    this.held = [...this.all];
  }

  step(by: number): void {
    const at = this.samples.findIndex((s) => s === this.shown);
    const to = this.samples[Math.max(0, Math.min(this.samples.length - 1, at + by))];
    if (to) this.chosen = to.number;
  }
}

const ROWS_AS_COLUMNS = 64;

const percentOf = (value: Cell): string => (typeof value === 'number' ? `${Math.round(value * 100)} %` : '–');

/** All samples, a row each. */
export function samplesSheet(run: LiveRun): Sheet {
  const rows = Math.max(0, ...run.samples.map((s) => s.rows.length));
  const shown = rows <= ROWS_AS_COLUMNS ? rows : 0;
  return {
    title: 'Samples so far',
    note: `shares of the time between samples${shown < rows ? `; the ${rows} rows of ranks are left out` : ''}`,
    columns: [
      { name: 'sample', title: 'Sample' },
      { name: 'time', title: 'Time', show: (v) => clock(Number(v)) },
      { name: 'mpi_share', title: 'In MPI', show: percentOf },
      { name: 'off_processor_share', title: 'Ready, no processor', show: percentOf },
      { name: 'nodes_silent', title: 'Nodes without samples' },
      ...Array.from({ length: shown }, (_, i) => ({
        name: `rank_${i}_mpi_share`,
        title: `Rank ${i}`,
        show: percentOf,
      })),
    ],
    rows: run.samples.map((s) => [
      s.number,
      s.time,
      s.mpi,
      s.offProcessor,
      s.silent,
      ...Array.from({ length: shown }, (_, i) => s.rows[i] ?? null),
    ]),
  };
}

/** A time of day, as the reader's clock shows it. */
export function clock(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString('en-GB');
}

const seconds = (value: Cell): string => (typeof value === 'number' ? `${value.toFixed(value < 10 ? 1 : 0)} s` : '–');

/** In a deadlock, or waiting for one; who has ended and is needed by them waits for nobody. */
function stuckRanks(now: Json): Set<number> {
  const stuck = new Set<number>();
  for (const x of list(now, 'deadlock')) {
    const ended = num(x, 'ended');
    for (const rank of numbers(x, 'ranks')) if (rank !== ended) stuck.add(rank);
  }
  return stuck;
}

/** What each rank is in now (mpitrace/live/1). */
export function nowSheet(now: Json): Sheet {
  const cell = (x: Json, name: string): Cell => num(x, name) ?? (str(x, name) || null);
  const stuck = stuckRanks(now);
  const columns = [
    { name: 'rank', title: 'Rank' },
    { name: 'node', title: 'Node' },
    {
      name: 'state',
      title: 'State',
      show: (value: Cell, [rank]: Cell[]) => (stuck.has(Number(rank)) ? 'deadlock' : String(value ?? '')),
    },
    { name: 'op', title: 'Call' },
    { name: 'since_s', title: 'For', show: seconds },
    { name: 'peer', title: 'Peer' },
    { name: 'tag', title: 'Tag' },
    { name: 'callsite', title: 'Where' },
    { name: 'mpi', title: 'In MPI', show: percentOf },
    { name: 'off_processor', title: 'Ready, no processor', show: percentOf },
  ];
  return {
    title: 'What each rank is in now',
    note: 'shares of the last interval',
    columns,
    rows: list(now, 'ranks').map((r) => columns.map((c) => cell(r, c.name))),
  };
}

const UNKNOWN: readonly Cell[] = new Array<Cell>(6).fill(null); // of a thread of a node without a sample in this one

/** What each rank did in one sample (mpitrace/sample/1). */
export function sampleSheet(sample: Json): Sheet {
  const names = list(sample, 'names');
  const nodes = list(sample, 'nodes');
  const rows: Cell[][] = [];
  for (const rank of list(sample, 'ranks'))
    for (const thread of list(rank, 'threads')) {
      const node = nodes[num(rank, 'node') ?? -1];
      const isKnown = num(node, 'samples') !== 0 || str(node, 'state') === 'ended';
      if (!isKnown) {
        rows.push([
          ...[num(rank, 'rank') ?? null, num(thread, 'thread') ?? 0, str(node, 'node'), 'silent'],
          ...UNKNOWN,
        ]);
        continue;
      }
      const inside = names[num(thread, 'in') ?? -1];
      const totals = list(thread, 'totals').filter((x): x is number[] => Array.isArray(x));
      const sum = (at: number) => totals.reduce((all, x) => all + (x[at] ?? 0), 0);
      const most = totals.reduce<number[]>((a, b) => ((b[2] ?? 0) > (a[2] ?? -1) ? b : a), []);
      const perTick = num(node, 'ns_per_tick');
      rows.push([
        num(rank, 'rank') ?? null,
        num(thread, 'thread') ?? 0,
        str(node, 'node'),
        str(rank, 'state'),
        inside ? str(inside, 'op') : null,
        sum(1),
        perTick === undefined ? null : ((num(thread, 'mpi_ticks') ?? 0) * perTick) / 1e9,
        sum(3),
        most.length > 0 ? str(names[most[0]!], 'op') : null,
        most.length > 0 ? str(names[most[0]!], 'callsite') : null,
      ]);
    }
  return {
    title: `What each rank did in sample ${num(sample, 'number') ?? ''}`,
    note: 'since the sample before',
    columns: [
      { name: 'rank', title: 'Rank' },
      { name: 'thread', title: 'Thread' },
      { name: 'node', title: 'Node' },
      { name: 'state', title: 'State' },
      { name: 'in', title: 'Call at its end' },
      { name: 'calls', title: 'Calls' },
      { name: 'mpi_s', title: 'In MPI', show: seconds },
      { name: 'bytes', title: 'Bytes' },
      { name: 'most', title: 'Most time in' },
      { name: 'callsite', title: 'Where' },
    ],
    rows,
  };
}
