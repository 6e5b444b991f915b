// protocol.mjs - a specification written, loaded, reloaded, wrong; levels, colours, the list, the address, files. What the page says is what
// `mpitrace check` says of the same trace. Each takes the browser and the tools of run.mjs.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CORPUS = join(dirname(fileURLToPath(import.meta.url)), '../corpus/protocol');

const EAST = '# to the next rank\nP(i,*) -> P(i+1,*);\nP(i,*)->P(m,*)::forall m: m < i;';

async function done(page, t) {
  await page.waitForFunction(() => globalThis.mpitrace.drawn.protocolDone === true);
  await t.settled(page);
}

async function show(page, t, file) {
  await t.pick(page, file);
  await page.click('#tab-protocol');
  await t.settled(page);
}

async function write(page, t, text) {
  await page.fill('.spec textarea', text);
  await page.keyboard.press('Control+Enter');
  await t.settled(page);
  await done(page, t);
}

const rows = (page) =>
  page
    .locator('.protocol .grid-body .grid-row')
    .evaluateAll((list) =>
      list
        .sort((a, b) => Number(a.id.split('-')[1]) - Number(b.id.split('-')[1]))
        .map((row) => [...row.children].map((cell) => cell.textContent)),
    );

const own = (page) => page.evaluate(() => globalThis.mpitrace.store.state.views.protocol);
const note = (page) => page.textContent('.protocol .note');

/** What the command says. */
function checked(t, mpix, text, level) {
  const path = join(t.work, 'browser.rules');
  writeFileSync(path, text);
  const words = ['check', mpix, '--protocol', path, '--level', String(level), '--json'];
  return JSON.parse(spawnSync(t.mpitrace, words, { encoding: 'utf8', maxBuffer: 2 ** 28 }).stdout);
}

async function exported(page, format) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.selectOption('.export', format)]);
  return readFileSync(await download.path(), 'utf8');
}

async function testProtocol(browser, t) {
  const page = await t.newPage(browser);
  await t.check(
    'a specification that is written and applied has the counts, A, L and events of mpitrace check',
    async () => {
      await show(page, t, t.small);
      t.truth(/Write or load a specification/.test(await note(page)), await note(page));
      await page.fill('.spec textarea', EAST);
      t.truth(/not applied yet/.test(await page.textContent('.protocol .tools')), 'draft');
      await write(page, t, EAST);
      for (const level of [0, 1, 2, 3]) {
        await page.check(`.protocol input[type=radio][value="${level}"]`);
        await t.settled(page);
        await done(page, t);
        const want = checked(t, t.small, EAST, level);
        t.same((await t.drawn(page)).protocolColours, want.colours, `colours at level ${level}`);
        const first = (await rows(page))
          .slice(0, 12)
          .map(([colour, from, sent, to, received, A, L]) =>
            [colour.slice(2), from.split(':')[0], sent, to.split(':')[0], received, A, L].join(' '),
          );
        const listed = want.results
          .slice(0, 12)
          .map((x) => [x.colour, x.src, x.send_event, x.dst, x.recv_event, x.a, x.l].join(' '));
        t.same(first, listed, `list at level ${level}`);
      }
      await t.shot(page, 'protocol');
    },
  );
  await t.check('rules have their own counts', async () => {
    const want = checked(t, t.small, EAST, 3).lines;
    const cells = await page
      .locator('.spec-rules tbody tr')
      .evaluateAll((list) => list.map((row) => [...row.children].map((cell) => cell.textContent.replaceAll(',', ''))));
    t.same(
      cells.map(([line, , applied, matched, violated]) => [line, applied, matched, violated].map(Number)),
      want.map((x) => [x.line, x.applied, x.matched, x.violated]),
      'rules',
    );
  });
  await t.check(
    'colours are said by words, signs and lines as well; a colour switched off is not listed, and still counted',
    async () => {
      await page.check('.protocol input[type=radio][value="0"]');
      await t.settled(page);
      await done(page, t);
      const before = (await t.drawn(page)).protocolColours;
      const styles = await page.locator('.spec-line').evaluateAll((list) => list.map((x) => x.style.borderTopStyle));
      t.same(new Set(styles).size, 4, 'styles of lines');
      const words = await page.locator('.spec-colours label').allTextContents();
      t.truth(
        ['× red', '~ orange', '○ blue', '+ green'].every((w, i) => words[i].includes(w)),
        words.join(),
      );
      await page.uncheck('.spec-colours label:has-text("red") input');
      await t.settled(page);
      await done(page, t);
      t.truth(
        (await rows(page)).every(([colour]) => !colour.includes('red')),
        'red ones are listed',
      );
      t.same((await t.drawn(page)).protocolColours, before, 'counts');
      await page.check('.spec-colours label:has-text("red") input');
      await t.settled(page);
      await done(page, t);
    },
  );
  await t.check('a message chosen is picked in all views; Enter shows it in the timeline', async () => {
    await page.focus('.protocol .grid');
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    await t.settled(page);
    const [, from, , to] = (await rows(page))[1];
    await page.waitForFunction(() => /Message|message/.test(document.querySelector('.selection').textContent));
    const text = await page.textContent('.selection');
    const [src, dst] = [from, to].map((x) => x.split(':')[0]);
    t.truth(text.includes(src) && text.includes(dst) && /bytes|KiB/.test(text), text);
    await page.keyboard.press('Enter');
    await t.settled(page);
    const s = await t.state(page);
    t.same([s.view, /^m\d+\.\d+$/.test(s.picked)], ['timeline', true], 'view, picked');
    t.truth(s.to - s.from < 20e6, `${s.to - s.from} ns are shown`);
  });
  await t.check('the address holds specification, level and colours; undo brings back the level before', async () => {
    await page.evaluate(() => globalThis.mpitrace.store.set({ view: 'protocol' }));
    await page.check('.protocol input[type=radio][value="2"]');
    await page.uncheck('.spec-colours label:has-text("green") input');
    await t.settled(page);
    await page.waitForFunction(() => location.hash.includes('protocol.hidden=green'));
    const address = page.url();
    await page.goto('about:blank');
    await page.goto(address);
    await page.setInputFiles('#file', t.small);
    await t.settled(page);
    await done(page, t);
    t.same(await page.inputValue('.spec textarea'), EAST, 'text');
    const { level, hidden } = await own(page);
    t.same([level, hidden], [2, ['green']], 'level, colours');
    t.same((await t.drawn(page)).protocolColours, checked(t, t.small, EAST, 2).colours, 'colours');
    await page.evaluate(() => globalThis.mpitrace.store.settle());
    await page.check('.protocol input[type=radio][value="0"]');
    await t.settled(page);
    await page.evaluate(() => globalThis.mpitrace.store.undo());
    await t.settled(page);
    t.truth(await page.isChecked('.protocol input[type=radio][value="2"]'), 'level after undo');
  });
  await t.check('CSV and JSON have what is listed', async () => {
    await page.check('.spec-colours label:has-text("green") input');
    await t.settled(page);
    await done(page, t);
    const want = checked(t, t.small, EAST, 2);
    const json = JSON.parse(await exported(page, 'json'));
    const pairs = (list) => list.map((x) => [x.colour, x.src, x.send_event, x.dst, x.recv_event, x.a, x.l]);
    t.same(pairs(json.rows), pairs(want.results), 'rows');
    const csv = (await exported(page, 'csv')).trim().split('\n');
    t.same([csv.length, csv[0].split(',')[0]], [want.results.length + 1, 'colour'], 'CSV');
  });
  await page.close();
}

async function testProtocolMistakes(browser, t) {
  const page = await t.newPage(browser);
  await show(page, t, t.small);
  const file = join(t.work, 'loaded.rules');
  await t.check('a specification is loaded, and reloaded when its file has changed', async () => {
    writeFileSync(file, 'P(0,*)->P(1,*);\n');
    await page.setInputFiles('.protocol input[type=file]', file);
    await t.settled(page);
    await done(page, t);
    t.same((await t.drawn(page)).protocolColours, checked(t, t.small, 'P(0,*)->P(1,*);', 0).colours, 'colours');
    t.same((await own(page)).name, 'loaded.rules', 'name');
    await page.click('.protocol button[aria-label="Read the file again"]');
    await t.settled(page);
    t.same(await page.inputValue('.spec textarea'), 'P(0,*)->P(1,*);\n', 'text');
  });
  await t.check('what is wrong is said at its line, with line, column and caret, as the command does', async () => {
    for (const name of ['wrong_comma', 'wrong_computed_division', 'wrong_after_wide']) {
      const path = join(CORPUS, `${name}.rules`);
      await page.setInputFiles('.protocol input[type=file]', path);
      await page.waitForFunction(
        (n) => document.querySelector('.spec-error').textContent.startsWith(n),
        `${name}.rules:`,
      );
      await t.settled(page);
      const text = await page.textContent('.spec-error');
      const run = spawnSync(t.mpitrace, ['check', t.small, '--protocol', `${name}.rules`], {
        cwd: CORPUS,
        encoding: 'utf8',
      });
      t.same(`mpitrace check: ${text}\n`, run.stderr, name);
      const line = /:(\d+):\d+: /.exec(text)[1];
      t.same(await page.textContent('.spec-numbers .wrong'), `✗ ${line}`, 'line in the gutter');
      t.truth((await page.textContent('.spec-mark')).startsWith('^'), 'caret at the place');
      t.same(await page.getAttribute('.spec textarea', 'aria-invalid'), 'true', 'aria-invalid');
    }
    await t.shot(page, 'protocol-wrong');
    await page.fill('.spec textarea', 'P(0,*)->P(1,*);');
    t.truth(!(await page.isVisible('.spec-error')), 'the mistake is still said after a change');
  });
  await t.check('keys that are written are text, not commands; the own undo of the text is left to it', async () => {
    await page.focus('.spec textarea');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('P(1,2)?');
    t.same(await page.inputValue('.spec textarea'), 'P(1,2)?', 'text');
    t.same((await t.state(page)).view, 'protocol', 'view');
    await page.keyboard.press('Control+z');
    t.truth((await page.inputValue('.spec textarea')) !== 'P(1,2)?', 'nothing was undone');
  });
  await page.close();
}

async function testProtocolLogs(browser, t) {
  const page = await t.newPage(browser);
  await t.check('a log of MPROV is opened as it is: timeline, tables and protocol show its events', async () => {
    await t.pick(page, join(CORPUS, 'five.log'));
    const d = await t.drawn(page);
    t.same([d.detail, d.events, d.lines], ['events', 12, 6], 'drawn');
    t.truth(/logical clock/.test(await page.textContent('.trust')), 'what it does not record');
    await page.click('#tab-protocol');
    const thesis = readFileSync(join(CORPUS, 'thesis.rules'), 'utf8');
    await write(page, t, thesis);
    t.same((await t.drawn(page)).protocolColours, { green: 3, red: 2, orange: 0, blue: 1 }, 'colours');
    await t.shot(page, 'protocol-log');
    for (const tab of ['analysis', 'tables', 'distribution', 'matrix', 'circle', 'states', 'timeline']) {
      await page.click(`#tab-${tab}`);
      await t.settled(page);
      t.truth(!(await page.isVisible('.alert')), `${tab}: ${await page.textContent('.alert')}`);
    }
  });
  await t.check('a file of Pyrite is opened as it is', async () => {
    await t.pick(page, join(CORPUS, '..', 'pyrite', 'coll4.mpic'));
    const d = await t.drawn(page);
    t.truth(d.detail === 'events' && d.events > 0, `${d.detail} ${d.events}`);
    await page.click('#tab-spacetime');
    await t.settled(page);
    t.truth((await t.drawn(page)).spaceEvents > 0, 'events of the space-time view');
  });
  await t.check('a log that is wrong is refused with its line and what is wrong', async () => {
    await t.pick(page, join(CORPUS, 'five.log'));
    await page.evaluate(() => document.querySelector('button[title="Open another trace"]').click());
    await page.setInputFiles('#file', join(CORPUS, 'wrong_letter.log'));
    await page.waitForSelector('.problem');
    const text = await page.textContent('.problem');
    t.truth(text.startsWith("wrong_letter.log:2: 'x' where an event number should be"), text);
  });
  await page.close();
}

async function testProtocolSizes(browser, t) {
  const page = await t.newPage(browser);
  await t.check('an imported log, 64 and 1,024 ranks; light, dark; 400 pixels', async () => {
    const log = join(t.work, 'five.mpix');
    execFileSync(t.mpitrace, ['import', '--from', 'mprov', join(CORPUS, 'five.log'), '-o', log]);
    await page.setViewportSize({ width: 1400, height: 860 });
    await show(page, t, log);
    const thesis = readFileSync(join(CORPUS, 'thesis.rules'), 'utf8');
    await write(page, t, thesis);
    t.same((await t.drawn(page)).protocolColours, checked(t, log, thesis, 0).colours, 'colours');
    t.same((await rows(page)).map(([, from]) => from).join(' '), '1:21 2:31 0:10 3:41 4:51 0:12', 'ranks and lines');
    await t.shot(page, 'protocol-thesis');
    await show(page, t, t.make('protocol64.mpix', 8, 8, 20));
    await write(page, t, EAST);
    await t.shot(page, 'protocol-64');
    await show(page, t, t.make('protocol1024.mpix', 32, 32, 5));
    await page.emulateMedia({ colorScheme: 'dark' });
    await write(page, t, EAST);
    const d = await t.drawn(page);
    t.same(
      [d.protocolListed, Object.values(d.protocolColours).reduce((a, b) => a + b)],
      [10000, 1024 * 5 * 4],
      'listed, all',
    );
    await t.shot(page, 'protocol-1024-dark');
    await page.setViewportSize({ width: 400, height: 800 });
    await t.settled(page);
    t.same(await page.evaluate(() => document.documentElement.scrollWidth), 400, 'width');
    await t.shot(page, 'protocol-narrow');
  });
  await page.close();
}

export const PROTOCOL_CLAIMS = [testProtocol, testProtocolMistakes, testProtocolLogs, testProtocolSizes];
