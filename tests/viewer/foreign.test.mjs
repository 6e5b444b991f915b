// foreign.test.mjs - a log of MPROV or a file of Pyrite opened in the viewer is the trace that `mpitrace import` makes of it: calls, messages,
// times, analysis; what is wrong is said in the same words. Logs of tests/corpus/protocol and random ones, files of tests/corpus/pyrite, whole and
// damaged.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { gunzipSync } from 'node:zlib';
import { COLOURS } from '../../reports/viewer/src/model/protocol.ts';
import { FileSource } from '../../reports/viewer/src/io/source.ts';
import { Trace } from '../../reports/viewer/src/model/trace.ts';
import { foreignFormat } from '../../reports/viewer/src/decode/foreign.ts';
import { protocolOf } from '../../reports/viewer/src/work/protocol.ts';
import { thingOf } from '../../reports/viewer/src/work/things.ts';
import { decodeAll, make, open, random, show } from './support.mjs';

const { CORPUS, MPITRACE, WORK } = process.env;
const FOLDER = join(CORPUS, 'protocol');
const logs = readdirSync(FOLDER).filter((name) => name.endsWith('.log'));

/** The trace that the command makes, or { error }. Files are named from their folder. */
function imported(folder, name, from) {
  const out = join(WORK, `${from}.mpix`);
  rmSync(out, { force: true });
  const run = spawnSync(MPITRACE, ['import', '--from', from, name, '-o', out], { cwd: folder, encoding: 'utf8' });
  if (run.status === 3) return { error: run.stderr.replace(/^mpitrace import: /, '').trimEnd() };
  assert.equal(run.status, 0, run.stderr);
  return { out };
}

const opened = (name, bytes) => Trace.open(new FileSource(new Blob([bytes]), name));

/** The command prints numbers with 15 digits. */
const rounded = (analysis) =>
  JSON.parse(JSON.stringify(analysis, (_, x) => (typeof x === 'number' ? Number(x.toPrecision(12)) : x)));

async function sameTrace(folder, name, from = 'mprov') {
  const bytes = readFileSync(join(folder, name));
  const { out, error } = imported(folder, name, from);
  if (error) {
    if (foreignFormat(bytes) >= 0) await assert.rejects(opened(name, bytes), { message: error });
    return { error };
  }
  const [mine, theirs] = [await opened(name, bytes), await open(out)];
  assert.deepEqual(await decodeAll(mine), await decodeAll(theirs), name);
  assert.deepEqual(rounded(mine.analysis), rounded(show(out)), name);
  assert.deepEqual([mine.meta.ranks, mine.meta.runtime], [theirs.meta.ranks, theirs.meta.runtime]);
  return { mine, theirs };
}

test('logs of the corpus: calls, messages, logical times and analysis are those of the import; errors are its words', async () => {
  let wrong = 0;
  for (const name of logs) wrong += Number((await sameTrace(FOLDER, name)).error !== undefined);
  assert.equal(wrong, logs.filter((name) => name.startsWith('wrong_')).length);
});

test('what is asked of a log is answered as of the file: protocol, a message by its name', async () => {
  const { mine, theirs } = await sameTrace(FOLDER, 'five.log');
  const query = { text: 'P(i,*)->P((i+1)%n,*);', name: 'x', level: 2, shown: COLOURS };
  const ask = (trace) => protocolOf(trace, query, new AbortController().signal, () => undefined);
  const [a, b] = [(await ask(mine)).checked, (await ask(theirs)).checked];
  const plain = ({ results }) => results.map(({ ref, ...rest }) => rest);
  assert.deepEqual(plain(a), plain(b));
  const facts = async (trace, { ref }) => {
    const { src, dst, sendStart, recvEnd } = await thingOf(trace, ref);
    return [src, dst, sendStart, recvEnd];
  };
  for (const [i, r] of a.results.entries()) assert.deepEqual(await facts(mine, r), await facts(theirs, b.results[i]));
});

/** Sends before their receives, then entries in any order. */
function randomLog(pick) {
  const ranks = 1 + pick(40);
  const next = Array(ranks).fill(0);
  const flying = [];
  const lines = [];
  for (let n = 1 + pick(60); n > 0; n--) {
    if (pick(2) === 0 || flying.length === 0) {
      const [a, b] = [pick(ranks), pick(ranks)];
      lines.push(`${a}:E=${next[a]++}:S:${b}:${pick(4)};`);
      flying.push([a, b]);
    } else {
      const [[a, b]] = flying.splice(pick(flying.length), 1);
      lines.push(`${b}:E=${next[b]++}:R:${a}:${pick(4)};`);
    }
  }
  for (let i = lines.length - 1; i > 0; i--) {
    const k = pick(i + 1);
    [lines[i], lines[k]] = [lines[k], lines[i]];
  }
  return lines.join(pick(2) === 0 ? '\n' : ' ');
}

test('400 random logs, every other one damaged: the same trace or the same error', async () => {
  const pick = random(145);
  const seen = { read: 0, wrong: new Set() };
  for (let n = 0; n < 400; n++) {
    const bytes = Buffer.from(randomLog(pick));
    if (n % 2 === 1)
      for (let k = 1 + pick(3); k > 0; k--)
        bytes[pick(bytes.length - 1) + 1] = '0123456789:;ESR= \n\u00ff\0'.charCodeAt(pick(19));
    writeFileSync(join(WORK, 'random.log'), bytes);
    const { error } = await sameTrace(WORK, 'random.log');
    if (error) seen.wrong.add(error.replace(/^[^ ]*|\d+|'.'|0x../g, ''));
    else seen.read++;
  }
  console.log(`# ${seen.read} read, wrong in ${seen.wrong.size} ways`);
  assert.ok(seen.read > 200 && seen.read < 390 && seen.wrong.size >= 8);
});

test('files of Pyrite, whole, cut and damaged: the same trace or the same error', async () => {
  const pick = random(8);
  const path = join(WORK, 'x.mpic');
  const packed = readFileSync(join(CORPUS, 'pyrite', 'halo8x200.mpic.gz'));
  const files = ['coll4.mpic', 'late_blocking.mpic'].map((name) => readFileSync(join(CORPUS, 'pyrite', name)));
  for (const bytes of [...files, gunzipSync(packed)]) {
    writeFileSync(path, bytes);
    const { theirs } = await sameTrace(WORK, 'x.mpic', 'pyrite');
    assert.ok(theirs.meta.events > 0 && theirs.meta.messages > 0);
  }
  let wrong = 0;
  for (let n = 0; n < 60; n++) {
    const bytes = Buffer.from(files[n % 2]).subarray(0, n % 3 === 0 ? 8 + pick(files[n % 2].length - 8) : undefined);
    for (let k = pick(4); k > 0; k--) bytes[8 + pick(bytes.length - 8)] = pick(256);
    writeFileSync(path, bytes);
    wrong += Number((await sameTrace(WORK, 'x.mpic', 'pyrite')).error !== undefined);
  }
  assert.ok(wrong > 10 && wrong < 60, `${wrong} wrong`);
});

test('a trace is not taken for a log, nor what begins with anything but a number', () => {
  assert.equal(foreignFormat(readFileSync(make(2, 2, 1)).subarray(0, 64)), -1);
  const text = (s) => new TextEncoder().encode(s);
  assert.deepEqual(
    ['0:E=0:S', ' \n12:', 'x', '', '   ', '{"a":1}'].map((s) => foreignFormat(text(s))),
    [0, 0, -1, -1, -1, -1],
  );
});
