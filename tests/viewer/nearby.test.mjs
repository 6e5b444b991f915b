// nearby.test.mjs - of an interval exactly the messages and wait states are worked out that reach into it, each as all of its chunk would be,
// and calls of other windows are read only for what reaches over.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Kind } from '../../reports/viewer/src/decode/layout.ts';
import { LaneSpans } from '../../reports/viewer/src/work/lane_spans.ts';
import { Nearby } from '../../reports/viewer/src/model/nearby.ts';
import { spansIn } from '../../reports/viewer/src/model/spans.ts';
import { MESSAGE_COLUMNS, entries, flavour, make, makeOdd, open, record } from './support.mjs';

const signal = new AbortController().signal;
const here = Promise.resolve();

/** Intervals of a run: at its ends, over the ends of windows, and anywhere. */
function intervals({ meta }, starts) {
  const found = [[-10, meta.runtime + 10]];
  for (const at of starts) for (const width of [1, 1e5]) found.push([at - width, at + width]);
  for (let k = 0; k < 15; k++) {
    const [from, width] = [((k * 37) % 101) / 101, 10 ** -(k % 5)];
    found.push([from * meta.runtime, Math.min(1, from + width) * meta.runtime]);
  }
  return found;
}

const row = (c, i) => MESSAGE_COLUMNS.map((name) => c[name][i]).join(' ');
const wait = (s, i) => [s.lane[i], s.from[i], s.to[i], s.class[i], s.causer[i], s.state[i]].join(' ');

/** What of a chunk lies in an interval. */
function messagesOf(c, from, to) {
  const list = Array.from({ length: c.count }, (_, i) => i);
  return list.filter((i) => c.sendStart[i] < to && c.recvEnd[i] > from).map((i) => row(c, i));
}

function spansOf(s, from, to) {
  const list = Array.from({ length: s.count }, (_, i) => i);
  return list.filter((i) => s.from[i] < to && s.to[i] > from).map((i) => wait(s, i));
}

/** Compare all chunks in all intervals; fresh(): a trace of which nothing is read. */
async function compare(fresh) {
  const [whole, used] = [await fresh(), await fresh()];
  const starts = new Set(entries(whole, Kind.Events).map((e) => e.start));
  let compared = 0;
  for (const [from, to] of intervals(whole, [...starts].slice(0, 12))) {
    for (const trace of [used, await fresh()]) {
      const nearby = new Nearby(trace, from, to);
      for (const e of trace.messageEntries(from, to)) {
        await nearby.messages(e, signal, here);
        const want = messagesOf(await whole.messages(e), from, to);
        assert.deepEqual(messagesOf(nearby.messagesOf(e), from, to), want, `messages ${from} ${to}`);
        compared += want.length;
      }
      for (const e of trace.waitEntriesOf(from, to, 0, trace.meta.ranks - 1)) {
        await nearby.spans(e, signal, here);
        const want = spansOf(await spansIn(whole, e), from, to);
        assert.deepEqual(spansOf(nearby.spansOf(e), from, to), want, `waits ${from} ${to}`);
        compared += want.length;
      }
    }
  }
  return compared;
}

test('of any interval of a halo exchange the messages and waits are those that reach into it', async () => {
  assert.ok((await compare(() => open(make(16, 8, 40)))) > 10000);
});

for (const seed of [1, 2, 3, 4, 5, 6, 7, 8])
  test(`of any interval of odd trace ${seed} as well, with calls that go on over windows`, async () => {
    const path = makeOdd(seed);
    assert.ok((await compare(() => open(path))) > 0);
  });

const skip = flavour ? false : 'no MPI here';
test('of any interval of a program with threads as well', { skip }, async () => {
  const path = record('multiple', 'workers');
  assert.ok((await compare(() => open(path))) > 0);
});

/** How many chunks of calls are read for the messages and waits of an interval. */
async function chunksFor(path, from, to, read) {
  const trace = await open(path);
  const rest = trace.waitEntriesOf(from, to, 0, trace.meta.ranks - 1);
  for (const e of [...trace.messageEntries(from, to), ...rest]) await read(trace, e);
  return entries(trace, Kind.Events).filter((e) => trace.chunks.peek(e) !== undefined).length;
}

test('calls of other windows are not read for what does not reach over', async () => {
  const path = make(4, 2, 2000);
  const { meta } = await open(path);
  assert.ok(meta.windows > 3, 'several windows');
  for (const at of [0.3, 0.5, 0.7]) {
    const [from, to] = [at * meta.runtime, (at + 1e-4) * meta.runtime];
    let nearby = null;
    const near = (trace, e) => {
      nearby ??= new Nearby(trace, from, to);
      return e.kind === Kind.Waits ? nearby.spans(e, signal, here) : nearby.messages(e, signal, here);
    };
    const whole = (trace, e) => (e.kind === Kind.Waits ? spansIn(trace, e) : trace.messages(e));
    const [all, few] = [await chunksFor(path, from, to, whole), await chunksFor(path, from, to, near)];
    assert.ok(few === 1 && all > 1, `${few} of ${all} chunks`);
  }
});

test('wait states of a lane come in order and none over another, however they stood', () => {
  const spans = (...rows) => ({
    count: rows.length,
    lane: Uint32Array.from(rows, (x) => x[0]),
    from: Float64Array.from(rows, (x) => x[1]),
    to: Float64Array.from(rows, (x) => x[2]),
    class: Uint8Array.from(rows, (x) => x[3]),
  });
  const lists = [
    spans([1, 50, 60, 2], [1, 10, 30, 3], [0, 5, 8, 1]),
    spans([1, 20, 40, 4], [1, 12, 25, 5], [1, 90, 99, 6]),
  ];
  const found = LaneSpans.of(lists, 3, 0, 80);
  const of = (lane) => {
    const list = [];
    for (let i = found.first(lane); i < found.end(lane); i++) list.push([found.from[i], found.to[i], found.class[i]]);
    return list;
  };
  assert.deepEqual([0, 1, 2].map(of), [
    [[5, 8, 1]],
    [
      [10, 30, 3],
      [30, 40, 4],
      [50, 60, 2],
    ],
    [],
  ]);
  assert.equal(found.within(1, 25, 55), 20);
  assert.equal(found.within(2, 0, 80), 0);
});
