// spacetime.test.mjs - events and epochs of the space-time view have the numbers that the C side gives them; an oracle that tries all cuts
// finds the same epochs; a part of a run says the same of its events as the whole.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { diagramOf, levelsOf, namedBands } from '../../reports/viewer/src/layout/spacetime.ts';
import {
  acrossOf,
  alongOf,
  frameOf,
  placeAt,
  point,
  spreadAbout,
  zoomAbout,
  zoomInto,
} from '../../reports/viewer/src/layout/spacetime_frame.ts';
import { superInWords } from '../../reports/viewer/src/layout/spacetime_words.ts';
import { EpochStream } from '../../reports/viewer/src/model/epochs.ts';
import { SECTION_MAX } from '../../reports/viewer/src/model/section.ts';
import { mergeEpochs, needsOf } from '../../reports/viewer/src/model/super_epochs.ts';
import { Pass, passOf, sectionOf } from '../../reports/viewer/src/work/section.ts';
import { flavour, make, makeOdd, open, random, record, show } from './support.mjs';

const { signal } = new AbortController();
const { MPITRACE, WORK } = process.env;
const nobody = () => undefined;
const PROGRAMS = 10_000; // that the oracle tries

const section = (trace, from = 0, to = Infinity, most = SECTION_MAX) =>
  sectionOf(trace, { from, to, most }, signal, nobody);

/** An .mpix of MPROV's log. */
function imported(name, log) {
  const [from, to] = [join(WORK, `${name}.log`), join(WORK, `${name}.mpix`)];
  writeFileSync(from, log);
  execFileSync(MPITRACE, ['import', '--from', 'mprov', from, '-o', to], { stdio: 'pipe' });
  return to;
}

/** A log of MPROV: messages of any order, several in flight; its times are steps of one clock, so that many are the same. */
function randomLog(seed) {
  const pick = random(seed);
  const ranks = 2 + pick(4);
  const number = Array(ranks).fill(0);
  const flying = [];
  const lines = [];
  const put = (rank, kind, other) => lines.push(`${rank}:E=${number[rank]++}:${kind}:${other}:${1 + pick(9)};`);
  for (let n = 60; n > 0 || flying.length > 0; n--) {
    if (n > 0 && flying.length < 6 && pick(2) === 0) {
      const [src, dst] = [pick(ranks), pick(ranks)];
      if (src === dst) continue;
      put(src, 'S', dst);
      flying.push([src, dst]);
    } else if (flying.length > 0) {
      const at = pick(flying.length);
      const [src, dst] = flying[at];
      const first = flying.findIndex((x) => x[0] === src && x[1] === dst); // they do not overtake
      flying.splice(first, 1);
      put(dst, 'R', src);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Epochs as spans of events: { number: { rank: [first, last] } }. */
function spansOf(s) {
  const { events, epochs } = s;
  const found = {};
  for (let i = 0; i < events.count; i++) {
    const { number } = epochs[events.epoch[i]];
    const span = ((found[number] ??= {})[events.rank[i]] ??= [events.number[i], events.number[i]]);
    span[1] = events.number[i];
  }
  return found;
}

/** The same as `show --epochs --json` lists them. */
function spansShown(path) {
  const { epochs } = show(path, '--epochs');
  assert.equal(epochs.omitted, 0, 'all are listed');
  return Object.fromEntries(
    epochs.list.map((x) => [x.epoch, Object.fromEntries(x.events.map((e) => [e.rank, [e.first, e.last]]))]),
  );
}

async function same(path) {
  const s = await section(await open(path));
  assert.deepEqual(spansOf(s), spansShown(path));
  return s;
}

// ---- the decomposition ----

/** What happens, in an order in which it can: [rank, thing], thing a message or a collective; and the things of each rank. */
function program(seed) {
  const pick = random(seed);
  const ranks = 2 + pick(3);
  const steps = [];
  const ends = [];
  const flying = [];
  const room = () =>
    Array.from({ length: ranks }, (_, r) => r).every((r) => steps.filter((s) => s[0] === r).length < 7);
  for (let n = 4 + pick(10); (n > 0 && room()) || flying.length > 0; n--) {
    const what = n > 0 && room() ? pick(10) : 9;
    if (what < 5) {
      const message = ends.push(2) - 1;
      steps.push([pick(ranks), message]);
      flying.push([pick(ranks), message]);
    } else if (what === 5) {
      const all = ends.push(ranks) - 1;
      for (let r = 0; r < ranks; r++) steps.push([r, all]);
    } else if (flying.length > 0) steps.push(flying.splice(pick(flying.length), 1)[0]);
  }
  return { ranks, steps, ends };
}

/** Two events are of one epoch if no cut, a prefix of each rank with all of each thing in it, divides them. */
function oracle({ ranks, steps }) {
  const lists = Array.from({ length: ranks }, (_, r) => steps.filter((s) => s[0] === r).map((s) => s[1]));
  const together = steps.map(() => steps.map(() => true));
  const number = [];
  const counted = lists.map(() => 0);
  for (const [rank] of steps) number.push(counted[rank]++);
  const cut = lists.map(() => 0);
  const visit = (r) => {
    if (r < ranks) {
      for (cut[r] = 0; cut[r] <= lists[r].length; cut[r]++) visit(r + 1);
      return;
    }
    const isInside = (i) => number[i] < cut[steps[i][0]];
    const things = new Map();
    for (let i = 0; i < steps.length; i++) {
      const before = things.get(steps[i][1]);
      if (before !== undefined && before !== isInside(i)) return;
      things.set(steps[i][1], isInside(i));
    }
    for (let i = 0; i < steps.length; i++)
      for (let k = 0; k < steps.length; k++) if (isInside(i) !== isInside(k)) together[i][k] = false;
  };
  visit(0);
  return { together, number };
}

/** Epoch of each step; the run goes on from a copy in the middle. */
function decomposed({ ranks, steps, ends }, batch) {
  const found = new Map();
  const take = (epoch, spans) => {
    for (const { rank, first, last } of spans) for (let n = first; n <= last; n++) found.set(`${rank} ${n}`, epoch);
  };
  let x = new EpochStream(ranks, take, batch);
  steps.forEach(([rank, thing], i) => {
    if (i === Math.floor(steps.length / 2)) x = x.copy(take);
    if (!x.pending.has(thing) && x.isDue) x.look();
    const p = x.pending.get(thing) ?? { node: x.add(ends[thing]), left: ends[thing] };
    x.enter(p.node, rank);
    if (--p.left === 0) x.pending.delete(thing);
    else x.pending.set(thing, p);
  });
  x.finish(true);
  return found;
}

test('epochs of 10,000 random programs are those of an oracle that tries all cuts, however many events are gathered, and copied on the way', () => {
  let divided = 0;
  for (let seed = 1; seed <= PROGRAMS; seed++) {
    const p = program(seed);
    const { together, number } = oracle(p);
    for (const batch of [1, 3, 1000]) {
      const found = decomposed(p, batch);
      const of = (i) => found.get(`${p.steps[i][0]} ${number[i]}`);
      for (let i = 0; i < p.steps.length; i++)
        for (let k = 0; k < p.steps.length; k++) {
          assert.equal(of(i) === of(k), together[i][k], `seed ${seed}, batch ${batch}: ${i} and ${k}`);
          divided += Number(!together[i][k]);
          if (p.steps[i][0] === p.steps[k][0] && number[i] < number[k]) assert.ok(of(i) <= of(k), 'in order');
        }
    }
  }
  assert.ok(divided > 25 * PROGRAMS, 'and there are several');
});

// ---- traces ----

test("the thesis's example has two epochs, and its events their numbers", async () => {
  const s = await same(imported('thesis', '0:E=0:S:1:1; 1:E=0:R:0:1; 1:E=1:R:2:2; 2:E=0:S:1:2;\n'));
  assert.deepEqual(spansOf(s), { 1: { 0: [0, 0], 1: [0, 0] }, 2: { 1: [1, 1], 2: [0, 0] } });
  const { src, dst, sendNumber, receiveNumber } = s.messages;
  const rows = [...src.keys()].map((m) => [src[m], sendNumber[m], dst[m], receiveNumber[m]]);
  assert.deepEqual(rows.sort(), [
    [0, 0, 1, 0],
    [2, 0, 1, 1],
  ]);
});

test('a halo exchange has the epochs that `mpitrace show --epochs` lists', async () => {
  const s = await same(make(4, 4, 30));
  assert.ok(s.epochs.length > 30 && s.collectives.length > 3);
  await same(make(2, 2, 40));
});

test('so has whatever the format can hold', async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const path = makeOdd(seed);
    let shown;
    try {
      shown = spansShown(path);
    } catch {
      continue; // the C side refuses it
    }
    assert.deepEqual(spansOf(await section(await open(path))), shown, `seed ${seed}`);
  }
});

test('so have recorded programs', { skip: !flavour }, async () => {
  for (const words of [
    ['ring', '7'],
    ['star', '5', 'barrier'],
    ['pairs', '9'],
  ])
    await same(record('protocol', ...words));
});

test('events have the numbers that `mpitrace check` prints', async () => {
  const path = make(3, 2, 12);
  const rules = join(WORK, 'all.rules');
  writeFileSync(rules, 'P(*,*) -> P(*,*);\n');
  const text = execFileSync(MPITRACE, ['check', path, '--protocol', rules, '--json'], { maxBuffer: 1 << 28 });
  const { messages } = await section(await open(path));
  const { src, dst, sendNumber, receiveNumber } = messages;
  const got = [...src.keys()].map((m) => [src[m], sendNumber[m], dst[m], receiveNumber[m]].join(' ')).sort();
  const shown = JSON.parse(text).results;
  assert.equal(got.length, shown.length);
  const ends = shown.map((x) => [x.src, x.send_event, x.dst, x.recv_event].join(' '));
  assert.deepEqual(got, ends.sort());
});

test('a part of a run says of its events what the whole says, keyframes or not', async () => {
  const trace = await open(make(6, 6, 480));
  const whole = await section(trace, 0, Infinity, 1 << 30);
  assert.ok(whole.events.count > 2 * 65536, 'several looks');
  const name = (s, i) => `${s.events.rank[i]} ${s.events.number[i]}`;
  const truth = new Map();
  for (let i = 0; i < whole.events.count; i++) truth.set(name(whole, i), whole.epochs[whole.events.epoch[i]].number);
  const { runtime } = trace.meta;
  await passOf(trace).reach(runtime, signal, nobody);
  for (const part of [0.1, 0.5, 0.93]) {
    const s = await section(trace, runtime * part, runtime * (part + 0.02));
    assert.ok(s.events.count > 500 && !s.cut);
    for (let i = 0; i < s.events.count; i++)
      assert.equal(s.epochs[s.events.epoch[i]].number, truth.get(name(s, i)), name(s, i));
    const { src, dst, sendNumber, receiveNumber } = s.messages;
    const halves = [...src.keys()].filter((m) => s.messages.send[m] < 0 || s.messages.receive[m] < 0);
    assert.ok(halves.length > 0, 'some messages reach out of it');
    for (const m of halves)
      assert.equal(truth.get(`${src[m]} ${sendNumber[m]}`), truth.get(`${dst[m]} ${receiveNumber[m]}`));
  }
  assert.ok(new Pass(trace).windows > 0);
});

test('a section ends where it has as many events as are wanted, and says so', async () => {
  const trace = await open(make(4, 4, 30));
  const s = await section(trace, 0, Infinity, 500);
  assert.equal(s.events.count, 500);
  assert.ok(s.cut && s.to < trace.meta.runtime);
  assert.ok(s.epochs.some((e) => !e.ends) && s.epochs.every((e) => e.begins));
});

// ---- buffers ----

test('buffers of epochs and super epochs are those that `mpitrace show --epochs --buffers` says', async () => {
  const budgets = [1, 2, 3, 5, 8, 40, 1000];
  const logs = Array.from({ length: 12 }, (_, seed) => imported(`random${seed}`, randomLog(seed + 1)));
  for (const path of [make(4, 4, 30), make(3, 2, 12), make(2, 2, 40), ...logs]) {
    const { epochs } = show(path, '--epochs', '--buffers', budgets.join(','));
    const s = await section(await open(path));
    const needs = needsOf(s);
    assert.equal(needs.length, epochs.list.length);
    epochs.list.forEach((x, i) => {
      const { total, receivers } = needs[i];
      assert.deepEqual([total.messages, total.bytes], [x.buffers.total, x.buffers.bytes], `epoch ${x.epoch}`);
      const shown = new Map(x.buffers.per_receiver.map((r) => [r.rank, [r.messages, r.bytes]]));
      for (const r of receivers)
        if (shown.has(r.rank)) assert.deepEqual([r.messages, r.bytes], shown.get(r.rank), `rank ${r.rank}`);
      assert.ok(needs[i].whole);
    });
    epochs.super.forEach((x) => {
      const merged = mergeEpochs(s, needs, x.budget);
      const runs = merged.runs.map((r) => [s.epochs[r.first].number, s.epochs[r.last].number]);
      assert.deepEqual([runs, merged.over], [x.runs, x.over], `budget ${x.budget}`);
    });
  }
});

test('the answer is a sentence: who needs how many buffers, and where', async () => {
  const s = await section(await open(make(2, 2, 40)));
  const needs = needsOf(s);
  const said = (budget) => superInWords(s, needs, mergeEpochs(s, needs, budget), budget);
  assert.match(
    said(4)[0],
    /^rank 0 needs 4 buffers of 64\.0 KiB in E1, all receivers of it together \d+; with 4 this program can deadlock$/,
  );
  assert.match(
    said(4)[1],
    /^with at most 4 buffers in all, 60 epochs merge into \d+ super epochs?; \d+ epochs alone need more$/,
  );
  assert.doesNotMatch(said(1000)[0], /deadlock/);
});

// ---- what goes where ----

const all = {
  ranks: null,
  others: false,
  hideOrphans: false,
  hideEmpty: false,
  epochs: null,
  numbers: null,
  passes: null,
  groupOf: null,
};
const only = (ranks, list) => Uint8Array.from({ length: ranks }, (_, r) => Number(list.includes(r)));

test('levels ascend on each rank and from a send to its receive; epochs have levels of their own on all their ranks', async () => {
  for (const path of [make(4, 4, 30), imported('cross', '0:E=0:S:1:1; 0:E=1:R:1:2; 1:E=0:S:0:3; 1:E=1:R:0:4;\n')]) {
    const s = await section(await open(path));
    const { of, first, last, count } = levelsOf(s);
    const { events, messages } = s;
    const before = new Map();
    for (let i = 0; i < events.count; i++) {
      const rank = events.rank[i];
      const epoch = events.epoch[i];
      if (before.has(rank)) assert.ok(of[i] > of[before.get(rank)], 'on a rank');
      before.set(rank, i);
      assert.ok(of[i] >= first[epoch] && of[i] <= last[epoch] && last[epoch] < count);
    }
    for (let k = 0; k < messages.count; k++) assert.ok(of[messages.receive[k]] > of[messages.send[k]], 'a message');
    const spans = new Map(); // by rank: where its last epoch ends
    s.epochs.forEach((_, e) => {
      for (let i = 0; i < events.count; i++)
        if (events.epoch[i] === e && spans.get(events.rank[i])?.epoch !== e) {
          assert.ok(!spans.has(events.rank[i]) || spans.get(events.rank[i]).last < first[e], 'bands do not overlap');
          spans.set(events.rank[i], { epoch: e, last: last[e] });
        }
    });
  }
});

test('a burst and a pause take the same room', async () => {
  const path = make(2, 2, 40);
  const s = await section(await open(path));
  const levels = levelsOf(s);
  const d = diagramOf(s, levels, 4, all, false);
  const slow = { ...s, events: { ...s.events, time: s.events.time.map((t) => t * t) } };
  assert.deepEqual(diagramOf(slow, levels, 4, all, false).level, d.level);
  const byTime = diagramOf(s, levels, 4, all, true);
  const { time, role, thing } = s.events;
  const at = [...time].map((t, i) => (role[i] === 1 ? s.messages.recvEnd[thing[i]] : t)); // where its message is there
  const [begin, end] = [time[0], Math.max(...at)];
  assert.deepEqual(byTime.clock, { begin, end });
  at.forEach((t, i) => {
    const exact = (t - begin) / (end - begin);
    assert.ok(Math.abs(byTime.level[i] / (byTime.levels - 1) - exact) < 1e-9, 'by time');
  });
});

test('filters: range, orphans, empty epochs, epochs, numbers, groups; what is filtered away is hidden or grey', async () => {
  const path = make(4, 4, 12); // a periodic grid: rank 0 has 1, 3, 4, 12 beside it
  const s = await section(await open(path));
  const levels = levelsOf(s);
  const draw = (choice) => diagramOf(s, levels, 16, { ...all, ...choice }, false);
  const whole = draw({});
  assert.deepEqual([whole.drawn, whole.orphans, whole.lines, whole.isFiltered], [s.events.count, 0, 16, false]);
  const two = draw({ ranks: only(16, [0, 1]) });
  const ofTwo = [...s.events.rank].filter((r) => r < 2).length;
  assert.deepEqual([two.lines, two.drawn], [2, ofTwo]);
  // of the four neighbours of each one is in the pair: three quarters of the messages reach out of it
  assert.equal(two.orphans, 2 * 12 * 6);
  assert.equal(draw({ ranks: only(16, [0, 1]), hideOrphans: true }).drawn, ofTwo - two.orphans);
  const grey = draw({ ranks: only(16, [0, 1]), others: true });
  assert.equal(grey.lines, 16);
  assert.equal(grey.seen.filter((x) => x === 1).length, s.events.count - ofTwo);
  const hidden = draw({ ranks: only(16, [0, 1]), hideEmpty: true });
  assert.ok(two.emptyEpochs > 0 && hidden.bands.length === two.bands.length - two.emptyEpochs);
  assert.ok(hidden.bands.every((b) => !b.empty));
  const [first, last] = [s.epochs[2].number, s.epochs[4].number];
  const some = draw({ epochs: [first, last], hideEmpty: true });
  assert.deepEqual(
    some.bands.map((b) => s.epochs[b.epoch].number),
    s.epochs.map((e) => e.number).filter((n) => n >= first && n <= last),
  );
  assert.ok(some.levels < whole.levels, 'what is empty takes no room');
  assert.equal(draw({ numbers: [3, 5] }).drawn, 16 * 3);
  assert.equal(draw({ passes: (k) => k === 0 }).drawn, 2);
  const groups = draw({ groupOf: Int32Array.from({ length: 16 }, (_, r) => r >> 3) });
  assert.deepEqual([groups.lines, groups.ranksOf[1].length], [2, 8]);
});

test('an epoch of few neighbours covers the lines of its ranks and no others', async () => {
  const s = await section(await open(imported('lines', '0:E=0:S:3:1; 3:E=0:R:0:1; 1:E=0:S:2:1; 2:E=0:R:1:1;\n')));
  const d = diagramOf(s, levelsOf(s), 4, all, false);
  const lines = d.bands.map((b) => b.runs.map((r) => [r.line, r.lastLine])).sort();
  assert.deepEqual(
    lines,
    [
      [
        [0, 0],
        [3, 3],
      ],
      [[1, 2]],
    ].sort(),
  );
  assert.equal(d.levels, 2, 'epochs that do not depend on each other share levels');
});

test('zoom keeps what is under the pointer where it is, an area fills the plot, and a point is found again', () => {
  const counts = { lines: 64, levels: 3000, digits: 2 };
  const margins = { left: 46, top: 30 };
  const frame = (z, upright) => frameOf({ width: 900, height: 700 }, margins, upright, counts, z);
  for (const upright of [true, false]) {
    let z = { zoom: 8, spread: 2, along: 0.5, across: 0.5 };
    const f = frame(z, upright);
    const spot = point(f, alongOf(f, 1500), acrossOf(f, 31));
    const at = placeAt(f, ...spot);
    assert.ok(Math.abs(at.level - 1500) < 1e-6 && Math.abs(at.line - 31) < 1e-6);
    z = spreadAbout(f, z, counts.lines, 31, 1.7);
    z = zoomAbout(frame(z, upright), z, counts.levels, 1500, 3);
    const after = frame(z, upright);
    const [x, y] = point(after, alongOf(after, 1500), acrossOf(after, 31));
    assert.ok(Math.hypot(x - spot[0], y - spot[1]) < 0.01, `${x} ${y} ${spot}`);
    const area = frame(zoomInto(f, z, counts, { level: 100, line: 2 }, { level: 400, line: 9 }), upright);
    assert.ok(alongOf(area, 100) < 120 && alongOf(area, 400) > area.length - 60, 'along');
  }
  assert.equal(frame({ zoom: 1e9, spread: 1, along: 0, across: 0 }, true).step, 56, 'no further than text is read');
});

test('it opens on numbers that do not meet, however long they are', () => {
  for (const digits of [1, 3, 5, 8])
    for (const upright of [true, false]) {
      const counts = { lines: 400, levels: 30000, digits };
      const margins = { left: 46, top: 30 };
      const f = frameOf({ width: 900, height: 700 }, margins, upright, counts, {
        zoom: 0,
        spread: 0,
        along: 0,
        across: 0,
      });
      const room = upright ? f.pitch - 2 * 4.2 - 6 : f.step - 4; // event to event: its radius is 4.2 at most
      assert.ok(room >= digits * 6, `${digits} digits, ${upright ? 'upright' : 'level'}: ${room}`);
    }
});

test('an epoch of which a filter leaves nothing has no name beside the band of another', () => {
  const band = (epoch, first, last, empty) => ({ epoch, first, last, empty, runs: [] });
  const bands = [
    band(0, 0, 3, false),
    band(4, 4, 8, true),
    band(8, 5, 9, false),
    band(9, 10, 12, true),
    band(10, 13, 13, false),
  ];
  assert.deepEqual(
    namedBands(bands).map((b) => b.epoch),
    [0, 8, 9, 10],
  );
  assert.deepEqual(namedBands([]), []);
});
