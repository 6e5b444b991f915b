// native.ts - what reader/ has compiled for the browser, as an instance with a memory of its own: bytes are put in, columns are copied out.
// In: its bytes, deflated.  Out: what it exports.
import { Damaged } from './damaged';

/** As reader/include/errno.h numbers them. */
const FAULTS = ['', 'it contradicts itself', '', 'a number is too large'];
const NO_MEMORY = 2;
const FULL = 'The browser has no memory left for this trace.';
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

async function compile(packed: Uint8Array): Promise<WebAssembly.Module> {
  if (!('WebAssembly' in globalThis)) throw new Error('This browser runs no WebAssembly, by which traces are read.');
  const stream = new DecompressionStream('deflate-raw');
  const writer = stream.writable.getWriter();
  const written = writer.write(packed as BufferSource).then(() => writer.close());
  written.catch(() => undefined); // the reader fails as well, and says so
  return WebAssembly.compile(await new Response(stream.readable).arrayBuffer());
}

/** Compiles once, when it is called first. */
export function compiler(packed: Uint8Array): () => Promise<WebAssembly.Module> {
  let compiled: Promise<WebAssembly.Module> | null = null;
  return () => (compiled ??= compile(packed));
}

/** What each part exports; addresses are numbers of bytes in its memory. */
interface Common {
  memory: WebAssembly.Memory;
  room(bytes: number): number;
  columns(): number;
  count(): number;
}

export class Native<Exports> {
  private constructor(readonly call: Exports & Common) {}

  /** page: what it imports. */
  static async create<Exports>(
    module: Promise<WebAssembly.Module>,
    page: WebAssembly.ModuleImports = {},
  ): Promise<Native<Exports>> {
    const { exports } = await WebAssembly.instantiate(await module, { page });
    return new Native(exports as unknown as Exports & Common);
  }

  /** Where the bytes are now. */
  put(data: Uint8Array): number {
    const at = this.call.room(data.length);
    if (at === 0) throw new Error(FULL);
    new Uint8Array(this.call.memory.buffer, at, data.length).set(data);
    return at;
  }

  /** rc: of the call that made them. */
  columns(rc: number): Columns {
    if (rc === -NO_MEMORY) throw new Error(FULL);
    if (rc < 0) throw new Damaged(FAULTS[-rc] ?? 'it cannot be read');
    const { buffer } = this.call.memory;
    return new Columns(buffer, new Uint32Array(buffer, this.call.columns(), COLUMN_WORDS * this.call.count()));
  }

  /** The text there, up to a zero. */
  text(at: number): string {
    const bytes = new Uint8Array(this.call.memory.buffer, at);
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
  }
}
