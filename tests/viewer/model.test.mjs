// model.test.mjs - what is counted, cached, kept in bounds, and read from an analysis that may lack anything.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { Damaged } from '../../reports/viewer/src/decode/bytes.ts';
import { Kind } from '../../reports/viewer/src/decode/layout.ts';
import { Chunks, joinRanges } from '../../reports/viewer/src/io/chunks.ts';
import { callSites, issues, num, str } from '../../reports/viewer/src/model/analysis.ts';
import { Store } from '../../reports/viewer/src/model/state.ts';
import { trafficIn } from '../../reports/viewer/src/model/traffic.ts';
import { allMessages, byPair, entries, make, open, show } from './support.mjs';

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
  const all = await trafficIn(trace, 0, trace.meta.runtime);
  assert.equal(all.exact, true);
  assert.deepEqual(byPair(rows(all)), byPair(show(path).matrix.p2p));
});

test('the traffic of two neighbouring intervals adds up to that of both', async () => {
  const trace = await open(make(4, 2, 50));
  const { runtime } = trace.meta;
  for (const share of [0.1, 0.5, 0.77]) {
    const parts = [await trafficIn(trace, 0, share * runtime), await trafficIn(trace, share * runtime, runtime)];
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

test('issues come with the dearest first, their interval in ns', () => {
  const list = issues({
    issues: [
      { issue: 'late_sender', loss_s: 1 },
      { issue: 'load_imbalance', loss_s: 2, window_s: [0.5, 1.5], ranks: [3] },
      { issue: 'io_wait', window_s: [2, 1] },
    ],
  });
  assert.deepEqual(
    list.map((x) => [x.title, x.loss, x.window]),
    [
      ['load imbalance', 2, [5e8, 15e8]],
      ['late sender', 1, null],
      ['io wait', 0, null],
    ],
  );
});

// ---- state ----

const frames = [];
globalThis.requestAnimationFrame = (callback) => frames.push(callback);
const nextFrame = () => frames.splice(0).forEach((callback) => callback());

const RUNTIME = 1e9;
const store = () => new Store({ from: 0, to: RUNTIME, selected: new Set() }, RUNTIME);

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

test('a rank chosen twice is not chosen', () => {
  const s = store();
  s.toggleRank(3);
  s.toggleRank(5);
  s.toggleRank(3);
  assert.deepEqual([...s.state.selected], [5]);
});
