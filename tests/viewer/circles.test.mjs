// circles.test.mjs - the checker of imports finds what it is there for.
import assert from 'node:assert/strict';
import test from 'node:test';
import { circle, complaints } from '../../reports/viewer/imports.mjs';

const graph = (imports) => new Map(Object.entries(imports));

test('a circle of files is found, whoever leads into it', () => {
  const imports = graph({ 'main.ts': ['a.ts'], 'a.ts': ['b.ts'], 'b.ts': ['c.ts'], 'c.ts': ['b.ts'] });
  assert.deepEqual(circle(imports), ['b.ts', 'c.ts', 'b.ts']);
  assert.deepEqual(complaints(imports), ['import circle: b.ts -> c.ts -> b.ts']);
});

test('a file that imports itself is a circle', () => {
  assert.deepEqual(circle(graph({ 'a.ts': ['a.ts'] })), ['a.ts', 'a.ts']);
});

test('two ways to one file are no circle', () => {
  assert.equal(circle(graph({ 'a.ts': ['b.ts', 'c.ts'], 'b.ts': ['d.ts'], 'c.ts': ['d.ts'], 'd.ts': [] })), null);
});

test('a file that knows a folder behind its own is named', () => {
  const imports = graph({ 'draw/x.ts': ['views/y.ts'], 'views/y.ts': ['decode/z.ts'], 'decode/z.ts': [] });
  assert.deepEqual(complaints(imports), ['draw/x.ts imports views/y.ts, of a folder behind its own']);
});

test('a package, a missing file and an unknown folder are named', () => {
  const imports = graph({ 'draw/x.ts': ['d3', 'draw/gone.ts'], 'util/y.ts': [] });
  assert.deepEqual(complaints(imports), [
    'draw/x.ts imports d3, which is no file of the viewer',
    'draw/x.ts imports draw/gone.ts, which is no file of the viewer',
    'util/y.ts: its folder is not in FOLDERS',
  ]);
});
