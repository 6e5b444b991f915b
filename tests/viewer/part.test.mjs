// part.test.mjs - a part of a trace, as a report carries it: what is there is read as in the file, what is not is said, and no picture takes
// it for nothing.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { Damaged } from '../../reports/viewer/src/decode/damaged.ts';
import { Kind } from '../../reports/viewer/src/decode/layout.ts';
import { FileSource, PartSource, sourceOf } from '../../reports/viewer/src/io/source.ts';
import { planBars, planMessages } from '../../reports/viewer/src/layout/plan.ts';
import { NO_FILTER } from '../../reports/viewer/src/model/filter.ts';
import { Trace } from '../../reports/viewer/src/model/trace.ts';
import { logicalOf } from '../../reports/viewer/src/work/logical.ts';
import { entries, make } from './support.mjs';

const file = readFileSync(make(4, 2, 12000));
const whole = await Trace.open(new FileSource(new Blob([file]), 'all.mpix'));

/** The file without the bytes of these entries. */
function without(list) {
  const holes = list.map((e) => [e.offset, e.packedBytes]).sort((a, b) => a[0] - b[0]);
  const ranges = [];
  let at = 0;
  for (const [offset, length] of [...holes, [file.length, 0]]) {
    if (offset > at) ranges.push([at, offset - at]);
    at = offset + length;
  }
  const blob = new Blob(ranges.map(([offset, length]) => file.subarray(offset, offset + length)));
  return new PartSource(blob, 'all.mpix', { bytes: file.length, ranges });
}

const ofWindow = (e) => [Kind.Events, Kind.Messages, Kind.Waits].includes(e.kind);
const last = Math.max(...entries(whole, Kind.Events).map((e) => e.seq));
const cells = (from) =>
  [Kind.Events, Kind.Messages, Kind.Waits].flatMap((k) => entries(whole, k)).filter((e) => e.seq >= from);

test('ranges are read as in the file, across holes zeros', async () => {
  const holes = cells(1);
  assert.ok(last > 2 && holes.length > 4 && holes.every(ofWindow));
  const part = without(holes);
  assert.equal(part.bytes, file.length);
  for (let i = 0; i < 300; i++) {
    const offset = (i * 7919) % file.length;
    const length = Math.min((i * 104729) % 5000, file.length - offset);
    const got = await part.read(offset, length);
    const want = Uint8Array.from(file.subarray(offset, offset + length));
    let inHole = false;
    for (const e of holes) {
      const [a, b] = [Math.max(offset, e.offset), Math.min(offset + length, e.offset + e.packedBytes)];
      if (a < b) want.fill(0, a - offset, b - offset);
      inHole ||= a < b;
    }
    assert.deepEqual(got, want, `${length} from ${offset}`);
    if (length > 0) assert.equal(part.has(offset, length), !inHole, `${length} from ${offset}`);
  }
  assert.equal((await part.read(file.length - 3, 100)).length, 3, 'no further than the file');
});

test('another thread finds the same part', async () => {
  const part = without(cells(1));
  const again = sourceOf(structuredClone(part.named()));
  assert.deepEqual(await again.read(0, 64), await part.read(0, 64));
  assert.equal(again.has(cells(1)[0].offset, 1), false);
});

test('a chunk that is there is read beside one that is not, which says where it is', async () => {
  const trace = await Trace.open(without(cells(1)));
  const events = entries(trace, Kind.Events);
  const first = events.filter((e) => e.seq === 0);
  const asked = await Promise.allSettled(events.map((e) => trace.events(e)));
  events.forEach((e, i) => {
    assert.equal(trace.isThere(e), e.seq === 0);
    assert.equal(asked[i].status, e.seq === 0 ? 'fulfilled' : 'rejected', `window ${e.seq}`);
  });
  const { reason } = asked.find((x) => x.status === 'rejected');
  assert.ok(reason instanceof Damaged);
  assert.match(reason.message, /not in the page. All of it: mpitrace view all.mpix/);
  assert.deepEqual(await trace.events(first[0]), await whole.events(entries(whole, Kind.Events)[0]));
});

test('a picture shows calls only where all of them are there, else tiles that are', async () => {
  const trace = await Trace.open(without([...cells(2), ...entries(whole, Kind.Summary).filter((e) => e.level > 1)]));
  const window = entries(whole, Kind.Events).filter((e) => e.group === 0);
  const at = (seq) => {
    const e = window.find((x) => x.seq === seq);
    const middle = (e.start + e.end) / 2;
    return { from: middle, to: middle + 20000, width: 1000, firstRank: 0, lastRank: 7, rowHeight: 20 };
  };
  assert.equal(planBars(whole, at(3)).detail, 'events');
  assert.deepEqual([planBars(whole, at(3)).absent, planBars(trace, at(0)).absent], [false, false]);
  assert.equal(planBars(trace, at(0)).detail, 'events');
  const { detail, absent, entries: tiles } = planBars(trace, at(3));
  assert.deepEqual([detail, absent], ['summary', true]);
  assert.ok(tiles.length > 0 && tiles.every((e) => trace.isThere(e)));
  assert.equal(planMessages(whole, at(3)).detail, 'all');
  assert.equal(planMessages(trace, at(3)).detail, 'largest');
});

test('calls whose waiting is not there are not shown without it', async () => {
  const waits = entries(whole, Kind.Waits).filter((e) => e.seq === 1);
  assert.ok(waits.length > 0);
  const trace = await Trace.open(without(waits));
  const { start, end } = waits[0];
  const w = { from: start, to: Math.min(end, start + 20000), width: 1000, firstRank: 0, lastRank: 7, rowHeight: 20 };
  assert.deepEqual(
    [planBars(whole, w).detail, planBars(trace, w).detail, planBars(trace, w).absent],
    ['events', 'summary', true],
  );
});

test('logical time of an interval that is not all in the page is refused in words, of one that is it is that of the file', async () => {
  const { signal } = new AbortController();
  const part = await Trace.open(without(cells(1)));
  const far = entries(whole, Kind.Events).find((e) => e.seq === 2);
  const given = (from, to) => ({ from, to, filter: NO_FILTER });
  await assert.rejects(
    logicalOf(part, given(far.start, far.start + 1e6), signal),
    /not in the page. All of it: mpitrace view/,
  );
  const [mine, all] = await Promise.all([part, whole].map((trace) => logicalOf(trace, given(5e6, 6.35e6), signal)));
  assert.ok(mine.step.length > 20);
  assert.deepEqual([mine.step, mine.late], [all.step, all.late]);
});
