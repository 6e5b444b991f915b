// chunks.ts - loads chunks of a trace when a view asks for them, and keeps those used last.
// In: index entries.  Out: decoded chunks. Neighbouring chunks asked for together are read with one range.
import { Damaged } from '../decode/damaged';
import { crc32c } from '../decode/crc32c';
import { chunkName } from '../decode/layout';
import type { Entry } from '../decode/layout';
import type { Source } from './source';

const GAP_MAX = 64 * 1024; // read over a gap rather than ask twice: between messages of two groups lie the calls of one
const RANGE_MAX = 8 * 2 ** 20;
const CACHE_BYTES = 256 * 2 ** 20; // of decoded chunks

/** Whoever asked does not want it any more. */
export class Cancelled extends Error {}

/** A chunk under way, and who waits for it: without a signal for good. */
interface Work {
  promise: Promise<unknown>;
  waiters: (AbortSignal | undefined)[];
}

function isWanted(work: Work): boolean {
  return work.waiters.some((signal) => !signal?.aborted);
}

/** Of a part of a trace: what is looked for is in the rest. */
const absent = (name: string) =>
  new Damaged(`This part of the trace is not in the page. All of it: mpitrace view ${name}`, true);

/** May be otherwise next time. */
const CUT = new Damaged('The file ends too early; was it changed while open?', true);

interface Waiting {
  entry: Entry;
  resolve(data: Uint8Array): void;
  reject(error: unknown): void;
}

async function inflate(packed: Uint8Array, rawBytes: number): Promise<Uint8Array> {
  const raw = new Uint8Array(rawBytes);
  const stream = new DecompressionStream('deflate-raw');
  const writer = stream.writable.getWriter(); // a Blob's stream would go through another process first
  const written = writer.write(packed as BufferSource).then(() => writer.close());
  written.catch(() => undefined); // the reader fails as well, and says so
  const reader = stream.readable.getReader();
  let at = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (at + value.length > rawBytes) throw new Damaged('a chunk is longer than it says');
    raw.set(value, at);
    at += value.length;
  }
  if (at !== rawBytes) throw new Damaged('a chunk is shorter than it says');
  return raw;
}

/** Bytes of the typed arrays of a decoded chunk, also of those two levels below. */
function weightOf(value: unknown, levels = 3): number {
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (value === null || typeof value !== 'object' || Array.isArray(value) || levels === 0) return 0;
  return Object.values(value).reduce((sum: number, part) => sum + weightOf(part, levels - 1), 0);
}

/** Entries in file order, joined into ranges. */
export function joinRanges(
  waiting: readonly { entry: Entry }[],
): { offset: number; length: number; first: number; last: number }[] {
  const ranges: { offset: number; length: number; first: number; last: number }[] = [];
  waiting.forEach(({ entry }, i) => {
    const end = entry.offset + entry.packedBytes;
    const range = ranges[ranges.length - 1];
    if (range && entry.offset - (range.offset + range.length) <= GAP_MAX && end - range.offset <= RANGE_MAX) {
      range.length = Math.max(range.length, end - range.offset);
      range.last = i;
    } else {
      ranges.push({ offset: entry.offset, length: entry.packedBytes, first: i, last: i });
    }
  });
  return ranges;
}

export class Chunks {
  readonly ranges: { offset: number; length: number }[] = []; // everything read so far
  private waiting: Waiting[] = [];
  private readonly ready = new Map<number, { value: unknown; bytes: number }>(); // by entry id, least recent first
  private readonly loading = new Map<number, Work>();
  private readonly damaged = new Map<number, Damaged>(); // not read twice
  private cachedBytes = 0;
  chunksRead = 0; // so far
  onRead: () => void = () => undefined;

  constructor(private readonly source: Source) {}

  /** The decoded chunk if it is here, else undefined. */
  peek<T>(entry: Entry): T | undefined {
    const hit = this.ready.get(entry.id);
    if (!hit) return undefined;
    this.ready.delete(entry.id);
    this.ready.set(entry.id, hit);
    return hit.value as T;
  }

  /** What is wrong with a chunk, if that is known. */
  damageOf(entry: Entry): Damaged | undefined {
    return this.damaged.get(entry.id);
  }

  /** Load, check and decode a chunk, once; decoding may ask for other chunks. Given up when all who wait have. */
  load<T>(entry: Entry, decode: (data: Uint8Array) => T | Promise<T>, signal?: AbortSignal): Promise<T> {
    const hit = this.peek<T>(entry);
    if (hit !== undefined) return Promise.resolve(hit);
    const damage = this.damaged.get(entry.id);
    if (damage) return Promise.reject(damage);
    const busy = this.loading.get(entry.id);
    if (busy) {
      busy.waiters.push(signal);
      return busy.promise as Promise<T>;
    }
    const work: Work = { promise: Promise.resolve(), waiters: [signal] };
    this.loading.set(entry.id, work);
    const promise = this.decoded(entry, decode, work);
    work.promise = promise;
    return promise;
  }

  private async decoded<T>(entry: Entry, decode: (data: Uint8Array) => T | Promise<T>, work: Work): Promise<T> {
    try {
      const data = await this.bytes(entry);
      if (!isWanted(work)) throw new Cancelled('cancelled');
      const value = this.keep(entry, await decode(data), data.length);
      this.chunksRead++;
      this.onRead();
      return value;
    } catch (error) {
      throw this.blamed(entry, error);
    } finally {
      this.loading.delete(entry.id);
    }
  }

  /** An error about a chunk: if it is damage, that is kept, and named. */
  private blamed(entry: Entry, error: unknown): unknown {
    if (!(error instanceof Damaged)) return error;
    if (error === CUT) return new Damaged(error.message, true);
    const named = error.named ? error : new Damaged(`${chunkName(entry)} is damaged: ${error.message}.`, true);
    this.damaged.set(entry.id, named);
    return named;
  }

  /** What is done with a chunk that is here: should it be damaged, that is known from then on. */
  async blaming<T>(entry: Entry, run: () => T | Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw this.blamed(entry, error);
    }
  }

  /** Nobody will ask for it again. */
  forget(entry: Entry): void {
    this.cachedBytes -= this.ready.get(entry.id)?.bytes ?? 0;
    this.ready.delete(entry.id);
  }

  get bytesRead(): number {
    return this.ranges.reduce((sum, r) => sum + r.length, 0);
  }

  get busy(): number {
    return this.loading.size;
  }

  private keep<T>(entry: Entry, value: T, bytes: number): T {
    const weight = Math.max(bytes, weightOf(value));
    this.ready.set(entry.id, { value, bytes: weight });
    this.cachedBytes += weight;
    for (const [id, old] of this.ready) {
      if (this.cachedBytes <= CACHE_BYTES || id === entry.id) break;
      this.ready.delete(id);
      this.cachedBytes -= old.bytes;
    }
    return value;
  }

  private bytes(entry: Entry): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ entry, resolve, reject });
      if (this.waiting.length === 1) queueMicrotask(() => this.readWaiting());
    });
  }

  private readWaiting(): void {
    const isThere = ({ entry }: Waiting) => this.source.has?.(entry.offset, entry.packedBytes) ?? true;
    const waiting = this.waiting.filter(isThere).sort((a, b) => a.entry.offset - b.entry.offset);
    for (const w of this.waiting) if (!isThere(w)) w.reject(absent(this.source.name));
    this.waiting = [];
    for (const range of joinRanges(waiting)) {
      const part = waiting.slice(range.first, range.last + 1);
      this.readRange(range, part).catch((error: unknown) => part.forEach((w) => w.reject(error)));
    }
  }

  private async readRange(range: { offset: number; length: number }, part: Waiting[]): Promise<void> {
    this.ranges.push({ offset: range.offset, length: range.length });
    const data = await this.source.read(range.offset, range.length);
    if (data.length !== range.length) throw CUT;
    await Promise.all(
      part.map(async ({ entry, resolve, reject }) => {
        const at = entry.offset - range.offset;
        const packed = data.subarray(at, at + entry.packedBytes);
        if (crc32c(packed) !== entry.crc) return reject(new Damaged(`${chunkName(entry)} is damaged.`, true));
        return inflate(packed, entry.rawBytes).then(resolve, () =>
          reject(new Damaged(`${chunkName(entry)} cannot be unpacked.`, true)),
        );
      }),
    );
  }
}
