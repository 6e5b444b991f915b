// reader.ts - the reader of .mpix files that format/ has, compiled for the browser (reader/reader.c): a chunk is put into its
// memory, columns are copied out of it. Nothing of a chunk stays there.
import packed from 'reader.wasm';
import { Damaged } from './damaged';
import type { Entry } from './layout';
import { Native, compiler } from './native';
import type { Columns } from './native';

/** Compile it while it is being found out what to open. */
export const prepareReader = compiler(packed);

interface Exports {
  begin(): void;
  signatures(first: number): void;
  clock(id: number, knots: number, bytes: number): void;
  error(): number;
  super(at: number, bytes: number, fileBytes: number): number;
  index(at: number): number;
  meta(at: number, bytes: number): number;
  chunk(
    kind: number,
    group: number,
    seq: number,
    records: number,
    start: number,
    end: number,
    at: number,
    bytes: number,
  ): number;
}

const six = (columns: Columns) => Array.from({ length: 6 }, () => columns.f64());

/** Of one trace: it remembers its description. */
export class Reader {
  private constructor(private readonly native: Native<Exports>) {}

  static async create(): Promise<Reader> {
    return new Reader(await Native.create<Exports>(prepareReader()));
  }

  /** What was wrong is in its words. */
  private said(rc: number): Columns {
    if (rc < 0) throw new Damaged(`The file cannot be read: ${this.native.text(this.native.call.error())}.`);
    return this.native.columns(rc);
  }

  /** The first bytes of a file of that length: its version, where its index is and how many entries that has. */
  superblock(data: Uint8Array, fileBytes: number): { version: number; indexOffset: number; entries: number } {
    const { native } = this;
    native.call.begin();
    const [version, indexOffset, entries] = this.said(
      native.call.super(native.put(data), data.length, fileBytes),
    ).f64();
    return { version: version!, indexOffset: indexOffset!, entries: entries! };
  }

  /** After the superblock. */
  index(data: Uint8Array): Entry[] {
    const { native } = this;
    native.call.begin();
    const columns = this.said(native.call.index(native.put(data)));
    const [kind, level, rankLevel, group, seq, records] = six(columns);
    const [start, end, offset, packed, raw, crc] = six(columns);
    return Array.from(kind!, (_, id) => ({
      id,
      kind: kind![id]!,
      level: level![id]!,
      rankLevel: rankLevel![id]!,
      group: group![id]!,
      seq: seq![id]!,
      records: records![id]!,
      start: start![id]!,
      end: end![id]!,
      offset: offset![id]!,
      packedBytes: packed![id]!,
      rawBytes: raw![id]!,
      crc: crc![id]!,
    }));
  }

  /** The description of the trace, before its chunks. */
  meta(data: Uint8Array): Columns {
    const { native } = this;
    native.call.begin();
    return native.columns(native.call.meta(native.put(data), data.length));
  }

  /** A chunk of calls needs what the calls were, and their clocks: see give. */
  chunk(entry: Entry, data: Uint8Array, give: (to: Reader) => void = () => undefined): Columns {
    const { native } = this;
    native.call.begin();
    give(this);
    const { kind, group, seq, records, start, end } = entry;
    return native.columns(native.call.chunk(kind, group, seq, records, start, end, native.put(data), data.length));
  }

  giveSignatures(first: Uint32Array): void {
    const bytes = new Uint8Array(first.buffer, first.byteOffset, first.byteLength);
    this.native.call.signatures(this.native.put(bytes));
  }

  giveClock(id: number, knots: Uint8Array): void {
    this.native.call.clock(id, this.native.put(knots), knots.length);
  }
}
