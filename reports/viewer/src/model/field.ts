// field.ts - a field: one metric over two of threads, events and samples. All pictures of the profile over time are drawn from one of these, as
// tables and files are. In: samples, one after the other.  Out: a grid of numbers with the words of its rows and columns. Pure.
import { Known } from '../decode/samples';
import type { Sample } from '../decode/samples';
import { rankOfLane } from '../decode/meta';
import type { Meta } from '../decode/meta';
import { eventKey, eventMatcher, eventName } from './profile';
import type { EventBy, ProfileShape } from './profile';

/** Rows and columns: threads by samples, threads by events, events by samples. */
export type Axes = 'rank-time' | 'rank-event' | 'event-time';

export type Unit = 'share' | 'ns' | 'count' | 'per second' | 'bytes' | 'bytes per second';

interface MetricRow {
  title: string;
  unit: Unit;
  ofEvents: boolean; // else of the whole thread
  adds: boolean; // can be added up over samples
}

/** A new metric: a row here and one in amounts() or usages(). */
export const METRICS = {
  share: { title: 'share of time in MPI', unit: 'share', ofEvents: true, adds: true },
  time: { title: 'time in MPI', unit: 'ns', ofEvents: true, adds: true },
  wait: { title: 'waiting in MPI', unit: 'ns', ofEvents: true, adds: true },
  calls: { title: 'calls', unit: 'count', ofEvents: true, adds: true },
  rate: { title: 'calls a second', unit: 'per second', ofEvents: true, adds: true },
  mean: { title: 'mean length of calls', unit: 'ns', ofEvents: true, adds: true },
  bytes: { title: 'bytes', unit: 'bytes', ofEvents: true, adds: true },
  bandwidth: { title: 'bytes a second', unit: 'bytes per second', ofEvents: true, adds: true },
  cpu: { title: 'share on a processor', unit: 'share', ofEvents: false, adds: true },
  ready: { title: 'share ready without a processor', unit: 'share', ofEvents: false, adds: true },
  resident: { title: 'resident memory', unit: 'bytes', ofEvents: false, adds: false },
} as const satisfies Record<string, MetricRow>;
export type Metric = keyof typeof METRICS;

export interface FieldQuery {
  axes: Axes;
  by: EventBy;
  events: string; // see eventMatcher; '': all
  metric: Metric;
  cumulative: boolean; // from the start of what is asked for up to each sample, not of each sample alone
  order: 'rank' | 'value'; // of threads; 'rank': as `lanes` has them
  columns: number; // at most so many: samples that follow each other share one
  rows: number; // likewise
}

export interface FieldColumn {
  title: string;
  start: number; // ns; events: 0
  end: number;
  event: number; // its key; -1e9: a column of samples
  first: number; // place of its first sample in the file, from 1
  last: number;
}

export interface FieldRow {
  title: string;
  ranks: number[]; // of threads that share the row, each once; of an event: none
  event: number;
}

/** Of rows with several threads: shares and rates of all of them together, of other metrics their mean. */
export interface Field {
  query: FieldQuery;
  unit: Unit;
  columns: FieldColumn[];
  rows: FieldRow[];
  value: Float64Array; // row by row; NaN: not known
  least: number; // of those known; Infinity: none is
  most: number;
  threads: number;
  events: string[]; // names of those that are asked for, by time, most first
  left: number; // events that have no row or column of their own
  silent: number; // of threads and samples: their node said nothing
  read: number; // samples
  of: number;
}

export const NO_EVENT = -1e9;

const CELLS_MAX = 2 ** 23; // of threads or blocks of them, by columns, before rows are joined
const EVENTS_MAX = 4096; // looked at one by one

/** A value is top / bottom. */
class Sums {
  readonly top: Float64Array;
  readonly bottom: Float64Array;

  constructor(size: number) {
    this.top = new Float64Array(size);
    this.bottom = new Float64Array(size);
  }

  add(at: number, top: number, bottom: number): void {
    this.top[at]! += top;
    this.bottom[at]! += bottom;
  }
}

export class FieldBuilder {
  private readonly metric: MetricRow;
  private readonly matches: (name: string) => boolean;
  private readonly known = new Map<number, boolean>(); // event: asked for
  private readonly eventNs = new Map<number, number>();
  private readonly placeOf: Int32Array; // of a lane: its place in `lanes`, -1: not asked for
  private readonly block: number; // lanes that are one from the beginning
  private readonly blocks: number;
  private readonly perColumn: number; // samples of a column
  private readonly columns: FieldColumn[] = [];
  private readonly grid: Sums; // blocks by columns of samples
  private readonly byEvent = new Map<number, Sums>(); // blocks, or columns of samples
  private readonly length: Float64Array; // by block: ns looked at, in rank-event; by column in event-time
  private readonly present: Uint8Array;
  private readonly pending: Float64Array; // by lane place: ns of samples in which its node was silent
  private silent = 0;
  private read = 0;

  constructor(
    private readonly shape: ProfileShape,
    private readonly q: FieldQuery,
    private readonly lanes: ArrayLike<number>,
    private readonly samples: number,
    private readonly before = 0, // samples of the file before the first that is added
  ) {
    this.metric = METRICS[q.metric];
    this.matches = eventMatcher(q.events);
    const count = lanes.length;
    const columns = Math.max(1, Math.min(q.columns, samples));
    this.perColumn = Math.max(1, Math.ceil(samples / columns));
    const used = Math.max(1, Math.ceil(samples / this.perColumn));
    this.block = Math.max(1, Math.ceil((count * used) / CELLS_MAX));
    this.blocks = Math.max(1, Math.ceil(count / this.block));
    this.placeOf = new Int32Array(shape.meta.firstLane[shape.meta.ranks]!).fill(-1);
    for (let i = 0; i < count; i++) this.placeOf[lanes[i]!] = i;
    this.grid = new Sums(q.axes === 'rank-time' ? this.blocks * used : 0);
    this.length = new Float64Array(q.axes === 'event-time' ? used : this.blocks);
    this.present = new Uint8Array(q.axes === 'rank-time' ? this.blocks * used : this.blocks);
    this.pending = new Float64Array(count);
  }

  /** The next sample in the order of time. */
  add(s: Sample): void {
    const column = Math.floor(this.read++ / this.perColumn);
    const place = this.before + this.read;
    const last = this.columns[column];
    if (last) [last.end, last.last] = [s.end, place];
    else this.columns.push({ title: '', start: s.start, end: s.end, event: NO_EVENT, first: place, last: place });
    for (let i = 0; i < s.lane.length; i++) {
      const lane = this.placeOf[s.lane[i]!]!;
      if (lane >= 0) this.addThread(s, i, lane, column);
    }
  }

  private addThread(s: Sample, i: number, place: number, column: number): void {
    if (s.known[i]! & Known.Silent) {
      this.pending[place]! += s.end - s.start;
      this.silent++;
      return;
    }
    const length = s.end - s.start + this.pending[place]!;
    this.pending[place] = 0;
    const block = Math.floor(place / this.block);
    const { axes } = this.q;
    const used = this.length.length;
    if (axes === 'event-time') this.length[column]! += length;
    else if (axes === 'rank-event') this.length[block]! += length;
    const cell = axes === 'rank-time' ? block * Math.ceil(this.samples / this.perColumn) + column : block;
    this.present[Math.min(cell, this.present.length - 1)] = 1;
    if (!this.metric.ofEvents) return this.addUsage(s, i, length, cell, axes === 'event-time' ? -1 : used);
    if (axes === 'rank-time' && this.metric.unit !== 'ns') this.grid.bottom[cell]! += this.overTime(length);
    for (let c = s.firstCell[i]!; c < s.firstCell[i + 1]!; c++) this.addCell(s, c, s.lane[i]!, cell, column);
  }

  /** What a value is divided by because it is per time. */
  private overTime(length: number): number {
    if (this.q.metric === 'share') return length;
    return this.q.metric === 'rate' || this.q.metric === 'bandwidth' ? length / 1e9 : 0;
  }

  private addUsage(s: Sample, i: number, length: number, cell: number, used: number): void {
    if (used < 0 || this.q.axes !== 'rank-time') return;
    if (this.q.metric === 'resident') {
      if (!(s.known[i]! & Known.Resident)) return;
      if (this.block === 1) [this.grid.top[cell], this.grid.bottom[cell]] = [s.resident[i]!, 1];
      else this.grid.add(cell, s.resident[i]!, 1);
      return;
    }
    if (s.known[i]! & Known.System) this.grid.add(cell, this.q.metric === 'cpu' ? s.cpu[i]! : s.ready[i]!, length);
  }

  private isWanted(key: number): boolean {
    let wanted = this.known.get(key);
    if (wanted === undefined) {
      wanted = this.known.size < EVENTS_MAX && this.matches(eventName(this.shape, this.q.by, key));
      this.known.set(key, wanted);
    }
    return wanted;
  }

  private addCell(s: Sample, c: number, lane: number, cell: number, column: number): void {
    const key = eventKey(this.q.by, s.op[c]!, s.site[c]!);
    if (!this.isWanted(key)) return;
    const ns = s.ticks[c]! * this.shape.nsPerTick(lane);
    this.eventNs.set(key, (this.eventNs.get(key) ?? 0) + ns);
    const { metric, axes } = this.q;
    const top =
      metric === 'calls' || metric === 'rate'
        ? s.calls[c]!
        : metric === 'bytes' || metric === 'bandwidth'
          ? s.bytes[c]!
          : metric === 'wait'
            ? s.wait[c]!
            : ns;
    const bottom = metric === 'mean' ? s.calls[c]! : 0;
    if (axes === 'rank-time') return this.grid.add(cell, top, bottom);
    let sums = this.byEvent.get(key);
    if (!sums) this.byEvent.set(key, (sums = new Sums(this.length.length)));
    sums.add(axes === 'event-time' ? column : cell, top, bottom);
  }

  // ---- out of the sums ----

  private ranksOf(places: number[]): number[] {
    const ranks = places.map((p) => rankOfLane(this.shape.meta as Meta, this.lanes[p]!));
    return ranks.filter((r, i) => i === 0 || r !== ranks[i - 1]);
  }

  private rowTitle(places: number[]): string {
    const { meta } = this.shape;
    const name = (place: number) => {
      const lane = this.lanes[place]!;
      const rank = rankOfLane(meta as Meta, lane);
      const threads = meta.firstLane[rank + 1]! - meta.firstLane[rank]!;
      return threads > 1 ? `${rank}.${lane - meta.firstLane[rank]!}` : String(rank);
    };
    const [a, b] = [name(places[0]!), name(places.at(-1)!)];
    return a === b ? `rank ${a}` : this.q.order === 'rank' ? `ranks ${a}–${b}` : `${places.length} ranks from ${a}`;
  }

  private eventsByTime(): number[] {
    return [...this.eventNs].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([key]) => key);
  }

  /** What is known so far. */
  field(): Field {
    const keys = this.eventsByTime();
    const base = {
      query: this.q,
      unit: this.metric.unit,
      threads: this.lanes.length,
      events: keys.map((key) => eventName(this.shape, this.q.by, key)),
      silent: this.silent,
      read: this.read,
      of: this.samples,
    };
    const made =
      this.q.axes === 'event-time'
        ? this.eventsByTimeField(keys)
        : this.threadField(keys, this.q.axes === 'rank-event');
    for (const c of made.columns)
      if (c.event === NO_EVENT) c.title = c.first === c.last ? `sample ${c.first}` : `samples ${c.first}–${c.last}`;
    let [least, most] = [Infinity, -Infinity];
    for (const v of made.value)
      if (!Number.isNaN(v)) {
        least = Math.min(least, v);
        most = Math.max(most, v);
      }
    return { ...base, ...made, least, most };
  }

  private value(top: number, bottom: number, threads: number): number {
    switch (this.q.metric) {
      case 'share': // nodes take a sample not quite at the same moment
      case 'cpu':
      case 'ready':
        return bottom > 0 ? Math.min(1, top / bottom) : NaN;
      case 'rate':
      case 'bandwidth':
      case 'mean':
      case 'resident':
        return bottom > 0 ? top / bottom : NaN;
      default:
        return threads > 0 ? top / threads : NaN;
    }
  }

  private eventsByTimeField(keys: number[]) {
    const shown = keys.slice(0, this.q.rows);
    const columns = this.columns;
    const value = new Float64Array(shown.length * columns.length);
    shown.forEach((key, row) => {
      const sums = this.byEvent.get(key)!;
      let [top, bottom, time] = [0, 0, 0];
      for (let c = 0; c < columns.length; c++) {
        if (!this.q.cumulative) [top, bottom, time] = [0, 0, 0];
        top += sums.top[c]!;
        bottom += sums.bottom[c]!;
        time += this.length[c]!;
        value[row * columns.length + c] = this.value(top, bottom + this.overTime(time), this.lanes.length);
      }
    });
    const rows = shown.map((key): FieldRow => ({
      title: eventName(this.shape, this.q.by, key),
      ranks: [],
      event: key,
    }));
    return { columns, rows, value, left: keys.length - shown.length };
  }

  /** Places of `lanes` by block, in the order asked for. */
  private blocksInOrder(total: (block: number) => number): number[] {
    const all = Array.from({ length: this.blocks }, (_, i) => i);
    if (this.q.order !== 'value') return all;
    const totals = all.map(total).map((x) => (Number.isNaN(x) ? -Infinity : x));
    return all.sort((a, b) => totals[b]! - totals[a]! || a - b);
  }

  private threadField(keys: number[], isOfEvents: boolean) {
    const shown = isOfEvents ? keys.slice(0, this.q.columns) : [];
    const columns = isOfEvents
      ? shown.map((key): FieldColumn => ({
          title: eventName(this.shape, this.q.by, key),
          start: this.columns[0]?.start ?? 0,
          end: this.columns.at(-1)?.end ?? 0,
          event: key,
          first: this.columns[0]?.first ?? 0,
          last: this.columns.at(-1)?.last ?? 0,
        }))
      : this.columns;
    const used = Math.ceil(this.samples / this.perColumn);
    const sums = shown.map((key) => this.byEvent.get(key)!);
    const top = (b: number, c: number) => (isOfEvents ? sums[c]!.top[b]! : this.grid.top[b * used + c]!);
    const bottom = (b: number, c: number) =>
      isOfEvents ? sums[c]!.bottom[b]! + this.overTime(this.length[b]!) : this.grid.bottom[b * used + c]!;
    const here = (b: number, c: number) => this.present[isOfEvents ? b : b * used + c]! > 0;
    const order = this.blocksInOrder((b) => {
      let [t, u] = [0, 0];
      for (let c = 0; c < columns.length; c++) [t, u] = [t + top(b, c), u + bottom(b, c)];
      return this.value(t, u, 1);
    });
    const each = Math.max(1, Math.ceil(this.blocks / this.q.rows));
    const rows: FieldRow[] = [];
    const value = new Float64Array(Math.ceil(this.blocks / each) * columns.length);
    for (let from = 0; from < order.length; from += each) {
      const blocks = order.slice(from, from + each);
      this.threadRow(blocks, rows.length, columns.length, value, { top, bottom, here });
      const places = blocks.flatMap((b) => {
        const first = b * this.block;
        return Array.from({ length: Math.min(this.block, this.lanes.length - first) }, (_, k) => first + k);
      });
      rows.push({ title: this.rowTitle(places), ranks: this.ranksOf(places), event: NO_EVENT });
    }
    return { columns, rows, value, left: keys.length - (isOfEvents ? shown.length : keys.length) };
  }

  private threadRow(
    blocks: number[],
    row: number,
    columns: number,
    value: Float64Array,
    of: {
      top(b: number, c: number): number;
      bottom(b: number, c: number): number;
      here(b: number, c: number): boolean;
    },
  ): void {
    const adds = this.q.cumulative && this.metric.adds && this.q.axes === 'rank-time';
    let [top, bottom] = [0, 0];
    for (let c = 0; c < columns; c++) {
      let threads = 0;
      if (!adds) [top, bottom] = [0, 0];
      for (const b of blocks) {
        if (!of.here(b, c)) continue;
        top += of.top(b, c);
        bottom += of.bottom(b, c);
        threads += Math.min(this.block, this.lanes.length - b * this.block);
      }
      value[row * columns + c] = this.value(top, bottom, threads);
    }
  }
}

/** The number at row and column. */
export function fieldAt(f: Field, row: number, column: number): number {
  return f.value[row * f.columns.length + column] ?? NaN;
}
