// protocol.test.mjs - the viewer's answers to specifications of protocols are those of `mpitrace check`: on the corpus, whose expected.txt
// tests/integration/protocol_corpus.py holds the command to; on random specifications and logs; on a traced program with lines.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { RESULTS_MAX, reportOf } from '../../reports/viewer/src/model/check.ts';
import { COLOURS } from '../../reports/viewer/src/model/protocol.ts';
import { Spec, SpecError } from '../../reports/viewer/src/model/spec.ts';
import { protocolOf, verdictsOf } from '../../reports/viewer/src/work/protocol.ts';
import { flavour, make, makeOdd, open, random, record } from './support.mjs';

const { CORPUS, MPITRACE, WORK } = process.env;
const FOLDER = join(CORPUS, 'protocol');
const signal = new AbortController().signal;

const read = (name) => readFileSync(join(FOLDER, name));
const names = readdirSync(FOLDER);
const rules = names.filter((name) => name.endsWith('.rules'));
const logs = names.filter((name) => name.endsWith('.log') && !name.startsWith('wrong_'));

/** By title: what is printed, and the exit code. */
const expected = new Map(
  `\n${read('expected.txt')}`
    .split('\n== ')
    .slice(1)
    .map((part) => {
      const [, title, code, text] = /^(.*): exit (\d)\n([^]*)$/.exec(part);
      return [title, { code: Number(code), text: text.replace(/\n$/, '') }];
    }),
);

function imported(path, name) {
  const out = join(WORK, `${name}.mpix`);
  execFileSync(MPITRACE, ['import', '--from', 'mprov', path, '-o', out], { stdio: 'pipe' });
  return out;
}

/** { report } as the command prints it, or { error }. */
async function asked(trace, text, name, level, shown = COLOURS) {
  const answer = await protocolOf(trace, { text, name, level, shown }, signal, () => undefined);
  if (answer.mistake) return { error: answer.mistake.message };
  return { report: reportOf(answer.checked), checked: answer.checked };
}

function commanded(mpix, path, level) {
  const run = spawnSync(MPITRACE, ['check', mpix, '--protocol', path, '--level', String(level), '--json'], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (run.status === 2) return { error: run.stderr.replace(/^mpitrace check: /, '').replace(/\n$/, '') };
  return { report: JSON.parse(run.stdout) };
}

const exitCode = ({ colours, unreceived }) => (colours.red + colours.orange > 0 ? 1 : unreceived > 0 ? 4 : 0);

const inShort = ({ results }) =>
  results.map((x) => `${x.src}.${x.send_event}>${x.dst}.${x.recv_event} ${x.colour}`).join(', ');

test('the corpus says the same of both: colours, A and L, lines, counts, error texts with line, column and caret', async () => {
  const traces = new Map();
  for (const log of logs) traces.set(log, await open(imported(join(FOLDER, log), log)));
  let compared = 0;
  for (const [title, { code, text }] of expected) {
    const words = /^(\S+\.rules) (\S+) level (\d)$/.exec(title);
    if (!words) continue;
    const [, name, log, level] = words;
    const { report, error } = await asked(traces.get(log), String(read(name)), name, Number(level));
    assert.equal(error ? 2 : exitCode(report), code, title);
    if (error) assert.equal(`mpitrace check: ${error}`, text, title);
    else if (level === '0') assert.deepEqual(report, JSON.parse(text), title);
    else assert.equal(inShort(report), text, title);
    compared++;
  }
  const wrong = rules.filter((name) => name.startsWith('wrong_')).length;
  assert.equal(compared, wrong + (rules.length - wrong) * logs.length * 4);
});

test("the thesis's five processes: who is green, orange and red at which level", async () => {
  const spec = await Spec.parse('thesis.rules', String(read('thesis.rules')));
  const judge = (sender, receiver, level) =>
    spec.evaluate({ sender, receiver, senderLine: 1, receiverLine: 2 }, level, 5);
  const colours = (sender, receiver) => [0, 1, 2, 3].map((level) => judge(sender, receiver, level).colour);
  assert.deepEqual(colours(0, 1), ['green', 'orange', 'orange', 'orange']);
  assert.deepEqual(colours(3, 4), ['green', 'green', 'green', 'orange']);
  for (const sender of [0, 1, 2, 3]) assert.equal(colours(sender, 2)[0], 'red');
  assert.deepEqual(colours(4, 0), ['blue', 'blue', 'orange', 'orange']);
  const both = judge(0, 1, 0);
  assert.deepEqual([both.A, both.L, both.matched, both.violated], [1, 1, [2], [0]]);
});

test('the table of strictness', async () => {
  const [ALLOW, FORBID] = ['P(0,*)->P(1,*);', 'P(0,*)->P(2,*);'];
  const specs = await Promise.all(
    ['P(9,*)->P(1,*);', FORBID, ALLOW, ALLOW + ALLOW, ALLOW + FORBID].map((text) => Spec.parse('row', text)),
  );
  const message = { sender: 0, receiver: 1, senderLine: -1, receiverLine: -1 };
  const row = (level) => specs.map((spec) => spec.evaluate(message, level, 3).colour[0]).join('');
  assert.deepEqual([0, 1, 2, 3].map(row), ['brggg', 'boggo', 'ooggo', 'oogoo']);
});

test('limits are those of the command: at the limit it is read, past it refused in the same words', async () => {
  const rule = 'P(0,*)->P(1,*);\n';
  const quantifiers = (n) => `P(i,*)->P(m,*)::${Array(n).fill('forall i: i >= 0').join()};`;
  const brackets = (n) => `P(${'('.repeat(n)}0${')'.repeat(n)},*)->P(1,*);`;
  const name = (n) => `P(${'a'.repeat(n)},*)->P(1,*);`;
  const sized = (n) => rule + '#'.repeat(n - rule.length);
  const mpix = imported(join(FOLDER, 'five.log'), 'limits');
  for (const [text, limit] of [
    [(more) => rule.repeat(4096 + more), 'more than 4096 rules'],
    [(more) => quantifiers(64 + more), 'more than 64 quantifiers'],
    [(more) => brackets(64 + more), 'more than 64 parentheses'],
    [(more) => name(63 + more), 'more than 63 letters'],
    [(more) => sized(2 ** 20 + more), 'over the limit of 1048576 bytes'],
  ]) {
    const path = join(WORK, 'limit.rules');
    await Spec.parse(path, text(0));
    writeFileSync(path, text(1));
    const error = await Spec.parse(path, text(1)).catch((e) => e);
    assert.ok(error instanceof SpecError && error.message.includes(limit), error.message);
    assert.equal(error.message, commanded(mpix, path, 0).error);
    writeFileSync(path, text(0));
    assert.ok(commanded(mpix, path, 0).report, limit);
  }
});

test('the editor is told where a mistake is, whatever the specification is called', async () => {
  const mistake = async (name, text) => (await Spec.parse(name, text).catch((e) => e)).mistake;
  for (const name of ['x.rules', '', 'a:3:4: b', 'ä'.repeat(40), `${'x'.repeat(500)}:7:8: y`]) {
    const { line, column, what } = await mistake(name, 'P(0,*)->P(1,*);\nP(é,*)');
    assert.deepEqual([line, column, what], [2, 3, 'this character means nothing here'], name);
  }
  const { message, ...rest } = await mistake('x', '# nothing');
  assert.deepEqual(rest, { line: 0, column: 0, what: 'no rule in it, such as P(0,*)->P(1,*);' });
  assert.equal(message, 'x: no rule in it, such as P(0,*)->P(1,*);');
});

test('verdicts of messages: one each, none where no number comes out, none at all of what is no specification', async () => {
  const ends = (sender, receiver) => ({ sender, receiver, senderLine: -1, receiverLine: -1 });
  const messages = [ends(0, 1), ends(1, 0), ends(0, 1), ends(2, 0)];
  const given = (text) => verdictsOf({ meta: { ranks: 3 } }, { text, name: 'x', level: 1, messages });
  const colours = (await given('P(i,*)->P(m,*)::forall m: m > 2 / i;')).map((x) => x?.colour ?? null);
  assert.deepEqual(colours, [null, 'orange', null, 'orange']);
  assert.equal(await given('P(0'), null);
});

// ---- random ----

function randomLog(pick) {
  const ranks = 2 + pick(5);
  const next = Array(ranks).fill(0);
  let text = '';
  for (let n = 1 + pick(12); n > 0; n--) {
    const [a, b] = [pick(ranks), pick(ranks)];
    text += `${a}:E=${next[a]++}:S:${b}:${pick(8)};${b}:E=${next[b]++}:R:${a}:${pick(8)};\n`;
  }
  return text;
}

const SMALL = ['0', '1', '2', '3', '4', '7'];
const LARGE = ['9223372036854775807', '4611686018427387904', '9007199254740993', '3037000500', '2147483648'];
const OPERATORS = ['+', '-', '*', '/', '%', '==', '!=', '<', '>', '<=', '>=', '&&', '||'];

function expression(pick, known, depth) {
  const kind = pick(10);
  if (depth > 0 && kind < 5)
    return `${expression(pick, known, depth - 1)} ${OPERATORS[pick(OPERATORS.length)]} ${expression(pick, known, depth - 1)}`;
  if (depth > 0 && kind < 7) return `(${expression(pick, known, depth - 1)})`;
  if (kind === 7 && pick(4) === 0) return LARGE[pick(LARGE.length)];
  return kind < 5 ? known[pick(known.length)] : SMALL[pick(SMALL.length)];
}

function randomRule(pick) {
  const known = ['n'];
  const item = (own) => {
    const kind = pick(10);
    if (kind < 2) return kind === 0 ? '' : '*';
    if (kind < 6) return (known.includes(own) || known.push(own), own);
    return expression(pick, known, 1 + pick(2));
  };
  const sender = `P(${item('i')},${item(pick(8) === 0 ? 'i' : 'a')})`;
  const receiver = `P(${item(pick(8) === 0 ? 'i' : 'm')},${item('b')})`;
  let text = `${sender}${pick(20) === 0 ? '# comment\n' : ' '}->${receiver}`;
  for (let n = pick(3), first = true; n > 0; n--, first = false) {
    const bound = known[1 + pick(Math.max(1, known.length - 1))] ?? 'k';
    const word = pick(2) === 0 ? '∀' : 'forall ';
    text += `${first ? ':: ' : pick(2) === 0 ? ', ' : '; '}${word}${bound}: ${expression(pick, known, 1 + pick(3))}`;
  }
  return `${text};`;
}

/** Now and then a character is missing, or another one. */
function spoiled(pick, text) {
  const at = pick(text.length);
  if (pick(6) > 0) return text;
  return text.slice(0, at) + ['', '(', ';', ',', 'é', '9', 'n', '*'][pick(8)] + text.slice(at + pick(2));
}

test('3,000 random specifications on random logs: both say the same, of what is right and of what is wrong', async () => {
  const pick = random(20261123);
  const path = join(WORK, 'random.rules');
  const seen = { errors: 0, texts: new Set(), colours: { green: 0, red: 0, orange: 0, blue: 0 } };
  for (let round = 0; round < 60; round++) {
    writeFileSync(join(WORK, 'random.log'), randomLog(pick));
    const mpix = imported(join(WORK, 'random.log'), 'random');
    const trace = await open(mpix);
    for (let n = 0; n < 50; n++) {
      const text = spoiled(pick, Array.from({ length: 1 + pick(4) }, () => randomRule(pick)).join('\n'));
      const level = pick(4);
      writeFileSync(path, text);
      const [mine, theirs] = [await asked(trace, text, path, level), commanded(mpix, path, level)];
      delete mine.checked;
      assert.deepEqual(mine, theirs, `${text}\nlevel ${level} of\n${readFileSync(join(WORK, 'random.log'))}`);
      if (mine.error) seen.texts.add(mine.error.replace(/^\S+ (\S+ is)?|\n[^]*/g, ''));
      seen.errors += Number(mine.error !== undefined);
      for (const x of mine.report?.results ?? []) seen.colours[x.colour]++;
    }
  }
  console.log(`# ${seen.errors} wrong in ${seen.texts.size} ways; ${JSON.stringify(seen.colours)}`);
  assert.ok(seen.errors > 300 && seen.errors < 2500 && seen.texts.size > 8);
  for (const colour of COLOURS) assert.ok(seen.colours[colour] > 100, colour);
});

// ---- traces ----

const RULES = {
  ring: 'P(i,*) -> P((i+1)%n,*); P(i,a)->P(i+1,b)::forall a: a > 0, forall b: b > a;\nP(3,*)->P(m,*)::forall m: m == 2;',
  star: 'P(i,*)->P(0,*)::forall i:i>0; P(0,*)->P(m,*)::forall m:m>2;',
};

test(
  'traced programs with source lines: events, lines, A and L as the command numbers them',
  { skip: !flavour },
  async () => {
    for (const [what, text] of Object.entries(RULES)) {
      const mpix = record('protocol', what, '40');
      const path = join(WORK, `${what}.rules`);
      writeFileSync(path, text);
      const trace = await open(mpix);
      for (const level of [0, 1, 2, 3]) {
        const { report } = commanded(mpix, path, level);
        assert.ok(report.messages > 100 && report.unknown_lines === 0);
        assert.deepEqual((await asked(trace, text, path, level)).report, report);
      }
    }
  },
);

test('whatever the format can hold: events are numbered as the command does', async () => {
  const path = join(WORK, 'odd.rules');
  const text = 'P(i,*)->P(m,*)::forall m: m > i;';
  writeFileSync(path, text);
  let messages = 0;
  for (let seed = 1; seed <= 12; seed++) {
    const mpix = makeOdd(seed);
    const { report } = commanded(mpix, path, 1);
    assert.deepEqual((await asked(await open(mpix), text, path, 1)).report, report, `seed ${seed}`);
    messages += report.messages;
  }
  assert.ok(messages > 1000, `${messages} messages`);
});

test('a halo exchange of many windows: more messages than are listed, those that do not conform first', async () => {
  const mpix = make(16, 8, 400);
  const path = join(WORK, 'halo.rules');
  const text = 'P(i,*)->P(m,*)::forall m: m == i+1 || m == i-1;';
  writeFileSync(path, text);
  const trace = await open(mpix);
  const { report, checked } = await asked(trace, text, path, 2);
  const { windows } = trace.meta;
  assert.ok(report.messages > 2 * RESULTS_MAX && windows > 1, `${report.messages} messages, ${windows} windows`);
  assert.ok(report.colours.orange > RESULTS_MAX && report.colours.green > RESULTS_MAX);
  assert.ok(report.results.every((x) => x.colour === 'orange') && report.results_left_out > 0);
  assert.deepEqual(report, commanded(mpix, path, 2).report);
  const green = await asked(trace, text, path, 2, ['green']);
  assert.ok(green.checked.results.length === RESULTS_MAX && green.checked.results.every((x) => x.colour === 'green'));
  assert.deepEqual(green.checked.colours, checked.colours);
});
