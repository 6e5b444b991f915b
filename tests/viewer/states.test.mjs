// states.test.mjs - consistent global states: their order contradicts no message and no collective, each step is one change, all calls are in
// it once; a state that is sought is that which all steps before it lead to.
import assert from 'node:assert/strict';
import test from 'node:test';
import { shortRange } from '../../reports/viewer/src/model/containers.ts';
import { Kind } from '../../reports/viewer/src/decode/layout.ts';
import { DOING, processInWords } from '../../reports/viewer/src/layout/state_words.ts';
import { LATER, NEVER, linearise } from '../../reports/viewer/src/model/linear.ts';
import { completionOf } from '../../reports/viewer/src/model/messages.ts';
import { cutsOf } from '../../reports/viewer/src/work/cuts.ts';
import { waitsForAll } from '../../reports/viewer/src/work/needs.ts';
import { statesOf } from '../../reports/viewer/src/work/states.ts';
import { unrecordedInWords } from '../../reports/viewer/src/layout/unrecorded_words.ts';
import { deadlockIn, deadlockInWords } from '../../reports/viewer/src/views/state_facts.ts';
import { recordedUntil } from '../../reports/viewer/src/model/open.ts';
import { Doing } from '../../reports/viewer/src/model/snapshot.ts';
import { censusOf } from '../../reports/viewer/src/work/census.ts';
import { countStates } from '../../reports/viewer/src/work/states.ts';
import { allEvents, entries, flavour, make, makeOdd, open, openTotals, random, record, recordTo } from './support.mjs';

const signal = new AbortController().signal;

/** A random program that can run: its events in one order that is possible, then with clocks that contradict it. */
function program(seed) {
  const pick = random(seed);
  const lanes = 2 + pick(6);
  const calls = Array.from({ length: lanes }, () => []);
  const needs = [];
  const barriers = [];
  const sent = [];
  let now = 0;
  const call = (lane, extra) => {
    const start = (now += 1 + pick(5));
    calls[lane].push({ start, end: (now += 1 + pick(5)), group: -1, ...extra });
    return [lane, calls[lane].length - 1];
  };
  for (let n = 20 + pick(60); n > 0; n--) {
    const kind = pick(10);
    if (kind < 4) sent.push(call(pick(lanes)));
    else if (kind < 8 && sent.length > 0) needs.push([call(pick(lanes)), sent.splice(pick(sent.length), 1)[0]]);
    else if (kind === 8) {
      const starts = calls.map(() => (now += 1 + pick(3)));
      calls.forEach((list, lane) =>
        list.push({ start: starts[lane], end: (now += 1 + pick(3)), group: barriers.length }),
      );
      barriers.push(lanes);
    } else call(pick(lanes));
  }
  const skew = calls.map(() => pick(60) - 30);
  calls.forEach((list, lane) => list.forEach((c) => ((c.start += skew[lane]), (c.end += skew[lane]))));
  return { calls, needs, barriers };
}

function problemOf({ calls, needs, barriers }) {
  const laneFirst = [0];
  for (const list of calls) laneFirst.push(laneFirst.at(-1) + list.length);
  const all = calls.flat();
  const number = ([lane, k]) => laneFirst[lane] + k;
  const pairs = needs.map(([a, b]) => [number(a), number(b)]).sort((a, b) => a[0] - b[0]);
  const needFirst = all.map((_, i) => pairs.filter(([a]) => a < i).length);
  return {
    laneFirst: Uint32Array.from(laneFirst),
    start: Float64Array.from(all, (c) => c.start),
    end: Float64Array.from(all, (c) => c.end),
    entered: new Uint8Array(all.length),
    since: -Infinity,
    until: Infinity,
    needFirst: Uint32Array.from([...needFirst, pairs.length]),
    need: Int32Array.from(pairs, ([, b]) => b),
    group: Int32Array.from(all, (c) => c.group),
    waits: Uint8Array.from(all, (c) => Number(c.group >= 0)),
    groupCount: barriers.length,
    parts: Uint32Array.from(barriers),
    size: Uint32Array.from(barriers),
    pairs,
  };
}

test('of 500 random programs with clocks that contradict them every state is a consistent cut', () => {
  let logical = 0;
  for (let seed = 1; seed <= 500; seed++) {
    const p = problemOf(program(seed));
    const order = linearise(p);
    logical += order.logical;
    assert.equal(order.forced, 0, `seed ${seed}`);
    assert.equal(order.leftOver.length, 0);
    assert.equal(
      order.count,
      2 * p.start.length + p.groupCount,
      'each call is entered and left once, each barrier completed once',
    );
    for (let lane = 0; lane + 1 < p.laneFirst.length; lane++)
      for (let call = p.laneFirst[lane]; call < p.laneFirst[lane + 1]; call++) {
        assert.ok(order.entered[call] < order.left[call]);
        if (call > p.laneFirst[lane]) assert.ok(order.left[call - 1] < order.entered[call], 'in the order of its lane');
      }
    for (const [receive, send] of p.pairs)
      assert.ok(order.entered[send] < order.left[receive], 'a receive without its send');
    p.group.forEach((g, call) => {
      if (g < 0) return;
      assert.ok(
        order.entered[call] < order.completed[g] && order.completed[g] < order.left[call],
        'a barrier is left early',
      );
    });
    order.time.forEach((time, i) =>
      assert.ok(i === 0 || i >= order.count || time >= order.time[i - 1], 'time goes back'),
    );
  }
  assert.ok(logical > 1000, 'clocks contradict some');
});

test('where no time contradicts a message the order is that of time', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = program(seed);
    let now = 0;
    for (const c of random.calls.flat()) [c.start, c.end] = [now++, now++]; // one lane after the other: nothing waits
    const p = problemOf({ ...random, needs: [], barriers: [] });
    p.group.fill(-1);
    p.waits.fill(0);
    assert.equal(linearise(p).logical, 0);
  }
});

test('what waits for something that never comes is taken in the end, and counted', () => {
  const p = problemOf({
    calls: [[{ start: 0, end: 5, group: -1 }], [{ start: 1, end: 9, group: -1 }]],
    needs: [],
    barriers: [],
  });
  const [needFirst, need] = [Uint32Array.from([0, 1, 1]), Int32Array.from([-1])];
  const order = linearise({ ...p, needFirst, need });
  assert.deepEqual([order.count, order.forced], [4, 1]);
  const later = linearise({ ...p, needFirst, need, until: 100 });
  assert.deepEqual([later.count, later.forced, later.leftOver], [3, 0, [0]]);
  assert.equal(later.left[0], NEVER);
});

/** All steps of a trace: [kind, name of the call or collective, lane, ...]. */
async function allSteps(trace) {
  const cuts = cutsOf(trace);
  await cuts.count(cuts.spans.length, signal, () => undefined);
  const steps = [];
  for (let at = 0; at < cuts.spans.length; at++) {
    const w = await cuts.window(at);
    assert.equal(w.first, steps.length, 'numbers go on over windows');
    const at2 = w.needs.positions;
    for (let i = 0; i < w.order.count; i++) {
      const what = w.order.what[i];
      if (w.order.kind[i] === 2) {
        const { comm, k, op, size } = w.collectives[what];
        steps.push({ kind: 2, name: `${comm} ${k}`, op, size, lane: -1 });
      } else {
        const g = w.problem.group[what];
        const c = g >= 0 ? w.collectives[g] : null;
        const name = [w.lane[what], at2.window[what], at2.index[what]].join(' ');
        steps.push({ kind: w.order.kind[i], name, lane: w.lane[what], part: c && `${c.comm} ${c.k}`, op: c?.op });
      }
    }
  }
  return { cuts, steps };
}

async function check(path, { forced = 0 } = {}) {
  const trace = await open(path);
  const { cuts, steps } = await allSteps(trace);
  assert.equal(cuts.forced, forced, 'steps taken by force');
  const entered = new Map();
  const left = new Map();
  const inside = new Map(); // by lane
  const came = new Map(); // by collective: last enter
  steps.forEach((s, i) => {
    if (s.kind === 2) return;
    const to = s.kind === 0 ? entered : left;
    assert.ok(!to.has(s.name), `${s.name} twice`);
    to.set(s.name, i);
    assert.equal(inside.get(s.lane), s.kind === 0 ? undefined : s.name, 'a lane is in one call');
    if (s.kind === 0) inside.set(s.lane, s.name);
    else inside.delete(s.lane);
    if (s.part && s.kind === 0) came.set(s.part, i);
  });
  const events = await allEvents(trace);
  assert.equal(entered.size, events.length, 'every call is entered once');
  assert.equal(left.size, events.length, 'every call is left once');
  let messages = 0;
  for (const e of entries(trace, Kind.Messages)) {
    const { links } = await trace.linked(e);
    for (let i = 0; i < links.count; i++) {
      if (links.completion.window[i] === 0xffffffff) continue;
      const [end, begin] = [completionOf(links, i), links.send].map((p) =>
        [p.lane[i], p.window[i], p.index[i]].join(' '),
      );
      assert.ok(forced > 0 || entered.get(begin) < left.get(end), `${end} without ${begin}`);
      messages++;
    }
  }
  steps.forEach((s, i) => {
    if (s.kind !== 1 || !s.part || !waitsForAll(trace.meta.ops[s.op])) return;
    assert.ok(forced > 0 || came.get(s.part) < i, `collective ${s.part} is left before all came`);
  });
  return { trace, steps, messages };
}

/** What a window knows of whom its calls take messages from, against all messages of the trace; how many are of which kind. */
async function checkNeeds(trace) {
  const cuts = cutsOf(trace);
  await cuts.count(cuts.spans.length, signal, () => undefined);
  const all = await Promise.all(entries(trace, Kind.Messages).map((e) => trace.linked(e)));
  const kinds = { here: 0, later: 0, earlier: 0, carried: 0 };
  for (let at = 0; at < cuts.spans.length; at++) {
    const { needs, problem } = await cuts.window(at);
    const { window, until } = cuts.spans[at];
    const want = new Map(); // by call
    for (const { links } of all)
      for (let i = 0; i < links.count; i++) {
        if (links.completion.window[i] === 0xffffffff) continue;
        const [end, { send }] = [completionOf(links, i), links];
        const call = needs.callAt(end.lane[i], end.window[i], end.index[i]);
        if (call < 0 || problem.end[call] > until) continue; // it is left in a later window
        const sender = needs.callAt(send.lane[i], send.window[i], send.index[i]);
        const kind = sender >= 0 ? 'here' : send.window[i] > window ? 'later' : 'earlier';
        kinds[kind]++;
        kinds.carried += Number(end.window[i] < window);
        const other = { here: sender, later: LATER, earlier: -2 }[kind];
        want.set(call, [...(want.get(call) ?? []), `${trace.rankOfLane(send.lane[i])} ${other}`]);
      }
    for (const [call, senders] of want) {
      const got = needs.from(call).map((x) => `${x.rank} ${x.other}`);
      for (const x of senders) assert.ok(got.includes(x), `window ${window}, call ${call}: ${x} is not among ${got}`);
      const { needFirst, need } = problem;
      const waits = [...need.subarray(needFirst[call], needFirst[call + 1])];
      assert.ok(!waits.includes(-2), 'nothing waits for what was before');
      for (const x of senders) if (!x.endsWith(' -2')) assert.ok(waits.includes(Number(x.split(' ')[1])), x);
    }
  }
  return kinds;
}

test('in each window a call that takes messages knows all their senders, open over its end or not', async () => {
  const sum = { here: 0, later: 0, earlier: 0, carried: 0 };
  const paths = [make(4, 2, 2000), ...Array.from({ length: 40 }, (_, k) => makeOdd(k + 1))];
  for (const path of paths) {
    let trace;
    try {
      trace = await open(path);
    } catch {
      continue; // refused, as the C side does
    }
    const kinds = await checkNeeds(trace);
    for (const kind of Object.keys(sum)) sum[kind] += kinds[kind];
  }
  for (const [kind, n] of Object.entries(sum)) assert.ok(n > 50, `${kind}: ${n}`);
});

/** What a state should be: the call that each rank is in, after the first steps. */
function replay(steps, count) {
  const inside = new Map();
  for (const s of steps.slice(0, count)) {
    if (s.kind === 0) inside.set(s.lane, s.name);
    else if (s.kind === 1) inside.delete(s.lane);
  }
  return inside;
}

const isIn = (doing) => doing >= 2 && doing <= 4;

test('a halo exchange over many windows: every call once, no receive without its send, any state is found', async () => {
  const { trace, steps, messages } = await check(make(4, 2, 2000));
  assert.ok(trace.meta.windows > 3 && messages > 10000);
  const pick = random(7);
  for (let n = 0; n < 60; n++) {
    const step = pick(steps.length + 1);
    const s = await statesOf(trace, { step, by: 0, hidden: null, stop: '', halt: '', rank: 0 }, signal);
    assert.equal(s.step, step);
    const inside = replay(steps, step);
    for (let rank = 0; rank < trace.meta.ranks; rank++)
      assert.equal(isIn(s.doing[rank]), inside.has(rank), `rank ${rank} after ${step}`);
  }
});

test('one step changes one rank or completes one collective, forwards and backwards', async () => {
  const path = make(4, 2, 6);
  const { steps } = await check(path);
  const trace = await open(path);
  const ask = (given) => statesOf(trace, { by: 0, hidden: null, stop: '', halt: '', rank: 0, ...given }, signal);
  let now = await ask({ step: 0 });
  for (let k = 0; k < steps.length; k++) {
    const next = await ask({ step: now.step, by: 1 });
    assert.equal(next.step, k + 1);
    const changed = [...next.doing].filter((d, rank) => isIn(d) !== isIn(now.doing[rank])).length;
    assert.equal(changed, next.change.kind === 'complete' ? 0 : 1, `step ${k + 1}`);
    const back = await ask({ step: next.step, by: -1 });
    assert.deepEqual(back.doing, now.doing);
    now = next;
  }
  assert.equal((await ask({ step: now.step, by: 1 })).found, false);
});

for (const seed of [1, 2, 3, 4, 5, 6, 7, 8])
  test(`odd trace ${seed}, whose calls go on over windows and contradict each other: every call once`, async () => {
    const trace = await open(makeOdd(seed));
    const { steps } = await allSteps(trace);
    const events = await allEvents(trace);
    assert.equal(steps.filter((s) => s.kind === 0).length, events.length);
    assert.equal(steps.filter((s) => s.kind === 1).length, events.length);
  });

const skip = flavour ? false : 'no MPI here';
for (const [name, ...args] of [['counts_p2p'], ['counts_coll'], ['counts_comms'], ['multiple', 'workers']])
  test(`recorded by the tracer: ${name}`, { skip }, async () => {
    await check(record(name, ...args));
  });

test('who never comes back from a call is in it to its end, and waits for whom the analysis says', () => {
  const open = {
    ...{ doing: [DOING.indexOf('waiting for others')], since: [1e9], until: [25.1e9], time: 1e9, ends: ['lost'] },
    ...{
      open: [true],
      unreturned: [0],
      op: [0],
      ops: ['MPI_Recv'],
      site: [3],
      comm: [0],
      needs: { 0: [{ rank: 2, there: false }] },
    },
  };
  const names = { comm: () => 'MPI_COMM_WORLD', site: () => 'x.c:3' };
  assert.equal(
    processInWords(open, 0, names),
    'rank 0 waits in MPI_Recv (x.c:3) on MPI_COMM_WORLD for rank 2 and never comes back: 24.10 s, to its end',
  );
  assert.equal(
    processInWords({ ...open, doing: [DOING.indexOf('in a call that may wait')], comm: [-1] }, 0, names),
    'rank 0 is in MPI_Recv (x.c:3) and never comes back: 24.10 s, to its end',
  );
  const waits = (op, receives) =>
    processInWords(
      { ...open, open: [false], ops: [op], collectives: [], needs: { 0: [{ rank: 2, there: false, receives }] } },
      0,
      names,
    );
  assert.match(waits('MPI_Send', true), /for rank 2, which has not begun to receive$/);
  assert.match(waits('MPI_Sendrecv', false), /for rank 2, which has not sent yet$/);
});

/** Ranks 2, 0, 1 enter their last calls in that order, 0 and 1 for each other; of the others nothing is known. */
const hung = () =>
  openTotals(make(4, 2, 50), (runtime) => ({
    0: { from: 0.5 * runtime, to: runtime, waits: true, needs: 1 },
    1: { from: 0.6 * runtime, to: runtime, waits: true, needs: 0 },
    2: { from: 0.4 * runtime, to: runtime },
  }));
const still = { by: 0, hidden: null, stop: '', rank: 0, halt: '' };
const { Unknown, Waits, Blocking, Dead, Outside } = Doing;

test('of a run of which only totals were recorded a state is who is in its last call; of all others it is not known', async () => {
  const trace = await hung();
  const { runtime } = trace.meta;
  assert.deepEqual(await countStates(trace, null, signal, () => undefined), { steps: 3, whole: true, share: 1 });
  const at = async (given) => statesOf(trace, { ...still, ...given }, signal);
  const doing = async (given) => [...(await at(given)).doing].slice(0, 4);
  assert.deepEqual(await doing({ time: 0.3 * runtime }), [Unknown, Unknown, Unknown, Unknown]);
  assert.deepEqual(await doing({ time: 0.45 * runtime }), [Unknown, Unknown, Blocking, Unknown]);
  assert.deepEqual(await doing({ time: runtime }), [Waits, Waits, Blocking, Unknown]);
  const last = await at({ step: 3 });
  assert.deepEqual(
    [last.change.rank, last.time, last.open[1], last.needs[1]],
    [1, 0.6 * runtime, true, [{ rank: 0, there: false }]],
  );
  assert.equal(
    processInWords(last, 3, { comm: String, site: String }),
    'rank 3: not known, single calls were not recorded',
  );
});

test('its states are stepped and run through as those of single calls', async () => {
  const trace = await hung();
  const from = async (step, given) => {
    const s = await statesOf(trace, { ...still, step, ...given }, signal);
    return [s.step, s.found, s.halted];
  };
  assert.deepEqual(await from(0, { by: 1 }), [1, true, false]);
  assert.deepEqual(await from(2, { by: -1 }), [1, true, false]);
  assert.deepEqual(await from(2, { by: 100 }), [3, true, false]);
  assert.deepEqual(await from(3, { by: 1 }), [3, false, false]);
  assert.deepEqual(await from(0, { by: 1, stop: 'blocks', rank: 1 }), [3, true, false]);
  assert.deepEqual(await from(0, { by: 1, stop: 'completes' }), [0, false, false]);
  assert.deepEqual(await from(0, { by: 3, halt: 'blocks', rank: 0 }), [2, true, true]);
  const hidden = Int32Array.from([1, 1, 0, 0, 0, 0, 0, 0]); // 0 and 1 in a closed container
  assert.deepEqual(await from(0, { by: 2, hidden }), [3, true, false], 'the end');
  trace.analysis.correctness = [{ kind: 'deadlock', examples: [{ time_s: (0.6 * trace.meta.runtime) / 1e9 }] }];
  assert.deepEqual(await from(0, { by: 1, stop: 'error' }), [3, true, false]);
  assert.deepEqual(await from(3, { by: 1, stop: 'error' }), [3, false, false]);
  const at = (await statesOf(trace, { ...still, step: 1 }, signal)).time;
  const bad = (ns) => ({ kind: 'send_send', examples: [{ time_s: ns / 1e9 }] });
  trace.analysis.correctness = [bad(at), bad(2 * trace.meta.runtime)];
  assert.deepEqual(await from(0, { by: 1, stop: 'error' }), [1, true, false]);
  assert.deepEqual(await from(1, { by: 1, stop: 'error' }), [3, true, false], 'behind the last change');
});

test('the next error is another one, whatever its seconds are rounded to', async () => {
  const trace = await open(make(4, 2, 50));
  const { steps } = await countStates(trace, null, signal, () => undefined);
  const at = async (step, more) => statesOf(trace, { ...still, step, ...more }, signal);
  let step = 1;
  const isRoundedUp = (ns) => (ns / 1e9) * 1e9 > ns; // as 266869697 is
  while (step < steps && !isRoundedUp((await at(step)).time)) step++;
  assert.ok(step < steps, 'a moment that is rounded up');
  const { time } = await at(step);
  trace.analysis.correctness = [{ kind: 'send_send', examples: [{ time_s: time / 1e9 }] }];
  const s = await at(step, { by: 1, stop: 'error' });
  assert.equal(s.found, false);
});

test('its census counts who waits and of whom nothing is known', async () => {
  const trace = await hung();
  const c = await censusOf(trace, { from: 0, to: trace.meta.runtime, moments: 10 }, signal, () => undefined);
  const of = (kind) => Array.from({ length: 10 }, (_, i) => c.counts[i * (c.counts.length / 10) + kind]);
  assert.deepEqual(of(Unknown), [8, 8, 8, 8, 7, 6, 5, 5, 5, 5]);
  assert.deepEqual(of(Waits), [0, 0, 0, 0, 0, 1, 2, 2, 2, 2]);
});

test('who died by itself is dead in the end, in its call or, if nobody knows of one, outside', async () => {
  const trace = await hung();
  const row = (rank) => ({ rank, state: 'lost', died: rank === 2 || rank === 5, unreturned_s: rank === 2 ? 1 : 0 });
  trace.analysis.per_rank = Array.from({ length: 8 }, (_, rank) => row(rank));
  const s = await statesOf(trace, { ...still, step: 3 }, signal);
  assert.deepEqual([...s.doing], [Waits, Waits, Dead, Unknown, Unknown, Dead, Unknown, Unknown]);
  const names = { comm: String, site: String };
  assert.equal(
    processInWords(s, 2, names),
    'rank 2 never returns from its next call: it dies after 1.00 s in it (lost)',
  );
  assert.equal(processInWords(s, 5, names), 'rank 5 dies outside MPI (lost)');
});

test('only where totals were asked for, a run without calls is not known; else the analysis says from when on', () => {
  const of = (mode, until) => ({
    coverage: { mode },
    per_rank: [{ rank: 0, open: [{ from_s: 1, to_s: 2 }], recorded_until_s: until }],
  });
  const until = (mode, s, events) => recordedUntil(of(mode, s), 2, events)[0];
  assert.deepEqual(
    [until('profile', null, 0), until('events', null, 0), until('profile', undefined, 9), until('events', 0.5, 9)],
    [0, Infinity, Infinity, 5e8],
  );
  const words = (mode, s, events) => unrecordedInWords(of(mode, s), 2, events);
  assert.match(words('profile', 0, 0), /^Only totals were recorded: /);
  assert.match(unrecordedInWords({ ...of('profile'), per_rank: [] }, 2, 0), /^Only totals .* is not known/);
  assert.match(words('events', 0.5, 9), /^Of 1 rank single calls are missing, the first from 500(\.0*)? ms on: /);
  assert.match(words('events', 0, 9), /^Of 1 rank single calls are missing, the first from 0 ns on: /);
  assert.equal(words('events', null, 9), null);
});

/** Ranks 0 and 1 of eight are recorded to the half of the run only, and hang from behind the others' last calls on. */
async function halfRecorded() {
  const trace = await open(make(4, 2, 50));
  const { runtime } = trace.meta;
  const call = { thread: 0, op: 'MPI_Recv', class: 1, site: -1, comm: -1, waits: true };
  for (const [rank, from] of [
    [0, 1.5 * runtime],
    [1, 1.2 * runtime],
  ]) {
    recordTo(trace, 0.5 * runtime, [rank]);
    trace.opens.set(rank, [{ ...call, from, to: 2 * runtime, needs: 1 - rank }]);
  }
  trace.meta.runtime = 2 * runtime;
  return { trace, runtime };
}

test('where single calls stopped being recorded a rank is not known until the call that it never comes back from', async () => {
  const { trace, runtime } = await halfRecorded();
  const whole = await countStates(await open(make(4, 2, 50)), null, signal, () => undefined);
  const { steps } = await countStates(trace, null, signal, () => undefined);
  assert.equal(steps, whole.steps + 2, 'a step for each such call');
  const at = async (given) => statesOf(trace, { ...still, ...given }, signal);
  const doing = async (given) => [...(await at(given)).doing];
  assert.ok(!(await doing({ time: 0.4 * runtime })).includes(Unknown), 'before');
  const of = async (given) => (await doing(given)).slice(0, 2);
  assert.deepEqual(await of({ time: 1.1 * runtime }), [Unknown, Unknown], 'not finished, not outside MPI');
  assert.ok(!(await doing({ time: 1.1 * runtime })).slice(2).includes(Unknown), 'of the others all is known');
  assert.deepEqual(await of({ time: 1.3 * runtime }), [Unknown, Waits]);
  assert.deepEqual(await of({ time: 1.6 * runtime }), [Waits, Waits]);
  const { step, change, time } = await at({ step: whole.steps, by: 1 });
  assert.deepEqual([step, change.rank, change.op, time], [whole.steps + 1, 1, 'MPI_Recv', 1.2 * runtime]);
  const back = await at({ step: steps, by: -2 });
  assert.deepEqual([back.step, back.found], [whole.steps, true]);
  const blocks = await at({ step: whole.steps - 3, by: 1, stop: 'blocks', rank: 0 });
  assert.deepEqual([blocks.step, blocks.needs[0]], [steps, [{ rank: 1, there: false }]]);
});

test('a call that a rank never comes back from while others are still recorded is no step of its own', async () => {
  const { trace, runtime } = await halfRecorded();
  trace.opens.get(1)[0].from = 0.99 * runtime;
  const whole = await countStates(await open(make(4, 2, 50)), null, signal, () => undefined);
  const { steps } = await countStates(trace, null, signal, () => undefined);
  assert.equal(steps, whole.steps + 1);
  assert.deepEqual([...(await statesOf(trace, { ...still, step: whole.steps }, signal)).doing].slice(0, 2), [
    Unknown,
    Waits,
  ]);
});

test('between its last event and the call that it never comes back from a rank is outside MPI, not dead', async () => {
  const trace = await open(make(4, 2, 50));
  trace.analysis.per_rank = Array.from({ length: 8 }, (_, rank) => ({ rank, state: 'lost' }));
  const { steps } = await countStates(trace, null, signal, () => undefined);
  const { runtime } = trace.meta;
  const call = { thread: 0, op: 'MPI_Recv', class: 1, site: -1, comm: -1, waits: true, needs: 1 };
  for (const rank of [0, 1, 2, 3]) trace.opens.set(rank, [{ ...call, from: 2 * runtime, to: 3 * runtime }]);
  const s = await statesOf(trace, { ...still, step: steps - 1 }, signal);
  const counts = (doing) => [...s.doing].filter((x, rank) => x === doing && rank < 4).length;
  assert.ok(counts(Outside) >= 3 && counts(Dead) === 0, `${s.doing}`);
  assert.ok([...s.doing].filter((x) => x === Dead).length >= 3, 'those without one');
});

test('who dies in a call dies after the time that the analysis knows of it, not after its last event', () => {
  const names = { comm: String, site: String };
  const dead = {
    doing: [DOING.indexOf('dead')],
    since: [1000],
    time: 75000,
    ends: ['lost'],
    open: [],
    unreturned: [1e9],
  };
  assert.equal(
    processInWords(dead, 0, names),
    'rank 0 never returns from its next call: it dies after 1.00 s in it (lost)',
  );
  assert.match(
    processInWords({ ...dead, unreturned: [0] }, 0, names),
    /^rank 0 made its last call 74.0\d* µs ago and dies outside MPI/,
  );
});

test('a thread that made no call that returned does not keep its rank from its end', async () => {
  const trace = await open(make(4, 2, 50));
  const { runtime } = trace.meta;
  const { firstLane, ranks } = trace.meta;
  firstLane[ranks]++; // one more thread of the last rank
  trace.laneRecordedUntil = new Float64Array(firstLane[ranks]).fill(Infinity);
  const call = { thread: 1, op: 'MPI_Recv', class: 1, site: -1, comm: -1, from: runtime - 1, to: runtime };
  trace.opens.set(ranks - 1, [{ ...call, waits: true, needs: 0 }]);
  const { steps } = await countStates(trace, null, signal, () => undefined);
  const s = await statesOf(trace, { ...still, step: steps }, signal);
  assert.deepEqual([s.doing[ranks - 1], s.ops[s.op[ranks - 1]]], [Waits, 'MPI_Recv']);
});

test('who waits in a deadlock is who waits in its last call; who has ended waits for nobody', () => {
  const open = (needs, more = {}) => ({
    thread: 0,
    op: 'MPI_Recv',
    class: 1,
    from_s: 1,
    to_s: 2,
    waits: true,
    needs,
    ...more,
  });
  const of = (ranks, opens, state = { time: 1e9, step: 1, steps: 9, whole: true }) => {
    const rows = Object.entries(opens).map(([rank, calls]) => ({ rank: Number(rank), open: calls }));
    const correctness = [{ kind: 'deadlock', examples: [{ time_s: 1, ranks, what: 'x' }] }];
    return deadlockIn({ analysis: { per_rank: rows, correctness } }, state);
  };
  const over = of([1, 0], { 0: [open(null, { op: 'MPI_Finalize', waits: false })], 1: [open(0)] });
  assert.deepEqual([over.waits, over.ended], [[[1, 0]], [0]]);
  assert.deepEqual(deadlockInWords(over), ['deadlock: rank 1 waits for rank 0, which has ended', 'x']);
  const several = of([1, 2, 0], { 1: [open(0)], 2: [open(0)] });
  assert.deepEqual(several.waits, [
    [1, 0],
    [2, 0],
  ]);
  assert.equal(deadlockInWords(several)[0], 'deadlock: ranks 1–2 wait for rank 0, which has ended');
  const star = of([0, 1, 2, 3], { 0: [open(null)], 1: [open(0)], 2: [open(0)], 3: [open(0)] });
  const toCentre = [1, 2, 3].map((rank) => [rank, 0]);
  assert.deepEqual(
    [star.waits, star.ended, star.isCycle],
    [toCentre, [], false],
    'no arc where it is not known for whom',
  );
  assert.deepEqual(deadlockInWords(star), ['deadlock: ranks 0–3 can never continue', 'x']);
  const many = Array.from({ length: 5000 }, (_, rank) => 2 * rank);
  const [ring] = deadlockInWords(of(many, {}));
  assert.equal(ring, 'deadlock: ranks 0, 2, 4, 6, 8, 10 … (5,000) wait for each other, in a cycle');
  const cycle = of([0, 2, 1], { 0: [open(2)], 1: [open(0)], 2: [open(5), open(1, { thread: 1 })] });
  const all = [
    [0, 2],
    [2, 1],
    [1, 0],
  ];
  assert.deepEqual([cycle.waits, cycle.ended], [all, []]);
  const before = (more) => of([1, 0], {}, { time: 0.9e9, step: 8, steps: 9, whole: true, ...more });
  assert.equal(before({}), null, 'it has not begun');
  assert.deepEqual(before({ step: 9 }).ranks, [1, 0], 'nothing changes any more');
  assert.equal(before({ step: 9, whole: false }), null, 'more may come');
  assert.equal(deadlockInWords(cycle)[0], 'deadlock: ranks 0 → 2 → 1 → 0 wait for each other');
  assert.deepEqual(of([0, 2, 1], {}).waits, all, 'of a file that does not say it each waits for the next');
});

test('a range of nodes that is too long for its place keeps both ends', () => {
  assert.deepEqual(['n00016 to n00031', 'rack1-n9 to rack2-n1', 'a7', 'login to n3'].map(shortRange), [
    'n00016–00031',
    'rack1-n9–rack2-n1',
    'a7',
    'login–n3',
  ]);
});
