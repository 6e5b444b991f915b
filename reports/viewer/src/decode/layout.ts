// layout.ts - superblock and index of an .mpix file, as format/SPEC.md draws them.
import { Bytes, Damaged } from './bytes';
import { crc32c } from './crc32c';

export const SUPERBLOCK_BYTES = 64;
export const ENTRY_BYTES = 56;
const MAGIC = [0x89, 0x4d, 0x50, 0x49, 0x58, 0x0d, 0x0a, 0x1a];
export const VERSION = 2; // 1 is read as well
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
  Signatures = 8,
  Clock = 9,
  Waits = 10,
  Samples = 14,
}

const KIND_NAMES = [
  '?',
  'META',
  'ANALYSIS',
  'SUMMARY',
  'EVENTS',
  'MESSAGES',
  'TOP',
  'FLOW',
  'SIGNATURES',
  'CLOCK',
  'WAITS',
  'OBJECTS',
  'SYNCS',
  'STACKS',
  'SAMPLES',
];

export interface Superblock {
  version: number;
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

function isBehind(a: Entry, b: Entry | undefined): boolean {
  if (!b) return true;
  const order = [a.kind - b.kind, a.rankLevel - b.rankLevel, a.level - b.level, a.group - b.group, a.seq - b.seq];
  return (order.find((x) => x !== 0) ?? 0) > 0; // each name once
}

/** What an error calls a chunk. */
export function chunkName(e: Entry): string {
  const tile = e.level > 0 || e.rankLevel > 0 ? `level ${e.level}.${e.rankLevel}, ` : '';
  return `The chunk ${KIND_NAMES[e.kind] ?? e.kind} ${tile}${e.group}.${e.seq} at offset ${e.offset}`;
}

export function readSuperblock(data: Uint8Array, fileBytes: number): Superblock {
  if (data.length < 8 || MAGIC.some((byte, i) => data[i] !== byte)) throw new Damaged('This is not an .mpix file.');
  if (data.length < SUPERBLOCK_BYTES) throw new Damaged(`The file is cut: only ${fileBytes} bytes are there.`);
  const c = new Bytes(data.subarray(8));
  const version = c.u32();
  if (version < 1 || version > VERSION)
    throw new Damaged(`The file has version ${version}; this viewer reads up to ${VERSION}.`);
  c.u32();
  const s = { version, fileBytes: c.u64(), indexOffset: c.u64(), entries: c.u32(), indexCrc: c.u32() };
  const crc = new Bytes(data.subarray(SUPERBLOCK_BYTES - 4)).u32();
  if (crc32c(data.subarray(0, SUPERBLOCK_BYTES - 4)) !== crc) throw new Damaged('The superblock is damaged.');
  checkLength(s, fileBytes);
  return s;
}

function checkLength(s: Superblock, fileBytes: number): void {
  if (s.fileBytes > fileBytes)
    throw new Damaged(`The file is cut: ${fileBytes} of ${s.fileBytes} bytes are there. Copy it again.`);
  const end = s.indexOffset + s.entries * ENTRY_BYTES + TRAILER_BYTES;
  if (s.fileBytes !== fileBytes || s.entries > CHUNKS_MAX || end !== fileBytes || s.indexOffset < SUPERBLOCK_BYTES)
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
    (s.version > 1 || e.kind <= Kind.Flow) &&
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
    if (!isSane(e, s) || !isBehind(e, entries[id - 1])) throw new Damaged(`Entry ${id} of the index is impossible.`);
    entries.push(e);
  }
  return entries;
}
