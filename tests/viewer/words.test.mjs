// words.test.mjs - what is said of a run: nothing is 0 or none that nobody recorded.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  UNRECORDED,
  asSentence,
  counted,
  unrecordedInWords,
} from '../../reports/viewer/src/layout/unrecorded_words.ts';
import { noteOf } from '../../reports/viewer/src/layout/spacetime_words.ts';
import { amountInWords } from '../../reports/viewer/src/views/matrix.ts';
import { rankTip, rankValues } from '../../reports/viewer/src/views/machine_words.ts';
import { alikeRanks } from '../../reports/viewer/src/work/alike.ts';
import { wholeEvent } from '../../reports/viewer/src/work/things.ts';
import { statsOf } from '../../reports/viewer/src/work/stats.ts';
import { processInWords } from '../../reports/viewer/src/layout/state_words.ts';
import { isRunning, recordedUntil } from '../../reports/viewer/src/model/open.ts';
import { openHint } from '../../reports/viewer/src/draw/statistics.ts';
import { openKey } from '../../reports/viewer/src/views/table_columns.ts';
import { coverageText } from '../../reports/viewer/src/draw/header.ts';
import { describe } from '../../reports/viewer/src/draw/describe.ts';
import { duration } from '../../reports/viewer/src/layout/format.ts';
import { NO_FILTER } from '../../reports/viewer/src/model/filter.ts';
import { allEvents, allMessages, generated, make, open, openTotals } from './support.mjs';

/** Of two ranks, the second one with two threads. */
const recorded = (...until) => ({
  meta: { firstLane: Uint32Array.of(0, 1, 3), runtime: 100 },
  laneRecordedUntil: Float64Array.from(until),
});
const all = recorded(Infinity, Infinity, Infinity);
const none = recorded(0, 0, 0);
const some = recorded(Infinity, 50, Infinity);
const PART = ', as far as single calls were recorded';

test('0 calls are none only where single calls are known: of which ranks, and when', () => {
  const from = (a, b) => ({ from: a, to: b });
  assert.equal(counted(0, '0 calls', all), '0 calls');
  assert.equal(counted(0, '0 calls', none), UNRECORDED);
  assert.equal(counted(4, '4 calls', none), `4 calls${PART}`, 'that ranks never came back from');
  assert.equal(counted(0, '0 calls', some), `0 calls${PART}`);
  assert.equal(counted(0, '0 calls', some, from(0, 50)), '0 calls', 'before');
  assert.equal(counted(0, '0 calls', some, from(40, 60)), `0 calls${PART}`);
  assert.equal(counted(0, '0 calls', some, from(60, 70), new Set([0])), '0 calls', 'of who is recorded');
  assert.equal(counted(0, '0 calls', some, from(60, 70), new Set([1])), `0 calls${PART}`, 'of its other thread');
  assert.equal(counted(0, '0 calls', recorded(9, 50, 50), from(60, 70), new Set([1])), UNRECORDED);
  assert.equal(asSentence(counted(0, 'no rank waited', all)), 'No rank waited.');
  assert.equal(asSentence(counted(0, 'no rank waited', none)), 'Not known: single calls were not recorded.');
});

test('of a job whose file has no call yet single calls are not known', () => {
  const early = { coverage: { mode: 'events', events_lost: 5 } };
  assert.deepEqual([...recordedUntil(early, 2, 0)], [0, 0]);
  assert.deepEqual([...recordedUntil({ coverage: { mode: 'events', events_lost: 0 } }, 1, 0)], [Infinity]);
});

test('a diagram without events says so only where they would be known', () => {
  const section = { events: { count: 0 } };
  const note = (of) => noteOf(section, {}, of, { from: 0, to: 100 });
  assert.equal(note(all), 'No messages or collectives in this interval.');
  assert.equal(note(none), asSentence(UNRECORDED));
});

test('a rank whose waiting nobody knows does not wait 0 % of its time', () => {
  const machine = { ranks: [{ node: 0, place: '' }], nodes: [{ name: 'n', path: '', cores: [] }] };
  const analysis = (wait) => ({ per_rank: [{ rank: 0, useful_s: 3, mpi_s: 1, wait_s: wait }] });
  const waiting = (wait) =>
    rankTip(machine, 0, { analysis: analysis(wait) }, []).rows.find(([name]) => name === 'waiting')[1];
  assert.deepEqual([waiting(1), waiting(0), waiting(null)], ['25 %', '0 %', 'not known']);
  const share = (wait) => rankValues(analysis(wait), 1, 'wait').share(0);
  assert.deepEqual([share(1), share(0), share(null)], [0.25, 0, NaN]);
});

test('who does the same as others is not known where no calls were recorded', async () => {
  const path = make(4, 2, 50);
  assert.ok((await alikeRanks(await open(path))).kinds > 0);
  const opens = (runtime) => ({ 0: { from: 0.5 * runtime, to: runtime } });
  assert.equal(await alikeRanks(await openTotals(path, opens)), null);
});

test('an amount is of so many messages, operations or waits, also where it is 0', () => {
  const said = (kind, amount, n, exact = true) => amountInWords({ kind, exact }, amount, n);
  assert.equal(said('whole', 0, 300), '0 B in 300 messages');
  assert.equal(said('p2p', 2048, 1, false), '≈ 2.00 KiB in 1 message');
  assert.equal(said('collective', 8, 2), '8 B in 2 operations');
  assert.equal(said('late', 2e6, 3), '2.00 ms in 3 waits');
});

const { signal } = new AbortController();
const sum = (list, of) => list.reduce((n, x) => n + of(x), 0);
const names = (trace) => ({ meta: trace.meta, nodes: [], callSites: new Map(), comms: new Map() });
const of = (tip, name) => tip.rows.find(([key]) => key === name)?.[1];

test('a call waited as long as tables say: what passes after the last has come is no waiting', async () => {
  const trace = await open(generated('alltoall', 4, 1, 200));
  const things = [];
  for (const [chunk, index] of await allEvents(trace)) things.push(await wholeEvent(trace, { chunk, index }));
  const both = things.filter((x) => x.waits.some((w) => / completion$/.test(w.state)) && x.waits.some((w) => w.waits));
  assert.ok(both.length > 0, 'calls that waited until all had come, and after');
  for (const x of both.slice(0, 9)) {
    const waited = sum(x.waits, (w) => (/ completion$/.test(w.state) ? 0 : w.ns));
    assert.equal(of(describe(names(trace), x), 'of it waiting'), duration(waited));
  }
  const query = { from: 0, to: trace.meta.runtime, ranks: [], filter: NO_FILTER };
  const { waits } = await statsOf(trace, query, signal, () => undefined);
  const total = sum(things, (x) => sum(x.waits, (w) => (w.waits ? w.ns : 0)));
  assert.ok(Math.abs(total - sum(waits, (w) => w.ns)) <= things.length, `${total}, ${sum(waits, (w) => w.ns)}`);
});

test('a rank sent the messages that it sent, whoever received them', async () => {
  const trace = await open(make(4, 2, 50));
  const sent = async (ranks) => {
    const query = { from: 0, to: trace.meta.runtime, ranks, filter: NO_FILTER };
    return (await statsOf(trace, query, signal, () => undefined)).messages.count;
  };
  const all = await allMessages(trace);
  assert.equal(await sent([3]), all.filter((m) => m.src === 3).length);
  assert.equal(await sent([3, 4]), all.filter((m) => m.src === 3 || m.src === 4).length);
  assert.equal(await sent([]), all.length);
});

/** Of a job that runs, or was killed, with one call open. */
const openJob = (running) => ({
  coverage: {
    mode: 'profile',
    files_without_end: running ? 1 : 0,
  },
  per_rank: [{ rank: 0, state: running ? 'running' : 'lost', open: [{ op: 'MPI_Barrier', from_s: 1, to_s: 2 }] }],
});

test('calls of a job that runs are still open, and only those of a job that ended never come back', () => {
  const thing = { kind: 'event', op: 'MPI_Barrier', rank: 0, start: 1e9, duration: 1e9, class: 4, open: { needs: -1 } };
  const of = (running) => {
    const analysis = openJob(running);
    const session = { analysis, meta: { threads: 1 }, nodes: [], callSites: new Map(), comms: new Map() };
    const tip = describe(session, {
      ...thing,
      peer: -1,
      tag: 0,
      bytes: 0,
      calls: 1,
      comm: 0,
      collective: -1,
      callSite: 0,
    });
    const names = { comm: () => 'C', site: () => '', running: isRunning(analysis) };
    const state = { open: [true], doing: [3], ops: ['MPI_Barrier'], op: [0], site: [0], comm: [0], needs: [] };
    const s = { ...state, time: 2e9, since: [1e9], until: [2e9] };
    return [
      tip.rows.find(([key]) => key === 'duration')[1],
      processInWords(s, 0, names),
      openHint(analysis),
      openKey(analysis),
      unrecordedInWords(analysis, 1, 0),
    ];
  };
  for (const text of of(true)) assert.ok(/still open when this was read/.test(text) && !/never/.test(text), text);
  for (const text of of(false)) assert.ok(/never c[ao]mes? back/.test(text) && !/still/.test(text), text);
});

test('what is small or part of a whole is said as that', () => {
  const part = { rank: 0, start: 0, duration: 9 };
  const collective = {
    kind: 'collective',
    op: 'MPI_Allreduce',
    comm: 1,
    k: 0,
    members: 2,
    parts: [part, { ...part, rank: 1 }],
  };
  const session = { meta: {}, nodes: [], callSites: new Map(), comms: new Map([[1, 'half']]) };
  assert.equal(describe(session, collective).title, 'MPI_Allreduce, all its ranks');
  const coverage = { complete: false, events: 9, events_lost: 66005 };
  const analysis = { coverage, operations: [{ op: 'MPI_Send', calls: 264020, time_s: 1 }] };
  const { text } = coverageText({ analysis, meta: { events: 9 } });
  assert.equal(text, 'Partial: 264,020 calls, 66,005 single events lost (totals stay exact)');
});
