// decode.test.mjs - what the viewer reads from a file is what the C reader shows of it; what is damaged is refused.
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import test from 'node:test';
import { Bytes, Damaged } from '../../reports/viewer/src/decode/bytes.ts';
import { crc32c } from '../../reports/viewer/src/decode/crc32c.ts';
import { Kind, SUPERBLOCK_BYTES } from '../../reports/viewer/src/decode/layout.ts';
import { bytesOf, callsOf, segmentOf, threadOf, valueOf } from '../../reports/viewer/src/decode/records.ts';
import { readTop } from '../../reports/viewer/src/decode/top.ts';
import { readEventsV1, readMetaV1 } from '../../reports/viewer/src/decode/v1.ts';
import { PLANES, readFlow } from '../../reports/viewer/src/decode/tiles.ts';
import { allEvents, allMessages, byPair, entries, flavour, make, open, openBytes, record, show } from './support.mjs';

const CLASS_NAMES = ['outside', 'p2p', 'wait', 'collective', 'sync', 'rma', 'io', 'other'];
const NS = 1e9;

/** A call as `mpitrace show --events --json` has it, times in ns. */
function decoded(trace, c, i) {
  return {
    rank: c.rank[i],
    start: c.start[i],
    end: c.start[i] + c.duration[i],
    wait: c.wait[i],
    op: trace.meta.ops[c.op[i]],
    class: CLASS_NAMES[c.class[i]],
    peer: c.peer[i],
    tag: c.tag[i],
    bytes: c.bytes[i],
    calls: c.calls[i],
    comm: c.comm[i],
    thread: c.thread[i],
    callsite: c.callSite[i],
  };
}

function shown(x) {
  const { start_s, end_s, wait_s, callsite = -1, file, line, function: _, ...rest } = x; // the id says where
  const times = { start: Math.round(start_s * NS), end: Math.round(end_s * NS), wait: Math.round(wait_s * NS) };
  return { ...rest, ...times, callsite };
}

async function sameAsShown(path) {
  const trace = await open(path);
  const mine = (await allEvents(trace)).map(([chunk, i]) => decoded(trace, chunk, i));
  const theirs = show(path, '--events').map(shown);
  assert.ok(mine.length > 0);
  assert.equal(mine.length, theirs.length);
  assert.equal(mine.length, trace.meta.events);
  mine.forEach((x, i) => assert.deepEqual(x, theirs[i], `call ${i}`));
}

async function sameAsMatrix(path) {
  const trace = await open(path);
  const messages = await allMessages(trace);
  assert.equal(messages.length, trace.meta.messages);
  assert.deepEqual(byPair(messages), byPair(show(path).matrix.p2p));
}

const MADE = [
  [2, 1, 1],
  [4, 2, 50],
  [16, 8, 40],
];
for (const [columns, rows, steps] of MADE) {
  const what = `${columns * rows} ranks, ${steps} steps`;
  test(`${what}: every call is what the C reader shows`, () => sameAsShown(make(columns, rows, steps)));
  test(`${what}: messages add up to the matrix of the analysis`, () => sameAsMatrix(make(columns, rows, steps)));
}

const skip = flavour ? false : 'no MPI here';
for (const [program, ...args] of [['counts_p2p'], ['counts_flows'], ['counts_rma'], ['counts_io', '.']])
  test(`${program}, recorded: calls and messages are what the C reader shows`, { skip }, async () => {
    const path = record(program, ...args);
    await sameAsShown(path);
    await sameAsMatrix(path);
  });

test('a tile of flows holds the sums of all messages', async () => {
  const trace = await open(make(16, 8, 40));
  const flow = await trace.flow(trace.tile(Kind.Flow, 0, 0));
  const rows = Array.from(flow.src, (src, i) => ({
    src,
    dst: flow.dst[i],
    messages: flow.messages[i],
    bytes: flow.bytes[i],
  }));
  assert.deepEqual(byPair(rows), byPair(await allMessages(trace), trace.meta.flowRanks));
});

test('a tile of the largest messages leaves none out that is larger than one in it', async () => {
  const trace = await open(make(16, 8, 40));
  const entry = trace.tile(Kind.Top, 0, 0);
  const top = await trace.messages(entry);
  const all = await allMessages(trace);
  assert.equal(entry.records, all.length);
  assert.equal(top.count, Math.min(1024, all.length));
  const least = Math.min(...top.bytes);
  assert.equal(top.bytes.filter((n) => n > least).length, all.filter((m) => m.bytes > least).length);
});

/** Time of each class in a bin of a row, from the calls themselves, 255 = the whole bin. */
function sharesOf(events, meta, e) {
  const ranks = meta.rowFactor ** e.rankLevel; // of a row
  const width = meta.runtime / 2 ** e.level / meta.bins;
  const from = (e.seq * meta.runtime) / 2 ** e.level;
  const share = new Float64Array(PLANES * e.records * meta.bins);
  for (const [c, i] of events) {
    const row = Math.floor(c.rank[i] / ranks) - e.group * meta.rows;
    if (row < 0 || row >= e.records || c.class[i] === 0) continue;
    const members = Math.min(ranks, meta.ranks - Math.floor(c.rank[i] / ranks) * ranks);
    const [start, end] = [(c.start[i] - from) / width, (c.start[i] + c.duration[i] - from) / width];
    for (let b = Math.max(0, Math.floor(start)); b < Math.min(meta.bins, Math.ceil(end)); b++) {
      const inside = Math.min(end, b + 1) - Math.max(start, b);
      share[((c.class[i] - 1) * e.records + row) * meta.bins + b] += (inside * 255) / members;
    }
  }
  return share;
}

test('every summary tile holds the shares that the calls have', async () => {
  const trace = await open(make(18, 9, 110));
  const events = await allEvents(trace);
  const tiles = entries(trace, Kind.Summary);
  assert.ok(tiles.some((e) => e.level > 0) && tiles.some((e) => e.rankLevel > 0));
  for (const e of tiles) {
    const { share } = await trace.summary(e);
    const want = sharesOf(events, trace.meta, e);
    const off = want.findIndex((x, k) => Math.abs(share[k] - x) > 1.01);
    assert.equal(off, -1, `level ${e.level}.${e.rankLevel}, tile ${e.group}.${e.seq}: ${share[off]}, not ${want[off]}`);
  }
});

// ---- damage ----

/** Everything in the file, decoded; what a reader could be led astray by. */
async function readAll(bytes) {
  const trace = await openBytes(bytes);
  const all = [trace.meta, trace.analysis];
  for (const e of entries(trace, Kind.Summary)) all.push(await trace.summary(e));
  for (const e of entries(trace, Kind.Events)) all.push(await trace.events(e));
  for (const e of [...entries(trace, Kind.Messages), ...entries(trace, Kind.Top)]) all.push(await trace.messages(e));
  for (const e of entries(trace, Kind.Flow)) all.push(await trace.flow(e));
  return all;
}

test('a file cut anywhere is refused as cut', async () => {
  const whole = readFileSync(make(2, 1, 1));
  for (let length = SUPERBLOCK_BYTES; length < whole.length; length += 5)
    await assert.rejects(openBytes(whole.subarray(0, length)), /^Error: The file is cut/, `${length} bytes`);
  for (let length = 0; length < SUPERBLOCK_BYTES; length++)
    await assert.rejects(openBytes(whole.subarray(0, length)), Damaged, `${length} bytes`);
});

test('any byte changed is found, or changes nothing', async () => {
  const whole = readFileSync(make(2, 1, 1));
  const want = await readAll(whole);
  let refused = 0;
  for (let at = 0; at < whole.length; at++) {
    const bad = Uint8Array.from(whole);
    bad[at] ^= 1 << (at % 8);
    const got = await readAll(bad).catch((error) => error);
    if (got instanceof Error) {
      assert.ok(got instanceof Damaged, `byte ${at}: ${got.stack}`);
      refused++;
    } else {
      assert.deepEqual(got, want, `byte ${at}`);
    }
  }
  assert.ok(refused > whole.length * 0.9, `${refused} of ${whole.length}`);
});

/** The unpacked bytes of the first chunk of a kind. */
function raw(trace, kind) {
  return trace.chunks.load({ ...entries(trace, kind)[0], id: -1 - kind }, (data) => data);
}

/** Whoever writes checksums as well can write anything: it decodes or it is refused, and nothing else happens. */
async function survives(kind, decode) {
  const trace = await open(make(2, 1, 1));
  const data = await raw(trace, kind);
  const attempt = (bad, what) => {
    try {
      decode(bad, trace.meta);
    } catch (error) {
      assert.ok(error instanceof Damaged, `${what}: ${error.stack}`);
    }
  };
  for (let length = 0; length < data.length; length++)
    assert.throws(() => decode(data.subarray(0, length), trace.meta), Damaged, `${length} bytes`);
  for (let at = 0; at < data.length; at++)
    for (const value of [0, 1, 0x7f, 0x80, 0xff]) {
      const bad = Uint8Array.from(data);
      bad[at] = value;
      attempt(bad, `byte ${at} = ${value}`);
    }
}

test('a forged chunk of calls decodes or is refused', () => survives(Kind.Events, (d, meta) => readEvents(d, meta, 0)));
test('a forged chunk of messages decodes or is refused', () => survives(Kind.Messages, readMessages));
test('a forged tile of flows decodes or is refused', () => survives(Kind.Flow, readFlow));
test('a forged description decodes or is refused', () => survives(Kind.Meta, readMeta));

test('CRC-32C has the check value of its definition', () => {
  assert.equal(crc32c(new TextEncoder().encode('123456789')), 0xe3069283);
});

test('varints end, and hold what a number can hold exactly', () => {
  const of = (...bytes) => new Bytes(Uint8Array.from(bytes));
  assert.equal(of(0x7f).varint(), 127);
  assert.equal(of(0x80, 0x01).varint(), 128);
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((n) => of(n).zigzag()),
    [0, -1, 1, -2, 2],
  );
  assert.equal(of(...Array(7).fill(0xff), 0x0f).varint(), Number.MAX_SAFE_INTEGER);
  assert.throws(() => of(...Array(7).fill(0xff), 0x1f).varint(), /too large/);
  assert.throws(() => of(...Array(10).fill(0x80), 0).varint(), /does not end/);
  assert.throws(() => of(0x80).varint(), /too early/);
  assert.throws(() => of(...Array(8).fill(0xff)).u64(), /too large/);
  assert.equal(of(...Array(8).fill(0xff)).i64(), -1);
});

process.on('exit', () => rmSync(`${process.env.WORK}/bin`, { recursive: true, force: true }));
