// model.test.mjs - what is counted, cached, kept in bounds, and read from an analysis that may lack anything.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Damaged } from '../../reports/viewer/src/decode/damaged.ts';
import { LiveRun, knownShare, nowSheet, sampleSheet } from '../../reports/viewer/src/model/live.ts';
import { shownIn } from '../../reports/viewer/src/model/sheet.ts';
import { Kind } from '../../reports/viewer/src/decode/layout.ts';
import { Cancelled, Chunks, joinRanges } from '../../reports/viewer/src/io/chunks.ts';
import { callSites, communicators, issues, num, str } from '../../reports/viewer/src/model/analysis.ts';
import { callCount } from '../../reports/viewer/src/model/open.ts';
import { NO_FILTER, messageFilter } from '../../reports/viewer/src/model/filter.ts';
import { eachMessage } from '../../reports/viewer/src/work/walk.ts';
import { Store, initialState } from '../../reports/viewer/src/model/state.ts';
import { trafficIn } from '../../reports/viewer/src/model/traffic.ts';
import { allMessages, byPair, entries, make, open, openBytes, show } from './support.mjs';

const during = (from, to) => ({ from, to, kind: 'p2p', filter: NO_FILTER });

const rows = (t) =>
  Array.from(t.bytes, ([key, bytes]) => ({
    src: Math.floor(key / t.count),
    dst: key % t.count,
    bytes,
    messages: t.messages.get(key),
  }));

test('the traffic of the whole run is the matrix of the analysis', async () => {
  const path = make(4, 2, 50);
  const trace = await open(path);
  const all = await trafficIn(trace, during(0, trace.meta.runtime));
  assert.equal(all.exact, true);
  assert.deepEqual(byPair(rows(all)), byPair(show(path).matrix.p2p));
});

test('the traffic of two neighbouring intervals adds up to that of both', async () => {
  const trace = await open(make(4, 2, 50));
  const { runtime } = trace.meta;
  for (const share of [0.1, 0.5, 0.77]) {
    const parts = [
      await trafficIn(trace, during(0, share * runtime)),
      await trafficIn(trace, during(share * runtime, runtime)),
    ];
    assert.deepEqual(byPair(parts.flatMap(rows)), byPair(await allMessages(trace)));
  }
});

test('the chunks for an interval and ranks are those that overlap it', async () => {
  const trace = await open(make(16, 8, 40));
  const { groupRanks, runtime } = trace.meta;
  const [from, to] = [0.3 * runtime, 0.4 * runtime];
  const chosen = new Set(trace.eventEntries(from, to, groupRanks, 2 * groupRanks - 1));
  assert.ok(chosen.size > 0);
  for (const e of entries(trace, Kind.Events))
    assert.equal(chosen.has(e), e.group === 1 && e.start < to && e.end > from, `chunk ${e.group}.${e.seq}`);
});

// ---- chunks ----

const entry = (id, offset, packedBytes) => ({ id, offset, packedBytes });

test('neighbouring chunks are one range, distant ones are two', () => {
  const waiting = [entry(0, 64, 100), entry(1, 164, 50), entry(2, 1000, 10), entry(3, 500000, 10)];
  assert.deepEqual(joinRanges(waiting.map((x) => ({ entry: x }))), [
    { offset: 64, length: 946, first: 0, last: 2 },
    { offset: 500000, length: 10, first: 3, last: 3 },
  ]);
});

test('a chunk is read once, whoever asks and however often', async () => {
  const trace = await open(make(4, 2, 50));
  const [first] = entries(trace, Kind.Top);
  const before = trace.chunks.ranges.length;
  const [a, b] = await Promise.all([trace.messages(first), trace.messages(first)]);
  assert.equal(await trace.messages(first), a);
  assert.equal(a, b);
  assert.equal(trace.chunks.ranges.length, before + 1);
  assert.equal(trace.chunks.busy, 0);
});

test('calls and messages of a window are read with few requests, however many groups they are of', async () => {
  const trace = await open(make(32, 8, 60));
  const calls = entries(trace, Kind.Events).filter((e) => e.seq === 0);
  assert.ok(calls.length >= 8, `${calls.length} groups`);
  let before = trace.chunks.ranges.length;
  await Promise.all(calls.map((e) => trace.events(e)));
  const asked = trace.chunks.ranges.length - before;
  assert.ok(asked <= 3, `${asked} requests for calls, signatures and clocks of ${calls.length} groups`);
  before = trace.chunks.ranges.length;
  const messages = entries(trace, Kind.Messages).filter((e) => e.seq === 0);
  await Promise.all(messages.map((e) => trace.linked(e)));
  assert.ok(trace.chunks.ranges.length - before <= 2, `${trace.chunks.ranges.length - before} requests for messages`);
});

test('a source that gives too few bytes is refused, and asked again next time', async () => {
  const whole = readFileSync(make(4, 2, 50));
  const trace = await open(make(4, 2, 50));
  const [first] = entries(trace, Kind.Messages);
  let short = true;
  const source = {
    name: 'short',
    bytes: whole.length,
    read: async (offset, length) => whole.subarray(offset, offset + length - (short ? 1 : 0)),
  };
  const chunks = new Chunks(source);
  await assert.rejects(
    chunks.load(first, (data) => data),
    Damaged,
  );
  short = false;
  assert.equal((await chunks.load(first, (data) => data)).length, first.rawBytes);
});

// ---- analysis ----

test('an analysis may lack anything, or hold it in another type', () => {
  for (const bad of [
    null,
    1,
    'x',
    [],
    {},
    { issues: 3, callsites: {} },
    { issues: [null, 7, {}], callsites: [null] },
  ]) {
    for (const x of issues(bad)) assert.deepEqual([x.title, x.loss, x.ranks, x.window], ['', 0, [], null]);
    for (const [id, site] of callSites(bad)) assert.deepEqual([id, site.place], [0, '']);
  }
  assert.equal(num({ a: { b: '7' } }, 'a', 'b'), undefined);
  assert.equal(str({ a: 7 }, 'a'), '7');
  assert.equal(num({}, 'constructor', 'length'), undefined);
});

test('issues have the names and the order of the report, their interval in ns', () => {
  const list = issues({
    issues: [
      { issue: 'late_sender', severity: 'low', loss_s: 3 },
      {
        issue: 'load_imbalance',
        title: 'uneven work between ranks',
        severity: 'high',
        loss_s: 2,
        window_s: [0.5, 1.5],
        ranks: [3],
      },
      { issue: 'io_wait', severity: 'high', loss_s: 4, window_s: [2, 1] },
      { issue: 'of_tomorrow', severity: 'low' },
    ],
  });
  assert.deepEqual(
    list.map((x) => [x.title, x.loss, x.window]),
    [
      ['uneven work between ranks', 2, [5e8, 15e8]],
      ['io wait', 4, null],
      ['late sender', 3, null],
      ['of tomorrow', 0, null],
    ],
  );
});

test('communicators that nobody named are called as MPI calls them', () => {
  const names = communicators(
    {
      communicators: [
        { id: 0, name: null, size: 8, parent: null, created_by: null },
        { id: 1, name: null, size: 1, parent: null, created_by: null },
        { id: 2, name: 'row', size: 8, parent: 0, created_by: 'MPI_Comm_dup' },
        { id: 3, name: null, size: 8, parent: 0, created_by: 'MPI_Comm_dup' },
      ],
    },
    8,
  );
  assert.deepEqual([...names.values()], ['MPI_COMM_WORLD', 'MPI_COMM_SELF', 'row', 'communicator 3']);
});

test('the number of calls is that of the operations, not of the events', () => {
  const operations = [{ op: 'MPI_Test', calls: 1000000 }, { op: 'MPI_Send', calls: 2 }, {}];
  assert.deepEqual(callCount({ operations, coverage: { events: 5 } }), { calls: 1000002, open: 0 });
  assert.equal(callCount({ coverage: { events: 5 } }), undefined);
});

test('a load that nobody wants any more is given up, and read when somebody does', async () => {
  const trace = await open(make(4, 2, 50));
  const [first] = entries(trace, Kind.Events);
  const abort = new AbortController();
  const given = trace.events(first, abort.signal);
  abort.abort();
  await assert.rejects(given, Cancelled);
  assert.ok((await trace.events(first)).count > 0);
});

test('a load that somebody still wants is not given up', async () => {
  const trace = await open(make(4, 2, 50));
  const [first] = entries(trace, Kind.Events);
  const abort = new AbortController();
  const both = [trace.events(first, abort.signal), trace.events(first)];
  abort.abort();
  const [a, b] = await Promise.all(both);
  assert.equal(a, b);
});

test('a damaged chunk is read once, and refused with the same words each time', async () => {
  const bytes = Uint8Array.from(readFileSync(make(4, 2, 50)));
  const [first] = entries(await open(make(4, 2, 50)), Kind.Events);
  bytes[first.offset + 20] ^= 0xff;
  const trace = await openBytes(bytes);
  const before = trace.chunks.ranges.length;
  const words = [];
  for (let i = 0; i < 3; i++) await trace.events(first).catch((error) => words.push(error.message));
  assert.equal(words.length, 3);
  assert.equal(new Set(words).size, 1);
  assert.equal(trace.chunks.ranges.length, before + 1);
  assert.equal(trace.chunks.damageOf(first).message, words[0]);
});

// ---- state ----

const frames = [];
globalThis.requestAnimationFrame = (callback) => frames.push(callback);
const nextFrame = () => frames.splice(0).forEach((callback) => callback());

const RUNTIME = 1e9;
const BEGIN = initialState(RUNTIME, 'a', { a: { height: 0 }, b: { kind: 'x' } });
const store = () => new Store(BEGIN, RUNTIME);

test('listeners are called once before a picture, with what they saw last', () => {
  const s = store();
  const seen = [];
  s.subscribe((now, before) => seen.push([before.from, now.from]));
  s.set({ from: 1 });
  s.set({ from: 2 });
  assert.deepEqual(seen, []);
  nextFrame();
  s.set({ from: 3 });
  nextFrame();
  assert.deepEqual(seen, [
    [0, 2],
    [2, 3],
  ]);
});

test('zooming keeps the moment under the pointer', () => {
  const s = store();
  for (const [factor, share] of [
    [0.5, 0.3],
    [0.01, 0.9],
    [3, 0.5],
  ]) {
    const { from, to } = s.state;
    const about = from + share * (to - from);
    s.zoom(factor, about);
    assert.ok(Math.abs((about - s.state.from) / (s.state.to - s.state.from) - share) < 1e-6);
  }
});

test('the interval shown never leaves the run, and never is shorter than 20 ns', () => {
  const s = store();
  for (const [from, to] of [
    [-5e9, -4e9],
    [4e9, 9e9],
    [-1e12, 1e12],
    [5e8, 5e8],
    [6e8, 5e8],
  ]) {
    s.showInterval(from, to);
    assert.ok(s.state.from >= -0.02001 * RUNTIME && s.state.to <= 1.02001 * RUNTIME, `${from} to ${to}`);
    assert.ok(s.state.to - s.state.from >= 20);
  }
});

test('what was can be had again, and what came after it too', () => {
  const s = store();
  s.set({ from: 5 });
  s.settle();
  s.setView('b', { kind: 'y' });
  s.set({ from: 7 });
  s.settle();
  assert.ok(s.undo());
  assert.deepEqual([s.state.from, s.of('b').kind], [5, 'x']);
  assert.ok(s.undo());
  assert.deepEqual(s.state, BEGIN);
  assert.equal(s.undo(), false);
  assert.ok(s.redo() && s.redo());
  assert.deepEqual([s.state.from, s.of('b').kind], [7, 'y']);
  s.undo();
  s.set({ from: 9 });
  assert.equal(s.redo(), false);
  assert.equal(s.state.from, 9);
});

test('views keep their states apart', () => {
  const s = store();
  s.setView('a', { height: 7 });
  assert.deepEqual([s.of('a'), s.of('b')], [{ height: 7 }, { kind: 'x' }]);
});

test('a rank chosen twice is not chosen', () => {
  const s = store();
  s.toggleRank(3);
  s.toggleRank(5);
  s.toggleRank(3);
  assert.deepEqual([...s.state.selected], [5]);
});

test('what ranks of a running job are in has its times and shares', () => {
  const rank = {
    rank: 1,
    node: 'n1',
    state: 'mpi',
    op: 'MPI_Recv',
    peer: 2,
    since_s: 1.5,
    mpi: 0.22,
    off_processor: 0,
  };
  const sheet = nowSheet({ ranks: [rank] });
  const shown = sheet.rows[0].map((_, i) => shownIn(sheet, sheet.rows[0], i));
  assert.deepEqual(shown, ['1', 'n1', 'mpi', 'MPI_Recv', '1.5 s', '2', '', '', '22 %', '0 %']);
});

test('whose ranks are in a deadlock, or wait for one, is told; who has ended and is needed is not', () => {
  const ranks = [0, 1, 2, 3].map((rank) => ({ rank, state: rank === 3 ? 'useful' : 'mpi' }));
  const { columns, rows } = nowSheet({ ranks, deadlock: [{ ranks: [1, 0, 2], ended: 0 }] });
  const at = columns.findIndex((c) => c.name === 'state');
  assert.deepEqual(
    rows.map((row) => columns[at].show(row[at], row)),
    ['mpi', 'deadlock', 'deadlock', 'useful'],
  );
  assert.deepEqual(
    rows.map((row) => row[at]),
    ['mpi', 'mpi', 'mpi', 'useful'],
    'files have the state',
  );
});

test('a sample that an address names is looked at, also when it is read before the samples come', () => {
  const run = new LiveRun();
  run.choose(2);
  run.take({ samples: [1, 2, 3].map((number) => ({ number, time: number, ranks: 1, rows: [0] })) });
  assert.equal(run.shown?.number, 2);
  run.choose(9);
  assert.equal(run.shown?.number, 3);
  run.follow();
  assert.equal(run.shown?.number, 3);
});

test('a step that runs can be held before it has a sample, and then has none until it is followed', () => {
  const run = new LiveRun();
  run.pause();
  run.take({ samples: [{ number: 1, time: 1, ranks: 1, rows: [0] }] });
  assert.deepEqual([run.follows, run.pauses, run.samples.length, run.shown, run.newest], [false, true, 0, null, 1]);
  run.follow();
  assert.deepEqual([run.follows, run.pauses, run.shown?.number], [true, false, 1]);
});

test('of ranks whose node said nothing in a sample nothing is known, not zero', () => {
  const thread = { thread: 0, mpi_ticks: 0, totals: [] };
  const nodes = [
    { node: 'a', state: 'sampled', samples: 1, ns_per_tick: 1 },
    { node: 'b', state: 'lags', samples: 0, ns_per_tick: 1 },
    { node: 'c', state: 'ended', samples: 0, ns_per_tick: 1 },
  ];
  const ranks = nodes.map((_, node) => ({ rank: node, node, state: 'running', threads: [thread] }));
  const { columns, rows } = sampleSheet({ number: 7, nodes, names: [], ranks });
  assert.ok(rows.every((row) => row.length === columns.length));
  const at = (name) => rows.map((row) => row[columns.findIndex((c) => c.name === name)]);
  assert.deepEqual(at('calls'), [0, null, 0]);
  assert.deepEqual(at('mpi_s'), [0, null, 0]);
  assert.deepEqual(at('state'), ['running', 'silent', 'running']);
  const sample = (rows, mpi) => knownShare({ number: 1, time: 1, ranks: 4, silent: 1, mpi, offProcessor: null, rows });
  assert.deepEqual([sample([0.5, null, 1, null], 0.75), sample([], 0.5), sample([], null)], [0.5, 1, 0]);
});

test('a message that ends before it begins, by clocks that disagree, passes a filter that asks for no time under way', () => {
  const one = (value) => [value];
  const message = {
    sendCallSite: one(0),
    recvCallSite: one(0),
    comm: one(0),
    src: one(0),
    dst: one(1),
    bytes: one(8),
    sendStart: one(200),
    recvEnd: one(100),
  };
  assert.equal(messageFilter(NO_FILTER, new Map())(message, 0), true);
  assert.equal(messageFilter({ ...NO_FILTER, minTransitNs: 1 }, new Map())(message, 0), false);
});

test('tables and distributions of an interval have messages that end before they begin, too', async () => {
  const one = (value) => [value];
  const chunk = {
    count: 1,
    src: one(0),
    dst: one(1),
    bytes: one(8),
    comm: one(0),
    sendCallSite: one(0),
    recvCallSite: one(0),
  };
  const trace = {
    meta: { ranks: 2 },
    callSites: new Map(),
    messageEntries: () => [{ id: 0 }],
    messages: async () => ({ ...chunk, sendStart: one(200), recvEnd: one(100) }),
  };
  const within = async (from, to) => {
    let n = 0;
    const walk = { from, to, ranks: [], filter: NO_FILTER };
    await eachMessage(
      trace,
      walk,
      new AbortController().signal,
      () => n++,
      () => undefined,
    );
    return n;
  };
  assert.equal(await within(120, 180), 1);
  assert.equal(await within(0, 1000), 1);
  assert.equal(await within(0, 100), 0);
  assert.equal(await within(200, 300), 0);
});
