// reader.ts - the reader of .mpix files that format/ has, compiled for the browser (reader/): a chunk is put into its
// memory, columns are copied out of it. Nothing of a chunk stays there.
import packed from 'reader.wasm';
import { Damaged } from './bytes';
import type { Entry } from './layout';

/** What it exports; numbers of bytes and addresses in its memory. */
interface Exports {
  memory: WebAssembly.Memory;
  begin(): void;
  room(bytes: number): number;
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
  columns(): number;
  count(): number;
}

/** As reader/include/errno.h numbers them. */
const FAULTS = ['', 'it contradicts itself', '', 'a number is too large'];
const NO_MEMORY = 2;
const COLUMN_WORDS = 3; // address, length, type

const enum Type {
  U8,
  U16,
  U32,
  I32,
  F64,
}

/** Columns of a chunk, one after the other, in the order of format/mpix_columns.h. */
export class Columns {
  private at = 0;

  constructor(
    private readonly buffer: ArrayBuffer,
    private readonly table: Uint32Array,
  ) {}

  /** Where the next one lies. */
  private next(type: Type): [number, number] {
    const [address, length, is] = this.table.subarray(this.at, this.at + COLUMN_WORDS);
    this.at += COLUMN_WORDS;
    if (is !== type) throw new Error('another column is there');
    return [address!, length!];
  }

  u8(): Uint8Array {
    return new Uint8Array(this.buffer, ...this.next(Type.U8)).slice();
  }

  u16(): Uint16Array {
    return new Uint16Array(this.buffer, ...this.next(Type.U16)).slice();
  }

  u32(): Uint32Array {
    return new Uint32Array(this.buffer, ...this.next(Type.U32)).slice();
  }

  i32(): Int32Array {
    return new Int32Array(this.buffer, ...this.next(Type.I32)).slice();
  }

  f64(): Float64Array {
    return new Float64Array(this.buffer, ...this.next(Type.F64)).slice();
  }
}

async function compile(): Promise<WebAssembly.Module> {
  if (!('WebAssembly' in globalThis)) throw new Error('This browser runs no WebAssembly, by which traces are read.');
  const stream = new DecompressionStream('deflate-raw');
  const writer = stream.writable.getWriter();
  const written = writer.write(packed as BufferSource).then(() => writer.close());
  written.catch(() => undefined); // the reader fails as well, and says so
  return WebAssembly.compile(await new Response(stream.readable).arrayBuffer());
}

let compiled: Promise<WebAssembly.Module> | null = null;

/** Compile it while it is being found out what to open. */
export function prepareReader(): Promise<WebAssembly.Module> {
  compiled ??= compile();
  return compiled;
}

/** Of one trace: it remembers its description. */
export class Reader {
  private constructor(private readonly to: Exports) {}

  static async create(): Promise<Reader> {
    const { exports } = await WebAssembly.instantiate(await prepareReader());
    return new Reader(exports as unknown as Exports);
  }

  private put(data: Uint8Array): number {
    const at = this.to.room(data.length);
    if (at === 0) throw new Error('The browser has no memory left for this trace.');
    new Uint8Array(this.to.memory.buffer, at, data.length).set(data);
    return at;
  }

  private columns(rc: number): Columns {
    if (rc === -NO_MEMORY) throw new Error('The browser has no memory left for this trace.');
    if (rc < 0) throw new Damaged(FAULTS[-rc] ?? 'it cannot be read');
    const { buffer } = this.to.memory;
    return new Columns(buffer, new Uint32Array(buffer, this.to.columns(), COLUMN_WORDS * this.to.count()));
  }

  /** The description of the trace, before anything else. */
  meta(data: Uint8Array, version: number): Columns {
    this.to.begin();
    return this.columns(this.to.meta(version, this.put(data), data.length));
  }

  /** A chunk of calls needs what the calls were, and their clocks: see give. */
  chunk(entry: Entry, data: Uint8Array, give: (to: Reader) => void = () => undefined): Columns {
    this.to.begin();
    give(this);
    const { kind, group, seq, records, start, end } = entry;
    return this.columns(this.to.chunk(kind, group, seq, records, start, end, this.put(data), data.length));
  }

  giveSignatures(first: Uint32Array): void {
    this.to.signatures(this.put(new Uint8Array(first.buffer, first.byteOffset, first.byteLength)));
  }

  giveClock(id: number, knots: Uint8Array): void {
    this.to.clock(id, this.put(knots), knots.length);
  }
}
