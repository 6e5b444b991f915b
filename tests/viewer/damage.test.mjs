// damage.test.mjs - damaged files are refused with one error that says where; what is forged is refused by both readers,
// or read alike.
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Damaged } from '../../reports/viewer/src/decode/damaged.ts';
import { Kind, SUPERBLOCK_BYTES } from '../../reports/viewer/src/decode/layout.ts';
import { decodeAll, dump, entries, forge, makeOdd, make, openBytes, version1 } from './support.mjs';

const small = readFileSync(make(2, 1, 2));
const odd = readFileSync(makeOdd(7));
const oldest = readFileSync(version1.path);

/** Everything in the file, decoded; what a reader could be led astray by. */
async function readAll(bytes) {
  const trace = await openBytes(bytes);
  const all = [trace.meta, trace.analysis];
  for (const e of entries(trace, Kind.Summary)) all.push(await trace.summary(e));
  for (const e of entries(trace, Kind.Top)) all.push(await trace.messages(e));
  for (const e of entries(trace, Kind.Flow)) all.push(await trace.flow(e));
  return { all, ...(await decodeAll(trace)) };
}

async function refused(bytes, what) {
  const got = await readAll(bytes).catch((error) => error);
  assert.ok(!(got instanceof Error) || got instanceof Damaged, `${what}: ${got.stack}`);
  return got instanceof Damaged ? got : null;
}

for (const [version, whole] of [
  [2, small],
  [1, oldest],
]) {
  test(`version ${version}: a file cut anywhere is refused as cut`, async () => {
    for (let length = SUPERBLOCK_BYTES; length < whole.length; length += 1 + Math.floor(whole.length / 500))
      await assert.rejects(
        openBytes(whole.subarray(0, length)),
        /^Error: The file cannot be read: cut/,
        `${length} bytes`,
      );
    for (let length = 0; length < SUPERBLOCK_BYTES; length++)
      await assert.rejects(openBytes(whole.subarray(0, length)), Damaged, `${length} bytes`);
  });

  test(`version ${version}: any byte changed is found, or changes nothing`, async () => {
    const want = JSON.stringify(await readAll(whole));
    let [tried, found] = [0, 0];
    for (let at = 0; at < whole.length; at += 1 + Math.floor(whole.length / 400)) {
      const bad = Uint8Array.from(whole);
      bad[at] ^= 1 << (at % 8);
      tried++;
      if (await refused(bad, `byte ${at}`)) found++;
      else assert.equal(JSON.stringify(await readAll(bad)), want, `byte ${at}`);
    }
    assert.ok(found > tried * 0.9, `${found} of ${tried}`);
  });
}

// ---- whoever writes checksums as well can write anything ----

const BATCH = 200;
const VALUES = [0, 1, 2, 0x7f, 0x80, 0xff];

/** Forged chunks of a kind: some bytes changed one by one, the end cut or more than there was. */
function forgeries(whole, kind, most) {
  const files = [];
  const put = (what, change) => files.push([what, forge(whole, (e, raw) => (e.kind === kind ? change(raw()) : null))]);
  let length = 0;
  forge(whole, (e, raw) => void (length = e.kind === kind ? raw().length : length));
  const step = Math.max(1, Math.floor((length * VALUES.length) / most));
  for (let k = 0; k < length * VALUES.length; k += step) {
    const [at, value] = [Math.floor(k / VALUES.length), VALUES[k % VALUES.length]];
    put(`byte ${at} = ${value}`, (raw) => raw.map((x, i) => (i === at ? value : x)));
  }
  for (let cut = 0; cut < length; cut += Math.max(1, Math.floor(length / 16)))
    put(`cut to ${cut}`, (raw) => raw.subarray(0, cut));
  put('a byte more', (raw) => Buffer.concat([raw, Buffer.of(1)]));
  return files;
}

// Of a forged call it is not known which wait states can be its own: the index says when these were.
const WAIT = 3;
const BYTES = 8; // and what came to it
const exact = (row) => row.every((x) => !(Math.abs(x) > Number.MAX_SAFE_INTEGER));

// The reader is the same. A number that JavaScript cannot hold is refused here only, and so is a wait state caused by a call that is
// not there, whose length stands in the file: the program that dumps does not look for it.
const HERE_ONLY = /too large|it refers to a call that is not there/;

/** Both refuse a file, or what they read is equal. */
async function sameVerdict(bytes, theirs, what) {
  const mine = await openBytes(bytes)
    .then(decodeAll)
    .catch((error) => error);
  if (mine instanceof Error) {
    assert.ok(mine instanceof Damaged, `${what}: ${mine.stack}`);
    assert.ok(!theirs.ok || HERE_ONLY.test(mine.message), `${what}: refused here only: ${mine.message}`);
    return false;
  }
  assert.ok(theirs.ok, `${what}: refused by the C reader only`);
  for (const part of ['events', 'messages', 'waits', 'samples']) {
    assert.equal(mine[part].length, theirs[part].length, `${what}: ${part}`);
    mine[part].forEach((row, i) => {
      const want = theirs[part][i];
      if (part === 'events') row[WAIT] = want[WAIT] = row[BYTES] = want[BYTES] = 0;
      if (exact(row) && exact(want)) assert.deepEqual(row, want, `${what}: ${part} ${i}`);
    });
  }
  return true;
}

async function sameVerdicts(files) {
  const paths = Array.from({ length: BATCH }, (_, i) => join(process.env.WORK, `forged${i}.mpix`));
  let read = 0;
  for (let first = 0; first < files.length; first += BATCH) {
    const batch = files.slice(first, first + BATCH);
    batch.forEach(([, bytes], i) => writeFileSync(paths[i], bytes));
    const theirs = dump(...paths.slice(0, batch.length));
    for (let i = 0; i < batch.length; i++) read += await sameVerdict(batch[i][1], theirs[i], batch[i][0]);
  }
  for (const path of paths) rmSync(path, { force: true });
  return read;
}

test('a file packed anew is read as before', async () => {
  assert.equal(await sameVerdicts([['unchanged', forge(small, (_, raw) => raw())]]), 1);
});

for (const kind of ['Meta', 'Events', 'Messages', 'Signatures', 'Clock', 'Waits', 'Samples'])
  test(`forged chunks of kind ${kind} are refused by both readers, or read alike`, async (t) => {
    const files = [...forgeries(small, Kind[kind], 120), ...forgeries(odd, Kind[kind], 120)];
    const read = await sameVerdicts(files);
    t.diagnostic(`${files.length} files, ${read} read`);
    assert.ok(files.length > 80 && read < files.length, `${read} of ${files.length}`);
  });

for (const [version, whole, kinds] of [
  [2, small, ['Top', 'Flow', 'Summary']],
  [1, oldest, ['Meta', 'Events', 'Messages']],
])
  for (const kind of kinds)
    test(`version ${version}: forged chunks of kind ${kind} decode or are refused`, async () => {
      let found = 0;
      for (const [what, bytes] of forgeries(whole, Kind[kind], 80)) if (await refused(bytes, what)) found++;
      assert.ok(found > 0);
    });

test('an error names the chunk', async () => {
  const cut = forge(small, (e, raw) => (e.kind === Kind.Events ? raw().subarray(0, 9) : null));
  const error = await refused(cut, 'cut');
  assert.match(error.message, /^The chunk EVENTS 0\.0 at offset \d+ is damaged: .*\.$/);
});
