// layout.ts - what an .mpix file has, as format/SPEC.md draws it: kinds of chunks, entries of its index.

export const SUPERBLOCK_BYTES = 64;
export const ENTRY_BYTES = 56;
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

/** What an error calls a chunk. */
export function chunkName(e: Entry): string {
  const tile = e.level > 0 || e.rankLevel > 0 ? `level ${e.level}.${e.rankLevel}, ` : '';
  return `The chunk ${KIND_NAMES[e.kind] ?? e.kind} ${tile}${e.group}.${e.seq} at offset ${e.offset}`;
}
