// machine.test.mjs - the machine view without a page: who sits where, what stands where, what a camera sees, which messages an instant
// has, which marks the analysis leaves.
import assert from 'node:assert/strict';
import test from 'node:test';
import { LAYOUTS, layOut } from '../../reports/viewer/src/layout/machine.ts';
import { LOOKS, fit, projector } from '../../reports/viewer/src/layout/orbit.ts';
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
import { allMessages, make, open } from './support.mjs';

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
    const q = { at, halfLife, filter: NO_FILTER, least: 0, flows: 1000, only: null };
    const got = await instantOf(trace, q);
    const want = all.filter((x) => x.start <= at && at <= Math.max(x.end, x.start) + 4 * halfLife);
    assert.equal(got.exact, true);
    assert.deepEqual([got.messages, got.bytes], [want.length, want.reduce((n, x) => n + x.bytes, 0)]);
    const only = await instantOf(trace, { ...q, only: [3], least: 10000 });
    const fewer = want.filter((x) => (x.src === 3 || x.dst === 3) && x.bytes >= 10000);
    assert.equal(only.messages, fewer.length);
  }
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
