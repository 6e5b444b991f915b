// live_profile.test.mjs - the profile of a step that runs, out of what `mpitrace live --view` serves of files that grow_mpic writes: its numbers are known.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { createInterface } from 'node:readline';
import { Known } from '../../reports/viewer/src/decode/samples';
import { fieldAt } from '../../reports/viewer/src/model/field';
import { LiveProfile } from '../../reports/viewer/src/model/live_profile';
import { profileTree } from '../../reports/viewer/src/model/profile';
import { LiveSession } from '../../reports/viewer/src/work/live_session';

const { MPITRACE, GROW_MPIC, WORK } = process.env;
const [NODES, RANKS, SAMPLES] = [2, 6, 23];
const TICK_NS = 1e6;

/** What the server makes of SAMPLES of each node; node 1 says nothing for samples 8 and 9, and then all of it. */
async function mergedSamples() {
  const dir = join(WORK, 'live-profile');
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const start = Math.floor(Date.now() / 1000) - 1000;
  const writer = spawn(GROW_MPIC, [dir, NODES, RANKS / NODES, start, 1, NODES, TICK_NS].map(String));
  const said = createInterface({ input: writer.stdout })[Symbol.asyncIterator]();
  const tell = async (k, first, last) => {
    writer.stdin.write(`sample ${k} ${first} ${last}\n`);
    await said.next();
  };
  await tell(1, 0, NODES - 1);
  const server = spawn(MPITRACE, ['live', dir, '--view', '--no-browser', '--interval', '0.1'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: server.stdout }), 'line');
  const json = async (path) => (await fetch(line.trim().replace('?live', path))).json();
  const has = async (number) => {
    while (((await json('summary')).samples.at(-1)?.number ?? 0) < number) await new Promise((f) => setTimeout(f, 20));
  };
  for (let k = 2; k <= SAMPLES; k++) {
    const isSilent = k === 8 || k === 9;
    await tell(k, 0, isSilent ? 0 : NODES - 1);
    if (k === 9) {
      await has(9); // nobody waits for node 1: these samples are of long ago
      for (const late of [8, 9]) await tell(late, 1, 1);
    }
  }
  const all = [];
  while (!all.at(-1)?.nodes.every((n) => n.sample === SAMPLES)) {
    await has(all.length + 1);
    all.push(await json(`samples/${all.length + 1}`));
  }
  server.kill();
  writer.stdin.end();
  rmSync(dir, { recursive: true });
  return all;
}

const merged = await mergedSamples();
const MERGED = merged.length;
const filled = (most = {}) => {
  const p = new LiveProfile(most);
  for (const x of merged) p.take(x);
  return p;
};
const close = (a, b, what) =>
  assert.ok(Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b)), `${what}: ${a} is not ${b}`);

/** What ranks did until sample k, as grow_mpic says; at multiples of 5 they are in a barrier. */
function holdsTotals(p, what) {
  const tree = profileTree(p.shape, p.samples, 'op');
  const ranks = tree.children.flatMap((n) => n.children);
  assert.equal(ranks.length, RANKS);
  for (const process of ranks) {
    const r = process.id;
    const of = (name) => process.children[0].children.find((x) => x.name === name).counts;
    assert.equal(of('MPI_Send').calls, SAMPLES * ((r % 3) + 1), `${what}: sends of rank ${r}`);
    assert.equal(of('MPI_Send').bytes, 8 * SAMPLES * ((r % 3) + 1));
    assert.equal(of('MPI_Barrier').calls, SAMPLES, `${what}: barriers of rank ${r}`);
    close(of('MPI_Send').ns, SAMPLES * ((r % 3) + 1) * 10 * TICK_NS, `${what}: time of sends of rank ${r}`);
    close(of('MPI_Barrier').ns, SAMPLES * (r + 1) * TICK_NS, `${what}: time of barriers of rank ${r}`);
  }
}

test('all samples together are the exact totals', () => holdsTotals(filled(), 'all'));

test('time in a sample is what the server says was inside of MPI, also of a call that goes on', () => {
  const p = filled();
  merged.forEach((x, i) => {
    const s = p.samples[i];
    for (const rank of x.ranks) {
      const at = s.lane.indexOf(rank.rank);
      const ns = s.ticks.slice(s.firstCell[at], s.firstCell[at + 1]).reduce((a, b) => a + b, 0);
      if (!(s.known[at] & Known.Silent))
        close(ns, rank.threads[0].mpi_ticks * x.nodes[rank.node].ns_per_tick, `sample ${i + 1}, rank ${rank.rank}`);
    }
  });
  const open = merged.filter((x) => x.ranks.some((r) => r.threads[0].in !== undefined));
  assert.ok(open.length >= 4, 'some are in a call');
});

test('the samples of a node that said nothing are silent, and come later', () => {
  const p = filled();
  const silent = p.samples.map((s) => s.known.filter((k) => k & Known.Silent).length);
  assert.equal(Math.max(...silent), RANKS / NODES);
  assert.ok(silent.filter((n) => n > 0).length >= 2);
  merged.forEach((x, i) => {
    for (const r of x.ranks) {
      const isNew = x.nodes[r.node].state === 'sampled';
      const known = p.samples[i].known[p.samples[i].lane.indexOf(r.rank)];
      assert.equal((known & Known.Silent) === 0, isNew, `sample ${i + 1}, rank ${r.rank}, ${x.nodes[r.node].state}`);
    }
  });
  assert.ok(silent.at(-1) === 0);
});

test('neighbours become one when there is no room, the newest last, and sums stay', () => {
  for (const most of [{ samples: 8 }, { samples: 5 }, { cells: 60 }]) {
    const p = filled(most);
    assert.ok(p.samples.length <= (most.samples ?? MERGED - 1), `${p.samples.length}`);
    assert.equal(p.samples.at(-1).samples, 1);
    assert.equal(
      p.samples.reduce((n, s) => n + s.samples, 0),
      MERGED,
    );
    p.samples.slice(1).forEach((s, i) => assert.equal(s.start, p.samples[i].end));
    holdsTotals(p, JSON.stringify(most));
    for (let n = 1; n <= MERGED; n++) {
      const s = p.samples[p.placeOf(n) - 1];
      assert.ok(n >= s.number && n < s.number + s.samples);
    }
  }
});

test('a number that comes again is passed over, one that is missing is waited for by nobody', () => {
  const p = filled();
  assert.equal(p.take(merged[3]), false);
  assert.equal(p.samples.length, MERGED);
  const q = new LiveProfile();
  for (const x of merged) if (x.number !== 5) q.take(x);
  assert.equal(q.samples.length, MERGED - 1);
  assert.equal(q.placeOf(5), 0);
  assert.ok(q.samples.every((s) => s.ticks.every((t) => t >= 0)));
});

test('what is no sample harms nobody', () => {
  const p = new LiveProfile();
  const odd = [
    null,
    7,
    {},
    { number: 'x' },
    { number: 1, time: 'y', ranks: [{ rank: -1 }, { rank: 1e9 }, { rank: 0.5 }] },
  ];
  for (const x of odd) assert.doesNotThrow(() => p.take(x));
  const row = (totals) => ({
    number: 9,
    time: 5,
    nodes: [{}],
    ranks: [{ rank: 0, node: 7, threads: [{ thread: 1e9, totals }] }],
  });
  assert.doesNotThrow(() => p.take(row([[1, 2], 'x', [0, NaN, -3], null])));
  assert.ok(p.shape.meta.firstLane.at(-1) <= 4096);
});

test('a session answers as the worker does, asks again as it grows, and holds still when frozen', async () => {
  const p = new LiveProfile();
  const session = new LiveSession(p);
  const seen = [];
  const settled = () => new Promise((f) => setImmediate(f));
  session.ask('a', 'samples', null, (all) => seen.push(all.length), assert.fail);
  await settled();
  for (const x of merged.slice(0, 10)) p.take(x);
  session.grown();
  await settled();
  session.freeze(10);
  for (const x of merged.slice(10)) p.take(x);
  session.grown();
  await settled();
  const query = {
    axes: 'rank-time',
    by: 'op',
    events: 'MPI_Send',
    metric: 'calls',
    cumulative: false,
    order: 'rank',
    columns: 512,
    rows: 512,
  };
  const given = { from: 0, to: session.meta.runtime, sample: 0, since: -1, ranks: [], threads: 'node', query };
  const field = () => new Promise((take) => session.ask('f', 'field', given, take, assert.fail));
  assert.equal((await field()).columns.length, 10);
  session.freeze(Infinity);
  session.grown();
  await settled();
  given.to = session.meta.runtime;
  const f = await field();
  assert.deepEqual(seen, [0, 10, 10, MERGED]);
  assert.deepEqual([f.rows.length, f.columns.length], [RANKS, MERGED]);
  assert.equal(fieldAt(f, 2, 0), 3);
  assert.equal(fieldAt(f, 0, MERGED - 1), 1);
  session.giveUp('a');
  session.grown();
  await settled();
  assert.equal(seen.length, 4);
});

after(() => rmSync(join(WORK, 'live-profile'), { recursive: true, force: true }));
