// logical.test.mjs - logical steps and lateness: of small programs worked out by hand, of traces as the analysis has them.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Part, UNKNOWN, lateSites, latenessOf, placeOf, stepsOf } from '../../reports/viewer/src/model/logical.ts';
import { NO_FILTER } from '../../reports/viewer/src/model/filter.ts';
import {
  LEVELS,
  boundsOf,
  callAt,
  cellsOf,
  laneOf,
  levelOf,
  planeOf,
} from '../../reports/viewer/src/layout/logical.ts';
import { logicalOf } from '../../reports/viewer/src/work/logical.ts';
import { flavour, generated, make, open, record, show, version1 } from './support.mjs';

const { signal } = new AbortController();

/** Calls by lane: [end, {site, counts, needs: [[lane, at, more]], group, part}]. */
function program(...lanes) {
  const first = [0];
  for (const calls of lanes) first.push(first.at(-1) + calls.length);
  const all = lanes.flat();
  const value = (key, usual) => all.map(([, x]) => x?.[key] ?? usual);
  const needs = all.map(([, x]) => (x?.needs ?? []).map(([lane, at, more = 1]) => [first[lane] + at, more]));
  const needFirst = [0];
  for (const list of needs) needFirst.push(needFirst.at(-1) + list.length);
  const groups = value('group', -1);
  const size = Math.max(...groups) + 1;
  return {
    laneFirst: Uint32Array.from(first),
    end: Float64Array.from(all, ([end]) => end),
    site: Int32Array.from(value('site', 0)),
    counts: Uint8Array.from(value('counts', 2)),
    needFirst: Uint32Array.from(needFirst),
    need: Uint32Array.from(needs.flat(), ([call]) => call),
    more: Uint8Array.from(needs.flat(), ([, more]) => more),
    group: Int32Array.from(groups),
    part: Uint8Array.from(value('part', Part.None)),
    groupSize: Uint32Array.from({ length: size }, (_, g) => groups.filter((x) => x === g).length),
  };
}

const stepsIn = (p) => Array.from(stepsOf(p).step);

test('a ping-pong goes up one step a message', () => {
  const p = program(
    [[10], [40, { needs: [[1, 1]] }], [50], [80, { needs: [[1, 3]] }]], // send, receive, send, receive
    [[20, { needs: [[0, 0]] }], [30], [60, { needs: [[0, 2]] }], [70]],
  );
  assert.deepEqual(stepsIn(p), [1, 4, 5, 8, 2, 3, 6, 7]);
});

test('a collective takes all to the step of who comes last, whatever each called before', () => {
  const meets = { group: 0, part: Part.All };
  const p = program([[10, meets], [30]], [[1], [2], [3], [14, meets], [33]], [[12, meets], [31]]);
  assert.deepEqual(stepsIn(p), [4, 5, 1, 2, 3, 4, 5, 4, 5]);
});

test('leaves of a broadcast come after its root, the root of a reduction after its leaves; nobody else waits', () => {
  const root = { group: 0, part: Part.Root };
  const leaf = { group: 0, part: Part.AfterRoot };
  assert.deepEqual(stepsIn(program([[1], [2], [9, root]], [[10, leaf]], [[11, leaf], [12]])), [1, 2, 3, 3, 3, 4]);
  const far = [[1], [2], [3], [4], [12, leaf]]; // a leaf that comes behind the root keeps nobody
  assert.deepEqual(stepsIn(program(far, [[1], [9, root]], [[10, leaf]])), [1, 2, 3, 4, 5, 1, 2, 2]);
  const to = program([[20, { group: 0, part: Part.All }]], [[1], [2, { group: 0 }]], [[3, { group: 0 }]]);
  assert.deepEqual(stepsIn(to), [2, 1, 2, 1]);
});

test('a receive of any source is after the send that came', () => {
  const p = program(
    [
      [10, { needs: [[2, 2]] }],
      [20, { needs: [[1, 0]] }],
    ],
    [[5]],
    [[1], [2], [8]],
  );
  assert.deepEqual(stepsIn(p), [4, 5, 1, 1, 2, 3]);
});

test('tests in vain are no steps', () => {
  const asks = { counts: 0 };
  assert.deepEqual(stepsIn(program([[1, asks], [2, asks], [3], [4, asks], [5]])), [0, 0, 1, 1, 2]);
});

test('calls that wait for each other stop nothing: what is not heeded is counted, the earliest first', () => {
  const p = program(
    [[10, { needs: [[1, 1]] }], [20]],
    [[11, { needs: [[0, 1]] }], [21]],
    [[5], [30, { needs: [[0, 1]] }]],
  );
  const { step, leftOut, steps } = stepsOf(p);
  assert.deepEqual([Array.from(step), leftOut, steps], [[1, 2, 3, 4, 1, 3], 1, 4]);
});

test('a thousand calls in a ring of cycles end, each need once', () => {
  const lanes = Array.from({ length: 1000 }, (_, lane) => [
    [
      10 + lane,
      {
        needs: [
          [(lane + 1) % 1000, 1],
          [(lane + 7) % 1000, 1],
        ],
      },
    ],
    [2000 + lane],
  ]);
  const { leftOut, steps } = stepsOf(program(...lanes));
  assert.ok(leftOut > 0 && leftOut <= 2000, `${leftOut}`);
  assert.ok(steps >= 2);
});

test('a collective of which members wait for each other is left by those that end first', () => {
  const p = program(
    [
      [10, { group: 0, part: Part.All }],
      [30, { group: 1, part: Part.All }],
    ],
    [
      [20, { group: 1, part: Part.All }],
      [25, { group: 0, part: Part.All }],
    ],
  );
  assert.deepEqual([stepsIn(p), stepsOf(p).leftOut], [[1, 2, 2, 3], 1]);
});

test('lateness is from the earliest end of a site at a step; who is alone, or of no site, has none', () => {
  const p = program(
    [[10], [30, { site: 1 }], [40, { site: -1 }], [50, { counts: 1 }]],
    [[12], [29, { site: 2 }], [41, { site: -1 }], [52, { counts: 1 }]],
    [[17]],
  );
  const late = latenessOf(p, stepsOf(p));
  const none = UNKNOWN;
  assert.deepEqual(Array.from(late), [0, none, none, none, 2, none, none, none, 7]);
  assert.deepEqual(lateSites(p.site, late), [{ site: 0, calls: 3, totalNs: 9, maxNs: 7, maxCall: 8 }]);
});

test('where all end at the same moments nobody is late, and one rank alone is compared with nobody', () => {
  const same = [[10], [20, { site: 1 }]];
  const p = program(same, same, same);
  assert.ok(latenessOf(p, stepsOf(p)).every((x) => x === 0));
  const alone = program(same);
  assert.ok(latenessOf(alone, stepsOf(alone)).every((x) => x === UNKNOWN));
});

// ---- traces ----

const whole = async (trace, filter = NO_FILTER) =>
  logicalOf(trace, { from: -1e9, to: trace.meta.runtime + 1e9, filter }, signal);

/** What of the analysis does not agree. */
async function differences(path) {
  const trace = await open(path);
  const l = await whole(trace);
  const rows = new Map(l.sites.map((x) => [x.site, x]));
  const found = [];
  let compared = 0;
  for (const { id, op, lateness } of show(path).callsites) {
    const mine = rows.get(id);
    if (!lateness !== !mine) found.push(`${op}: ${JSON.stringify(lateness)}, here ${JSON.stringify(mine)}`);
    if (!lateness || !mine) continue;
    compared += mine.calls;
    const isSame =
      mine.calls === lateness.calls &&
      Math.abs(mine.totalNs / 1e9 - lateness.total_s) < 1e-9 * Math.max(1, mine.calls) &&
      Math.abs(mine.maxNs / 1e9 - lateness.max_s) < 2e-9;
    if (!isSame) found.push(`${op}: ${JSON.stringify(lateness)}, here ${JSON.stringify(mine)}`);
  }
  return { found, compared, leftOut: l.leftOut };
}

for (const [pattern, ranks, nodes, least] of [
  ['halo', 16, 4, 5000],
  ['alltoall', 8, 2, 3000],
  ['master', 64, 4, 2000],
  ['faults', 16, 4, 2000],
])
  test(`of the whole run of ${pattern} lateness is what the analysis says, by call site`, async () => {
    const { found, compared, leftOut } = await differences(generated(pattern, ranks, nodes, 400));
    assert.deepEqual([found, leftOut], [[], 0]);
    assert.ok(compared > least, `${compared}`);
  });

test('of a recorded run too, with waits for large messages, collectives and windows', { skip: !flavour }, async () => {
  for (const name of ['ring', 'rma_waits', 'delayed']) {
    const { found, compared, leftOut } = await differences(record(name));
    assert.deepEqual([found, leftOut], [[], 0], name);
    assert.ok(compared > 0, name);
  }
});

const small = await open(make(4, 2, 50));

test('steps of a thread go up call by call, and a message from a step to a higher one', async () => {
  const l = await whole(small);
  assert.equal(l.step.length, small.meta.events);
  for (let lane = 0; lane + 1 < l.laneFirst.length; lane++)
    for (let call = l.laneFirst[lane] + 1; call < l.laneFirst[lane + 1]; call++)
      assert.ok(l.step[call] > l.step[call - 1]);
  assert.equal(l.messageFrom.length, small.meta.messages);
  l.messageFrom.forEach((from, i) => assert.ok(l.step[from] < l.step[l.messageTo[i]]));
  assert.deepEqual([l.outside, l.tooMany], [0, 0]);
});

test('of a part of the run steps count from its beginning, and messages of before are left out and counted', async () => {
  const l = await logicalOf(small, { from: 20e6, to: 24e6, filter: NO_FILTER }, signal);
  const inside = (call) => l.end[call] > 20e6 && l.start[call] < 24e6;
  assert.ok(l.step.length > 50 && l.step.every((_, call) => inside(call)));
  for (let lane = 0; lane + 1 < l.laneFirst.length; lane++) assert.equal(l.step[l.laneFirst[lane]] < 10, true);
  const cut = await logicalOf(small, { from: 6.1e6, to: 6.35e6, filter: NO_FILTER }, signal);
  assert.ok(cut.outside > 0, `${cut.outside}`);
});

test('a call is found by its name, and only there', async () => {
  const l = await whole(small);
  for (const call of [0, 100, l.step.length - 1]) {
    const lane = l.laneFirst.findIndex((first) => first > call) - 1;
    assert.equal(placeOf(l, lane, l.window[call], l.index[call]), call);
  }
  assert.deepEqual([placeOf(l, 0, 0, 1e6), placeOf(l, 0, 99, 0), placeOf(l, 999, 0, 0)], [-1, -1, -1]);
  const part = await logicalOf(small, { from: 20e6, to: 24e6, filter: NO_FILTER }, signal);
  assert.deepEqual([placeOf(part, 0, 0, 0), placeOf(part, 0, part.window[0], part.index[0])], [-1, 0]);
});

test('what a filter hides is marked; steps and lateness stay as they are', async () => {
  const all = await whole(small);
  const some = await whole(small, { ...NO_FILTER, ops: ['MPI_Waitall'], ranks: [2] });
  const op = small.meta.ops.indexOf('MPI_Waitall');
  const shown = Array.from(some.hidden.keys()).filter((call) => some.hidden[call] === 0);
  assert.equal(shown.length, 50);
  assert.ok(shown.every((call) => some.op[call] === op && call >= some.laneFirst[2] && call < some.laneFirst[3]));
  assert.deepEqual([some.step, some.late], [all.step, all.late]);
  assert.ok(all.hidden.every((x) => x === 0));
});

test('one rank is compared with nobody', async () => {
  const l = await whole(await open(make(1, 1, 20)));
  assert.ok(l.step.length > 100 && l.late.every((x) => x === UNKNOWN));
  assert.deepEqual([l.sites, l.most], [[], 0]);
});

test('more calls than can be taken are said, and nothing of them is worked out', async () => {
  const many = await open(make(8, 8, 1000));
  const l = await whole(many);
  assert.ok(l.tooMany >= many.meta.events && l.tooMany < 1.001 * many.meta.events, `${l.tooMany}`);
  assert.deepEqual([l.step.length, l.steps], [0, 0]);
});

test('a file of version 1 is refused in words', async () => {
  await assert.rejects(whole(await open(version1.path)), /of version 1/);
});

// ---- cells and colours ----

test('levels of lateness reach to the largest, each as far as the root of ten times the one before', () => {
  const bounds = boundsOf(1e6);
  assert.deepEqual([bounds.length, Math.round(bounds[0]), Math.round(bounds[6])], [LEVELS, 1000, 1e6]);
  bounds.forEach((bound, level) => {
    assert.equal(levelOf(bound, 1e6), level);
    assert.equal(levelOf(bound * 1.01, 1e6), Math.min(6, level + 1));
  });
  assert.deepEqual([levelOf(0, 1e6), levelOf(0, 0), levelOf(2e6, 1e6)], [0, 0, 6]);
  assert.deepEqual([planeOf(UNKNOWN, 1e6), planeOf(0, 1e6), planeOf(1e6, 1e6)], [8, 1, 7]);
});

test('a cell is of one call or, where several share it, of the latest; what is unknown is not 0', () => {
  const l = {
    laneFirst: Uint32Array.of(0, 4, 6),
    step: Uint32Array.of(1, 2, 3, 6, 2, 3),
    late: Float64Array.of(UNKNOWN, 0, 1e6, 0, 10, UNKNOWN),
    hidden: Uint8Array.of(0, 0, 0, 1, 0, 0),
    most: 1e6,
  };
  const sight = { from: 1, to: 7, rowFrom: 0, rowTo: 2, columnsMax: 100, linesMax: 100 };
  const rows = (c) => Array.from({ length: c.lines }, (_, y) => [...c.code.slice(y * c.columns, (y + 1) * c.columns)]);
  const rowOf = Int32Array.of(1, 0);
  assert.deepEqual(rows(cellsOf(l, rowOf, sight)), [
    [0, 3, 2, 0, 0, 0],
    [2, 3, 9, 0, 0, 1],
  ]);
  assert.deepEqual(rows(cellsOf(l, rowOf, { ...sight, columnsMax: 2, linesMax: 1 })), [[9, 1]]);
  assert.deepEqual(rows(cellsOf(l, rowOf, { ...sight, from: 2.5, to: 3.5, rowFrom: 1 })), [[3, 9]]);
  assert.deepEqual([callAt(l, 0, 6), callAt(l, 0, 5), callAt(l, 1, 1), laneOf(l, 3), laneOf(l, 4)], [3, -1, -1, 0, 1]);
});
