// machine.test.mjs - the machine view without a page: who sits where, what stands where, what a camera sees, which messages an instant
// has, which marks the analysis leaves.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import test from 'node:test';
import { Kind } from '../../reports/viewer/src/decode/layout.ts';
import { collectiveOf } from '../../reports/viewer/src/decode/records.ts';
import { curveOf, spokesOf } from '../../reports/viewer/src/draw/machine_arcs.ts';
import { LAYOUTS, layOut } from '../../reports/viewer/src/layout/machine.ts';
import { LOOKS, fit, projector } from '../../reports/viewer/src/layout/orbit.ts';
import { issues } from '../../reports/viewer/src/model/analysis.ts';
import { NO_FILTER } from '../../reports/viewer/src/model/filter.ts';
import { distanceOf, machineFromMap, machineOf } from '../../reports/viewer/src/model/machine.ts';
import { overlaysOf } from '../../reports/viewer/src/model/overlays.ts';
import { instantOf, weightAt } from '../../reports/viewer/src/work/instant.ts';
import {
  camerasFrom,
  camerasJson,
  readCamera,
  withCamera,
  writeCamera,
} from '../../reports/viewer/src/views/machine_state.ts';
import { allMessages, entries, flavour, make, open, record } from './support.mjs';
import { coarseBoxes, coarseColors } from '../../reports/viewer/src/layout/machine_coarse.ts';
import { machineColors } from '../../reports/viewer/src/layout/machine_colors.ts';
import { Pace } from '../../reports/viewer/src/views/machine_pace.ts';

const { CORPUS, MPITRACE, WORK } = process.env;

/** Nodes of two packages of four cores each, four ranks a node bound to cores 0, 2, 4, 6, two nodes a switch. */
function topology(nodes) {
  const node = (n) => ({
    name: `n${n}`,
    switches: { path: ['core', `leaf${Math.floor(n / 2)}`] },
    pu: Array.from({ length: 8 }, (_, os) => ({ os, core: os, socket: Math.floor(os / 4), numa: Math.floor(os / 4) })),
    ranks: [0, 2, 4, 6].map((core, i) => ({ rank: 4 * n + i, cpus: String(core), cpu: core, cores: [core] })),
  });
  return { nodes: Array.from({ length: nodes }, (_, n) => node(n)) };
}

test('every rank sits on the core that it is bound to, on the node that names it', () => {
  const m = machineOf(topology(3), 12, []);
  m.ranks.forEach((r, rank) => {
    assert.equal(r.node, Math.floor(rank / 4));
    assert.equal(m.nodes[r.node].cores[r.core].id, 2 * (rank % 4));
    assert.equal(r.level, 0);
  });
  assert.deepEqual(m.groups, ['core / leaf0', 'core / leaf1']);
});

test('ranks that may run on the same core only stand above each other', () => {
  const map = topology(1);
  for (const rank of map.nodes[0].ranks) Object.assign(rank, { cores: [3], cpu: 3 });
  const m = machineOf(map, 4, []);
  assert.deepEqual(
    m.ranks.map((r) => r.level),
    [0, 1, 2, 3],
  );
  const { boxes } = layOut(m, 'blueprint');
  const heights = [0, 1, 2, 3].map((rank) => boxes.rank[rank * 6 + 1]);
  assert.ok(heights.every((y, i) => i === 0 || y > heights[i - 1] + 0.8));
});

test('ranks that no node names stand on a node of their name', () => {
  const m = machineOf({ nodes: [] }, 4, ['a', 'b', 'a', '']);
  assert.deepEqual(
    m.ranks.map((r) => m.nodes[r.node].name),
    ['a', 'b', 'a', 'node not known'],
  );
  assert.equal(m.from, 'names');
});

test('a topology of nonsense makes a machine all the same', () => {
  const bad = {
    nodes: [null, 3, { ranks: [{ rank: -1 }, { rank: 1e9 }, { rank: 0 }, { rank: 0 }], pu: 'x', cores: 1e12 }],
  };
  const m = machineOf(bad, 2, []);
  for (const [name] of LAYOUTS) {
    const { boxes } = layOut(m, name);
    for (const part of Object.values(boxes)) assert.ok(part.every(Number.isFinite));
  }
});

test('how far ranks are from each other', () => {
  const m = machineOf(topology(4), 16, []);
  assert.deepEqual(
    [distanceOf(m, 0, 3), distanceOf(m, 0, 4), distanceOf(m, 0, 8)],
    ['intra-node', 'inter-node', 'inter-switch'],
  );
});

test('in every layout no two ranks share a place, and all of it is seen from every side', () => {
  const m = machineOf(topology(12), 48, []);
  for (const [name] of LAYOUTS) {
    const layout = layOut(m, name);
    const places = new Set();
    for (let rank = 0; rank < 48; rank++) places.add(layout.boxes.rank.slice(rank * 6, rank * 6 + 3).join());
    assert.equal(places.size, 48, name);
    for (const { azimuth, elevation } of Object.values(LOOKS)) {
      const at = projector(fit(layout, azimuth, elevation, 800, 500), 800, 500);
      for (let rank = 0; rank < 48; rank++) {
        const p = at(layout.boxes.rank.slice(rank * 6, rank * 6 + 3));
        assert.ok(p.scale > 0 && p.x > 0 && p.x < 800 && p.y > 0 && p.y < 500, `${name}: ${p.x} ${p.y}`);
      }
    }
  }
});

test('a message is whole while under way, then halved each half-life', () => {
  assert.deepEqual(
    [9, 10, 20, 25, 30, 61].map((at) => weightAt(at, 10, 20, 10)),
    [0, 1, 1, 2 ** -0.5, 0.5, 0],
  );
});

test('an instant has exactly the messages that are under way or have just come', async () => {
  const trace = await open(make(4, 2, 50));
  const all = await allMessages(trace);
  const halfLife = 300000;
  for (let at = 0; at < trace.meta.runtime; at += trace.meta.runtime / 37) {
    const q = { at, halfLife, filter: NO_FILTER, least: 0, flows: 1000, only: null, calls: false };
    const got = await instantOf(trace, q);
    const want = all.filter((x) => x.start <= at && at <= Math.max(x.end, x.start) + 4 * halfLife);
    assert.equal(got.exact, true);
    assert.deepEqual([got.messages, got.bytes], [want.length, want.reduce((n, x) => n + x.bytes, 0)]);
    const only = await instantOf(trace, { ...q, only: [3], least: 10000 });
    const fewer = want.filter((x) => (x.src === 3 || x.dst === 3) && x.bytes >= 10000);
    assert.equal(only.messages, fewer.length);
  }
});

/** What calls are in an instant, call by call. */
async function callsAt(trace, at, halfLife) {
  const parts = new Map(); // of collectives
  const targets = [];
  for (const { chunk, index, rank } of await allCalls(trace)) {
    const end = chunk.start[index] + chunk.duration[index];
    if (weightAt(at, chunk.start[index], end, halfLife) === 0) continue;
    const what = chunk.signature[index];
    const { op, comm, peer } = chunk.signatures;
    const k = collectiveOf(chunk, index);
    const name = trace.meta.ops[op[what]];
    if (k >= 0) {
      const key = `${comm[what]} ${k}`;
      const m = parts.get(key) ?? { op: name, root: peer[what], ranks: [] };
      m.ranks.push(rank);
      parts.set(key, m);
    } else if (peer[what] >= 0 && /^MPI_R?(Put|Get|Accumulate|Get_acc)|^MPI_(Fetch|Compare)/.test(name))
      targets.push(/Get$/.test(name) ? `${peer[what]}>${rank}` : `${rank}>${peer[what]}`);
  }
  return { parts: [...parts.values()], targets };
}

async function allCalls(trace) {
  const calls = [];
  for (const e of entries(trace, Kind.Events)) {
    const chunk = await trace.events(e);
    for (const s of chunk.segments)
      if (!s.carried)
        for (let index = s.first; index < s.first + s.count; index++) calls.push({ chunk, index, rank: s.rank });
  }
  return calls;
}

const ROOTED = /^MPI_(Bcast|Scatterv?|Reduce|Gatherv?)$/;

/** share: of the run, of a half-life. */
async function checkCalls(trace, moments, share) {
  const { runtime } = trace.meta;
  const seen = { gatherings: 0, rooted: 0, transfers: 0 };
  for (let n = 1; n <= moments; n++) {
    const [at, halfLife] = [(runtime * n) / moments, runtime * share];
    const want = await callsAt(trace, at, halfLife);
    const got = await instantOf(trace, {
      at,
      halfLife,
      filter: NO_FILTER,
      least: 0,
      flows: 1e6,
      only: null,
      calls: true,
    });
    const open = want.parts.filter((m) => !ROOTED.test(m.op) || m.root < 0);
    assert.equal(got.collectives, want.parts.length);
    assert.deepEqual(
      got.gatherings.map((x) => `${x.op} ${x.ranks}`).sort(),
      open.map((m) => `${m.op} ${m.ranks.sort((a, b) => a - b)}`).sort(),
    );
    const rooted = want.parts.filter((m) => !open.includes(m));
    const spokes = rooted.flatMap(({ op, root, ranks }) => {
      const others = ranks.filter((rank) => rank !== root);
      return others.map((rank) => (/Bcast|Scatter/.test(op) ? `${root}>${rank}` : `${rank}>${root}`));
    });
    const flows = (kind) => got.flows.filter((f) => f.kind === kind);
    assert.deepEqual(
      flows('collective')
        .map((f) => `${f.src}>${f.dst}`)
        .sort(),
      [...new Set(spokes)].sort(),
    );
    assert.equal(got.transfers, want.targets.length);
    assert.deepEqual(
      flows('one-sided')
        .map((f) => `${f.src}>${f.dst}`)
        .sort(),
      [...new Set(want.targets)].sort(),
    );
    seen.gatherings += got.gatherings.length;
    seen.rooted += rooted.length;
    seen.transfers += got.transfers;
  }
  return seen;
}

test('an instant has the collectives that are under way or have just ended, with who is in them', async () => {
  const seen = await checkCalls(await open(make(4, 2, 50)), 37, 0.02);
  assert.ok(seen.gatherings > 5);
});

const skip = flavour ? false : 'no MPI here';
test('roots of collectives and one-sided transfers point along the data', { skip }, async () => {
  assert.ok((await checkCalls(await open(record('counts_coll')), 20, 0.1)).rooted > 0);
  assert.ok((await checkCalls(await open(record('counts_rma')), 20, 0.1)).transfers > 0);
});

test('a collective of many ranks is drawn by one line a node', () => {
  const ranks = Array.from({ length: 16384 }, (_, rank) => rank);
  assert.deepEqual(
    spokesOf([3, 5], () => 0),
    [3, 5],
  );
  assert.deepEqual(spokesOf(ranks, (rank) => Math.floor(rank / 64)).slice(0, 3), [0, 64, 128]);
  assert.ok(spokesOf(ranks, (rank) => rank).length <= 256);
});

/** Of each issue that names pairs: the links when it is isolated, as they can be seen in each layout. */
function checkIssues(trace) {
  const { analysis, meta, nodes } = trace;
  const m = machineOf(analysis.topology, meta.ranks, nodes);
  const named = issues(analysis).filter((x) => x.pairs.length > 0);
  for (const isolated of named) {
    const { links } = overlaysOf(analysis, meta.ranks, { halos: [], links: [], severity: 'high', limit: 1, isolated });
    assert.equal(links.length, new Set(isolated.pairs.map(String)).size, isolated.title);
    for (const [name] of LAYOUTS) {
      const layout = layOut(m, name);
      for (const { azimuth, elevation } of Object.values(LOOKS)) {
        const at = projector(fit(layout, azimuth, elevation, 800, 500), 800, 500);
        for (const { src, dst } of links) assert.ok(curveOf({ layout }, at, src, dst), `${isolated.title} in ${name}`);
      }
    }
  }
  return named.length;
}

test('of an issue that names pairs every link is to be seen, in every layout, from every side', { skip }, async () => {
  const named = checkIssues(await open(record('stuck', 'receives_later'))); // a ring: who waits for whom
  assert.ok(named > 0, 'issues that name pairs');
  for (const name of ['coll4', 'late_blocking']) {
    const path = join(WORK, `${name}.mpix`);
    execFileSync(MPITRACE, ['import', '--from', 'pyrite', join(CORPUS, 'pyrite', `${name}.mpic`), '-o', path]);
    checkIssues(await open(path));
  }
  for (const args of [
    [4, 2, 50],
    [8, 8, 20],
  ])
    checkIssues(await open(make(...args)));
  assert.ok(named > 0, 'issues that name pairs');
});

const ISSUES = [
  {
    issue: 'late_sender',
    severity: 'high',
    ranks: [],
    pairs: [
      [1, 2],
      [3, 2],
    ],
  },
  { issue: 'small_message_overhead', severity: 'low', ranks: [0], pairs: [] },
];
const ANALYSIS = {
  issues: ISSUES,
  top_links: [
    { src: 0, dst: 1, messages: 5, bytes: 10 },
    { src: 0, dst: 99 },
  ],
  collective_roots: [{ rank: 2, operations: 3 }],
  patterns: [{ pattern: 'ping_pong', ranks: [0, 1] }],
  matrix: {
    p2p: [
      { src: 0, dst: 1, messages: 5 },
      { src: 1, dst: 0, messages: 5 },
      { src: 0, dst: 2, messages: 9 },
    ],
  },
};
const ALL = {
  halos: ['issue', 'pattern', 'root', 'top'],
  links: ['issue', 'hotspot', 'pingpong'],
  severity: 'low',
  limit: 20,
  isolated: null,
};
const names = (list) => list.map((x) => [x.kind, x.rank ?? `${x.src}>${x.dst}`].join(' '));

test('marks are those that the analysis names, ranks that are not there aside', () => {
  const o = overlaysOf(ANALYSIS, 4, ALL);
  assert.deepEqual(names(o.halos), ['issue 1', 'issue 2', 'issue 3', 'issue 0', 'pattern 0', 'pattern 1', 'root 2']);
  assert.deepEqual(names(o.links), ['issue 1>2', 'issue 3>2', 'hotspot 0>1', 'pingpong 0>1']);
  const high = overlaysOf(ANALYSIS, 4, { ...ALL, severity: 'high' });
  assert.ok(!names(high.halos).includes('issue 0'));
  const few = overlaysOf(ANALYSIS, 4, { ...ALL, limit: 1 });
  assert.deepEqual([few.halos.length, few.links.length, few.leftOut], [3, 3, 5]);
});

test('an issue that names pairs has links when isolated, whatever is switched off', () => {
  const [issue] = ISSUES;
  const isolated = { ...issue, callSites: [], title: '', name: '', loss: 0, what: '', why: '', next: '', window: null };
  const o = overlaysOf(ANALYSIS, 4, { halos: [], links: [], severity: 'high', limit: 1, isolated });
  assert.deepEqual(names(o.links), ['issue 1>2', 'issue 3>2']);
  assert.deepEqual(names(o.halos), ['issue 1', 'issue 2', 'issue 3']);
});

test('cameras go through the address and through files as they are', () => {
  const camera = { name: 'a, b: c', layout: 'rack', azimuth: -12.5, elevation: 30, range: 99.25, x: 1, y: -2, z: 3 };
  assert.deepEqual(readCamera(writeCamera(camera)), camera);
  assert.ok(!writeCamera(camera).includes(','));
  const saved = withCamera(withCamera([], camera), { ...camera, range: 5 });
  assert.equal(saved.length, 1);
  assert.deepEqual(camerasFrom(camerasJson(saved)), saved);
  assert.throws(() => camerasFrom('{"schema":"x"}'), /has no cameras/);
  assert.throws(() => camerasFrom('nonsense'), /has no cameras/);
});

test('what is no map is refused in words', () => {
  assert.throws(() => machineFromMap('nonsense', 4), /not JSON/);
  assert.throws(() => machineFromMap('{"schema":"mpitrace/topology/1","nodes":[]}', 4), /lacks/);
});

test('coarsely a node is one box around its ranks, in the mean of their colours', () => {
  const ranks = Float32Array.from([0, 0, 0, 1, 1, 1, 3, 0, 0, 1, 1, 1, 9, 9, 9, 0, 0, 0, 5, 5, 5, 2, 2, 2]); // the third is not drawn
  const nodeOf = Uint32Array.from([0, 0, 1, 2]);
  assert.deepEqual([...coarseBoxes(ranks, nodeOf, 3)], [1.5, 0, 0, 4, 1, 1, 0, 0, 0, 0, 0, 0, 5, 5, 5, 2, 2, 2]);
  const colors = Float32Array.from([1, 0, 0, 0, 1, 0, 0.5, 0.5, 0.5, 0, 0, 1]);
  assert.deepEqual([...coarseColors(colors, nodeOf, 3)], [0.5, 0.5, 0, 0.5, 0.5, 0.5, 0, 0, 1]);
});

test('very many ranks without a graphics card: coarse while the camera moves, whole when it rests', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let again = 0;
  const pace = new Pace(() => again++);
  const look = (azimuth, ranks = 65536, isSoftware = true) => pace.next({ azimuth }, ranks, isSoftware);
  assert.equal(look(0), false, 'the first picture is whole');
  assert.equal(look(1), true);
  assert.equal(look(1), true, 'no more than a moment');
  t.mock.timers.tick(200);
  assert.equal(look(2), true);
  t.mock.timers.tick(200);
  assert.equal(again, 0, 'it moves yet');
  t.mock.timers.tick(100);
  assert.equal(again, 1);
  assert.equal(look(2), false, 'it rests');
  assert.equal(look(3, 65536, false), false, 'a graphics card draws all of it');
  assert.equal(look(4, 64), false, 'few are drawn fast enough');
});

test('ranks that are not meant are dimmed, the others keep their colour', () => {
  const red = () => [1, 0, 0];
  const { rank } = machineColors(machineOf(topology(1), 4, []), red, new Set([2]), false);
  const of = (i) => [...rank.slice(3 * i, 3 * i + 3)];
  assert.deepEqual(of(2), [1, 0, 0]);
  for (const i of [0, 1, 3]) assert.ok(of(i)[1] > 0.5, `rank ${i}: ${of(i)}`);
  const all = machineColors(machineOf(topology(1), 4, []), red, null, false).rank;
  assert.deepEqual([...all.slice(0, 3)], [1, 0, 0]);
});
