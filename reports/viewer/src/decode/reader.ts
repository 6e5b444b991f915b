// reader.ts - the reader of .mpix files that format/ has, compiled for the browser (reader/reader.c): a chunk is put into its
// memory, columns are copied out of it. Nothing of a chunk stays there.
import packed from 'reader.wasm';
import type { Entry } from './layout';
import { Native, compiler } from './native';
import type { Columns } from './native';

/** Compile it while it is being found out what to open. */
export const prepareReader = compiler(packed);

interface Exports {
  begin(): void;
  signatures(first: number): void;
  clock(id: number, knots: number, bytes: number): void;
  meta(version: number, at: number, bytes: number): number;
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

/** Of one trace: it remembers its description. */
export class Reader {
  private constructor(private readonly native: Native<Exports>) {}

  static async create(): Promise<Reader> {
    return new Reader(await Native.create<Exports>(prepareReader()));
  }

  /** The description of the trace, before anything else. */
  meta(data: Uint8Array, version: number): Columns {
    const { native } = this;
    native.call.begin();
    return native.columns(native.call.meta(version, native.put(data), data.length));
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
