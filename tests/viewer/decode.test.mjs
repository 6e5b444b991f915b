// decode.test.mjs - what the viewer reads from a file is what the C reader shows of it; what is damaged is refused.
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import test from 'node:test';
import { crc32c } from '../../reports/viewer/src/decode/crc32c.ts';
import { Kind } from '../../reports/viewer/src/decode/layout.ts';
import { Reader, prepareReader } from '../../reports/viewer/src/decode/reader.ts';
import { PLANES } from '../../reports/viewer/src/decode/tiles.ts';
import {
  allEvents,
  allMessages,
  byPair,
  decodeAll,
  dump,
  entries,
  flavour,
  make,
  makeOdd,
  open,
  record,
  show,
  version1,
} from './support.mjs';

function sameRows(mine, theirs, what) {
  const off = mine.findIndex((row, i) => JSON.stringify(row) !== JSON.stringify(theirs[i]));
  if (off >= 0) assert.deepEqual(mine[off], theirs[off], `${what} ${off}`);
  assert.equal(mine.length, theirs.length, what);
}

/** Every call, message and wait state is what the C reader reads. */
async function sameAsRead(path) {
  const trace = await open(path);
  const mine = await decodeAll(trace);
  const [theirs] = dump(path);
  assert.ok(theirs.ok && mine.events.length > 0);
  for (const what of ['events', 'messages', 'waits']) {
    sameRows(mine[what], theirs[what], what);
    assert.equal(mine[what].length, trace.meta[what], what);
  }
  sameRows(mine.samples, theirs.samples, 'samples');
  return trace;
}

async function sameAsMatrix(path) {
  const messages = await allMessages(await open(path));
  assert.deepEqual(byPair(messages), byPair(show(path).matrix.p2p));
}

const MADE = [
  [2, 1, 1],
  [4, 2, 50],
  [16, 8, 40],
];
for (const [columns, rows, steps] of MADE) {
  const what = `${columns * rows} ranks, ${steps} steps`;
  test(`${what}: calls, messages and waits are what the C reader reads`, () => sameAsRead(make(columns, rows, steps)));
  test(`${what}: messages add up to the matrix of the analysis`, () => sameAsMatrix(make(columns, rows, steps)));
}

for (const seed of [1, 2, 3, 4, 5, 6])
  test(`odd calls, messages and waits (seed ${seed}) are what the C reader reads`, () => sameAsRead(makeOdd(seed)));

test('version 1: calls and messages are what the last writer of it was given', async () => {
  const { events, messages } = JSON.parse(readFileSync(version1.json));
  const trace = await sameAsRead(version1.path);
  assert.equal(trace.version, 1);
  const mine = await decodeAll(trace);
  sameRows(
    mine.events.map(([rank, start, end, wait, op, cls, peer, tag, bytes, calls, comm, thread, site]) => {
      return [rank, start, end, bytes, calls, peer, tag, op, site, comm, thread, wait, cls];
    }),
    events,
    'calls',
  );
  sameRows(mine.messages, messages, 'messages');
});

const skip = flavour ? false : 'no MPI here';
for (const [program, ...args] of [['counts_p2p'], ['counts_flows'], ['counts_rma'], ['counts_io', '.']])
  test(`${program}, recorded: calls, messages and waits are what the C reader reads`, { skip }, async () => {
    const path = record(program, ...args);
    assert.equal((await sameAsRead(path)).version, 2);
    await sameAsMatrix(path);
  });

test('samples of a recorded program add up to the calls of its analysis', { skip: !flavour }, async () => {
  const path = record('counts_p2p');
  const trace = await sameAsRead(path);
  const { samples } = await decodeAll(trace);
  assert.ok(samples.length > 0);
  const calls = {}; // by operation
  for (const [, , , , threads] of samples)
    for (const [, , , , , cells] of threads)
      for (const [op, , count] of cells) calls[trace.meta.ops[op]] = (calls[trace.meta.ops[op]] ?? 0) + count;
  assert.deepEqual(calls, Object.fromEntries(show(path).operations.map((x) => [x.op, x.calls])));
});

test('waiting in the samples of a recorded program is that of its analysis', { skip: !flavour }, async () => {
  const path = record('delayed');
  const { samples } = await decodeAll(await open(path));
  const { per_rank: ranks } = show(path);
  const wait = Array(ranks.length).fill(0);
  for (const [, , , , threads] of samples)
    for (const [lane, , , , , cells] of threads) for (const cell of cells) wait[lane] += cell[5];
  assert.ok(ranks.some((x) => x.wait_s > 0));
  ranks.forEach((x, i) => assert.ok(Math.abs(wait[i] - x.wait_s * 1e9) < 2, `rank ${i}: ${wait[i]}, ${x.wait_s}`));
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
  assert.deepEqual(
    byPair(rows),
    byPair(await allMessages(trace), (rank) => trace.meta.flowOf[rank]),
  );
});

test('a tile of the largest messages leaves none out that is larger than one in it', async () => {
  const trace = await open(make(16, 8, 40));
  const entry = trace.tile(Kind.Top, 0, 0);
  const top = await trace.messages(entry);
  const all = await allMessages(trace);
  assert.equal(entry.records, all.length);
  assert.equal(top.count, Math.min(512, all.length));
  const least = Math.min(...top.bytes);
  assert.equal(top.bytes.filter((n) => n > least).length, all.filter((m) => m.bytes > least).length);
});

/** Time of each class in a bin of a row, from the calls themselves, 255 = the whole bin. */
function sharesOf(events, meta, e) {
  const ranks = meta.rowFactor ** e.rankLevel; // of a row
  const width = meta.runtime / 2 ** e.level / meta.bins;
  const from = (e.seq * meta.runtime) / 2 ** e.level;
  const share = new Float64Array(PLANES * e.records * meta.bins);
  for (const [c, i, rank] of events) {
    const cls = c.signatures.class[c.signature[i]];
    const row = Math.floor(rank / ranks) - e.group * meta.rows;
    if (row < 0 || row >= e.records || cls === 0) continue;
    const members = Math.min(ranks, meta.ranks - Math.floor(rank / ranks) * ranks);
    const [start, end] = [(c.start[i] - from) / width, (c.start[i] + c.duration[i] - from) / width];
    for (let b = Math.max(0, Math.floor(start)); b < Math.min(meta.bins, Math.ceil(end)); b++) {
      const inside = Math.min(end, b + 1) - Math.max(start, b);
      share[((cls - 1) * e.records + row) * meta.bins + b] += (inside * 255) / members;
    }
  }
  return share;
}

async function checkSummary(path) {
  const trace = await open(path);
  const events = await allEvents(trace);
  const tiles = entries(trace, Kind.Summary);
  for (const e of tiles) {
    const { share } = await trace.summary(e);
    const want = sharesOf(events, trace.meta, e);
    const off = want.findIndex((x, k) => Math.abs(share[k] - x) > 1.01);
    assert.equal(off, -1, `level ${e.level}.${e.rankLevel}, tile ${e.group}.${e.seq}: ${share[off]}, not ${want[off]}`);
  }
  return tiles;
}

test('every summary tile holds the shares that the calls have', async () => {
  const ofMany = await checkSummary(make(18, 9, 20));
  assert.ok(ofMany.some((e) => e.rankLevel > 0));
  const ofLong = await checkSummary(make(2, 1, 3000));
  assert.ok(ofLong.some((e) => e.level > 0));
});

test('the time that decoding calls takes', async (t) => {
  const path = make(16, 8, 400);
  const trace = await open(path);
  const all = entries(trace, Kind.Events);
  let [events, bytes] = [0, 0];
  for (const e of all.slice(0, 8)) await trace.events(e); // warm
  const begin = performance.now();
  for (const e of all.slice(8)) {
    events += (await trace.events(e)).count;
    bytes += e.packedBytes;
  }
  const ns = ((performance.now() - begin) * 1e6) / events;
  t.diagnostic(
    `${events} calls, ${(bytes / events).toFixed(2)} bytes each: ${ns.toFixed(1)} ns each, inflated and decoded`,
  );
});

test('the reader asks nothing of the browser, and a chunk leaves nothing in it', async () => {
  assert.deepEqual(WebAssembly.Module.imports(await prepareReader()), []);
  const trace = await open(make(16, 8, 40));
  const [calls] = entries(trace, Kind.Events);
  const [messages] = entries(trace, Kind.Messages);
  const read = async () => {
    await Promise.all([trace.events(calls), trace.linked(messages)]);
    for (const e of [calls, messages]) trace.chunks.forget(e);
  };
  await read();
  const { memory } = trace.reader.native.call;
  const bytes = memory.buffer.byteLength;
  for (let i = 0; i < 200; i++) await read();
  assert.equal(memory.buffer.byteLength, bytes);
});

test('CRC-32C has the check value of its definition', () => {
  assert.equal(crc32c(new TextEncoder().encode('123456789')), 0xe3069283);
});

test('a number of the index is refused that a number here cannot hold exactly', async () => {
  const bytes = Uint8Array.from(readFileSync(make(2, 2, 1)));
  const view = new DataView(bytes.buffer);
  const index = Number(view.getBigUint64(24, true));
  for (const [start, ok] of [
    [-1n, true],
    [-(2n ** 53n) + 1n, true],
    [2n ** 60n, false],
  ]) {
    view.setBigInt64(index + 16, start, true);
    view.setUint32(36, crc32c(bytes.subarray(index, bytes.length - 16)), true);
    view.setUint32(60, crc32c(bytes.subarray(0, 60)), true);
    const reader = await Reader.create();
    reader.superblock(bytes.subarray(0, 64), bytes.length);
    const read = () => reader.index(bytes.subarray(index, bytes.length - 16))[0].start;
    if (ok) assert.equal(read(), Number(start));
    else assert.throws(read, /a number in the index is too large/);
  }
});

process.on('exit', () => rmSync(`${process.env.WORK}/bin`, { recursive: true, force: true }));
