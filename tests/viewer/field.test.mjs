// field.test.mjs - fields and profiles of samples that are known: every number against the events of the file, or against a sum by hand.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Kind } from '../../reports/viewer/src/decode/layout';
import { rankOfLane } from '../../reports/viewer/src/decode/meta';
import { flagText, placeLabels, topCells } from '../../reports/viewer/src/layout/flags';
import { cloudOf, unitsOf } from '../../reports/viewer/src/layout/cloud';
import { fit, projector } from '../../reports/viewer/src/layout/orbit';
import { vertexAt } from '../../reports/viewer/src/layout/solid';
import { TERRAIN_ROOM, terrainCell, terrainOf } from '../../reports/viewer/src/layout/terrain';
import { tubeCell, tubeOf } from '../../reports/viewer/src/layout/tube';
import { kMeans } from '../../reports/viewer/src/model/clusters';
import { cellBelow, frameOf, lineRows, scaleOf, shadeOf, valueAt } from '../../reports/viewer/src/layout/field';
import { FieldBuilder, fieldAt } from '../../reports/viewer/src/model/field';
import { eventMatcher, profileChange, profileTree } from '../../reports/viewer/src/model/profile';
import { fieldOf, profileOf, profileSource } from '../../reports/viewer/src/work/field';
import { decodeAll, make, open } from './support.mjs';

const STEPS = 20;
const SAMPLES = 10;
const never = new AbortController().signal;
const QUERY = {
  axes: 'rank-time',
  by: 'op',
  events: '',
  metric: 'calls',
  cumulative: false,
  order: 'rank',
  columns: 512,
  rows: 512,
};

const trace = await open(make(4, 2, STEPS, `samples=${SAMPLES}`));
const whole = { from: 0, to: trace.meta.runtime, sample: 0, since: -1, ranks: [], threads: 'rank' };
const ask = (query, given = {}) =>
  fieldOf(profileSource(trace), { ...whole, ...given, query: { ...QUERY, ...query } }, never, () => undefined);
const rowsOf = (f) => f.rows.map((_, r) => Array.from(f.columns, (_, c) => fieldAt(f, r, c)));
const sum = (list) => list.reduce((a, b) => a + b, 0);
const close = (a, b, what) =>
  assert.ok(Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b)), `${what}: ${a} is not ${b}`);

/** Time in calls of an operation of each rank in each sample, from the events. */
async function fromEvents(op) {
  const { events } = await decodeAll(trace);
  const spans = trace.kind(Kind.Samples);
  const rows = Array.from({ length: 8 }, () => Array(SAMPLES).fill(0));
  for (const [rank, start, end, , o] of events)
    if (trace.meta.ops[o] === op)
      spans.forEach((s, i) => {
        rows[rank][i] += Math.max(0, Math.min(end, s.end) - Math.max(start, s.start));
      });
  return rows;
}

test('time over samples is that of the events, to the nanosecond', async () => {
  const f = await ask({ metric: 'time', events: 'MPI_Waitall' });
  assert.deepEqual([f.rows.length, f.columns.length], [8, SAMPLES]);
  const want = await fromEvents('MPI_Waitall');
  rowsOf(f).forEach((row, r) => row.forEach((v, c) => close(v, want[r][c], `rank ${r}, sample ${c + 1}`)));
});

test('calls of all samples are those of the run, alone, added up, and by events', async () => {
  const each = rowsOf(await ask({ events: 'isend' }));
  each.forEach((row, r) => assert.equal(sum(row), 4 * STEPS, `rank ${r}`));
  const until = rowsOf(await ask({ events: 'isend', cumulative: true }));
  until.forEach((row, r) =>
    assert.deepEqual(
      row,
      each[r].map((_, c) => sum(each[r].slice(0, c + 1))),
    ),
  );
  const f = await ask({ axes: 'rank-event' });
  const at = f.columns.findIndex((c) => c.title === 'MPI_Isend');
  assert.deepEqual(
    f.rows.map((_, r) => fieldAt(f, r, at)),
    Array(8).fill(4 * STEPS),
  );
});

test('the difference of two samples by events is what came between them', async () => {
  const all = rowsOf(await ask({ events: 'irecv' }));
  const f = await ask({ axes: 'rank-event', events: 'irecv' }, { sample: 7, since: 3 });
  f.rows.forEach((_, r) => assert.equal(fieldAt(f, r, 0), sum(all[r].slice(3, 7))));
  const one = await ask({ axes: 'rank-event', events: 'irecv' }, { sample: 7 });
  one.rows.forEach((_, r) => assert.equal(fieldAt(one, r, 0), all[r][6]));
  const first = await ask({ axes: 'rank-event', events: 'irecv', cumulative: true }, { sample: 7 });
  first.rows.forEach((_, r) => assert.equal(fieldAt(first, r, 0), sum(all[r].slice(0, 7))));
});

test('shares of several threads are of all their time, other metrics their mean; of fewer columns likewise', async () => {
  const time = rowsOf(await ask({ metric: 'time' }));
  const spans = trace.kind(Kind.Samples);
  const f = await ask({ metric: 'share', rows: 2, columns: 5 });
  assert.deepEqual([f.rows.length, f.columns.length], [2, 5]);
  assert.deepEqual(f.rows[1].ranks, [4, 5, 6, 7]);
  const ns = sum(time.slice(4).flatMap((row) => row.slice(2, 4)));
  close(fieldAt(f, 1, 1), ns / (4 * (spans[3].end - spans[2].start)), 'share of four ranks in two samples');
  const mean = await ask({ metric: 'time', rows: 2, columns: 5 });
  close(fieldAt(mean, 1, 1), ns / 4, 'mean time');
});

test('events over time, mean lengths, bytes a second', async () => {
  const f = await ask({ axes: 'event-time', metric: 'calls', by: 'site' });
  const waitall = f.rows.findIndex((r) => r.title === 'MPI_Waitall at src/halo.c:68');
  const calls = rowsOf(f)[waitall];
  close(sum(calls), STEPS, 'calls of a thread in the mean');
  const mean = await ask({ axes: 'event-time', metric: 'mean', events: 'MPI_Waitall' });
  const time = await ask({ axes: 'event-time', metric: 'time', events: 'MPI_Waitall' });
  calls.forEach((n, c) => n > 0 && close(fieldAt(mean, 0, c), fieldAt(time, 0, c) / n, `mean in sample ${c + 1}`));
  const rate = await ask({ metric: 'bandwidth', events: 'isend' });
  const bytes = await ask({ metric: 'bytes', events: 'isend' });
  const [{ start, end }] = trace.kind(Kind.Samples).slice(4);
  close(fieldAt(rate, 3, 4), (fieldAt(bytes, 3, 4) / (end - start)) * 1e9, 'bytes a second');
});

test('waiting of all samples is that of the run', async () => {
  const rows = rowsOf(await ask({ metric: 'wait' }));
  const want = trace.analysis.per_rank.map((x) => x.wait_s * 1e9);
  assert.ok(want[0] > 0);
  rows.forEach((row, r) => assert.ok(Math.abs(sum(row) - want[r]) < 1000, `rank ${r}`)); // it is written in microseconds
});

test('what the kernel counted is of threads; largest first orders them', async () => {
  const resident = await ask({ metric: 'resident', byValue: true });
  assert.equal(fieldAt(resident, 3, 4), (100 + 3 + 4) * 2 ** 20);
  const ready = await ask({ metric: 'ready', order: 'value' });
  assert.deepEqual(
    ready.rows.map((r) => r.ranks[0]),
    [7, 6, 5, 4, 3, 2, 1, 0],
  );
  close(fieldAt(ready, 0, 2), 0.0875, 'rank 7');
  assert.deepEqual(
    (await ask({ metric: 'cpu' }, { ranks: [2, 5] })).rows.map((r) => r.title),
    ['rank 2', 'rank 5'],
  );
});

test('patterns choose events: parts, stars, commas, what is left out', () => {
  const names = ['MPI_Send', 'MPI_Isend', 'MPI_Recv', 'MPI_Recv at a.c:3'];
  const chosen = (pattern) => names.filter(eventMatcher(pattern));
  assert.deepEqual(chosen(''), names);
  assert.deepEqual(chosen('send'), names.slice(0, 2));
  assert.deepEqual(chosen('mpi_s*'), ['MPI_Send']);
  assert.deepEqual(chosen('send, recv, -isend'), ['MPI_Send', 'MPI_Recv', 'MPI_Recv at a.c:3']);
  assert.deepEqual(chosen('-recv'), names.slice(0, 2));
  assert.deepEqual(chosen('a.c'), ['MPI_Recv at a.c:3']); // a point is one
  assert.deepEqual(chosen('('), []); // nothing of it is a pattern of its own
});

/** One thread a rank, n samples; threads: of each sample {lane: [known, calls]}. */
function byHand(lanes, samples) {
  const shape = {
    meta: { ranks: lanes, firstLane: Uint32Array.from({ length: lanes + 1 }, (_, i) => i), ops: ['MPI_Recv'] },
    nodes: [],
    sites: new Map(),
    nsPerTick: () => 1,
  };
  const all = samples.map((threads, i) => {
    const lane = Object.keys(threads).map(Number);
    return {
      number: i + 1,
      samples: 1,
      start: i * 100,
      end: (i + 1) * 100,
      lane: Uint32Array.from(lane),
      known: Uint8Array.from(lane, (l) => threads[l][0]),
      cpu: new Float64Array(lane.length),
      ready: new Float64Array(lane.length),
      resident: new Float64Array(lane.length),
      firstCell: Uint32Array.from({ length: lane.length + 1 }, (_, k) => k),
      op: new Uint16Array(lane.length),
      site: new Float64Array(lane.length).fill(-1),
      calls: Float64Array.from(lane, (l) => threads[l][1]),
      ticks: Float64Array.from(lane, (l) => threads[l][2] ?? 0),
      bytes: new Float64Array(lane.length),
      wait: new Float64Array(lane.length),
    };
  });
  return { shape, all };
}

test('what a silent node did meanwhile is of all the time since it spoke; what is not known has no number', () => {
  const SILENT = 4;
  const { shape, all } = byHand(2, [
    { 0: [1, 1, 50], 1: [1, 1, 50] },
    { 0: [1, 1, 50], 1: [SILENT, 0] },
    { 0: [1, 1, 50], 1: [1, 4, 150] },
  ]);
  const b = new FieldBuilder(shape, { ...QUERY, metric: 'share' }, [0, 1], 3);
  for (const s of all) b.add(s);
  const f = b.field();
  assert.deepEqual(rowsOf(f), [
    [0.5, 0.5, 0.5],
    [0.5, NaN, 0.75],
  ]);
  assert.equal(f.silent, 1);
});

test('the tree has nodes, processes, threads and events; a change is what is more', async () => {
  const tree = await profileOf(profileSource(trace), { from: 0, to: trace.meta.runtime, sample: 0, by: 'op' }, never);
  assert.deepEqual(
    tree.children.map((n) => [n.name, n.children.length]),
    [
      ['n1', 4],
      ['n2', 4],
    ],
  );
  const thread = tree.children[1].children[2].children[0];
  assert.equal(tree.children[1].children[2].name, 'rank 6');
  const isend = thread.children.find((e) => e.name === 'MPI_Isend');
  assert.equal(isend.counts.calls, 4 * STEPS);
  assert.equal(tree.counts.calls, 8 * (2 + STEPS * 9 + STEPS / 10 + 1));
  close(thread.usage.cpu, trace.meta.runtime * 0.9, 'on a processor');
  const shape = await profileSource(trace).shape();
  const samples = [];
  for (const e of trace.kind(Kind.Samples)) samples.push(await trace.sample(e));
  const [a, b] = [profileTree(shape, samples.slice(0, 4), 'site'), profileTree(shape, samples, 'site')];
  const more = profileChange(a, b);
  assert.equal(more.counts.calls, profileTree(shape, samples.slice(4), 'site').counts.calls);
  assert.equal(profileChange(b, a).counts.calls, -more.counts.calls);
});

test('scales: from nothing or the least, logarithmic, without the ends; and back', async () => {
  const f = await ask({ metric: 'calls' });
  const plain = scaleOf(f, { log: false, cut: 0 });
  assert.deepEqual([plain.low, plain.high], [0, f.most]);
  assert.equal(shadeOf(plain, f.most / 2), 0.5);
  assert.equal(shadeOf(plain, 2 * f.most), 1);
  assert.ok(Number.isNaN(shadeOf(plain, NaN)));
  const log = { low: 1, high: 10000, log: true };
  assert.equal(shadeOf(log, 100), 0.5);
  assert.equal(shadeOf(log, 0), 0);
  assert.equal(shadeOf(log, -5), 0);
  assert.equal(Math.round(valueAt(log, 0.75)), 1000);
  const cut = scaleOf(f, { log: false, cut: 10 });
  assert.ok(cut.low >= f.least && cut.high <= f.most && cut.high < f.most);
});

test('a point of the picture is its cell; selected ranks have lines', async () => {
  const f = await ask({ metric: 'share' });
  const frame = frameOf(f, { width: 800, height: 500 }, { from: 0, to: trace.meta.runtime });
  for (const [row, column] of [
    [0, 0],
    [3, 5],
    [7, 9],
  ]) {
    const x = (frame.x[column] + frame.x[column + 1]) / 2;
    const y = (frame.y[row] + frame.y[row + 1]) / 2;
    assert.deepEqual(cellBelow(frame, x, y), { row, column });
  }
  assert.equal(cellBelow(frame, 2, 2), null);
  assert.deepEqual(lineRows(f, new Set([5]), 4), [5]);
  assert.equal(lineRows(f, new Set(), 4).length, 3);
  assert.equal(rankOfLane(trace.meta, 3), 3);
});

// ---- in space ----

test('a terrain has a vertex for each cell, as high as its value; a point of the picture is its vertex', async () => {
  const f = await ask({ metric: 'share' });
  const scale = scaleOf(f, { log: false, cut: 0 });
  const solid = terrainOf(f, scale);
  assert.equal(solid.positions.length / 3, 8 * SAMPLES);
  for (let i = 0; i < 8 * SAMPLES; i++) {
    const { row, column } = terrainCell(f, i);
    close(solid.positions[3 * i + 1] / 28, shadeOf(scale, fieldAt(f, row, column)), `height at ${row}, ${column}`);
  }
  const box = { width: 900, height: 600 };
  const o = fit(TERRAIN_ROOM, 35, 60, box.width, box.height);
  const see = projector(o, box.width, box.height);
  const at = see([solid.positions[3 * 47], solid.positions[3 * 47 + 1], solid.positions[3 * 47 + 2]]);
  assert.equal(vertexAt(solid, o, box, at.x, at.y), 47);
  assert.equal(vertexAt(solid, o, box, 2, 2), -1);
  assert.ok(Math.max(...solid.faces) < 8 * SAMPLES);
});

test('a single row or column is a band; what is not known is a hole in terrain and tube', async () => {
  const one = terrainOf(await ask({ metric: 'share', rows: 1, columns: 1 }), { low: 0, high: 1, log: false });
  assert.equal(one.faces.length, 6);
  const { shape, all } = byHand(1, [{ 0: [4, 0] }, { 0: [1, 1, 50] }]);
  const b = new FieldBuilder(shape, { ...QUERY, metric: 'share' }, [0], 2);
  for (const s of all) b.add(s);
  const solid = terrainOf(b.field(), { low: 0, high: 1, log: false });
  assert.ok(solid.positions.every((x) => Number.isFinite(x)));
  const f = await ask({ metric: 'share' });
  const scale = scaleOf(f, { log: false, cut: 0 });
  const [rows, columns] = [f.rows.length, f.columns.length];
  f.value[2 * columns + 3] = NaN; // inside: four cells of two faces each meet there, of which one has a corner less
  for (const [drawn, whole] of [
    [terrainOf(f, scale), (rows - 1) * (columns - 1) * 6],
    [tubeOf(f, scale), rows * (columns - 1) * 6],
  ]) {
    assert.equal(drawn.faces.length, whole - 6 * 3);
    assert.ok(!drawn.faces.includes(2 * columns + 3));
  }
});

test('a tube is closed: each corner is as far out as its value, the last beside the first', async () => {
  const f = await ask({ axes: 'event-time', metric: 'share' });
  const scale = scaleOf(f, { log: false, cut: 0 });
  const solid = tubeOf(f, scale);
  const out = (i) => Math.hypot(solid.positions[3 * i + 1], solid.positions[3 * i + 2]) / 26;
  for (let i = 0; i < solid.positions.length / 3; i++) {
    const { row, column } = tubeCell(f, i);
    close(out(i), 0.06 + 0.94 * shadeOf(scale, fieldAt(f, row, column)), `corner ${row}, ${column}`);
  }
  assert.equal(solid.faces.length, f.rows.length * (f.columns.length - 1) * 6);
});

test('flags: the largest, none near another, none below the threshold; labels lie on no other and on the picture', async () => {
  const f = await ask({ axes: 'rank-event', metric: 'time' });
  const flags = topCells(f, 4, 0.1);
  assert.equal(flags[0].value, f.most);
  assert.ok(flags.every((x) => x.value >= 0.1 * f.most));
  assert.equal(topCells(f, 0, 0).length, 0);
  const over = await ask({ axes: 'rank-time', metric: 'share' });
  const twice = [1, 5].map((column) => ({ row: 0, column, value: over.most, group: over.rows[0].title }));
  assert.notEqual(...twice.map((x) => flagText(over, x)), 'over time the same height of one rank has its moment');
  assert.ok(topCells(f, 100, 0.9).length < topCells(f, 100, 0).length);
  const wanted = Array.from({ length: 12 }, (_, i) => ({ x: 10 + i, y: 30 + (i % 3), width: 60, height: 16 }));
  const placed = placeLabels(wanted, 400, 3);
  placed.forEach((a, i) => {
    assert.ok(a.x >= 0 && a.x + a.width <= 400 && a.y - 8 >= 0, `label ${i} is on the picture`);
    for (const b of placed.slice(i + 1))
      assert.ok(a.x >= b.x + b.width || b.x >= a.x + a.width || Math.abs(a.y - b.y) >= 16, 'apart');
  });
});

test('flags on values that are alike are spread over rows and columns, the largest first', () => {
  const [rows, columns] = [20, 30];
  const f = {
    unit: 'share',
    rows: Array.from({ length: rows }, (_, r) => ({ title: `rank ${r}`, ranks: [r], event: 0 })),
    columns: Array.from({ length: columns }, (_, c) => ({
      title: '',
      start: c,
      end: c + 1,
      event: -1e9,
      first: c,
      last: c,
    })),
    value: new Float64Array(rows * columns).fill(0.99995),
    least: 0.99,
    most: 1,
  };
  const flags = topCells(f, 6, 0.5);
  assert.equal(flags.length, 6);
  assert.equal(new Set(flags.map((x) => x.group)).size, 6, 'of six ranks');
  assert.ok(Math.max(...flags.map((x) => x.row)) > rows / 2 && Math.max(...flags.map((x) => x.column)) > columns / 2);
  f.value[7 * columns + 3] = 1.5;
  f.most = 1.5;
  assert.deepEqual([topCells(f, 2, 0.5)[0].row, topCells(f, 2, 0.5)[0].column], [7, 3]);
  const many = topCells(f, 1000, 0.5);
  const isNear = (a, b) => Math.abs(a.row - b.row) <= rows / 10 && Math.abs(a.column - b.column) <= columns / 10;
  assert.ok(many.length > 12 && !many.some((a, i) => many.slice(i + 1).some((b) => isNear(a, b))), 'none near another');
  const narrow = { ...f, columns: f.columns.slice(0, 1), value: f.value.slice(0, rows).fill(1.5) };
  const at = topCells(narrow, 1000, 0.5).map((x) => x.row);
  assert.ok(at.length >= 5 && !at.some((a, i) => at.slice(i + 1).some((b) => Math.abs(a - b) <= 2)), at.join());
});

test('a cloud has a point for each thread of which all is known; clusters are of those near each other', async () => {
  const fields = [];
  for (const metric of ['share', 'wait', 'ready', 'resident']) fields.push(await ask({ metric, columns: 1 }));
  const cloud = cloudOf(fields, false, []);
  assert.equal(cloud.rows.length, 8);
  assert.deepEqual(Math.max(...unitsOf(fields, false).units.map((u) => u[2])), 1);
  const points = [...Array(9).keys()].map((i) => [i % 3 === 0 ? 0.9 : 0.1, i / 100]);
  const of = kMeans(points, 2);
  assert.deepEqual(of, [1, 0, 0, 1, 0, 0, 1, 0, 0]);
  assert.deepEqual(kMeans([[1], [1]], 5), [0, 0]);
  assert.deepEqual(kMeans([], 3), []);
});
