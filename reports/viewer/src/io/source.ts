// source.ts - where the bytes of a trace come from: a file of the user, or ranges over HTTP from our own origin.

const HEAD_BYTES = 64; // what is read first of every trace: the superblock

/** By which another thread finds the same source. */
export type SourceName =
  { blob: Blob; name: string; part?: Part } | { url: string; name: string; bytes: number; head: Uint8Array };

/** Of a file of so many bytes these ranges are there, ascending: offset, length. */
export interface Part {
  bytes: number;
  ranges: [number, number][];
}

export interface Source {
  readonly name: string;
  readonly bytes: number;
  /** Whether a range is there; absent: all are. */
  has?(offset: number, length: number): boolean;
  read(offset: number, length: number): Promise<Uint8Array>;
  named(): SourceName;
}

export class FileSource implements Source {
  constructor(
    private readonly blob: Blob,
    readonly name: string,
  ) {}

  get bytes(): number {
    return this.blob.size;
  }

  named(): SourceName {
    return { blob: this.blob, name: this.name };
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    return new Uint8Array(await this.blob.slice(offset, offset + length).arrayBuffer());
  }
}

/** Some ranges of a file, one behind the other. What is not there is read as zeros, and no chunk's. */
export class PartSource implements Source {
  private readonly at: number[] = []; // of each range, in the blob

  constructor(
    private readonly blob: Blob,
    readonly name: string,
    private readonly part: Part,
  ) {
    let at = 0;
    for (const [, length] of part.ranges) {
      this.at.push(at);
      at += length;
    }
  }

  get bytes(): number {
    return this.part.bytes;
  }

  named(): SourceName {
    return { blob: this.blob, name: this.name, part: this.part };
  }

  /** Number of ranges that begin at offset or before. */
  private upTo(offset: number): number {
    let low = 0;
    for (let high = this.part.ranges.length; low < high;) {
      const middle = (low + high) >> 1;
      if (this.part.ranges[middle]![0] <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  has(offset: number, length: number): boolean {
    const range = this.part.ranges[this.upTo(offset) - 1];
    return range !== undefined && offset + length <= range[0] + range[1];
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const out = new Uint8Array(Math.max(0, Math.min(length, this.bytes - offset)));
    for (let i = Math.max(0, this.upTo(offset) - 1); i < this.at.length; i++) {
      const [begin, bytes] = this.part.ranges[i]!;
      if (begin >= offset + length) break;
      const from = Math.max(begin, offset);
      const to = Math.min(begin + bytes, offset + length);
      if (from >= to) continue;
      const at = this.at[i]! + from - begin;
      out.set(new Uint8Array(await this.blob.slice(at, at + to - from).arrayBuffer()), from - offset);
    }
    return out;
  }
}

class HttpSource implements Source {
  constructor(
    private readonly url: string,
    readonly name: string,
    readonly bytes: number,
    private readonly head: Uint8Array, // which came with the answer that there is such a file
  ) {}

  named(): SourceName {
    return { url: this.url, name: this.name, bytes: this.bytes, head: this.head };
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    if (offset + length <= this.head.length) return this.head.slice(offset, offset + length);
    const answer = await fetch(this.url, { headers: { Range: `bytes=${offset}-${offset + length - 1}` } });
    if (answer.status !== 206) throw new Error(`The server answered ${answer.status} to a range of ${this.name}.`);
    return new Uint8Array(await answer.arrayBuffer());
  }
}

export function sourceOf(name: SourceName): Source {
  if ('blob' in name)
    return name.part ? new PartSource(name.blob, name.name, name.part) : new FileSource(name.blob, name.name);
  return new HttpSource(name.url, name.name, name.bytes, name.head);
}

/** Open url, which must be of our own origin. Null when there is nothing there. */
export async function openUrl(url: URL): Promise<Source | null> {
  if (url.origin !== location.origin || !url.protocol.startsWith('http'))
    throw new Error('Only traces from the same server can be opened by address. Choose the file instead.');
  const answer = await fetch(url, { headers: { Range: `bytes=0-${HEAD_BYTES - 1}` } });
  const named = /filename="([^"]+)"/.exec(answer.headers.get('Content-Disposition') ?? '');
  const name = named?.[1] ?? decodeURIComponent(url.pathname.split('/').pop() ?? 'trace');
  if (answer.status === 404) return null;
  const total = /\/(\d+)$/.exec(answer.headers.get('Content-Range') ?? '');
  if (answer.status === 206 && total) {
    const head = new Uint8Array(await answer.arrayBuffer());
    return new HttpSource(url.href, name, Number(total[1]), head);
  }
  if (!answer.ok) throw new Error(`The server answered ${answer.status} for ${name}.`);
  return new FileSource(await answer.blob(), name); // a server without ranges: take all of it
}
