// address.test.mjs - the state goes into the address and comes back as it was; what is looked for is read as it was meant.
import assert from 'node:assert/strict';
import test from 'node:test';
import { readAddress, readNumbers, writeAddress, writeNumbers } from '../../reports/viewer/src/model/address.ts';
import { readWanted } from '../../reports/viewer/src/model/ask.ts';
import { NO_FILTER, isFiltering } from '../../reports/viewer/src/model/filter.ts';
import { initialState } from '../../reports/viewer/src/model/state.ts';

const BEGIN = initialState(1e9, 'timeline', {
  timeline: { rowFirst: 0, rowHeight: 0, messages: true, sort: '' },
  matrix: { kind: 'p2p' },
});

const around = (state) => readAddress(`#${writeAddress(state, BEGIN)}`, BEGIN);

test('numbers in a row are written as from and to', () => {
  assert.equal(writeNumbers([3, 0, 1, 2, 7, 9, 10]), '0-3,7,9-10');
  for (const list of [[], [5], [0, 1, 2, 4, 6, 7, 8, 100]]) assert.deepEqual(readNumbers(writeNumbers(list)), list);
  assert.deepEqual(readNumbers('x,3-1,-,2-4'), [2, 3, 4]);
});

test('the beginning is an empty address', () => {
  assert.equal(writeAddress(BEGIN, BEGIN), '');
  assert.deepEqual(around(BEGIN), BEGIN);
});

test('any state comes back from its address', () => {
  const filter = {
    ...NO_FILTER,
    ops: ['MPI_Send', 'MPI_Recv'],
    classes: [1, 2],
    ranks: [0, 1, 2],
    minNs: 1e6,
    waits: true,
  };
  const views = {
    timeline: { rowFirst: 2.5, rowHeight: 24, messages: false, sort: 'wait_s' },
    matrix: { kind: 'late' },
  };
  const state = {
    ...BEGIN,
    ...{ from: 5e6, to: 9e6, markFrom: 6e6, markTo: 7e6, selected: new Set([0, 1, 2, 9]) },
    ...{ picked: 'e0.3.17', filter, filterText: 'send & "recv"=50%, #1', view: 'matrix', views },
  };
  assert.deepEqual(around(state), state);
});

test('what cannot be understood in an address is passed over', () => {
  for (const bad of [
    '#',
    '#t=x',
    '#t=9~5',
    '#view=nothing',
    '#timeline.rowHeight=tall',
    '#t',
    '#%',
    '#filter.minNs=NaN',
    '#a.b=c',
  ])
    assert.deepEqual(readAddress(bad, BEGIN), BEGIN, bad);
});

// ---- what is looked for ----

const names = {
  ops: ['MPI_Send', 'MPI_Allreduce', 'MPI_Alltoall', 'MPI_Isend'],
  classes: ['outside MPI', 'point to point', 'wait, test, probe', 'collective', 'barrier'],
  comms: new Map([
    [0, 'MPI_COMM_WORLD'],
    [4, 'rows'],
  ]),
  sites: new Map([[7, { place: 'src/halo.c:61', function: 'exchange' }]]),
  nodes: ['n1', 'n1', 'n2', 'n2', ...Array(8).fill('n3')],
};
const wanted = (text) => {
  const { filter, problem } = readWanted(text, names);
  assert.equal(problem, '', text);
  return Object.fromEntries(
    Object.entries(filter).filter(([key, x]) => JSON.stringify(x) !== JSON.stringify(NO_FILTER[key])),
  );
};

test('operations, lengths and ranks are read in any order', () => {
  const meant = { ops: ['MPI_Allreduce'], minNs: 1e6, ranks: [3, 4, 5, 6, 7, 8, 9] };
  for (const text of [
    'MPI_Allreduce longer than 1 ms on ranks 3-9',
    'allreduce >1ms ranks 3-9',
    '> 1ms rank:3-9 ALLREDUCE',
    'next allreduce over 1000us on ranks 3-9',
  ])
    assert.deepEqual(wanted(text), meant, text);
});

test('sizes, communicators, call sites, nodes, classes and waiting are read', () => {
  assert.deepEqual(wanted('>=64KiB <1MiB'), { minBytes: 65536, maxBytes: 2 ** 20 });
  assert.deepEqual(wanted('comm:rows site:halo.c:61 wait'), { comms: [4], sites: [7], waits: true });
  assert.deepEqual(wanted('node:n2 class:barrier'), { ranks: [2, 3], classes: [4] });
  assert.deepEqual(wanted('all*'), { ops: ['MPI_Allreduce', 'MPI_Alltoall'] });
  assert.deepEqual(wanted(''), {});
  assert.equal(isFiltering(readWanted('', names).filter), false);
});

test('what is not understood is said, with the word', () => {
  for (const [text, words] of [
    ['bcast', /No operation “bcast”/],
    ['>1parsec', />1parsec/],
    ['colour:red', /“colour:”/],
    ['node:n9', /no node “n9”/],
    ['comm:cols', /no comm “cols”/],
  ])
    assert.match(readWanted(text, names).problem, words);
});
