// layout.test.mjs - what goes where, without anything to draw on.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Kind } from '../../reports/viewer/src/decode/layout.ts';
import { rankColor, viridis } from '../../reports/viewer/src/layout/color.ts';
import {
  bytes,
  duration,
  exactMoment,
  moment,
  percent,
  plural,
  roundDuration,
} from '../../reports/viewer/src/layout/format.ts';
import { distanceTo, eventAt, messageAt, neighbourEvent } from '../../reports/viewer/src/layout/pick.ts';
import { planBars, planMessages, planSummary } from '../../reports/viewer/src/layout/plan.ts';
import { orderOf } from '../../reports/viewer/src/layout/order.ts';
import { rankRange, rowAt, rowOfRanks, rowsOf, visibleRows, yOf } from '../../reports/viewer/src/layout/rows.ts';
import { tickStep, ticks } from '../../reports/viewer/src/layout/ticks.ts';
import { entries, make, open } from './support.mjs';

// ---- what a picture needs ----

const big = await open(make(16, 16, 100));
const windows = [];
for (const share of [1, 0.3, 0.05, 0.004])
  for (const at of [0, 0.4, 0.95])
    for (const rowHeight of [0.5, 1.4, 20]) {
      const { runtime, ranks } = big.meta;
      const from = at * runtime;
      const lastRank = Math.min(ranks, Math.floor(700 / rowHeight)) - 1;
      windows.push({
        from,
        to: Math.min(runtime, from + share * runtime),
        width: 1200,
        firstRank: 0,
        lastRank,
        rowHeight,
      });
    }

test('no picture of a trace needs more than 24 summary tiles, nor 320 chunks of calls', () => {
  for (const w of windows) {
    const { detail, entries: chunks } = planBars(big, w);
    assert.ok(chunks.length <= (detail === 'events' ? 320 : 24), `${chunks.length} of ${detail}`);
  }
});

/** As large as a trace may be, with every tile there. */
const huge = {
  meta: { ranks: 16384, runtime: 1e12, rows: 64, bins: 256, rowFactor: 4, timeLevels: 9, rankLevels: 5 },
  tile: (kind, level, seq, rankLevel, group) => ({ kind, level, seq, rankLevel, group }),
  isThere: () => true,
};

test('of 16,384 ranks few summary tiles are needed, which cover interval and ranks', () => {
  const { ranks, runtime, rows, rowFactor, bins } = huge.meta;
  for (const share of [1, 0.3, 0.01])
    for (const at of [0, 0.37, 0.9])
      for (const rowHeight of [0.05, 0.4, 1.5, 24])
        for (const firstRank of [0, 1000]) {
          const from = at * runtime;
          const lastRank = Math.min(ranks, firstRank + Math.ceil(800 / rowHeight)) - 1;
          const w = {
            from,
            to: Math.min(runtime, from + share * runtime),
            width: 1600,
            firstRank,
            lastRank,
            rowHeight,
          };
          const tiles = planSummary(huge, w);
          assert.ok(tiles.length <= 64, `${tiles.length} tiles for ${JSON.stringify(w)}`);
          assert.equal(new Set(tiles.map((e) => `${e.level}.${e.rankLevel}`)).size, 1);
          for (const rank of [firstRank, lastRank])
            for (const time of [w.from, (w.from + w.to) / 2, w.to - 1]) {
              const has = (e) =>
                e.group === Math.floor(rank / (rows * rowFactor ** e.rankLevel)) &&
                e.seq === Math.floor((time / runtime) * 2 ** e.level);
              assert.ok(tiles.some(has), `rank ${rank} at ${time} of ${JSON.stringify(w)}`);
            }
          const pixels = (w.width * runtime) / 2 ** tiles[0].level / bins / (w.to - w.from);
          assert.ok(
            pixels < 2 || tiles[0].level === huge.meta.timeLevels - 1 || tiles.length > 8,
            `bins ${pixels} wide`,
          );
        }
});

test('the chunks of a picture cover its interval and its ranks', () => {
  const { runtime, rows, rowFactor, groupRanks } = big.meta;
  const details = new Set();
  for (const w of windows) {
    const { detail, entries: chunks } = planBars(big, w);
    details.add(detail);
    for (const rank of [w.firstRank, w.lastRank])
      for (const time of [w.from, (w.from + w.to) / 2, w.to - 1]) {
        const has = (e) =>
          detail === 'events'
            ? e.group === Math.floor(rank / groupRanks) && e.start <= time && e.end > time
            : e.group === Math.floor(rank / (rows * rowFactor ** e.rankLevel)) &&
              e.seq === Math.floor((time / runtime) * 2 ** e.level);
        assert.ok(chunks.some(has), `${detail}: rank ${rank} at ${time} of ${JSON.stringify(w)}`);
      }
  }
  assert.ok(details.has('events')); // that summaries cover theirs is said above
});

test('few messages are all drawn, of many the largest', () => {
  const { runtime } = big.meta;
  const whole = planMessages(big, { from: 0, to: runtime });
  assert.equal(whole.detail, 'largest');
  assert.ok(whole.entries.every((e) => e.kind === Kind.Top));
  assert.equal(Math.round(whole.total), big.meta.messages);
  const [first] = entries(big, Kind.Messages);
  const part = planMessages(big, { from: first.start, to: first.start + runtime / 1000 });
  assert.equal(part.detail, 'all');
});

// ---- rows ----

const state = (rowHeight, rowFirst) => ({ rowHeight, rowFirst });

test('a point in a row is of its rank, at any height and place of the rows', () => {
  for (const ranks of [1, 8, 1000])
    for (const height of [0, 5, 30])
      for (const first of [0, 2.5, 5000]) {
        const rows = rowsOf(state(height, first), ranks, 600);
        const shown = visibleRows(rows, 600);
        assert.ok(shown.first >= 0 && shown.last < ranks && shown.first <= shown.last);
        assert.ok(rows.bar + 2 * rows.pad <= rows.height + 1e-9);
        for (let rank = shown.first; rank <= shown.last; rank++)
          assert.equal(rowAt(rows, yOf(rows, rank) + rows.height / 2), rank);
      }
});

test('above the first and below the last rank there is none', () => {
  const rows = rowsOf(state(0, 0), 4, 600);
  assert.equal(rowAt(rows, -1), -1);
  assert.equal(rowAt(rows, yOf(rows, 4) + 1), -1);
});

// ---- what is under the pointer ----

const chunk = {
  segments: [
    { rank: 0, carried: false, first: 0, count: 3 },
    { rank: 1, carried: false, first: 3, count: 1 },
  ],
  start: Float64Array.of(100, 200, 300, 150),
  duration: Float64Array.of(50, 20, 100, 500),
};
const indexAt = (rank, time, reach) => eventAt([chunk], rank, time, reach)?.index ?? null;

test('the call at a moment is found, between two calls the nearer one, beyond reach none', () => {
  assert.deepEqual([indexAt(0, 120, 10), indexAt(0, 399, 10), indexAt(1, 399, 10)], [0, 2, 3]);
  assert.deepEqual([indexAt(0, 155, 10), indexAt(0, 195, 10)], [0, 1]);
  assert.deepEqual([indexAt(0, 175, 10), indexAt(0, 500, 10), indexAt(2, 120, 10)], [null, null, null]);
});

test('stepping visits every call of a rank in order, both ways', () => {
  const walk = (from, forward) => {
    const seen = [];
    for (
      let x = neighbourEvent([chunk], 0, from, forward);
      x;
      x = neighbourEvent([chunk], 0, chunk.start[x.index], forward)
    )
      seen.push(x.index);
    return seen;
  };
  assert.deepEqual(walk(-1, true), [0, 1, 2]);
  assert.deepEqual(walk(1e9, false), [2, 1, 0]);
});

test('the distance to a line is that to its nearest point', () => {
  const line = { x1: 0, y1: 0, x2: 10, y2: 0 };
  assert.deepEqual([distanceTo(line, 5, 3), distanceTo(line, -3, 4), distanceTo(line, 13, 4)], [3, 5, 5]);
  assert.equal(distanceTo({ x1: 1, y1: 1, x2: 1, y2: 1 }, 4, 5), 5);
});

test('of several messages the nearest within reach is picked', () => {
  const lines = [10, 13, 40].map((y) => ({ x1: 0, y1: y, x2: 100, y2: y }));
  const at = (y) => messageAt([{ count: 3 }], (_, i) => lines[i], 50, y, 5)?.index ?? null;
  assert.deepEqual([at(11), at(12), at(36), at(30)], [0, 1, 2, null]);
});

// ---- numbers ----

test('ticks are round, far enough apart, and inside', () => {
  for (const nsPerPixel of [0.01, 1, 37, 1e4, 8.2e6]) {
    const step = tickStep(nsPerPixel, 80);
    assert.ok(step / nsPerPixel >= 79.99 && step >= 1);
    assert.match(String(step), /^[125]0*$/);
    for (const t of ticks(3.5 * step, 9.2 * step, step)) assert.ok(t >= 3.5 * step && t <= 9.2 * step);
    assert.equal(ticks(3.5 * step, 9.2 * step, step).length, 6);
  }
});

test('numbers are written as people read them', () => {
  assert.deepEqual(
    [duration(999), duration(1500), duration(2.5e6), duration(1.5e9), duration(250e9)],
    ['999 ns', '1.50 µs', '2.50 ms', '1.50 s', '250 s'],
  );
  assert.deepEqual(
    [roundDuration(29349), roundDuration(720630), roundDuration(7.2e6), roundDuration(1.25e9)],
    ['29 µs', '720 µs', '7.2 ms', '1.3 s'],
  );
  assert.deepEqual([bytes(1023), bytes(1024), bytes(1536 * 1024)], ['1023 B', '1.00 KiB', '1.50 MiB']);
  assert.deepEqual([percent(undefined), percent(0), percent(0.001), percent(0.734)], ['–', '0 %', '< 1 %', '73 %']);
  assert.deepEqual([plural(1, 'rank'), plural(1234, 'rank')], ['1 rank', '1,234 ranks']);
  assert.equal(exactMoment(1234567891), '1.234567891 s');
});

test('moments one step apart never read the same', () => {
  for (const step of [1, 20, 500, 1e4, 2e6, 1e8])
    assert.notEqual(moment(1e9, step), moment(1e9 + step, step), `step ${step}`);
});

test('colours are colours, neighbouring ranks differ, viridis grows lighter', () => {
  for (const dark of [false, true])
    for (let rank = 0; rank < 500; rank++) {
      const [a, b] = [rankColor(rank, dark), rankColor(rank + 1, dark)];
      assert.ok(a.every((x) => x >= 0 && x <= 1));
      assert.ok(Math.hypot(...a.map((x, k) => x - b[k])) > 0.1, `ranks ${rank} and ${rank + 1}`);
    }
  const light = (x) => viridis(x).reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  for (let x = 0; x < 1; x += 0.05) assert.ok(light(x + 0.05) > light(x));
  assert.deepEqual(viridis(-1), viridis(0));
});
