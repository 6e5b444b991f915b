// open.test.mjs - calls that ranks never came back from in whatever lists, counts or adds up calls: the part inside of the interval, marked,
// and never twice; and from when on single calls of each thread are missing.
import assert from 'node:assert/strict';
import test from 'node:test';
import { CLASSES, WAITING_STYLE } from '../../reports/viewer/src/layout/color.ts';
import { shortPlace } from '../../reports/viewer/src/layout/format.ts';
import { NO_FILTER } from '../../reports/viewer/src/model/filter.ts';
import { callCount, openSums, operationsOf, opensOf, recordedUntilOf } from '../../reports/viewer/src/model/open.ts';
import { waitTree } from '../../reports/viewer/src/model/wait_tree.ts';
import { timeParts } from '../../reports/viewer/src/draw/windows.ts';
import { csvOf } from '../../reports/viewer/src/draw/statistics.ts';
import { differences } from '../../reports/viewer/src/views/compare_parts.ts';
import { commsOfRun, siteColumns, sitesOfRun } from '../../reports/viewer/src/views/table_columns.ts';
import { chainOf } from '../../reports/viewer/src/work/chain.ts';
import { distributionOf } from '../../reports/viewer/src/work/distribution.ts';
import { search } from '../../reports/viewer/src/work/search.ts';
import { statsOf } from '../../reports/viewer/src/work/stats.ts';
import { tableOf } from '../../reports/viewer/src/work/table.ts';
import { thingOf } from '../../reports/viewer/src/work/things.ts';
import { allEvents, make, makeOdd, open, openTotals } from './support.mjs';

const { signal } = new AbortController();
const nothing = () => undefined;
const call = { thread: 0, op: 'MPI_Recv', class: 1, site: 0, comm: 0, waits: true, needs: 3 };

/** Ranks 0 and 1 hang behind all their calls until twice the run, 1 not for others; its runtime is that of the calls. */
async function hung() {
  const trace = await open(make(4, 2, 50));
  const { runtime } = trace.meta;
  trace.opens.set(0, [{ ...call, from: 1.2 * runtime, to: 2 * runtime }]);
  trace.opens.set(1, [
    { ...call, op: 'MPI_Barrier', class: 4, waits: false, needs: -1, from: runtime, to: 2 * runtime },
  ]);
  return { trace, runtime };
}

const query = (runtime, more = {}) => ({ from: 0, to: 2 * runtime, ranks: [], filter: NO_FILTER, ...more });
const stats = (trace, q) => statsOf(trace, q, signal, nothing);
const row = (rows, name) => rows.find((x) => x.name === name);
const near = (got, want, what) =>
  assert.ok(Math.abs(got - want) <= 1e-9 * Math.abs(want) + 2, `${what}: ${got}, ${want}`);

test('statistics have open calls by operation, site and rank, their time and waiting as far as it lies in the interval', async () => {
  const { trace, runtime } = await hung();
  const before = await stats(await open(make(4, 2, 50)), query(runtime));
  const s = await stats(trace, query(runtime));
  assert.deepEqual([s.calls - before.calls, s.open], [2, 2]);
  near(s.ns - before.ns, 1.8 * runtime, 'time');
  const { calls, open: n, ns, waitNs } = row(s.operations, 'MPI_Recv');
  assert.deepEqual([calls, n], [1, 1]);
  near(ns, 0.8 * runtime, 'of the operation');
  near(waitNs, 0.8 * runtime, 'waiting');
  assert.equal(row(s.operations, 'MPI_Barrier').waitNs, 0, 'not for others');
  const rank = (of, n) => of.ranks.find((x) => x.rank === n);
  near(rank(s, 1).ns - rank(before, 1).ns, runtime, 'of rank 1');
  near(rank(s, 0).waitNs - rank(before, 0).waitNs, 0.8 * runtime, 'rank 0 waits');
  near(s.waits.find((x) => x.state === 'never returned').ns, 0.8 * runtime, 'its state');
  const sites = (of) => of.sites.reduce((sum, x) => sum + x.open, 0);
  assert.deepEqual([sites(s), sites(before)], [2, 0]);
  const part = await stats(trace, query(runtime, { from: 1.5 * runtime, to: 1.6 * runtime }));
  assert.deepEqual([part.calls, part.open, part.operations.length], [2, 2, 2]);
  near(part.ns, 0.2 * runtime, 'a part');
  const none = await stats(trace, query(runtime, { to: 0.5 * runtime }));
  assert.equal(none.open, 0, 'before they begin');
  assert.match(csvOf({ ...trace, callSites: trace.callSites }, s), /^table,name,calls,open,seconds,bytes,waiting_s\n/);
  assert.match(csvOf({ ...trace, callSites: trace.callSites }, s), /\noperation,MPI_Recv,1,1,[\d.]+,,/);
});

test('ranks that are selected and filters hold for them', async () => {
  const { trace, runtime } = await hung();
  const openIn = async (more) => (await stats(trace, query(runtime, more))).open;
  const filter = (more) => ({ filter: { ...NO_FILTER, ...more } });
  assert.deepEqual(
    [
      await openIn({ ranks: [1, 5] }),
      await openIn({ ranks: [5] }),
      await openIn(filter({ ops: ['MPI_Barrier'] })),
      await openIn(filter({ waits: true })),
      await openIn(filter({ minNs: 0.9 * runtime })),
      await openIn(filter({ minBytes: 1 })),
      await openIn(filter({ ranks: [0] })),
    ],
    [1, 0, 1, 1, 1, 0, 1],
  );
});

test('the table has a row for each, in any order, marked; it is found again by its name', async () => {
  const { trace, runtime } = await hung();
  const page = { kind: 'events', first: 0, count: 10, picked: 'n0.0', descending: true };
  const table = (more) => tableOf(trace, { ...query(runtime), ...page, ...more }, signal, nothing);
  const events = await allEvents(trace);
  const longest = await table({ sort: 'duration' });
  assert.deepEqual([longest.total, longest.open, longest.at], [events.length + 2, 2, 1]);
  const { ref, rank, op, start, duration, wait, open: isOpen } = longest.rows[1];
  assert.deepEqual(
    { ref, rank, op, start, duration, wait, isOpen },
    {
      ...{ ref: 'n0.0', rank: 0, op: 'MPI_Recv', start: 1.2 * runtime },
      ...{ duration: 2 * runtime - 1.2 * runtime, wait: 2 * runtime - 1.2 * runtime, isOpen: true },
    },
  );
  for (const sort of ['start', 'wait', 'op', 'rank', 'site', 'comm', 'peer', 'tag', 'bytes', 'calls']) {
    const { rows } = await table({ sort, count: 10000 });
    assert.equal(rows.filter((x) => x.open).length, 2, sort);
  }
  const last = await table({ sort: 'returned', descending: false });
  assert.deepEqual(
    last.rows.slice(0, 3).map((x) => x.open),
    [true, true, false],
  );
  const thing = await thingOf(trace, 'n1.0', signal);
  assert.deepEqual(
    [thing.kind, thing.op, thing.rank, thing.duration, thing.open, thing.waits],
    ['event', 'MPI_Barrier', 1, runtime, { needs: -1 }, []],
  );
  assert.equal((await thingOf(trace, 'n0.0', signal)).waits[0].ns, 2 * runtime - 1.2 * runtime);
  assert.equal(await thingOf(trace, 'n5.0', signal), null);
  assert.equal((await chainOf(trace, { ref: 'n0.0', steps: 3 }, signal)).ref, 'n0.0', 'how it came to it is asked');
});

test('it is counted by length and by waiting, not by bytes, which nobody knows', async () => {
  const { trace, runtime } = await hung();
  const of = (metric) => distributionOf(trace, query(runtime, { metric }), signal, nothing);
  const events = await allEvents(trace);
  const [length, wait, bytes] = [await of('duration'), await of('wait'), await of('callBytes')];
  assert.deepEqual([length.total, length.open], [events.length + 2, 2]);
  assert.equal(length.most, runtime);
  near(wait.most, 0.8 * runtime, 'the longest wait');
  assert.deepEqual([bytes.total, bytes.open], [events.length, 0]);
});

test('a search finds it, forward and back, between the calls that were recorded', async () => {
  const { trace, runtime } = await hung();
  trace.opens.get(1)[0].from = 0.5 * runtime; // others go on
  const find = (filter, from, forward) =>
    search(trace, { filter: { ...NO_FILTER, ...filter }, from, forward }, signal, nothing);
  const all = await find({}, { start: Infinity, rank: -1 }, false);
  assert.deepEqual([all.thing.ref, all.total], ['n0.0', (await allEvents(trace)).length + 2]);
  const barrier = await find({ ops: ['MPI_Barrier'] }, { start: -Infinity, rank: -1 }, true);
  assert.deepEqual([barrier.thing.ref, barrier.total, barrier.before], ['n1.0', 1, 0]);
  const next = await find({}, { start: 0.5 * runtime, rank: 1 }, true);
  assert.ok(next.thing.start > 0.5 * runtime && next.thing.ref.startsWith('e'), next.thing.ref);
  const said = [];
  const q = { filter: NO_FILTER, from: { start: next.thing.start, rank: next.thing.rank }, forward: false };
  const back = await search(trace, q, signal, (f) => said.push(f.thing.ref));
  assert.deepEqual([back.thing.ref, ...said], ['n1.0', 'n1.0'], 'what is said first holds');
});

test('a call that was recorded a moment before its process was killed is not counted twice', async () => {
  const { trace, runtime } = await hung();
  const [chunk, i, rank] = (await allEvents(trace)).filter(([, , r]) => r === 2).at(-1);
  const op = trace.meta.ops[chunk.signatures.op[chunk.signature[i]]];
  trace.opens.set(rank, [{ ...call, op, from: chunk.start[i] + 0.4, to: chunk.start[i] + chunk.duration[i] + 5 }]);
  const s = await stats(trace, query(runtime));
  assert.equal(s.open, 2);
  assert.equal(s.calls, (await allEvents(trace)).length + 2);
  const page = { kind: 'events', first: 0, count: 10, picked: '', descending: true, sort: 'duration' };
  assert.equal((await tableOf(trace, { ...query(runtime), ...page }, signal, nothing)).open, 2);
  const { total } = await search(
    trace,
    { filter: NO_FILTER, from: { start: -Infinity, rank: -1 }, forward: true },
    signal,
    nothing,
  );
  assert.equal(total, s.calls);
});

test('of a run of which only totals were recorded, open calls are all that there is', async () => {
  const trace = await openTotals(make(4, 2, 50), (runtime) => ({
    0: { from: 0.5 * runtime, to: runtime, waits: true, needs: 1 },
    2: { from: 0.4 * runtime, to: runtime },
  }));
  const { runtime } = trace.meta;
  const s = await stats(trace, query(runtime, { to: 0.6 * runtime }));
  assert.deepEqual([s.calls, s.open, s.ranks.map((x) => x.rank)], [2, 2, [0, 2]]);
  near(s.ns, 0.3 * runtime, 'time');
  const page = { kind: 'events', first: 0, count: 10, picked: '', descending: false, sort: 'start' };
  const { rows, total } = await tableOf(trace, { ...query(runtime), ...page }, signal, nothing);
  assert.deepEqual([total, rows.map((x) => x.rank)], [2, [2, 0]]);
});

/** As an analysis has them. */
const analysis = {
  coverage: { mode: 'events', events: 5 },
  operations: [{ op: 'MPI_Recv', calls: 3, time_s: 1, bytes: 8 }],
  callsites: [
    { id: 0, op: 'MPI_Recv', calls: 3, time_s: 1, wait_s: 0.5, bytes: 8 },
    { id: 1, op: 'MPI_Barrier', calls: 0, time_s: 0, wait_s: 0, bytes: 0 },
    { id: 2, op: 'MPI_Scan', calls: 0, time_s: 0, wait_s: 0, bytes: 0 },
  ],
  communicators: [{ id: 0, size: 4, calls: 3 }],
  wait_states: [{ state: 'late_sender', rank: 0, callsite: 0, seconds: 0.5, count: 3 }],
  wait_totals: [{ state: 'late_sender', seconds: 0.5 }],
  time_windows: [{ start_s: 0, end_s: 4, useful_s: 1, mpi_s: 3, wait_s: 0.5, classes_s: {} }],
  per_rank: [
    {
      rank: 0,
      open: [
        {
          thread: 0,
          op: 'MPI_Recv',
          class: 1,
          callsite: 0,
          communicator: 0,
          from_s: 2,
          to_s: 5,
          waits: true,
          needs: 1,
        },
      ],
    },
    {
      rank: 1,
      open: [
        {
          thread: 0,
          op: 'MPI_Barrier',
          class: 4,
          callsite: 1,
          communicator: 0,
          from_s: 3,
          to_s: 5,
          waits: true,
          needs: 0,
        },
      ],
    },
    {
      rank: 2,
      open: [
        {
          thread: 0,
          op: 'MPI_Finalize',
          class: 7,
          callsite: null,
          communicator: null,
          from_s: 1,
          to_s: 5,
          waits: false,
          needs: null,
        },
      ],
    },
  ],
};
const session = {
  analysis,
  meta: { ranks: 4, runtime: 5e9, events: 5 },
  callSites: new Map(
    [0, 1, 2].map((id) => [id, { op: analysis.callsites[id].op, place: `/a b/x/s.c:${id}`, function: 'f' }]),
  ),
  comms: new Map([[0, 'MPI_COMM_WORLD']]),
};

test('totals of the whole run have them, by operation, call site and communicator', () => {
  assert.deepEqual(operationsOf(analysis), [
    { op: 'MPI_Recv', calls: 4, open: 1, time: 4 },
    { op: 'MPI_Barrier', calls: 1, open: 1, time: 2 },
    { op: 'MPI_Finalize', calls: 1, open: 1, time: 4 },
  ]);
  assert.deepEqual(callCount(analysis), { calls: 6, open: 3 });
  const sites = sitesOfRun(session).map((x) => [x.id, x.op, x.calls, x.open, x.ns / 1e9, x.waitNs / 1e9]);
  assert.deepEqual(sites, [
    [0, 'MPI_Recv', 4, 1, 4, 3.5],
    [1, 'MPI_Barrier', 1, 1, 2, 2],
    [-1, 'MPI_Finalize', 1, 1, 4, 0], // nobody knows where; and none that nobody called
  ]);
  assert.deepEqual(
    commsOfRun(session).map((x) => [x.calls, x.open]),
    [[5, 2]],
  );
  const byRank = openSums(opensOf(analysis), (_, rank) => rank);
  assert.deepEqual(
    [...byRank].map(([rank, x]) => [rank, x.calls, x.ns, x.waitNs]),
    [
      [0, 1, 3e9, 3e9],
      [1, 1, 2e9, 2e9],
      [2, 1, 4e9, 0],
    ],
  );
});

test('waiting has them: as a tree, in parts of the run, and between two runs', () => {
  const tree = waitTree(analysis, 4, session.callSites);
  const rows = tree.rows.map((x) => [x.level, x.name, x.seconds, x.count]);
  assert.deepEqual(rows.slice(0, 2), [
    [0, 'all waiting', 5.5, 5],
    [1, 'never returned', 5, 2],
  ]);
  assert.equal(timeParts(analysis)[0].wait, 0.5);
  const other = { ...session, analysis: { ...analysis, per_rank: [] } };
  const found = differences(session, other).map((x) => [x.name, x.a, x.b]);
  assert.deepEqual(
    found.filter(([name]) => /MPI|never|late/.test(name)),
    [
      ['MPI_Finalize', 4, null],
      ['MPI_Recv', 4, 1],
      ['MPI_Barrier', 2, null],
      ['never returned', 5, null],
      ['late sender', 0.5, 0.5],
    ],
  );
});

test('what nobody knows of call sites is not 0', () => {
  const callsites = analysis.callsites.map((x) => ({ ...x, calls: x.calls + (x.id === 2 ? 1 : 0), wait_s: null }));
  const of = { ...session, analysis: { ...analysis, callsites } };
  const cells = (name) => {
    const column = siteColumns(of).find((c) => c.key === name);
    return sitesOfRun(of).map((row) => column.value(row, of));
  };
  assert.deepEqual(cells('waiting_ns'), [3e9, 2e9, null, 0], 'waiting of totals alone');
  assert.deepEqual(cells('bytes'), [8, null, 0, null], 'bytes of open calls');
});

test('a place is shown without its folders, with its function', () => {
  const said = ['/a/b-c/s.c:3 (f)', '/s.c', 'src/s.c:3', 'mpi4py/MPI', '', '/a/s.cc:3 (x::operator/(y))'].map(
    shortPlace,
  );
  assert.deepEqual(said, ['s.c:3 (f)', 's.c', 'src/s.c:3', 'mpi4py/MPI', '', 's.cc:3 (x::operator/(y))']);
});

test('from when on single calls are missing is known of each thread', () => {
  const meta = { ranks: 3, events: 9, firstLane: Uint32Array.of(0, 3, 4, 6) };
  const of = (perRank, more = {}) => [
    ...recordedUntilOf({ coverage: { mode: 'events' }, per_rank: perRank, ...more }, meta),
  ];
  const thread = (n, s) => ({ thread: n, recorded_until_s: s });
  const two = { rank: 0, recorded_until_s: 1, threads_left_out: 0, threads: [thread(0, null), thread(1, 1)] };
  assert.deepEqual(
    of([two, { rank: 1, recorded_until_s: 2 }, { rank: 2, recorded_until_s: null }]),
    [Infinity, 1e9, Infinity, 2e9, Infinity, Infinity],
    'the third made no call that returned',
  );
  assert.deepEqual(
    of([
      { ...two, threads: [thread(0, 0), thread(1, 1)], recorded_until_s: 0 },
      { rank: 1, recorded_until_s: 0 },
    ]),
    [0, 1e9, Infinity, 0, Infinity, Infinity],
    'of one without a single call from the start on',
  );
  assert.deepEqual(
    of([{ ...two, threads_left_out: 1 }]).slice(0, 3),
    [Infinity, 1e9, 1e9],
    'of those not listed the earliest',
  );
  const old = { ...two, threads: [{ thread: 0 }, { thread: 1 }] };
  assert.deepEqual(of([old]).slice(0, 3), [1e9, 1e9, 1e9], 'a file of before says it of ranks');
});
