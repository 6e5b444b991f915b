// times.ts - gaps and durations of calls (format/mpic_times.c): tables divide the values into ranges, a time is the
// symbol of its range and its place in the range.
import { Bytes, Damaged } from './bytes';

const RANGES_MAX = 255;
const RANGE_BITS_MAX = 32;
const PERIOD_MAX = 256;
const RESIDUES_MAX = 4;
const OTHER = 0xfe; // in place of bits: not in a range
const NONE = 0xff; // no such symbol
const QUICK_BITS = 24; // of a place that one load of 32 bits holds wherever it begins

export interface TimeColumns {
  period: number;
  tables: Bytes;
  symbols: Bytes;
  others: Bytes;
  bits: Uint8Array;
}

/** Ranges by symbol. */
interface Table {
  ranges: number;
  first: Float64Array;
  bits: Uint8Array;
}

function emptyTable(): Table {
  return { ranges: 0, first: new Float64Array(256), bits: new Uint8Array(256) };
}

/** Used again for each part: a chunk has hundreds, and memory for each would cost more than reading it. */
const own = { gaps: emptyTable(), durations: emptyTable() };
const both = { gaps: emptyTable(), durations: emptyTable() };

function readTable(c: Bytes, table: Table): Table {
  const ranges = c.varint();
  if (ranges > RANGES_MAX) throw new Damaged('too many ranges of times');
  table.ranges = ranges;
  table.bits.fill(NONE);
  let first = 0;
  for (let i = 0; i < ranges; i++) {
    first += c.varint();
    const bits = c.u8();
    if (bits > RANGE_BITS_MAX || first + 2 ** bits > 2 ** RANGE_BITS_MAX)
      throw new Damaged('impossible range of times');
    table.first[i] = first;
    table.bits[i] = bits;
    first += 2 ** bits;
  }
  table.bits[ranges] = OTHER;
  return table;
}

/** The table of bytes of which one is both times of a call:
 * symbol of the gap + (ranges of gaps + 1) * symbol of the duration. */
function joined(t: Table, gaps: number, ofGap: boolean, out: Table): Table {
  out.ranges = t.ranges;
  out.bits.fill(NONE);
  for (let byte = 0; byte < 256; byte++) {
    const symbol = ofGap ? byte % (gaps + 1) : Math.floor(byte / (gaps + 1));
    if (symbol > t.ranges) continue;
    out.first[byte] = t.first[symbol]!;
    out.bits[byte] = t.bits[symbol]!;
  }
  return out;
}

class Reader {
  private readonly view: DataView;
  private readonly bitsLeft: () => number;
  private readonly residues = new Float64Array(RESIDUES_MAX);
  private readonly residueCount: number;
  private at = 0; // bit
  private readonly counts = new Uint32Array(256);

  constructor(private readonly c: TimeColumns) {
    const padded = new Uint8Array(c.bits.length + 8); // so that a load at the end stays inside
    padded.set(c.bits);
    this.view = new DataView(padded.buffer);
    this.bitsLeft = () => c.bits.length * 8 - this.at;
    if (c.period < 1 || c.period > PERIOD_MAX) throw new Damaged('impossible period of a clock');
    const count = c.tables.varint();
    if (count < 1 || count > RESIDUES_MAX) throw new Damaged('impossible steps of a clock');
    for (let i = 0; i < count; i++) {
      const residue = c.tables.varint();
      if (residue >= c.period) throw new Damaged('impossible steps of a clock');
      this.residues[i] = residue;
    }
    this.residueCount = count;
  }

  /** One column of times of n calls, every second of out. What the loop may do unchecked is checked here. */
  private column(symbols: Uint8Array, table: Table, out: Float64Array, from: number): void {
    const { counts } = this;
    counts.fill(0);
    for (let i = 0; i < symbols.length; i++) counts[symbols[i]!]!++;
    let bits = 0;
    for (let s = 0; s < 256; s++) {
      if (counts[s] === 0 || table.bits[s] === OTHER) continue;
      if (table.bits[s] === NONE) throw new Damaged('impossible symbol of a time');
      bits += counts[s]! * table.bits[s]!;
    }
    if (bits > this.bitsLeft()) throw new Damaged('times end too early');
    this.numbers(symbols, table, out, from);
    if (this.residueCount > 1 || this.c.period > 1) this.ticks(symbols, table, out, from);
  }

  /** Numbers of times; of what is in no range, the time. */
  private numbers(symbols: Uint8Array, table: Table, out: Float64Array, from: number): void {
    const { view } = this;
    const { first, bits: bitsOf } = table;
    let { at } = this;
    let to = from;
    for (let i = 0; i < symbols.length; i++, to += 2) {
      const symbol = symbols[i]!;
      const bits = bitsOf[symbol]!;
      if (bits <= QUICK_BITS) {
        const place = (view.getUint32(at >>> 3, true) >>> (at & 7)) & ((1 << bits) - 1);
        out[to] = first[symbol]! + place;
        at += bits;
      } else if (bits === OTHER) {
        out[to] = this.c.others.varint();
      } else {
        const low = (view.getUint32(at >>> 3, true) >>> (at & 7)) & 0xffffff;
        at += QUICK_BITS;
        const high = (view.getUint32(at >>> 3, true) >>> (at & 7)) & ((1 << (bits - QUICK_BITS)) - 1);
        at += bits - QUICK_BITS;
        out[to] = first[symbol]! + low + high * 2 ** QUICK_BITS;
      }
    }
    this.at = at;
  }

  /** Number k is k / residues * period + residue[k % residues]. */
  private ticks(symbols: Uint8Array, table: Table, out: Float64Array, from: number): void {
    const { residues, residueCount: count } = this;
    const { period } = this.c;
    const { bits } = table;
    const inverse = 1 / count; // half of a number more, so that no quotient is rounded below a whole one
    for (let i = 0, to = from; i < symbols.length; i++, to += 2) {
      if (bits[symbols[i]!] === OTHER) continue;
      const number = out[to]!;
      const periods = Math.floor((number + 0.5) * inverse);
      out[to] = periods * period + residues[(number - periods * count) | 0]!;
    }
  }

  part(n: number, isJoined: boolean, out: Float64Array, from: number): void {
    const { tables, symbols } = this.c;
    const gaps = readTable(tables, own.gaps);
    const durations = readTable(tables, own.durations);
    const first = symbols.slice(n);
    const second = isJoined ? first : symbols.slice(n);
    this.column(first, isJoined ? joined(gaps, gaps.ranges, true, both.gaps) : gaps, out, from);
    this.column(second, isJoined ? joined(durations, gaps.ranges, false, both.durations) : durations, out, from + 1);
  }

  end(): void {
    const { tables, symbols, others } = this.c;
    if (tables.left > 0 || symbols.left > 0 || others.left > 0 || this.bitsLeft() >= 8)
      throw new Damaged('there are bytes after the times');
  }
}

let times = new Float64Array(0);

/** Gap and duration of each of count calls, in ticks, one after the other: until the next are read. */
export function readTimes(columns: TimeColumns, count: number): Float64Array {
  if (count > columns.symbols.left) throw new Damaged('too few symbols'); // before memory is taken
  if (times.length < 2 * count) times = new Float64Array(2 * count);
  const out = times;
  const reader = new Reader(columns);
  for (let done = 0; done < count;) {
    const part = columns.tables.varint();
    const n = Math.floor(part / 2);
    if (n < 1 || n > count - done) throw new Damaged('impossible part of the times');
    reader.part(n, part % 2 === 1, out, 2 * done);
    done += n;
  }
  reader.end();
  return out;
}
