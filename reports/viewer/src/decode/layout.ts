// layout.ts - superblock, index and description of an .mpix file, as format/SPEC.md draws them.
import { Bytes, Damaged } from './bytes';
import { crc32c } from './crc32c';

export const SUPERBLOCK_BYTES = 64;
export const ENTRY_BYTES = 56;
const MAGIC = [0x89, 0x4d, 0x50, 0x49, 0x58, 0x0d, 0x0a, 0x1a];
const VERSION = 1;
const TRAILER_BYTES = 16;
const CHUNKS_MAX = 1 << 22;
const CHUNK_RAW_MAX = 64 * 2 ** 20;
const ANALYSIS_RAW_MAX = 512 * 2 ** 20;
const INFLATE_RATIO_MAX = 1032;

export const enum Kind {
  Meta = 1,
  Analysis = 2,
  Summary = 3,
  Events = 4,
  Messages = 5,
  Top = 6,
  Flow = 7,
}

export interface Superblock {
  fileBytes: number;
  indexOffset: number;
  entries: number;
  indexCrc: number;
}

export interface Entry {
  id: number; // place in the index
  kind: Kind;
  level: number;
  rankLevel: number;
  group: number;
  seq: number;
  records: number;
  start: number; // ns
  end: number; // ns, exclusive
  offset: number;
  packedBytes: number;
  rawBytes: number;
  crc: number;
}

export interface Meta {
  ranks: number;
  runtime: number; // ns
  groupRanks: number;
  rows: number;
  bins: number;
  rowFactor: number;
  timeLevels: number;
  rankLevels: number;
  messageLevels: number;
  flowRanks: number;
  threads: number;
  segmentNs: number;
  events: number;
  messages: number;
  ops: string[];
}

export function readSuperblock(data: Uint8Array, fileBytes: number): Superblock {
  if (data.length < 8 || MAGIC.some((byte, i) => data[i] !== byte)) throw new Damaged('This is not an .mpix file.');
  if (data.length < SUPERBLOCK_BYTES) throw new Damaged(`The file is cut: only ${fileBytes} bytes are there.`);
  const c = new Bytes(data.subarray(8));
  const version = c.u32();
  if (version !== VERSION) throw new Damaged(`The file has version ${version}; this viewer reads ${VERSION}.`);
  c.u32();
  const s = { fileBytes: c.u64(), indexOffset: c.u64(), entries: c.u32(), indexCrc: c.u32() };
  const crc = new Bytes(data.subarray(SUPERBLOCK_BYTES - 4)).u32();
  if (crc32c(data.subarray(0, SUPERBLOCK_BYTES - 4)) !== crc) throw new Damaged('The superblock is damaged.');
  checkLength(s, fileBytes);
  return s;
}

function checkLength(s: Superblock, fileBytes: number): void {
  if (s.fileBytes > fileBytes)
    throw new Damaged(`The file is cut: ${fileBytes} of ${s.fileBytes} bytes are there. Copy it again.`);
  const end = s.indexOffset + s.entries * ENTRY_BYTES + TRAILER_BYTES;
  if (s.fileBytes !== fileBytes || s.entries > CHUNKS_MAX || end !== fileBytes)
    throw new Damaged('The superblock contradicts the length of the file.');
}

function readEntry(c: Bytes, id: number): Entry {
  const head = { id, kind: c.u8(), level: c.u8(), rankLevel: c.u16(), group: c.u32(), seq: c.u32(), records: c.u32() };
  const place = { start: c.i64(), end: c.i64(), offset: c.u64() };
  const size = { packedBytes: c.u32(), rawBytes: c.u32(), crc: c.u32() };
  c.u32();
  return { ...head, ...place, ...size };
}

function isSane(e: Entry, s: Superblock): boolean {
  const max = e.kind === Kind.Analysis ? ANALYSIS_RAW_MAX : CHUNK_RAW_MAX;
  return (
    e.kind >= Kind.Meta &&
    e.kind <= Kind.Flow &&
    e.rawBytes <= max &&
    e.rawBytes <= e.packedBytes * INFLATE_RATIO_MAX + 64 &&
    e.offset >= SUPERBLOCK_BYTES &&
    e.offset + e.packedBytes <= s.indexOffset
  );
}

export function readIndex(data: Uint8Array, s: Superblock): Entry[] {
  if (crc32c(data) !== s.indexCrc) throw new Damaged('The index is damaged.');
  const c = new Bytes(data);
  const entries: Entry[] = [];
  for (let id = 0; id < s.entries; id++) {
    const e = readEntry(c, id);
    if (!isSane(e, s)) throw new Damaged(`Entry ${id} of the index is impossible.`);
    entries.push(e);
  }
  return entries;
}

export function readMeta(data: Uint8Array): Meta {
  const c = new Bytes(data);
  const size = { ranks: c.u32(), runtime: c.u64() };
  const shape = {
    groupRanks: c.u32(),
    rows: c.u32(),
    bins: c.u32(),
    rowFactor: c.u32(),
    timeLevels: c.u32(),
    rankLevels: c.u32(),
    messageLevels: c.u32(),
    flowRanks: c.u32(),
    threads: c.u32(),
    segmentNs: c.u64(),
    events: c.u64(),
    messages: c.u64(),
  };
  const meta = { ...size, ...shape, ops: [] as string[] };
  const nops = c.u32();
  const text = new TextDecoder();
  for (let i = 0; i < nops; i++) meta.ops.push(text.decode(c.slice(c.u8())));
  const positive = [meta.ranks, meta.groupRanks, meta.rows, meta.bins, meta.flowRanks, meta.segmentNs];
  if (positive.some((n) => n < 1) || meta.ranks > 1 << 20 || meta.rowFactor < 2 || meta.timeLevels > 32)
    throw new Damaged('The description of the file is impossible.');
  return meta;
}
