// alike.test.mjs - ranks that do the same are one kind: of planted doings, and of traces with a rank that is known to be another.
import assert from 'node:assert/strict';
import test from 'node:test';
import { orderOf } from '../../reports/viewer/src/layout/order.ts';
import { alikeOf } from '../../reports/viewer/src/model/alike.ts';
import { alikeRanks } from '../../reports/viewer/src/work/alike.ts';
import { generated, make, open } from './support.mjs';

const [PARTS, THINGS] = [16, 3];

/** Numbers from 0 to 1 that scatter, always the same. */
function scatter(seed) {
  let x = seed;
  return () => (x = (Math.imul(x, 1103515245) + 12345) >>> 0) / 2 ** 32;
}

/** Doings of ranks, by what each does in each part: the share of the second thing; the rest is the first. */
function doings(ranks, shareOf) {
  const share = new Uint8Array(ranks * PARTS * THINGS);
  for (let rank = 0; rank < ranks; rank++)
    for (let part = 0; part < PARTS; part++) {
      const x = Math.round(255 * Math.max(0, Math.min(1, shareOf(rank, part))));
      share.set([255 - x, x, 0], (rank * PARTS + part) * THINGS);
    }
  return { ranks, parts: PARTS, things: THINGS, share };
}

/** Three kinds in turn, which differ by when they do what, with noise; the last rank is like nobody. */
function planted(noise) {
  const next = scatter(7);
  const shape = [(part) => part / PARTS, (part) => 1 - part / PARTS, (part) => (part % 2 ? 0.6 : 0.4)];
  return doings(1000, (rank, part) => (rank === 999 ? 0.9 : shape[rank % 3](part)) + noise * (next() - 0.5));
}

test('ranks that do the same at the same time are a kind, and who is like nobody is alone', () => {
  for (const noise of [0, 0.02, 0.1]) {
    const alike = alikeOf(planted(noise), 32);
    assert.equal(alike.kinds, 4, `of noise ${noise}`);
    alike.of.forEach((kind, rank) => assert.equal(kind, rank === 999 ? 3 : rank % 3, `rank ${rank}`));
    assert.equal(alike.spread[3], 0);
    for (const spread of alike.spread.subarray(0, 3))
      // of even noise the mean of what is off is a quarter of its width
      assert.ok(Math.abs(spread - noise / 4) < 0.004, `${spread} of noise ${noise}`);
  }
});

test('who does the same for as long, but at another time, is another kind', () => {
  const alike = alikeOf(
    doings(10, (rank, part) => Number(part < PARTS / 2 === rank < 5)),
    32,
  );
  assert.deepEqual([...alike.of], [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
});

test('there are no more kinds than asked for, and all ranks have one', () => {
  const next = scatter(3);
  const alike = alikeOf(
    doings(500, () => next()),
    8,
  );
  assert.ok(alike.kinds >= 1 && alike.kinds <= 8, `${alike.kinds}`);
  assert.ok(alike.of.every((kind) => kind >= 0 && kind < alike.kinds));
  assert.deepEqual(
    [
      ...alikeOf(
        doings(3, () => 0.5),
        1,
      ).of,
    ],
    [0, 0, 0],
  );
  assert.equal(
    alikeOf(
      doings(0, () => 0),
      8,
    ).kinds,
    0,
  );
});

test('a planted fault is a kind of its own', async () => {
  for (const [seed, rank] of [
    [1, 30], // a late root
    [4, 27], // uneven work
  ]) {
    const alike = await alikeRanks(await open(generated('faults', 64, 8, 1000, '--seed', seed)));
    const others = alike.of.filter((kind, r) => r !== rank && kind === alike.of[rank]);
    assert.deepEqual([alike.kinds, others.length], [2, 0], `seed ${seed}: ${alike.of}`);
  }
});

test('a rank that never comes back, or whose calls were not recorded, is not one that computes', async () => {
  const trace = await open(make(16, 4, 20));
  const { runtime } = trace.meta;
  trace.meta.runtime = 2 * runtime; // tiles are stretched with it: what counts is who is with whom
  const companions = async (rank) => {
    const { of } = await alikeRanks(trace);
    return of.filter((kind) => kind === of[rank]).length - 1;
  };
  const kinds = (await alikeRanks(trace)).of;
  const rank = kinds.findIndex((kind, r) => kinds.indexOf(kind) < r); // not the first of its kind
  assert.ok((await companions(rank)) > 0);
  const hangs = { thread: 0, op: 'MPI_Recv', class: 1, site: 0, comm: 0, waits: true, needs: 3 };
  trace.opens.set(rank, [{ ...hangs, from: 1.7 * runtime, to: 2 * runtime }]);
  assert.equal(await companions(rank), 0, 'it hangs');
  trace.opens.delete(rank);
  trace.recordedUntil[rank] = 1.7 * runtime;
  assert.equal(await companions(rank), 0, 'it is not recorded');
});

test('rows are kinds, named by how many ranks they have and how far these are from their mean', () => {
  const alike = { kinds: 3, of: Int32Array.from([0, 1, 0, 2, 0]), spread: Float64Array.from([0.021, 0, 0]) };
  const of = { analysis: null, nodes: [], selected: new Set(), alike };
  const order = { group: 'alike', sort: '', fold: true, pin: false };
  assert.deepEqual(orderOf(order, 5, of), { members: [[0, 2, 4], [1], [3]], labels: ['3±2%', '1', '3'] });
  const unfolded = orderOf({ ...order, fold: false }, 5, of);
  assert.deepEqual(unfolded.members, [[0], [2], [4], [1], [3]]);
  assert.deepEqual(orderOf(order, 5, { ...of, alike: null }), { members: null, labels: null });
});
