// samples.ts - the profile over time: what every thread did at each place from one sample to the next.
import { Bytes, Damaged, allRead, columnsOf } from './bytes';
import type { Meta } from './meta';
import { RECORDS_MAX } from './records';

const COLUMNS = 12;
const SITE_MAX = 0xffffffff;

export const enum Known {
  System = 1, // cpu, ready
  Resident = 2,
  Silent = 4, // its node said nothing for this sample; what it did is in a later one
}
const KNOWN_ALL = 7;

/** Threads in order of lane, and the cells of each in order of (operation, call site). All numbers are differences to the sample before. */
export interface Sample {
  number: number; // of the first one that it stands for
  samples: number; // how many it stands for: more than 1 when neighbours were made one
  start: number; // ns
  end: number;
  lane: Uint32Array; // of threads
  known: Uint8Array;
  cpu: Float64Array; // ns on a processor
  ready: Float64Array; // ns ready to run, and on none
  resident: Float64Array; // bytes of the process, at the end
  firstCell: Uint32Array; // of each thread, and one more
  op: Uint16Array; // of cells
  site: Float64Array; // call site, -1 not known
  calls: Float64Array;
  ticks: Float64Array; // of the lane's clock
  bytes: Float64Array;
  wait: Float64Array; // ns in wait states
}

/** How many are left in a column, which is what can be there at most. */
function bounded(count: number, most: number, column: Bytes): number {
  if (count > most || count > column.left) throw new Damaged('too many of a sample');
  return count;
}

function empty(threads: number, cells: number) {
  const numbers = (count: number) => new Float64Array(count);
  const of = {
    lane: new Uint32Array(threads),
    known: new Uint8Array(threads),
    firstCell: new Uint32Array(threads + 1),
  };
  const system = { cpu: numbers(threads), ready: numbers(threads), resident: numbers(threads) };
  const where = { op: new Uint16Array(cells), site: new Float64Array(cells) };
  const sums = { calls: numbers(cells), ticks: numbers(cells), bytes: numbers(cells), wait: numbers(cells) };
  return { ...of, ...system, ...where, ...sums };
}

function readCells(s: Sample, from: number, to: number, c: Bytes[], ops: number): void {
  let [lastOp, lastSite] = [-1, -1];
  for (let i = from; i < to; i++) {
    const op = c[6]!.varint();
    const site = c[7]!.varint(); // + 1
    if (op >= ops || site > SITE_MAX || op < lastOp || (op === lastOp && site <= lastSite))
      throw new Damaged('impossible place in a sample');
    [lastOp, lastSite] = [op, site];
    s.op[i] = op;
    s.site[i] = site - 1;
    s.calls[i] = c[8]!.varint();
    s.ticks[i] = c[9]!.varint();
    s.bytes[i] = c[10]!.varint();
    s.wait[i] = c[11]!.varint();
  }
}

/** start, end, records: what the index says of it. */
export function readSample(data: Uint8Array, meta: Meta, start: number, end: number, records: number): Sample {
  const head = new Bytes(data);
  const [number, samples, threads, cells] = [head.varint(), head.varint(), head.varint(), head.varint()];
  const c = columnsOf(head, COLUMNS);
  const lanes = meta.firstLane[meta.ranks]!;
  bounded(threads, lanes, c[0]!);
  bounded(cells, RECORDS_MAX, c[6]!);
  if (samples < 1 || samples > SITE_MAX || start > end || cells !== records) throw new Damaged('impossible sample');
  const s: Sample = { number, samples, start, end, ...empty(threads, cells) };
  let lane = -1;
  let cell = 0;
  for (let i = 0; i < threads; i++) {
    lane += 1 + c[0]!.varint();
    const known = c[1]!.varint();
    if (lane >= lanes || known > KNOWN_ALL) throw new Damaged('impossible thread in a sample');
    s.lane[i] = lane;
    s.known[i] = known;
    if (known & Known.System) [s.cpu[i], s.ready[i]] = [c[2]!.varint(), c[3]!.varint()];
    if (known & Known.Resident) s.resident[i] = c[4]!.varint();
    const count = c[5]!.varint();
    if (count > cells - cell) throw new Damaged('too many of a sample');
    readCells(s, cell, cell + count, c, meta.ops.length);
    cell += count;
    s.firstCell[i + 1] = cell;
  }
  if (cell !== cells) throw new Damaged('too few of a sample');
  allRead(c);
  return s;
}
