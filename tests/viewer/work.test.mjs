// work.test.mjs - what the worker answers: statistics, search, single things, the worst instance; and in which order.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { NO_FILTER } from '../../reports/viewer/src/model/filter.ts';
import { issues } from '../../reports/viewer/src/model/analysis.ts';
import { trafficIn } from '../../reports/viewer/src/model/traffic.ts';
import { search } from '../../reports/viewer/src/work/search.ts';
import { Server } from '../../reports/viewer/src/work/server.ts';
import { statsOf } from '../../reports/viewer/src/work/stats.ts';
import { collectiveRef, thingOf } from '../../reports/viewer/src/work/things.ts';
import { worstInstance } from '../../reports/viewer/src/work/instance.ts';
import { allEvents, entries, flavour, make, makeOdd, open, record, show } from './support.mjs';
import { Kind } from '../../reports/viewer/src/decode/layout.ts';

const signal = new AbortController().signal;
const nothing = () => undefined;
const path = make(4, 2, 50);
const trace = await open(path);
const calls = (await allEvents(trace)).map(([c, i, rank, segment]) => {
  const op = trace.meta.ops[c.signatures.op[c.signature[i]]];
  return { rank, start: c.start[i], ns: c.duration[i], op, segment, i };
});
const stats = (from, to, more = {}) =>
  statsOf(trace, { from, to, ranks: [], filter: NO_FILTER, ...more }, signal, nothing);

test('statistics of the whole run are those of the analysis', async () => {
  const whole = await stats(0, trace.meta.runtime + 1);
  const { operations, wait_totals: waits, summary } = show(path);
  for (const x of operations) {
    const mine = whole.operations.find((r) => r.name === x.op);
    assert.equal(mine.calls, x.calls, x.op);
    assert.ok(Math.abs(mine.ns / 1e9 - x.time_s) < 1e-6, x.op);
  }
  assert.equal(whole.calls, calls.length);
  assert.equal(whole.messages.count, 1600);
  assert.equal(
    whole.lengths.reduce((a, b) => a + b),
    calls.length,
  );
  for (const x of waits ?? []) {
    const mine = whole.waits.find((r) => r.state.replaceAll(' ', '_') === x.state);
    if (mine) assert.ok(Math.abs(mine.ns / 1e9 - x.seconds) < 1e-6, x.state);
  }
  assert.ok(summary);
});

test('statistics of an interval count what overlaps it, time only inside', async () => {
  const [from, to] = [0.3 * trace.meta.runtime, 0.41 * trace.meta.runtime];
  const part = await stats(from, to, { ranks: [2, 5] });
  const inside = calls.filter((c) => [2, 5].includes(c.rank) && c.start < to && c.start + c.ns > from);
  assert.equal(part.calls, inside.length);
  const ns = inside.reduce((sum, c) => sum + Math.min(to, c.start + c.ns) - Math.max(from, c.start), 0);
  assert.ok(Math.abs(part.ns - ns) < 1);
  assert.deepEqual(
    part.ranks.map((r) => r.rank),
    [2, 5],
  );
});

test('statistics of neighbouring intervals add up', async () => {
  const { runtime } = trace.meta;
  const parts = await Promise.all([stats(0, runtime / 3), stats(runtime / 3, runtime + 1)]);
  const whole = await stats(0, runtime + 1);
  assert.ok(Math.abs(parts[0].ns + parts[1].ns - whole.ns) < 10);
  assert.equal(parts[0].messages.count + parts[1].messages.count, whole.messages.count);
});

test('a filter holds for statistics', async () => {
  const filter = { ...NO_FILTER, ops: ['MPI_Waitall'], minNs: 500000, ranks: [0, 1] };
  const got = await stats(0, trace.meta.runtime + 1, { filter });
  const want = calls.filter((c) => c.op === 'MPI_Waitall' && c.ns >= 500000 && c.rank < 2);
  assert.equal(got.calls, want.length);
  assert.ok(want.length > 0);
});

test('statistics that nobody wants any more are given up', async () => {
  const abort = new AbortController();
  abort.abort();
  await assert.rejects(statsOf(trace, { from: 0, to: 1e9, ranks: [], filter: NO_FILTER }, abort.signal, nothing));
});

// ---- search ----

test('a search visits every hit in order of time, and says how many there are', async () => {
  const filter = { ...NO_FILTER, ops: ['MPI_Allreduce'], ranks: [1, 3] };
  const want = calls
    .filter((c) => c.op === 'MPI_Allreduce' && [1, 3].includes(c.rank))
    .sort((a, b) => a.start - b.start || a.rank - b.rank);
  const seen = [];
  let from = { start: -Infinity, rank: -1 };
  for (;;) {
    const found = await search(trace, { filter, from, forward: true }, signal, nothing);
    assert.deepEqual([found.total, found.counted, found.before], [want.length, true, Math.max(0, seen.length - 1)]);
    if (!found.thing) break;
    seen.push([found.thing.start, found.thing.rank]);
    from = found.thing;
  }
  assert.deepEqual(
    seen,
    want.map((c) => [c.start, c.rank]),
  );
  const back = await search(trace, { filter, from: { start: Infinity, rank: -1 }, forward: false }, signal, nothing);
  assert.deepEqual([back.thing.start, back.thing.rank], seen.at(-1));
});

test('only calls that waited are found when these are asked for', async () => {
  const filter = { ...NO_FILTER, waits: true };
  const found = await search(trace, { filter, from: { start: -Infinity, rank: -1 }, forward: true }, signal, nothing);
  assert.equal(found.total, trace.meta.waits);
});

// ---- things ----

test('a Waitall names peers and communicator of its messages, and which was sent last', async () => {
  const ref = 'e0.0.9';
  const thing = await thingOf(trace, ref, signal);
  assert.deepEqual([thing.kind, thing.op, thing.ref, thing.rank], ['event', 'MPI_Waitall', ref, 0]);
  const received = thing.messages.filter((m) => m.dst === 0);
  assert.equal(received.length, 4);
  const last = received.reduce((a, b) => (b.sendStart > a.sendStart ? b : a));
  const wait = thing.waits.find((w) => w.causer);
  assert.equal(last.src, wait.causer.rank);
});

test('every thing is found again by its name', async () => {
  const [entry] = entries(trace, Kind.Messages);
  for (const ref of ['e0.3.17', `m${entry.id}.5`]) assert.equal((await thingOf(trace, ref, signal)).ref, ref);
  for (const bad of [
    '',
    'x',
    'e',
    'e9.9.9',
    'e0.0.99999999',
    'm0.0',
    `m${entry.id}.99999999`,
    'c0.0.9.9.9',
    'e0.-1.2',
    'o5.1',
  ])
    assert.equal(await thingOf(trace, bad, signal), null, bad);
});

test('a message leads to the call that sent it and to the one that received it', async () => {
  for (const [n, entry] of entries(trace, Kind.Messages).entries()) {
    const m = await thingOf(trace, `m${entry.id}.${n * 7}`, signal);
    assert.deepEqual([m.sendCall.op, m.sendCall.rank, m.sendCall.start], ['MPI_Isend', m.src, m.sendStart]);
    assert.deepEqual(
      [m.receiveCall.op, m.receiveCall.rank, m.receiveCall.start],
      ['MPI_Waitall', m.dst, m.completionStart],
    );
    const wait = await thingOf(trace, m.receiveCall.ref, signal);
    assert.ok(wait.messages.some((x) => x.ref === m.ref));
  }
});

test('version 1: things are found again as well', async () => {
  const old = await open(`${process.env.CORPUS}/version_1.mpix`);
  const found = await search(
    old,
    { filter: NO_FILTER, from: { start: -Infinity, rank: -1 }, forward: true },
    signal,
    nothing,
  );
  const again = await thingOf(old, found.thing.ref, signal);
  assert.deepEqual([again.start, again.rank, again.op], [found.thing.start, found.thing.rank, found.thing.op]);
});

const skip = flavour ? false : 'no MPI here';
test('a collective has a part on every rank of its communicator', { skip }, async () => {
  const real = await open(record('counts_coll'));
  let seen = 0;
  for (const [c, i, , segment] of (await allEvents(real)).slice(0, 4000)) {
    const ref = `e${segment.window}.${segment.lane}.${segment.index + i - segment.first}`;
    const thing = await thingOf(real, ref, signal);
    const whole = collectiveRef(thing);
    if (whole === null) continue;
    const { parts, members, comm, k } = await thingOf(real, whole, signal);
    assert.equal(parts.length, members, `${thing.op} ${comm}.${k}`);
    assert.equal(new Set(parts.map((p) => p.rank)).size, members);
    if (++seen >= 40) break;
    assert.ok(c);
  }
  assert.ok(seen > 10);
});

test('odd files: no name of a thing makes it fail', async () => {
  const odd = await open(makeOdd(3));
  for (const [, i, , segment] of (await allEvents(odd)).slice(0, 300)) {
    const ref = `e${segment.window}.${segment.lane}.${segment.index + i - segment.first}`;
    const thing = await thingOf(odd, ref, signal);
    assert.equal(thing.ref, ref);
    const whole = collectiveRef(thing);
    if (whole !== null) await thingOf(odd, whole, signal);
  }
});

test('the worst instance of an issue is its longest wait', async () => {
  const [issue] = issues(trace.analysis);
  const worst = await worstInstance(trace, issue, signal);
  const causedByIssue = (w) => issue.ranks.includes(w.causer?.rank);
  const ns = Math.max(...worst.waits.filter(causedByIssue).map((w) => w.ns));
  assert.ok(ns > 0);
  for (const { segment, i, op } of calls) {
    if (op !== 'MPI_Waitall') continue;
    const ref = `e${segment.window}.${segment.lane}.${segment.index + i - segment.first}`;
    for (const w of (await thingOf(trace, ref, signal)).waits) if (causedByIssue(w)) assert.ok(w.ns <= ns, ref);
  }
});

test('late time is that of the wait states, from who was waited for to who waited', async () => {
  const t = await trafficIn(trace, { from: 0, to: trace.meta.runtime + 1, kind: 'late', filter: NO_FILTER }, signal);
  const whole = await stats(0, trace.meta.runtime + 1);
  const late = whole.waits.find((w) => w.state === 'late sender');
  assert.ok(Math.abs([...t.bytes.values()].reduce((a, b) => a + b, 0) - late.ns) < 1);
});

test('collective and one-sided traffic is that of the analysis, with what it leaves out', { skip }, async () => {
  const file = record('counts_rma');
  const real = await open(file);
  for (const kind of ['collective', 'rma', 'whole']) {
    const name = kind === 'whole' ? 'p2p' : kind;
    const t = await trafficIn(real, { from: 0, to: 1, kind, filter: NO_FILTER }, signal);
    const rows = show(file).matrix[name];
    assert.equal(t.bytes.size, rows.length, kind);
    assert.equal(
      [...t.bytes.values()].reduce((a, b) => a + b, 0),
      rows.reduce((sum, x) => sum + x.bytes, 0),
    );
    assert.ok(t.wholeRun || rows.length === 0);
  }
  real.analysis.matrix.rma_pairs_left_out = 77;
  assert.equal((await trafficIn(real, { from: 0, to: 1, kind: 'rma', filter: NO_FILTER }, signal)).leftOut, 77);
});

// ---- the server ----

const serve = (said) => {
  const waiting = [];
  const server = new Server((m) => {
    said.push(m);
    for (const w of waiting) w();
  });
  const until = (test) =>
    new Promise((done) => {
      const look = () => test() && done();
      waiting.push(look);
      look();
    });
  return { server, until };
};

test('what is asked is answered, in the order of its priority; what is given up is not', async () => {
  const said = [];
  const { server, until } = serve(said);
  server.receive({ what: 'open', id: 1, source: { blob: new Blob([readFileSync(path)]), name: 'x' } });
  await until(() => said.some((m) => m.id === 1));
  const interval = { from: 0, to: 1e9, ranks: [], filter: NO_FILTER };
  server.receive({ what: 'ask', id: 2, query: 'stats', given: interval });
  server.receive({ what: 'ask', id: 3, query: 'stats', given: interval });
  server.receive({ what: 'ask', id: 4, query: 'thing', given: 'e0.0.3' });
  assert.equal(server.active, 2); // one of those that can wait, and the urgent one
  server.receive({ what: 'ask', id: 5, query: 'stats', given: interval });
  server.receive({ what: 'cancel', id: 3 });
  await until(() => said.some((m) => m.id === 5 && m.last));
  const ends = said.filter((m) => m.last).map((m) => m.id);
  assert.ok(ends.indexOf(4) < ends.indexOf(5) && !ends.includes(3) && ends.includes(2), ends.join());
});

test('a file that cannot be opened and a question without a trace are answered in words', async () => {
  const said = [];
  const { server, until } = serve(said);
  server.receive({ what: 'open', id: 1, source: { blob: new Blob(['no trace']), name: 'x' } });
  server.receive({ what: 'ask', id: 2, query: 'thing', given: 'e0.0.3' });
  await until(() => said.length === 2);
  assert.match(said.find((m) => m.id === 1).error, /not an \.mpix/);
  assert.match(said.find((m) => m.id === 2).error, /no trace/);
});
