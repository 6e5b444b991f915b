// picture.test.mjs - pixels of the timeline say what the calls say: classes, waiting inside of its call, what is not loaded, damaged or
// over; lines of messages where messages are. Without a page.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { Kind } from '../../reports/viewer/src/decode/layout.ts';
import { CLASSES, WAITING_STYLE } from '../../reports/viewer/src/layout/color.ts';
import { Lines, widthOf } from '../../reports/viewer/src/layout/lines.ts';
import { packed } from '../../reports/viewer/src/layout/raster.ts';
import { rowsOf } from '../../reports/viewer/src/layout/rows.ts';
import { Known, Shares, WAITING } from '../../reports/viewer/src/layout/shares.ts';
import { NO_FILTER } from '../../reports/viewer/src/model/filter.ts';
import { Drawing } from '../../reports/viewer/src/work/picture.ts';
import { findEnds } from '../../reports/viewer/src/work/ends.ts';
import { QUERIES } from '../../reports/viewer/src/work/queries.ts';
import { underPointer } from '../../reports/viewer/src/work/pick.ts';
import { overview } from '../../reports/viewer/src/work/overview.ts';
import {
  allEvents,
  entries,
  flavour,
  make,
  makeOdd,
  open,
  openBytes,
  openTotals,
  record,
  recordTo,
} from './support.mjs';

const IDLE = [0.9, 0.92, 0.95];
const PAPER = [1, 1, 1];
const signal = new AbortController().signal;

function camera(trace, from, to, more = {}) {
  const [width, height] = [more.width ?? 800, more.height ?? 400];
  const count = more.members?.length ?? trace.meta.ranks;
  const rows = rowsOf({ rowFirst: 0, rowHeight: 0, ...more.rows }, count, height, trace.meta.threads);
  const plain = { ratio: 1, members: null, dark: false, idle: IDLE, paper: PAPER, text: [0, 0, 0] };
  const messages = { showMessages: false, widthScale: 'log', bytesPerPixel: 4096, filter: NO_FILTER };
  return { from, to, width, height, ...plain, ...messages, ...more, rows };
}

async function drawn(trace, cam) {
  const drawing = new Drawing(trace, cam);
  await drawing.load(signal);
  return drawing.draw();
}

/** Shares of colours among the pixels of a row of the picture, between two moments. */
function colours(picture, row, from, to) {
  const { camera: c, width } = picture;
  const x = (ns) => Math.round(((ns - c.from) / (c.to - c.from)) * c.width);
  const y1 = Math.ceil((row - c.rows.first) * c.rows.height + c.rows.pad);
  const found = new Map();
  let n = 0;
  for (let y = y1; y < y1 + Math.floor(c.rows.bar); y++)
    for (let k = Math.max(0, x(from)); k < Math.min(width, x(to)); k++, n++) {
      const p = picture.pixels[y * width + k];
      found.set(p, (found.get(p) ?? 0) + 1);
    }
  return { share: (rgb) => (found.get(packed(rgb)) ?? 0) / Math.max(1, n), n, found };
}

const small = await open(make(4, 2, 50));
const calls = (await allEvents(small)).map(([c, i, rank]) => {
  const s = c.signature[i];
  const [start, end] = [c.start[i], c.start[i] + c.duration[i]];
  return { rank, start, end, class: c.signatures.class[s], op: small.meta.ops[c.signatures.op[s]] };
});

test('waiting is hatched inside of its call, for just as long, and what follows has the colour of the class', async () => {
  const call = calls.find((c) => c.rank === 0 && c.op === 'MPI_Waitall' && c.end - c.start > 300000);
  const air = (call.end - call.start) * 0.2;
  const picture = await drawn(small, camera(small, call.start - air, call.end + air));
  assert.equal(picture.detail, 'events');
  const px = (picture.camera.to - picture.camera.from) / picture.camera.width;
  const waitEnd = call.end - 20000; // all but the latency, says make_mpix.c
  const waits = colours(picture, 0, call.start + 2 * px, waitEnd - 2 * px);
  assert.ok(waits.share(WAITING_STYLE.color) + waits.share(PAPER) > 0.99, 'waiting');
  assert.ok(waits.share(PAPER) > 0.1 && waits.share(WAITING_STYLE.color) > 0.5, 'hatched');
  const rest = colours(picture, 0, waitEnd + 2 * px, call.end - 2 * px);
  assert.ok(
    rest.n > 0 && rest.share(WAITING_STYLE.color) === 0 && rest.share(CLASSES[2].color) > 0.5,
    'the rest of the call',
  );
  const before = colours(picture, 0, picture.camera.from, call.start - 8 * px);
  assert.equal(before.share(WAITING_STYLE.color), 0, 'before it');
});

test('a call that nobody came back from is drawn to the end of its rank, waiting if the analysis says so', async () => {
  const trace = await open(make(4, 2, 50));
  const from = trace.meta.runtime;
  const to = (trace.meta.runtime = 1.25 * from); // it went on, without a call that ended
  const call = { thread: 0, op: 'MPI_Recv', class: 1, site: -1, comm: -1, from, to, needs: 3 };
  trace.opens.set(0, [{ ...call, waits: true }]);
  trace.opens.set(1, [{ ...call, waits: false }]);
  const picture = await drawn(trace, camera(trace, 0.99 * from, to));
  assert.equal(picture.detail, 'events');
  const px = (to - picture.camera.from) / picture.camera.width;
  const [waits, stays, other] = [0, 1, 2].map((row) => colours(picture, row, from + 2 * px, to - 2 * px));
  assert.ok(waits.share(WAITING_STYLE.color) > 0.5, 'waits');
  assert.ok(stays.share(CLASSES[1].color) > 0.9, 'is in it');
  assert.equal(other.share(CLASSES[1].color), 0, 'another rank');
  const cam = picture.camera;
  const tip = underPointer(trace, cam, 0.9 * cam.width, cam.rows.pad + 3);
  assert.equal(tip.title, 'Rank 0 never comes back from MPI_Recv');
});

/** Two that wait for each other from 0.4 of the run on, one in a call until it is ended, five of which nothing is known. */
const hung = () =>
  openTotals(make(4, 2, 50), (runtime) => ({
    0: { from: 0.4 * runtime, to: runtime, waits: true, needs: 1 },
    1: { from: 0.4 * runtime, to: runtime, waits: true, needs: 0 },
    2: { from: 0.5 * runtime, to: 0.8 * runtime },
  }));

test('of a run of which only totals were recorded last calls are drawn; what is before is not known, not outside MPI', async () => {
  const trace = await hung();
  const { runtime } = trace.meta;
  const picture = await drawn(trace, camera(trace, 0, runtime));
  const at = (row, from, to) => colours(picture, row, (from + 0.01) * runtime, (to - 0.01) * runtime);
  const isUnknown = (x, what) => {
    assert.equal(x.share(IDLE) + x.share(WAITING_STYLE.color) + x.share(CLASSES[1].color), 0, what);
    assert.ok(x.found.size === 2, `${what}: hatched`);
  };
  isUnknown(at(0, 0, 0.4), 'before a call that waits');
  assert.ok(at(0, 0.4, 1).share(WAITING_STYLE.color) > 0.5, 'waits to the end');
  isUnknown(at(2, 0, 0.5), 'before a call that does not wait');
  assert.ok(at(2, 0.5, 0.8).share(CLASSES[1].color) > 0.9, 'is in it');
  assert.equal(at(2, 0.8, 1).share(IDLE) + at(2, 0.8, 1).share(CLASSES[1].color), 0, 'its record has ended');
  isUnknown(at(3, 0, 1), 'a rank without such a call');
  const tip = (x) => underPointer(trace, picture.camera, x * picture.camera.width, picture.camera.rows.pad + 3);
  assert.deepEqual(tip(0.2).rows, [['', 'not known: single calls were not recorded']]);
  assert.equal(tip(0.6).title, 'Rank 0 never comes back from MPI_Recv');
});

test('in a row of several ranks, too, what only totals tell is not time outside MPI; how many are in what is told', async () => {
  const trace = await hung();
  const { runtime } = trace.meta;
  const members = [[0, 1, 2, 3, 4, 5, 6, 7]];
  const picture = await drawn(trace, camera(trace, 0, runtime, { members, height: 60 }));
  assert.equal(colours(picture, 0, 0, runtime).share(IDLE), 0);
  const other = await drawn(trace, { ...picture.camera, idle: [0, 1, 0] });
  assert.deepEqual(other.pixels, picture.pixels, 'nothing has the colour of time outside MPI, or a part of it');
  const tip = underPointer(trace, picture.camera, 0.6 * picture.camera.width, picture.camera.rows.pad + 3);
  assert.deepEqual(tip.rows, [
    ['wait in calls that ranks never came back from', '2'],
    ['are in calls that ranks never came back from', '1'],
    ['not known: single calls were not recorded', '5'],
  ]);
});

/** Rank 0 is recorded to the half of the run only, rank 1 as well, and hangs at the end; rank 2 is whole. */
const halfRecorded = async () => {
  const trace = await open(make(4, 2, 50));
  const { runtime } = trace.meta;
  trace.meta.runtime = 2 * runtime;
  recordTo(trace, 0.5 * runtime, [0, 1]);
  const call = { thread: 0, op: 'MPI_Recv', class: 1, site: -1, comm: -1, waits: true, needs: 3 };
  trace.opens.set(1, [{ ...call, from: 1.6 * runtime, to: 2 * runtime }]);
  return { trace, runtime };
};

/** Whether a row has time outside MPI between two moments: the same picture with another colour for that differs there. */
async function idleIn(picture, draw) {
  const other = await draw({ ...picture.camera, idle: [0, 1, 0] });
  const found = (of, row, from, to) => colours(of, row, from, to).found;
  return (row, from, to) => !isDeepStrictEqual(found(picture, row, from, to), found(other, row, from, to));
}

test('from where single calls stopped being recorded to the call at the end, or of the run, it is not known', async () => {
  const { trace, runtime } = await halfRecorded();
  const picture = await drawn(trace, camera(trace, 0.4 * runtime, 2 * runtime));
  assert.equal(picture.detail, 'events');
  const isIdle = await idleIn(picture, (cam) => drawn(trace, cam));
  const at = (row, from, to) => colours(picture, row, from * runtime, to * runtime);
  const idle = [0, 1, 2].map((row) => [0.41, 0.51].map((from) => isIdle(row, from * runtime, (from + 0.08) * runtime)));
  assert.deepEqual(
    idle,
    [
      [true, false],
      [true, false],
      [true, true],
    ],
    'outside MPI before, then not known',
  );
  const tint = (row, from, to) => Math.max(...at(row, from, to).found.values()) / at(row, from, to).n;
  assert.deepEqual([...at(0, 1.1, 1.9).found.keys()].sort(), [...at(1, 1.1, 1.55).found.keys()].sort(), 'one hatch');
  assert.notDeepEqual([...at(0, 1.1, 1.9).found.keys()], [...at(2, 1.1, 1.9).found.keys()], 'not the end of a record');
  assert.ok(at(0, 1.1, 1.9).found.size === 2 && tint(0, 1.1, 1.9) > 0.5, 'hatched');
  assert.ok(at(1, 1.65, 1.95).share(WAITING_STYLE.color) > 0.5, 'waits to the end');
});

test('of several threads only those are not known of which single calls are missing, also under the pointer', async () => {
  const trace = await open(makeOdd(1));
  const { firstLane, ranks, runtime: last } = trace.meta;
  const runtime = (trace.meta.runtime = 1.2 * last);
  const rank = [...Array(ranks).keys()].find((r) => firstLane[r + 1] - firstLane[r] === 2);
  trace.recordedUntil[rank] = 0; // the earliest of its threads
  trace.laneRecordedUntil[firstLane[rank] + 1] = 0;
  const cam = camera(trace, 0, runtime, { height: 60 * ranks });
  const picture = await drawn(trace, cam);
  assert.equal(picture.detail, 'events');
  const other = await drawn(trace, { ...cam, idle: [0, 1, 0] });
  const { rows } = cam;
  const top = Math.round((rank - rows.first) * rows.height + rows.pad);
  const half = Math.round(rows.bar / 2);
  /** Pixels of a thread that are time outside MPI, or a part of it. */
  const idle = (thread) => {
    let n = 0;
    for (let y = top + thread * half + 2; y < top + (thread + 1) * half - 3; y++)
      for (let x = 0; x < picture.width; x++)
        n += Number(picture.pixels[y * picture.width + x] !== other.pixels[y * picture.width + x]);
    return n;
  };
  assert.ok(idle(0) > 100, `${idle(0)} pixels of the first thread`);
  assert.equal(idle(1), 0, 'of the second it is not known');
  const call = {
    op: 'MPI_Recv',
    class: 1,
    site: -1,
    comm: -1,
    waits: false,
    needs: -1,
    from: 1.1 * last,
    to: runtime,
  };
  trace.opens.set(rank, [{ ...call, thread: 1, needs: 0, waits: true }]);
  const under = (thread, x) => underPointer(trace, cam, x * cam.width, top + thread * half + 5)?.title ?? '';
  assert.deepEqual(
    [under(0, 0.96), under(1, 0.96)].map((title) => /never comes back/.test(title)),
    [false, true],
  );
  const { ref } = underPointer(trace, cam, 0.96 * cam.width, top + half + 5);
  const picked = await QUERIES.thing.run(trace, ref, signal);
  assert.deepEqual([picked.rank, picked.thread, picked.op, picked.open], [rank, 1, 'MPI_Recv', { needs: 0 }]);
  const unknown = (thread) =>
    Array.from({ length: 200 }, (_, k) =>
      underPointer(trace, cam, (k / 200) * cam.width, top + thread * half + 5),
    ).some((x) => x?.rows?.[0]?.[1] === 'not known: single calls were not recorded');
  assert.deepEqual([unknown(0), unknown(1)], [false, true], 'in words');
});

test('where tiles are drawn it is not known from the same moment on', async () => {
  const trace = await open(make(16, 16, 60));
  const { runtime } = trace.meta;
  recordTo(trace, 0.5 * runtime, [0]);
  const cam = camera(trace, 0, runtime, { height: 1280 });
  const ofTiles = async (camera) => {
    const said = [];
    const fresh = await open(make(16, 16, 60));
    recordTo(fresh, trace.recordedUntil[0], [0]);
    await QUERIES.picture.run(fresh, camera, signal, (part) => said.push(part));
    return said[0];
  };
  const picture = await ofTiles(cam);
  assert.deepEqual([picture.detail, picture.rough], ['summary', true]);
  const isIdle = await idleIn(picture, ofTiles);
  const idle = [0, 1].map((row) => [0.1, 0.51].map((from) => isIdle(row, from * runtime, (from + 0.4) * runtime)));
  assert.deepEqual(idle, [
    [true, false],
    [true, true],
  ]);
});

test('of a rank, and of a row of several, it is said that single calls are missing', async () => {
  const { trace, runtime } = await halfRecorded();
  const picture = await drawn(trace, camera(trace, 0.48 * runtime, 2 * runtime));
  const tip = (c, time) =>
    underPointer(trace, c, ((time * runtime - c.from) / (c.to - c.from)) * c.width, c.rows.pad + 3);
  assert.deepEqual(tip(picture.camera, 1.3).rows, [['', 'not known: single calls were not recorded']]);
  const row = await drawn(trace, camera(trace, 0, 2 * runtime, { members: [[0, 1, 2, 3, 4, 5, 6, 7]], height: 60 }));
  assert.deepEqual(tip(row.camera, 1.7).rows, [
    ['wait in calls that ranks never came back from', '1'],
    ['not known: single calls were not recorded', '1'],
    ['recorded', '6'],
  ]);
});

test('a filter hides a call that nobody came back from, or shows it, by what is known of it', async () => {
  const trace = await hung();
  const { runtime } = trace.meta;
  const share = async (filter, color) => {
    const picture = await drawn(trace, camera(trace, 0, runtime, { filter: { ...NO_FILTER, ...filter } }));
    return colours(picture, 0, 0.5 * runtime, 0.9 * runtime).share(color);
  };
  for (const filter of [{ ops: ['MPI_Send'] }, { classes: [2] }, { ranks: [1] }, { minBytes: 1 }, { maxNs: 1 }]) {
    assert.equal(await share(filter, WAITING_STYLE.color), 0, JSON.stringify(filter));
    assert.equal(await share(filter, IDLE), 0, 'hidden, not outside MPI');
  }
  for (const filter of [{ ops: ['MPI_Recv'] }, { waits: true }, { ranks: [0] }, { minNs: 1000 }])
    assert.ok((await share(filter, WAITING_STYLE.color)) > 0.5, JSON.stringify(filter));
});

test('the whole run in one line has calls that nobody came back from', async () => {
  const trace = await hung();
  const { bins } = trace.meta;
  const shares = await overview(trace);
  const at = (x) => shares[Math.floor(x * bins)];
  assert.deepEqual(
    [0.2, 0.45, 0.7, 0.95].map((x) => Math.round(8 * at(x))),
    [0, 2, 3, 2],
  );
});

test('the colour of waiting is that of no class', () => {
  for (const c of CLASSES) assert.ok(Math.hypot(...c.color.map((x, k) => x - WAITING_STYLE.color[k])) > 0.3, c.name);
});

test('what is not read yet is drawn as such, not as time outside MPI', async () => {
  const trace = await open(make(4, 2, 50));
  const { runtime } = trace.meta;
  const cam = camera(trace, 0, runtime);
  const before = new Drawing(trace, cam);
  assert.ok(before.missing() > 0);
  const empty = colours(before.draw(), 3, 0.1 * runtime, 0.9 * runtime);
  assert.equal(empty.share(IDLE), 0);
  assert.ok(empty.found.size >= 2, 'a texture');
  const whole = colours(await drawn(trace, cam), 7, 0.1 * runtime, 0.9 * runtime);
  assert.ok(whole.share(IDLE) > 0.5);
});

test('a damaged chunk is drawn as such where it would be, and said', async () => {
  const path = make(16, 8, 40);
  const bytes = Uint8Array.from(readFileSync(path));
  const good = await open(path);
  const chunk = entries(good, Kind.Events).find((e) => e.group === 1);
  bytes[chunk.offset + 30] ^= 0xff;
  const trace = await openBytes(bytes);
  const mid = (chunk.start + chunk.end) / 2;
  const cam = camera(trace, mid - 2e6, mid + 2e6, { height: 1280 });
  const picture = await drawn(trace, cam);
  assert.equal(picture.missing, 0);
  assert.match(picture.damaged[0], /^The chunk EVENTS 1\.\d+ at offset/);
  const { groupRanks } = trace.meta;
  const at = (row) => colours(picture, row, mid - 1e6, mid + 1e6);
  const red = packed([0.75, 0.15, 0.15]);
  assert.ok(at(groupRanks).found.get(red) > 0 && at(groupRanks).share(IDLE) === 0);
  assert.equal(at(0).found.get(red), undefined);
});

test('while many calls are read, tiles stand for them', async () => {
  const trace = await open(make(16, 16, 60));
  const { runtime } = trace.meta;
  const said = [];
  const cam = camera(trace, 0.3 * runtime, 0.4 * runtime, { height: 1280 });
  const last = await QUERIES.picture.run(trace, cam, signal, (part) => said.push(part));
  assert.ok(said[0].rough && said[0].missing > 0 && said[0].detail === 'summary', 'a picture before the calls');
  const at = (p) => colours(p, 200, 0.3 * runtime, 0.4 * runtime).share(IDLE);
  assert.ok(at(said[0]) > 0.5 && at(last) > 0.5, `${at(said[0])}, ${at(last)} outside MPI`); // 0 where nothing is loaded
  assert.deepEqual([last.rough, last.missing, last.detail], [false, 0, 'events']);
});

test('behind the last call of a rank, and of ranks without a record, there is no time outside MPI', async () => {
  const trace = await open(make(4, 2, 50));
  await findEnds(trace);
  const { runtime } = trace.meta;
  const end = Math.max(...calls.filter((c) => c.rank === 0).map((c) => c.end));
  const picture = await drawn(trace, camera(trace, runtime - 4e6, runtime + 1e5));
  const px = (picture.camera.to - picture.camera.from) / picture.camera.width;
  assert.ok(end <= runtime);
  const behind = colours(picture, 0, end + 3 * px, runtime - px);
  if (behind.n > 0) assert.equal(behind.share(IDLE), 0);
});

test('the first complete picture knows where records end; a damaged tile of those that say so does not keep it', async () => {
  const bytes = readFileSync(make(4, 2, 50));
  const first = (await openBytes(bytes)).kind(Kind.Summary).find((e) => e.level === 0 && e.rankLevel === 0);
  const bad = Buffer.from(bytes);
  bad[first.offset + first.packedBytes - 1] ^= 0xff;
  for (const trace of [await openBytes(bytes), await openBytes(bad)]) {
    for (const x of trace.analysis.per_rank) if (x.rank === 5) x.state = 'missing';
    const { runtime } = trace.meta;
    const said = [];
    const picture = await QUERIES.picture.run(trace, camera(trace, 0, runtime), signal, (part) => said.push(part));
    for (const part of said) assert.ok(part.events > 0, 'a picture of nothing but what is not loaded');
    assert.equal(picture.events, calls.length);
    const missing = colours(picture, 5, 0.3 * runtime, 0.6 * runtime);
    assert.ok(missing.n > 0);
    assert.equal(missing.share(IDLE), 0);
  }
});

test('a filter hides calls without making them time outside MPI', async () => {
  const filter = { ...NO_FILTER, ops: ['MPI_Allreduce'] };
  const call = calls.find((c) => c.rank === 0 && c.op === 'MPI_Waitall' && c.end - c.start > 300000);
  const cam = camera(small, call.start, call.end, { filter });
  const hidden = colours(await drawn(small, cam), 0, call.start, call.end);
  assert.equal(hidden.share(IDLE) + hidden.share(WAITING_STYLE.color) + hidden.share(CLASSES[2].color), 0);
});

test('folded rows show the mean of their ranks, sorted rows each its own', async () => {
  const { runtime } = small.meta;
  const init = calls.find((c) => c.op === 'MPI_Init');
  const folded = await drawn(
    small,
    camera(small, 0, runtime, {
      members: [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
      ],
    }),
  );
  assert.ok(colours(folded, 1, init.start + 1e5, init.end - 1e6).share(CLASSES[7].color) > 0.5);
  const straight = await drawn(small, camera(small, 0, runtime));
  const sorted = await drawn(small, camera(small, 0, runtime, { members: [7, 6, 5, 4, 3, 2, 1, 0].map((r) => [r]) }));
  const of = (picture, row) => colours(picture, row, 0, runtime).share(IDLE).toFixed(2);
  for (let rank = 0; rank < 8; rank++) assert.equal(of(sorted, 7 - rank), of(straight, rank));
});

/** Time outside MPI of a rank between two moments, of the calls. */
function outside(rank, from, to) {
  const inside = calls
    .filter((c) => c.rank === rank)
    .reduce((sum, c) => sum + Math.max(0, Math.min(to, c.end) - Math.max(from, c.start)), 0);
  return 1 - inside / (to - from);
}

/** What the tooltip says of a folded row of all ranks, and how it is drawn. */
async function folded(members, from, to, height) {
  const cam = camera(small, from, to, { members, height });
  const picture = await drawn(small, cam);
  const x = cam.width / 2;
  const tip = underPointer(small, cam, x, cam.rows.pad + cam.rows.bar / 2);
  const at = from + (x / cam.width) * (to - from);
  const reach = (4 * (to - from)) / cam.width;
  return { picture, cam, rows: new Map(tip.rows), span: [at - reach, at + reach] };
}

test('of folded ranks the mean is told, who was least and who was most outside MPI, and who waited most', async () => {
  const ranks = [0, 1, 2, 3, 4, 5, 6, 7];
  const { rows, span } = await folded([ranks], 5e6, 8e6, 60);
  const shares = ranks.map((rank) => outside(rank, ...span));
  assert.ok(Math.max(...shares) - Math.min(...shares) > 0.5, `they differ: ${shares}`);
  const told = (name) => /^rank (\d+), ([\d.]+)\s%$/.exec(rows.get(name));
  const near = (text, want) => Math.abs(Number(text) / 100 - want) < 0.006;
  for (const [name, want] of [
    ['most outside MPI', Math.max(...shares)],
    ['least outside MPI', Math.min(...shares)],
  ]) {
    const [, rank, share] = told(name);
    assert.ok(Math.abs(shares[rank] - want) < 1e-9 && near(share, want), `${name}: ${rows.get(name)}, want ${want}`);
  }
  const mean = shares.reduce((a, b) => a + b) / 8;
  assert.ok(near(rows.get('mean, outside MPI').replace(/\s%/, ''), mean), rows.get('mean, outside MPI'));
  assert.match(rows.get('waits most'), /^rank \d, [\d.]+\s%$/);
});

test('messages between ranks of one folded row are not drawn over it, those between rows are', async () => {
  const lines = async (members) =>
    (await drawn(small, camera(small, 5e6, 25e6, { members, showMessages: true }))).lines;
  const straight = await lines(null);
  const halves = await lines([
    [0, 1, 2, 3],
    [4, 5, 6, 7],
  ]);
  assert.equal(await lines([[0, 1, 2, 3, 4, 5, 6, 7]]), 0);
  assert.ok(halves > 0 && halves < straight, `${halves} of ${straight}`);
});

test('below the mean of folded ranks stands the one that waited most, as it is drawn alone', async () => {
  const [from, to] = [5e6, 9e6];
  const { picture, cam } = await folded([[0, 1, 2, 3, 4, 5, 6, 7]], from, to, 60);
  const waited = (p, y) => {
    const line = p.pixels.subarray(y * p.width, (y + 1) * p.width);
    return line.reduce((n, v) => n + Number(v === packed(WAITING_STYLE.color)), 0);
  };
  const alone = await drawn(small, camera(small, from, to, { height: 800 }));
  const most = Math.max(
    ...[0, 1, 2, 3, 4, 5, 6, 7].map((row) => {
      const y = Math.round(row * alone.camera.rows.height + alone.camera.rows.pad + alone.camera.rows.bar / 2);
      return waited(alone, y) + waited(alone, y + 1) + waited(alone, y + 2);
    }),
  );
  const bottom = Math.round(cam.rows.pad + cam.rows.bar) - 4;
  const below = waited(picture, bottom) + waited(picture, bottom + 1) + waited(picture, bottom + 2);
  assert.ok(most > 30 && Math.abs(below - most) < 0.15 * most, `${below} pixels of waiting, alone ${most}`);
});

test('in between summary and single calls no bin is wider than two pixels where calls can be read', async () => {
  const trace = await open(make(32, 32, 12));
  for (const share of [1, 0.3, 0.1, 0.01, 0.001]) {
    const from = 0.4 * trace.meta.runtime;
    const cam = camera(trace, from, Math.min(trace.meta.runtime, from + share * trace.meta.runtime), { height: 700 });
    const drawing = new Drawing(trace, cam);
    await drawing.load(signal);
    assert.equal(drawing.draw().detail, 'events', `${share}`);
  }
});

// ---- messages ----

test('every message of a small trace is drawn, and of many the largest of each place', async () => {
  const { runtime } = small.meta;
  const all = await drawn(small, camera(small, 0, runtime, { showMessages: true, width: 1300, height: 700 }));
  assert.deepEqual([all.lines, all.messages, all.messageDetail], [1600, 1600, 'all']);
  const narrow = await drawn(small, camera(small, 0, runtime, { showMessages: true, width: 300, height: 200 }));
  assert.ok(narrow.lines < 1600 && narrow.lines > 50);
});

test('a line has its pixels, in its colour, as strong as it is wide', () => {
  const lines = new Lines(100, 50);
  lines.line(10, 5, 90, 45, 3, [1, 0, 0]);
  const pixels = new Uint32Array(100 * 50).fill(packed([1, 1, 1]));
  lines.over(pixels);
  const at = (x, y) => pixels[y * 100 + x];
  assert.ok((at(50, 25) & 255) > 240 && ((at(50, 25) >>> 8) & 255) < 60);
  assert.equal(at(50, 5), packed([1, 1, 1]));
});

test('however many lines there are, what is below still shows', () => {
  const lines = new Lines(60, 60);
  for (let i = 0; i < 4000; i++) lines.line(i % 60, 0, (i * 7) % 60, 60, 2, [0, 0, 0]);
  const [a, b] = [PAPER, [0.8, 0.3, 0]].map((below) => {
    const pixels = new Uint32Array(3600).fill(packed(below));
    lines.over(pixels);
    return pixels;
  });
  const differ = a.filter((p, i) => Math.abs((p & 0xff00) - (b[i] & 0xff00)) > 0x2000).length;
  assert.ok(differ > 3000, `${differ} pixels tell the bars below apart`);
});

test('widths grow with the logarithm, or in proportion', () => {
  assert.ok(widthOf(65536, 4096, 'log') > widthOf(8192, 4096, 'log') && widthOf(8, 4096, 'log') >= 0.5);
  assert.equal(widthOf(8192, 4096, 'linear'), 2);
  for (const scale of ['log', 'linear']) assert.ok(widthOf(1e15, 1, scale) <= 24);
});

// ---- shares ----

test('shares of a pixel add up, and are moved without loss', () => {
  const s = new Shares(10);
  s.clear();
  s.add(2, 1.25, 4.5, 1);
  s.add(2, 1.25, 3, -1);
  s.add(WAITING, 1.25, 3, 1);
  const at = (plane, x) => s.share[plane * 10 + x];
  assert.deepEqual([at(2, 1), at(WAITING, 1), at(2, 3), at(2, 4), at(WAITING, 3)], [0, 0.75, 1, 0.5, 0]);
  s.mark(Known.Loading, 5.4, 8.4);
  assert.deepEqual([...s.known.slice(4, 9)], [0, Known.Loading, Known.Loading, Known.Loading, 0]);
});

// ---- threads ----

const skip = flavour ? false : 'no MPI here';
test(
  'of several threads each has a lane of its own, and the pointer finds the thread of the lane',
  { skip },
  async () => {
    const trace = await open(record('multiple', 'workers'));
    assert.ok(trace.meta.threads > 1);
    const rank = 0;
    const lanes = trace.meta.firstLane[rank + 1] - trace.meta.firstLane[rank];
    const cam = camera(trace, 0, trace.meta.runtime, { height: 640, rows: { rowHeight: 150 } });
    await drawn(trace, cam);
    const seen = new Set();
    const of = (await allEvents(trace)).filter(([, , r]) => r === rank);
    for (const [chunk, i, , segment] of of) {
      const middle = chunk.start[i] + chunk.duration[i] / 2;
      const at = { ...cam, from: chunk.start[i] - 100, to: chunk.start[i] + chunk.duration[i] + 100 };
      const x = ((middle - at.from) / (at.to - at.from)) * at.width;
      const y = cam.rows.pad + ((segment.thread + 0.5) / lanes) * cam.rows.bar;
      await drawn(trace, at);
      const under = underPointer(trace, at, x, y);
      assert.equal(under?.thread, segment.thread);
      seen.add(segment.thread);
      if (seen.size === lanes) break;
    }
    assert.equal(seen.size, lanes);
  },
);
