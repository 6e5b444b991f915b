// rows.test.mjs - tables, distributions, chains of waits, iterations, shares, and what becomes files: against the calls and messages of
// the file as they are read one by one.
import assert from 'node:assert/strict';
import test from 'node:test';
import { byIteration, slicesOf } from '../../reports/viewer/src/layout/align.ts';
import { readWanted, withLimits } from '../../reports/viewer/src/model/ask.ts';
import { NO_FILTER } from '../../reports/viewer/src/model/filter.ts';
import { opensOf } from '../../reports/viewer/src/model/open.ts';
import { csvOf, jsonOf } from '../../reports/viewer/src/model/sheet.ts';
import { waitTree } from '../../reports/viewer/src/model/wait_tree.ts';
import { Waited } from '../../reports/viewer/src/model/waited.ts';
import { chainOf } from '../../reports/viewer/src/work/chain.ts';
import { BINS, binStart, distributionOf } from '../../reports/viewer/src/work/distribution.ts';
import { iterationsOf } from '../../reports/viewer/src/work/iterations.ts';
import { search } from '../../reports/viewer/src/work/search.ts';
import { sharesOf } from '../../reports/viewer/src/work/shares.ts';
import { Order } from '../../reports/viewer/src/work/sorting.ts';
import { statsOf } from '../../reports/viewer/src/work/stats.ts';
import { callsOf } from '../../reports/viewer/src/decode/records.ts';
import { tableOf } from '../../reports/viewer/src/work/table.ts';
import { thingOf } from '../../reports/viewer/src/work/things.ts';
import { allEvents, flavour, make, makeOdd, messageRows, open, openBytes, record, version1 } from './support.mjs';
import { readFileSync } from 'node:fs';
import { callSheet } from '../../reports/viewer/src/views/call_sheet.ts';

const { signal } = new AbortController();
const nothing = () => undefined;
const trace = await open(make(4, 2, 50));
const { runtime } = trace.meta;
const calls = (await allEvents(trace)).map(([c, i, rank]) => ({
  rank,
  op: trace.meta.ops[c.signatures.op[c.signature[i]]],
  start: c.start[i],
  duration: c.duration[i],
}));
const messages = await messageRows(trace);
const whole = {
  kind: 'events',
  from: 0,
  to: runtime + 1,
  ranks: [],
  filter: NO_FILTER,
  first: 0,
  count: 10000,
  picked: '',
};
const table = (more, of = trace) =>
  tableOf(of, { ...whole, sort: 'start', descending: false, ...more }, signal, nothing);

test('a table lists every call once, in any order', async () => {
  const { rows, total, kept } = await table({ sort: 'duration', descending: true });
  assert.deepEqual([total, kept, rows.length], [calls.length, calls.length, calls.length]);
  const want = calls.map((c) => c.duration).sort((a, b) => b - a);
  assert.deepEqual(
    rows.map((r) => r.duration),
    want,
  );
  assert.equal(new Set(rows.map((r) => r.ref)).size, calls.length);
});

test('a table says how many calls its rows stand for: tests that found nothing, one after the other, are one row', async () => {
  const odd = await open(makeOdd(3));
  const events = await allEvents(odd);
  const want = events.reduce((sum, [c, i]) => sum + callsOf(c, i), 0);
  const { total, calls: told } = await table({ from: -Infinity, to: Infinity }, odd);
  assert.ok(want > total, `${want} calls in ${total} rows`);
  assert.equal(told, want);
  assert.equal((await table({})).calls, calls.length);
});

test('operations are sorted by their names, and equal ones by time', async () => {
  const { rows } = await table({ sort: 'op' });
  const names = rows.map((r) => r.op);
  assert.deepEqual(names, [...names].sort());
  rows.slice(1).forEach((r, i) => assert.ok(r.op !== rows[i].op || r.start >= rows[i].start));
});

test('a page is a part of all rows, and tells where what is picked stands', async () => {
  const all = await table({ sort: 'wait', descending: true });
  const picked = all.rows[77].ref;
  const page = await table({ sort: 'wait', descending: true, first: 70, count: 20, picked });
  assert.deepEqual(page.rows, all.rows.slice(70, 90));
  assert.equal(page.at, 77);
  assert.equal((await table({ picked: 'm0.0' })).at, -1);
  assert.equal((await table({ picked: 'e9999.0.0' })).at, -1);
});

test('how long a call waited is what its wait states say', async () => {
  const { rows } = await table({ sort: 'wait', descending: true, count: 40 });
  for (const r of rows) {
    const thing = await thingOf(trace, r.ref, signal);
    const waits = thing.waits.filter((w) => !w.part && !/completion/.test(w.state));
    const want = waits.reduce((sum, w) => sum + w.ns, 0);
    assert.ok(Math.abs(r.wait - want) < 1, `${r.ref}: ${r.wait} of ${want}`);
  }
  assert.ok(rows[0].wait > 0);
});

test('a table is of the interval, the ranks and what the filter lets through', async () => {
  const [from, to] = [0.3 * runtime, 0.5 * runtime];
  const { rows, total } = await table({ from, to, ranks: [2, 5], filter: { ...NO_FILTER, minNs: 1000 } });
  const inside = calls.filter(
    (c) => [2, 5].includes(c.rank) && c.start < to && c.start + c.duration > from && c.duration >= 1000,
  );
  assert.equal(total, inside.length);
  assert.ok(total > 0 && rows.every((r) => r.rank === 2 || r.rank === 5));
});

test('a table of messages has every message, with its time under way', async () => {
  const { rows, total } = await table({ kind: 'messages', sort: 'transit', descending: true });
  assert.equal(total, messages.length);
  const want = messages.map(([start, , , , end]) => end - start).sort((a, b) => b - a);
  assert.deepEqual(
    rows.map((r) => r.transit),
    want,
  );
  for (const r of rows.slice(0, 5))
    assert.equal((await thingOf(trace, r.ref, signal)).recvEnd - r.sendStart, r.transit);
});

test('a file of version 1 has tables too', async () => {
  const old = await openBytes(readFileSync(version1.path));
  const { events } = JSON.parse(readFileSync(version1.json));
  const to = old.meta.runtime + 1;
  assert.equal((await table({ to, sort: 'wait', descending: true }, old)).total, events.length);
});

test('of more rows than are kept the first in the order are kept', () => {
  const order = new Order(true, 100);
  const keys = Array.from({ length: 5000 }, (_, i) => (i * 7919) % 5003);
  keys.forEach((key, i) => order.add(1, i, key, i));
  order.sort();
  assert.deepEqual([order.total, order.kept], [5000, 100]);
  const want = [...keys].sort((a, b) => b - a).slice(0, 100);
  assert.deepEqual(
    order.slice(0, 1000).map((p) => keys[p.index]),
    want,
  );
  assert.equal(order.find({ entry: 1, index: keys.indexOf(want[42]) }), 42);
});

test('a distribution counts every call in its bin', async () => {
  const d = await distributionOf(trace, { ...whole, metric: 'duration' }, signal, nothing);
  assert.equal(d.total, calls.length);
  const want = new Array(BINS).fill(0);
  for (const c of calls) {
    let bin = 0;
    while (bin + 1 < BINS && binStart(bin + 1) <= c.duration * (1 + 1e-9)) bin++;
    want[bin]++;
  }
  assert.deepEqual([...d.count], want);
  assert.ok(Math.abs(d.sum.reduce((a, b) => a + b) - calls.reduce((s, c) => s + c.duration, 0)) < 1);
});

test('limits of the metric itself do not hide what they leave out, others do', async () => {
  const filter = { ...NO_FILTER, minNs: 1e5, minBytes: 1 };
  const d = await distributionOf(trace, { ...whole, filter, metric: 'duration' }, signal, nothing);
  const sends = calls.filter((c) => /Isend|Irecv|Allreduce/.test(c.op));
  assert.equal(d.total, sends.length);
  const limits = { transit: 'minTransitNs', messageBytes: 'minBytes', wait: 'minWaitNs', callBytes: 'minBytes' };
  for (const [metric, limit] of Object.entries(limits)) {
    const all = await distributionOf(trace, { ...whole, metric }, signal, nothing);
    const limited = { ...NO_FILTER, [limit]: 1e12 };
    const own = await distributionOf(trace, { ...whole, filter: limited, metric }, signal, nothing);
    assert.equal(own.total, all.total, metric);
  }
});

test('what is brushed and then counted is what was brushed', async () => {
  const d = await distributionOf(trace, { ...whole, metric: 'transit' }, signal, nothing);
  const used = d.count.findIndex((n) => n > 0);
  const text = withLimits('', 'transit', binStart(used), binStart(used + 1));
  const { filter, problem } = readWanted(text, { ops: [], classes: [], comms: new Map(), sites: new Map(), nodes: [] });
  assert.equal(problem, '');
  assert.equal((await table({ kind: 'messages', filter })).total, d.count[used]);
});

test('limits are written beside what else is asked for, and replace those of their kind', () => {
  assert.equal(withLimits('allreduce >1ms ranks 3-9', '', 2000, 0), 'allreduce ranks 3-9 >=2us');
  assert.equal(withLimits('site:"a b.c:3" wait>5us', 'wait', 0, 0), '"site:a b.c:3"');
  assert.equal(withLimits('>=4KiB', 'size', 16, 64), '>=16B <=64B');
});

test('a filter by waiting holds for search, statistics and tables alike', async () => {
  const filter = { ...NO_FILTER, minWaitNs: 200000 };
  const { total } = await table({ filter });
  const found = await search(trace, { filter, from: { start: -Infinity, rank: -1 }, forward: true }, signal, nothing);
  const stats = await statsOf(trace, { from: 0, to: runtime + 1, ranks: [], filter }, signal, nothing);
  assert.deepEqual([found.total, stats.calls], [total, total]);
  assert.ok(total > 0 && total < calls.length);
});

test('waiting of a lane is added up once where spans lie over each other', () => {
  const spans = { count: 3, lane: [4, 4, 4], from: [10, 20, 100], to: [30, 40, 110] };
  const w = new Waited([spans]);
  assert.equal(w.ns(4, 0, 200), 40);
  assert.equal(w.ns(4, 25, 105), 20);
  assert.equal(w.ns(5, 0, 200), 0);
});

test('a chain of waits goes from each wait to its cause and on', async () => {
  const { rows } = await table({ sort: 'wait', descending: true, count: 8, from: 0.5 * runtime });
  const chain = await chainOf(trace, { ref: rows[0].ref, steps: 5 }, signal);
  assert.equal(chain.steps[0].waiter.ref, rows[0].ref);
  assert.ok(chain.steps.length > 1, 'one step only');
  chain.steps.forEach((s, n) => {
    const next = chain.steps[n + 1];
    assert.ok(s.waitNs > 0 && s.cause.rank !== s.waiter.rank);
    if (!next) return;
    assert.equal(next.waiter.rank, s.cause.rank);
    assert.ok(next.waiter.start + next.waiter.duration <= s.cause.start);
  });
  const none = await chainOf(trace, { ref: 'e0.9999.0', steps: 5 }, signal);
  assert.deepEqual(none.steps, []);
});

test('iterations are the calls of a rank at a call site', async () => {
  const [site] = [...trace.callSites].find(([, s]) => s.op === 'MPI_Waitall');
  const got = await iterationsOf(trace, { rank: 3, site }, signal);
  const want = calls.filter((c) => c.rank === 3 && c.op === 'MPI_Waitall').map((c) => c.start);
  assert.deepEqual([...got], want);
});

test('aligned by iteration, the same iterations lie below each other', () => {
  const align = byIteration(Float64Array.of(10, 20, 40), Float64Array.of(100, 130, 140, 999));
  assert.deepEqual([10, 15, 20, 30, 40, 45, 0].map(align.toSecond), [100, 115, 130, 135, 140, 145, 90]);
  assert.deepEqual([100, 115, 140].map(align.toFirst), [10, 15, 40]);
  const slices = slicesOf(align, 0, 50, 500);
  assert.deepEqual(
    slices.map((s) => [s.x, s.width, s.from, s.to]),
    [
      [0, 100, 90, 100],
      [100, 100, 100, 130],
      [200, 200, 130, 140],
      [400, 100, 140, 150],
    ],
  );
  assert.equal(
    slicesOf(
      byIteration(
        new Float64Array(1e5).map((_, i) => i),
        new Float64Array(1e5),
      ),
      0,
      1e5,
      800,
    ).length < 802,
    true,
  );
  assert.deepEqual(slicesOf(byIteration(new Float64Array(0), Float64Array.of(1)), 0, 10, 100)[0].to, 10);
});

test('shares of time in MPI are those of the calls', async () => {
  const bins = 20;
  const got = await sharesOf(trace, { from: 0, to: runtime, bins }, signal);
  const step = runtime / bins;
  for (let b = 0; b < bins; b++) {
    const inside = calls.reduce(
      (sum, c) => sum + Math.max(0, Math.min((b + 1) * step, c.start + c.duration) - Math.max(b * step, c.start)),
      0,
    );
    assert.ok(Math.abs(got[b] - inside / step / trace.meta.ranks) < 0.02, `${b}: ${got[b]}`);
  }
  assert.ok(Number.isNaN((await sharesOf(trace, { from: -runtime, to: 0, bins }, signal))[0]));
});

test('the tree of waiting adds up to the totals of the analysis', { skip: !flavour }, async () => {
  const { analysis, meta, callSites } = await open(record('counts_coll'));
  const { rows } = waitTree(analysis, meta.ranks, callSites);
  const totals = new Map(analysis.wait_totals.map((x) => [x.state, x.seconds]));
  const states = rows.filter((r) => r.level === 1);
  assert.ok(states.length > 0);
  for (const r of states) {
    assert.ok(Math.abs(r.seconds - totals.get(r.key)) < 1e-6, r.key);
    const below = rows.filter((x) => x.parent === r.key).reduce((sum, x) => sum + x.seconds, 0);
    assert.ok(Math.abs(below - r.seconds) < 1e-6, r.key);
    assert.ok(Math.abs(r.byColumn.reduce((a, b) => a + b) - r.seconds) < 1e-6, r.key);
  }
  const sum = states.filter((r) => !r.isPart).reduce((a, r) => a + r.seconds, 0);
  assert.ok(Math.abs(rows[0].seconds - sum) < 1e-6);
});

test('more ranks than columns share columns', () => {
  const wait_states = Array.from({ length: 1000 }, (_, rank) => ({
    state: 'late_sender',
    rank,
    count: 1,
    seconds: 1,
    callsite: 0,
  }));
  const tree = waitTree({ wait_states }, 1000, new Map());
  assert.deepEqual([tree.each, tree.columns], [4, 250]);
  assert.ok(tree.rows[0].byColumn.every((s) => s === 4));
});

test('CSV keeps quotes and line breaks, and no cell is a formula', () => {
  const sheet = {
    title: 't',
    note: '',
    columns: [
      { name: 'a', title: 'a' },
      { name: 'b', title: 'b' },
    ],
    rows: [
      ['say "x", y', 1],
      ['=HYPERLINK("x")', -2],
      ['two\nlines', null],
      ['a;@x\u009b2J', '\uff1d1'],
    ],
  };
  assert.equal(csvOf(sheet), 'a,b\n"say ""x"", y",1\n"\'=HYPERLINK(""x"")",-2\n"two\nlines",\na;\'@x?2J,\'\uff1d1\n');
  const back = JSON.parse(jsonOf(sheet, { view: 'v' }));
  assert.equal(back.schema, 'mpitrace/view/1');
  assert.deepEqual(back.rows[1], { a: '=HYPERLINK("x")', b: -2 });
  assert.deepEqual(JSON.parse(jsonOf({ ...sheet, rows: [] }, {})).rows, []);
});

test('calls that ranks never came back from are in the table and the files of the timeline, marked, to the end of the rank', async () => {
  const trace = await open(make(4, 2, 50));
  const { runtime } = trace.meta;
  const sheetOf = async (perRank, ranks, filter = NO_FILTER) => {
    const analysis = { ...trace.analysis, per_rank: perRank };
    const hung = await open(make(4, 2, 50));
    hung.opens = opensOf(analysis);
    const ask = (_, kind, query, done) => tableOf(hung, query, signal, nothing).then((page) => done(page, true));
    const state = { from: 0, to: 2 * runtime, filter, filterText: '' };
    const session = { ask, analysis, comms: trace.comms, callSites: trace.callSites };
    return callSheet({ session, store: { state } }, ranks, 'Timeline');
  };
  const call = { thread: 0, op: 'MPI_Recv', class: 1, callsite: null, communicator: null, waits: true, needs: 3 };
  const hangs = (rank, from) => ({ rank, open: [{ ...call, from_s: from / 1e9, to_s: (1.5 * runtime) / 1e9 }] });
  const perRank = [hangs(0, 1.2 * runtime), hangs(1, 0.5 * runtime)];
  const whole = await sheetOf([], [0, 1]);
  assert.ok(!whole.columns.some((c) => c.name === 'returned'), 'as ever where all came back');
  const sheet = await sheetOf(perRank, [0, 1]);
  const at = (name) => sheet.columns.findIndex((c) => c.name === name);
  const left = sheet.rows.filter((row) => row[at('returned')] === 'no');
  assert.deepEqual([sheet.rows.length, left.length], [whole.rows.length + 2, 2]);
  const names = ['rank', 'operation', 'start_ns', 'duration_ns', 'waiting_ns', 'bytes', 'peer', 'tag', 'call_site'];
  const length = (ns) => Math.round(ns / 1000);
  const last = names.map((name) => sheet.rows.at(-1)[at(name)]);
  assert.deepEqual(
    last.map((x) => (x > 1000 ? length(x) : x)),
    [0, 'MPI_Recv', length(1.2 * runtime), length(0.3 * runtime), length(0.3 * runtime), null, 3, null, ''],
  );
  const starts = sheet.rows.map((row) => row[at('start_ns')]);
  assert.deepEqual(
    starts,
    [...starts].sort((a, b) => a - b),
    'in order of time',
  );
  assert.match(sheet.note, /calls of the ranks and the time shown, 2 of them open: the rank never came back from it; /);
  assert.equal(
    (await sheetOf(perRank, [1], { ...NO_FILTER, ops: ['MPI_Barrier'] })).rows.filter((r) => r[at('returned')] === 'no')
      .length,
    0,
  );
});
