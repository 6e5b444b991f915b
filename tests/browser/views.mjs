// views.mjs - tables, distributions, the analysis, two runs, files of every view, following what belongs together, keys, touch.
// Each takes the browser and the tools of run.mjs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { barriers } from './axe.mjs';
import { serve } from './chromium.mjs';

const view = async (page, t, id) => {
  await page.click(`#tab-${id}`);
  await t.settled(page);
};
const note = (page, id) => page.textContent(`.view.${id} .note`);
const chosen = (page) => page.textContent('.selection h3');
const table = (page, kind) => page.selectOption('select[aria-label="What the table is of"]', kind);
const filterText = (page) => page.evaluate(() => globalThis.mpitrace.store.state.filterText);

async function testTables(browser, t) {
  const page = await t.newPage(browser);
  await t.check('the table of calls has every call of the interval, and few of them as elements', async () => {
    await t.pick(page, t.small);
    await view(page, t, 'tables');
    t.truth(/^3,664 calls in /.test(await note(page, 'tables')), await note(page, 'tables'));
    t.same(await page.getAttribute('.grid', 'aria-rowcount'), '3665', 'rows told');
    t.truth((await page.locator('.grid-body .grid-row').count()) < 100, 'all rows are elements');
    await t.shot(page, 'tables');
  });
  await t.check('a heading sorts; a row that is clicked is picked everywhere', async () => {
    await page.click('.grid-head button:has-text("waiting")');
    await t.settled(page);
    const row = page.locator('.grid-body .grid-row').first();
    t.truth(/MPI_Waitall/.test(await row.textContent()), await row.textContent());
    await row.click();
    await t.settled(page);
    await page.waitForFunction(() => document.querySelector('.selection h3')?.textContent === 'MPI_Waitall');
    t.same(await page.locator('.grid-row.picked').count(), 1, 'picked rows');
  });
  await t.check('what is picked elsewhere is found in the table, however far away', async () => {
    await page.click('.grid-head button:has-text("start")');
    await page.evaluate(() => globalThis.mpitrace.store.set({ picked: 'e0.7.400' }));
    await t.settled(page);
    await page.waitForFunction(() => {
      const [row, grid] = ['.grid-row.picked', '.grid'].map((x) => document.querySelector(x)?.getBoundingClientRect());
      return row && row.top >= grid.top && row.bottom <= grid.bottom + 1; // positions are rounded to pixels
    });
    t.truth((await t.drawn(page)).tablePicked > 100, 'place');
  });
  await t.check('by keyboard alone: move, and Enter shows the call in the timeline', async () => {
    await page.focus('.grid');
    for (const key of ['Home', 'ArrowDown', 'PageDown', 'ArrowUp']) await page.keyboard.press(key);
    await t.settled(page);
    const id = await page.getAttribute('.grid', 'aria-activedescendant');
    t.truth(await page.locator(`#${id}.current`).isVisible(), 'current row');
    await page.keyboard.press('Enter');
    await t.settled(page);
    const { view: shown, from, to, picked } = await t.state(page);
    t.same(shown, 'timeline', 'view');
    t.truth(picked !== '' && to - from < 20e6, `${to - from} ns`);
  });
  await t.check('messages, call sites, communicators have tables; a call site filters all views', async () => {
    await page.evaluate(() => globalThis.mpitrace.store.showAll());
    await view(page, t, 'tables');
    await table(page, 'messages');
    await t.settled(page);
    t.truth(/^1,600 messages/.test(await note(page, 'tables')), await note(page, 'tables'));
    await t.shot(page, 'tables-messages');
    await table(page, 'comms');
    await t.settled(page);
    t.truth(/MPI_COMM_WORLD/.test(await page.textContent('.grid-body')), 'communicators');
    await table(page, 'sites');
    await t.settled(page);
    const row = page.locator('.grid-row:has-text("MPI_Isend")');
    t.truth(/1,600/.test(await row.textContent()), await row.textContent());
    await row.dblclick();
    await t.settled(page);
    t.truth(/^site:.*halo\.c:61.*MPI_Isend$/.test(await filterText(page)), await filterText(page));
    await table(page, 'events');
    await t.settled(page);
    await page.waitForFunction(() => /^1,600 calls/.test(document.querySelector('.tables .note').textContent));
    t.truth(/only site:/.test(await note(page, 'tables')), 'the filter is said');
    await page.click('.chip button');
  });
  await t.check('of a part of the run, call sites are counted there', async () => {
    await t.interval(page, 5e6, 9e6);
    await table(page, 'sites');
    await t.settled(page);
    await page.waitForFunction(() => /4\.00 ms/.test(document.querySelector('.tables .note').textContent));
    await page.waitForFunction(() => /MPI_Isend/.test(document.querySelector('.grid-body').textContent));
    const cells = await page.locator('.grid-row:has-text("MPI_Isend") > div').allTextContents();
    t.truth(cells.includes('64'), `two steps of 32 sends: ${cells.join(' ')}`);
    await page.evaluate(() => globalThis.mpitrace.store.showAll());
  });
  await page.close();
}

async function testDistribution(browser, t) {
  const page = await t.newPage(browser);
  const limits = () => page.evaluate(() => globalThis.mpitrace.store.state.filter);
  await t.check('what is brushed in a distribution filters all views', async () => {
    await t.pick(page, t.small);
    await view(page, t, 'distribution');
    t.same((await t.drawn(page)).distributionTotal, 3664, 'calls');
    await t.shot(page, 'distribution');
    const box = await page.locator('.distribution .layer').boundingBox();
    await page.mouse.move(box.x + box.width * 0.55, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.85, box.y + 200, { steps: 4 });
    await page.mouse.up();
    await t.settled(page);
    const { minNs, maxNs } = await limits();
    t.truth(minNs > 1000 && maxNs > minNs, `${minNs} to ${maxNs}`);
    t.same((await t.drawn(page)).distributionTotal, 3664, 'calls counted, also those left out');
    await t.shot(page, 'distribution-brushed');
    await view(page, t, 'tables');
    const calls = Number(/^([\d,]+) calls/.exec(await note(page, 'tables'))[1].replace(',', ''));
    t.truth(calls > 0 && calls < 1000, `${calls} calls`);
  });
  await t.check('a distribution is brushed by keyboard too, and Escape removes that', async () => {
    await view(page, t, 'distribution');
    await page.focus('.distribution .layer');
    await page.keyboard.press('Escape');
    await t.settled(page);
    t.same((await limits()).minNs, 0, 'removed');
    for (const key of ['ArrowLeft', 'Shift+ArrowLeft', 'Shift+ArrowLeft', 'Enter']) await page.keyboard.press(key);
    await t.settled(page);
    t.truth((await limits()).minNs > 1e6, 'limit');
    await page.keyboard.press('Escape');
  });
  await t.check('every metric has its distribution', async () => {
    for (const [metric, total] of Object.entries({ wait: 3664, callBytes: 3664, messageBytes: 1600, transit: 1600 })) {
      await page.selectOption('select[aria-label="What is counted"]', metric);
      await page.waitForFunction((m) => globalThis.mpitrace.drawn.distributionMetric === m, metric);
      await t.settled(page);
      t.same((await t.drawn(page)).distributionTotal, total, metric);
    }
  });
  await page.close();
}

async function testAnalysis(browser, t) {
  const page = await t.newPage(browser);
  await t.check('the analysis shows efficiencies, issues, waiting across ranks', async () => {
    await t.pick(page, t.small);
    await view(page, t, 'analysis');
    const text = await page.textContent('.analysis-page');
    for (const words of [/load balance/, /uneven work between ranks/, /all waiting/, /Patterns of the traffic/i])
      t.truth(words.test(text), `${words} in ${text}`);
    t.same((await t.drawn(page)).waitColumns, 8, 'columns of ranks');
    await t.shot(page, 'analysis');
  });
  await t.check('the tree of waiting opens, closes and filters by keyboard', async () => {
    await page.focus('.wait-tree');
    const rows = () => page.locator('.wait-row:not(.head)').count();
    const before = await rows();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowRight');
    t.truth((await rows()) > before, 'opened');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await t.settled(page);
    t.truth(/MPI_\w+ wait$/.test(await filterText(page)), await filterText(page));
    await page.click('.chip button');
    await page.locator('.wait-row.level0 canvas').click({ position: { x: 5, y: 7 } });
    await t.settled(page);
    t.same((await t.state(page)).selected, [0], 'ranks selected');
  });
  await t.check('an issue leads from the analysis to its place in the timeline', async () => {
    await page.click('.analysis-page section[aria-label="Issues"] button:has-text("Show")');
    await t.settled(page);
    const { view: shown, selected } = await t.state(page);
    t.same([shown, selected], ['timeline', [7]], 'shown');
  });
  await page.close();
}

async function testTwoRuns(browser, t) {
  const page = await t.newPage(browser);
  const other = t.make('other.mpix', 4, 2, 40);
  const blue = () => page.evaluate(() => globalThis.mpitrace.drawn.iterations);
  await t.check('a second run is opened beside the first, and what differs is told', async () => {
    await t.pick(page, t.small);
    await view(page, t, 'compare');
    await page.setInputFiles('#other', other);
    await page.waitForFunction(() => globalThis.mpitrace.drawn.compareFinal === true);
    await t.settled(page);
    const row = await page.locator('.differences tr:has-text("MPI_Isend")').textContent();
    t.truth(/576\.00 µs.*461\.00 µs.*−115\.00 µs \(−20 %\)/.test(row.replaceAll(/\s+/g, ' ')), row);
    await t.shot(page, 'two-runs');
  });
  await t.check('aligned by iteration, the call site where they begin lies at one place in both', async () => {
    await page.selectOption('select[aria-label="What lies below each other"]', 'iteration');
    const site = await page
      .locator('select[aria-label="Call site"] option:has-text("MPI_Waitall")')
      .getAttribute('value');
    await page.selectOption('select[aria-label="Call site"]', site);
    await page.waitForFunction(() => globalThis.mpitrace.drawn.iterations?.join() === '50,40');
    await t.interval(page, 5e6, 15e6);
    await t.settled(page);
    t.same(await blue(), [50, 40], 'iterations');
    t.truth(/50 iterations in A, 40 in B/.test(await note(page, 'compare')), await note(page, 'compare'));
    await t.shot(page, 'two-runs-iterations');
  });
  await t.check('two runs are panned and zoomed by keyboard', async () => {
    await page.focus('.compare .layer');
    const before = await t.state(page);
    for (const key of ['w', 'd']) await page.keyboard.press(key);
    await t.settled(page);
    const after = await t.state(page);
    t.truth(after.to - after.from < before.to - before.from && after.from > before.from, 'moved');
  });
  await t.check('a file that is no trace does not take the place of the second run', async () => {
    const bad = { name: 'letter.txt', mimeType: 'text/plain', buffer: Buffer.from('this is no trace') };
    await page.setInputFiles('#another', bad);
    await page.waitForSelector('.alert:not([hidden])');
    t.truth(
      /letter\.txt: The file cannot be read: not an \.mpix/.test(await page.textContent('.alert')),
      await page.textContent('.alert'),
    );
    t.truth(/other\.mpix/.test(await page.locator('.differences th').nth(2).getAttribute('title')), 'the second run');
  });
  await t.check('a page opened again says which second run it was compared with, and takes it', async () => {
    await page.waitForFunction(() => /compare\.other=other\.mpix/.test(location.hash));
    await page.reload();
    await page.setInputFiles('#file', t.small);
    await page.waitForSelector('.compare .again');
    const text = await page.textContent('.compare .again');
    t.truth(/It was compared with other\.mpix \([\d.]+ KiB\)/.test(text), text);
    await page.setInputFiles('#other', { name: 'other.mpix', mimeType: '', buffer: readFileSync(t.small) });
    await page.waitForSelector('.alert:not([hidden])');
    const alert = await page.textContent('.alert');
    t.truth(/other\.mpix is not the file it was compared with before/.test(alert), alert);
  });
  await page.close();
  const served = await t.newPage(browser);
  await t.check('mpitrace view A B opens both', async () => {
    const server = await serve(t.mpitrace, t.small, other);
    await served.goto(server.url);
    await t.settled(served);
    await served.waitForFunction(() => globalThis.mpitrace.drawn.compareFinal === true);
    t.same((await t.state(served)).view, 'compare', 'view');
    await served.goto('about:blank');
    await served.goto(`${server.url}#view=matrix`);
    await served.waitForFunction(() => /spacetime\.runs=other\.mpix/.test(location.hash));
    t.same((await t.state(served)).view, 'matrix', 'the view that the address names');
    server.stop();
  });
  await served.close();
}

/** The file that a choice of the export menu makes. */
export async function exported(page, t, what) {
  const coming = page.waitForEvent('download', { timeout: 20000 });
  await page.click('header h1'); // after some 20 files Chromium gives none to a page that nobody has touched since
  await page.selectOption('.export', what);
  const download = await coming;
  const path = join(t.work, download.suggestedFilename());
  await download.saveAs(path);
  return { name: download.suggestedFilename(), bytes: readFileSync(path) };
}

async function testExport(browser, t) {
  const page = await t.newPage(browser, { acceptDownloads: true });
  const views = ['timeline', 'analysis', 'tables', 'distribution', 'matrix', 'circle', 'compare', 'logical'];
  await t.check('every view is exported as SVG, PNG, CSV and JSON', async () => {
    await t.pick(page, t.small);
    await view(page, t, 'compare');
    await page.setInputFiles('#other', t.small);
    await page.waitForFunction(() => globalThis.mpitrace.drawn.compareFinal === true);
    for (const id of views) {
      await view(page, t, id);
      const svg = String((await exported(page, t, 'svg')).bytes);
      const isWell = await page.evaluate(
        (text) => !new DOMParser().parseFromString(text, 'image/svg+xml').querySelector('parsererror'),
        svg,
      );
      t.truth(isWell && /<text/.test(svg), `${id}: SVG`);
      const png = await exported(page, t, 'png');
      t.truth(png.bytes.subarray(1, 4).toString() === 'PNG' && png.bytes.length > 3000, `${id}: PNG`);
      const [head, ...lines] = String((await exported(page, t, 'csv')).bytes)
        .trim()
        .split('\n');
      const { name, bytes } = await exported(page, t, 'json');
      const json = JSON.parse(String(bytes));
      t.same([json.view, name], [id, `small-${id}.json`], 'JSON');
      t.truth(json.rows.length > 0 && lines.length >= json.rows.length, `${id}: ${json.rows.length} rows`);
      t.same(Object.keys(json.rows[0]).join(), head, `${id}: columns`);
    }
  });
  await t.check('a file has the same figures as the view', async () => {
    await view(page, t, 'matrix');
    const { rows } = JSON.parse(String((await exported(page, t, 'json')).bytes));
    const sum = rows.reduce((total, r) => total + r.bytes, 0);
    t.same([rows.length, sum], [24, (await t.drawn(page)).matrixTotal], 'matrix');
    await view(page, t, 'timeline');
    t.same(JSON.parse(String((await exported(page, t, 'json')).bytes)).rows.length, 3664, 'calls');
  });
  await t.check('T shows any picture as a table, for whoever cannot see it', async () => {
    await view(page, t, 'circle');
    await page.focus('.circle .layer');
    await page.keyboard.press('t');
    await page.waitForSelector('dialog.twin[open] .grid-body .grid-row');
    t.same(await page.getAttribute('dialog.twin .grid', 'aria-rowcount'), '25', 'links and the head');
    await t.shot(page, 'twin');
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog.twin', { state: 'detached' });
  });
  await page.close();
}

async function testFollow(browser, t) {
  const page = await t.newPage(browser);
  const isPicked = (title) =>
    page.waitForFunction((x) => new RegExp(x).test(document.querySelector('.selection h3')?.textContent ?? ''), title);
  await t.check('F goes from a wait to its message, to its send, C to the cause of the wait', async () => {
    await t.pick(page, t.small);
    await t.interval(page, 5e6, 9e6);
    await page.evaluate(() => globalThis.mpitrace.store.set({ picked: 'e0.0.9' }));
    await isPicked('MPI_Waitall');
    await t.settled(page);
    await page.focus('.stage');
    await page.keyboard.press('f');
    await isPicked('^Message \\d → 0$');
    await t.settled(page);
    await page.keyboard.press('f');
    await isPicked('MPI_Isend');
    await page.evaluate(() => globalThis.mpitrace.store.set({ picked: 'e0.0.9' }));
    await isPicked('MPI_Waitall');
    await t.settled(page);
    await page.keyboard.press('c');
    await isPicked('MPI_Isend');
    t.truth(/rank4 on n2/.test(await page.textContent('.selection')), await page.textContent('.selection'));
  });
  await t.check('B tells how it came to a wait, several steps back, and each step leads there', async () => {
    await page.evaluate(() => globalThis.mpitrace.store.set({ picked: 'e0.0.400' }));
    await t.settled(page);
    await page.keyboard.press('b');
    await page.waitForSelector('.steps li:nth-child(2) button');
    t.truth(
      /^1\. rank \d MPI_\w+ waited .* \(.*\) for rank \d MPI_/.test(await page.textContent('.steps li')),
      'words',
    );
    await page.mouse.move(5, 5);
    await t.shot(page, 'chain');
    await page.click('.steps li:nth-child(2) button:last-child');
    await t.settled(page);
    t.truth(/MPI_/.test(await chosen(page)), await chosen(page));
    t.truth((await page.locator('.steps li').count()) > 1, 'the list stays');
  });
  await t.check('what is picked elsewhere has not come about so: the list and its arrows are gone', async () => {
    await page.evaluate(() => globalThis.mpitrace.store.set({ picked: 'e0.0.9' }));
    await isPicked('MPI_Waitall');
    await t.settled(page);
    await page.waitForFunction(() => document.querySelectorAll('.steps li').length === 0);
  });
  await t.check('while a filter holds, the grey of what it hides is in the key', async () => {
    const shown = () => page.locator('.legend .key:has-text("hidden by the filter")').isVisible();
    t.same(await shown(), false, 'without');
    await page.evaluate(() =>
      globalThis.mpitrace.store.set({ filter: { ...globalThis.mpitrace.store.state.filter, ops: ['MPI_Waitall'] } }),
    );
    await t.settled(page);
    t.same(await shown(), true, 'with');
    await t.shot(page, 'filtered');
  });
  await page.close();
}

async function testLogical(browser, t) {
  const page = await t.newPage(browser);
  const cell = (rank, step) =>
    page.evaluate(
      ([r, s]) => {
        const box = document.querySelector('.logical .layer').getBoundingClientRect();
        const [from, to] = globalThis.mpitrace.drawn.logicalShown;
        const left = globalThis.mpitrace.drawn.logicalLeft;
        const row = Math.min(72, (box.height - 26) / 8);
        const x = left + ((s + 0.5 - from) / (to - from)) * (box.width - left - 8);
        return [box.x + x, box.y + 26 + (r + 0.5) * row];
      },
      [rank, step],
    );
  const tip = () => page.textContent('.tooltip');
  await t.check(
    'logical time has every call at its step, and says how late they are and from where steps count',
    async () => {
      await t.pick(page, t.small);
      await view(page, t, 'logical');
      const d = await t.drawn(page);
      // Init, 50 steps of nine calls, an Allreduce after every tenth, one at the end, Finalize; a Waitall is behind the last Isend
      t.same([d.logicalCalls, d.logicalSteps], [3664, 458], 'calls and steps');
      t.truth(d.logicalMost > 1e5 && d.logicalLate > d.logicalMost, `${d.logicalMost} of ${d.logicalLate} ns`);
      const text = await note(page, 'logical');
      t.truth(
        /^3,664 calls at 458 steps, counted from the beginning of the interval; 3,648 compared: .* late/.test(text),
        text,
      );
      await t.shot(page, 'logical');
    },
  );
  await t.check(
    'a cell tells rank, call, site, step, lateness and time; a click selects its call in all views',
    async () => {
      await t.interval(page, 5e6, 7.5e6);
      await t.settled(page);
      await page.mouse.move(...(await cell(7, 9)));
      await t.settled(page);
      const text = await tip();
      t.truth(/^MPI_Waitallrank7 on n2step9late by.*start.*duration.*call site.*halo\.c:68$/.test(text), text);
      await page.mouse.click(...(await cell(7, 9)));
      await t.settled(page);
      t.same([(await t.state(page)).picked, (await t.drawn(page)).logicalMarked], ['e0.7.9', 1], 'picked');
      t.truth(/MPI_Waitall/.test(await page.textContent('.selection')), 'panel');
      await t.shot(page, 'logical-zoomed');
    },
  );
  await t.check('L goes to the timeline and back, with interval and selection', async () => {
    const before = await t.state(page);
    await page.keyboard.press('l');
    await t.settled(page);
    const there = await t.state(page);
    t.same([there.view, there.from, there.to, there.picked], ['timeline', before.from, before.to, 'e0.7.9'], 'there');
    t.truth(await page.evaluate(() => document.activeElement.closest('.timeline') !== null), 'focus');
    await page.keyboard.press('l');
    await t.settled(page);
    const back = await t.state(page);
    t.same([back.view, back.from, back.to, back.picked], ['logical', before.from, before.to, 'e0.7.9'], 'back');
  });
  await t.check('what is selected elsewhere is marked at its step, a message at both its ends', async () => {
    await page.evaluate(() => globalThis.mpitrace.store.showAll());
    await page.focus('.logical .layer');
    for (let i = 0; i < 6; i++) await page.keyboard.press('+');
    await page.evaluate(() => globalThis.mpitrace.store.set({ picked: 'e0.3.400' }));
    await t.settled(page);
    const { logicalMarked, logicalShown } = await t.drawn(page);
    t.same(logicalMarked, 1, 'marked');
    t.truth(logicalShown[0] <= 401 && logicalShown[1] > 401, `steps ${logicalShown}`);
    await page.keyboard.press('f'); // to the timeline
    await t.settled(page);
    t.truth(/^m/.test((await t.state(page)).picked), 'a message is selected');
    await page.evaluate(() => globalThis.mpitrace.store.showAll());
    await page.keyboard.press('l');
    await t.settled(page);
    await page.waitForFunction(() => globalThis.mpitrace.drawn.logicalMarked === 2);
  });
  await t.check('messages are lines where they have room, and M hides them', async () => {
    await t.interval(page, 5e6, 7.5e6);
    await t.settled(page);
    t.same((await t.drawn(page)).logicalLines, 32, 'lines');
    await page.focus('.logical .layer');
    await page.keyboard.press('m');
    await t.settled(page);
    t.same((await t.drawn(page)).logicalLines, 0, 'hidden');
    await page.keyboard.press('m');
  });
  await t.check('by keyboard alone: from call to call, each told, and Enter selects it', async () => {
    await page.evaluate(() => globalThis.mpitrace.store.set({ picked: '' }));
    await page.focus('.logical .layer');
    for (const key of ['Home', 'ArrowRight', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
    const told = await page.textContent('.voice');
    t.truth(/^MPI_I\w+: rank \d on n\d, step \d, late by .*, start .*, duration .*, call site/.test(told), told);
    await page.keyboard.press('Enter');
    await t.settled(page);
    t.truth(/^e0\.\d\.\d+$/.test((await t.state(page)).picked), (await t.state(page)).picked);
  });
  await t.check('what a filter hides is pale here, and steps are those of all calls', async () => {
    await page.evaluate(() => globalThis.mpitrace.store.showAll());
    await page.fill('.find', 'waitall');
    await page.press('.find', 'Control+Enter');
    await t.settled(page);
    const d = await t.drawn(page);
    t.same([d.logicalCalls, d.logicalSteps, d.logicalHidden], [3664, 458, 3664 - 400], 'calls, steps, hidden');
    t.truth(/only waitall in colour/.test(await note(page, 'logical')), await note(page, 'logical'));
    await page.click('.chip button');
  });
  await t.check('colours of the timeline can be lateness, with its key instead of that of classes', async () => {
    await view(page, t, 'timeline');
    await t.interval(page, 5e6, 9e6);
    await page.evaluate(() => globalThis.mpitrace.store.setView('timeline', { messages: false }));
    await page.selectOption(
      'select[aria-label="What the colours of calls are: their class, or how late they end"]',
      'lateness',
    );
    await t.settled(page);
    const clip = await page.locator('.timeline .stage').boundingBox();
    const waiting = await t.pixels(page, [0xd5, 0x5e, 0x00], clip);
    const levels = [];
    for (const rgb of await page.evaluate(() =>
      [...document.querySelectorAll('.timeline .legend:not([hidden]) .swatch')].map((x) =>
        getComputedStyle(x).backgroundColor.match(/\d+/g).map(Number),
      ),
    ))
      levels.push(await t.pixels(page, rgb, clip));
    t.same([levels.length, waiting], [8, 0], 'colours in the key, pixels of waiting');
    t.truth(levels.slice(0, 7).filter((n) => n > 500).length >= 2, `pixels by level: ${levels}`);
    t.truth(/late by 0 to /.test(await page.textContent('.timeline .legend:not([hidden])')), 'key');
    t.truth(/colours are lateness at logical steps/.test(await note(page, 'timeline')), await note(page, 'timeline'));
    await t.shot(page, 'timeline-lateness');
    await page.evaluate(() => globalThis.mpitrace.store.setView('timeline', { color: 'class', messages: true }));
    await t.settled(page);
    t.truth((await t.pixels(page, [0xd5, 0x5e, 0x00], clip)) > 5000, 'classes again');
  });
  await t.check('one rank is compared with nobody, and that is not drawn as if it were in time', async () => {
    await t.pick(page, t.make('alone.mpix', 1, 1, 20));
    await view(page, t, 'logical');
    const d = await t.drawn(page);
    t.same([d.logicalCalls, d.logicalMost, d.logicalLate], [185, 0, 0], 'calls, lateness');
    t.truth(/no call could be compared/.test(await note(page, 'logical')), await note(page, 'logical'));
    const clip = await page.locator('.logical .layer').boundingBox();
    const zero = await page.evaluate(() =>
      getComputedStyle(document.querySelector('.logical .swatch')).backgroundColor.match(/\d+/g).map(Number),
    );
    t.same(await t.pixels(page, zero, clip), 0, 'pixels of the colour of 0');
  });
  await t.check(
    'an interval of too many calls says how many it has and what to do; a part of it is shown',
    async () => {
      await t.pick(page, t.make('many.mpix', 8, 8, 1000));
      await view(page, t, 'logical');
      const calls = 64 * (2 + 1000 * 9 + 101);
      const text = await page.textContent('.logical .empty');
      const said = Number(/^The interval has about ([\d,]+) calls/.exec(text)?.[1].replaceAll(',', ''));
      t.truth(said >= calls && said < 1.001 * calls, `${text}: they are ${calls}`); // one that goes on in a later chunk is in both
      t.truth(/at most 524,288\. Zoom in/.test(text), text);
      await t.interval(page, 1e8, 1.1e8);
      await t.settled(page);
      const d = await t.drawn(page);
      t.truth(d.logicalTooMany === 0 && d.logicalCalls > 1000, `${d.logicalCalls} calls`);
      t.same(await page.locator('.logical .empty').isVisible(), false, 'the sentence');
    },
  );
  await page.close();
}

/** Those that need neither a protocol nor samples. */
const PLAIN_VIEWS = [
  ...['timeline', 'analysis', 'tables', 'distribution', 'matrix'],
  ...['circle', 'states', 'compare', 'logical'],
];

/** For who cannot see it, or not well. */
async function testBarriers(browser, t) {
  for (const colorScheme of ['light', 'dark']) {
    const page = await t.newPage(browser, { reducedMotion: 'reduce', colorScheme });
    await t.pick(page, t.small);
    const views = await page.locator('[role=tab]').evaluateAll((all) => all.map((x) => x.id.replace('tab-', '')));
    t.truth(views.length > 8, views.join(' '));
    for (const id of views)
      await t.check(`${id}, ${colorScheme}: no barriers`, async () => {
        await view(page, t, id);
        t.same(await barriers(page, t.work), [], id);
      });
    await page.close();
  }
}

async function testKeys(browser, t) {
  const page = await t.newPage(browser, { reducedMotion: 'reduce' });
  await t.check('every control of every view is reached by Tab, and has a name', async () => {
    await t.pick(page, t.small);
    for (const id of PLAIN_VIEWS) {
      await view(page, t, id);
      const nameless = await page.evaluate(() =>
        [...document.querySelectorAll('button, select, input, canvas, [tabindex]')]
          .filter((x) => x.checkVisibility() && !x.closest('[aria-hidden=true]') && x.tabIndex >= 0)
          .filter((x) => !(x.ariaLabel || x.textContent.trim() || x.labels?.length || x.title))
          .map((x) => x.outerHTML.slice(0, 80)),
      );
      t.same(nameless, [], id);
      await page.evaluate(() => document.activeElement.blur());
      const reached = new Set();
      for (let i = 0; i < 60; i++) {
        await page.keyboard.press('Tab');
        reached.add(await page.evaluate(() => document.activeElement.className || document.activeElement.tagName));
      }
      const main = { timeline: 'stage', analysis: 'wait-tree', tables: 'grid', compare: 'BODY' }[id] ?? 'layer';
      t.truth([...reached].some((x) => x.includes(main)) || id === 'compare', `${id}: ${[...reached].join(', ')}`);
    }
  });
  await t.check('digits go to views; links of the circle are gone through by keys, and told', async () => {
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('6');
    await t.settled(page);
    t.same((await t.state(page)).view, 'circle', 'view');
    await page.focus('.circle .layer');
    await page.keyboard.press('n');
    await page.waitForFunction(() =>
      /\d → \d: 6\.25 MiB, number 100, link 1 of 24/.test(document.querySelector('.voice').textContent),
    );
    await page.keyboard.press('Enter');
    await t.settled(page);
    t.same((await t.state(page)).selected.length, 2, 'both ends are selected');
    await page.keyboard.press('Escape');
  });
  await t.check('with reduced motion nothing moves by itself', async () => {
    await view(page, t, 'timeline');
    const moving = await page.evaluate(() => document.getAnimations().length);
    const transitions = await page.evaluate(
      () =>
        [...document.querySelectorAll('*')].filter((x) => parseFloat(getComputedStyle(x).transitionDuration) > 0)
          .length,
    );
    t.same([moving, transitions], [0, 0], 'animations');
  });
  await t.check('every canvas says in words what it shows', async () => {
    for (const id of ['timeline', 'distribution', 'matrix', 'circle', 'logical']) {
      await view(page, t, id);
      const words = await page.evaluate((name) => {
        const of = document.querySelector(`.view.${name} [role=application]`);
        return document.getElementById(of.getAttribute('aria-describedby'))?.textContent ?? '';
      }, id);
      t.truth(words.length > 8, `${id}: ${words}`);
    }
  });
  await page.close();
}

async function testTouch(browser, t) {
  const page = await t.newPage(browser, { hasTouch: true, viewport: { width: 400, height: 760 } });
  await t.check('two fingers zoom the timeline, 400 pixels wide; no view scrolls sideways', async () => {
    await t.pick(page, t.small);
    const before = await t.state(page);
    const box = await page.locator('.stage').boundingBox();
    const cdp = await page.context().newCDPSession(page);
    const fingers = (dx) => [150 - dx, 250 + dx].map((x, id) => ({ x, y: box.y + 120, id }));
    const send = (type, touchPoints) => cdp.send('Input.dispatchTouchEvent', { type, touchPoints });
    await send('touchStart', fingers(0));
    for (const dx of [10, 25, 40, 60]) await send('touchMove', fingers(dx));
    await send('touchEnd', []);
    await t.settled(page);
    const after = await t.state(page);
    t.truth(after.to - after.from < 0.7 * (before.to - before.from), `${after.to - after.from} ns`);
    const middle = (after.from + after.to) / 2; // and so near that times have most digits
    await page.evaluate((at) => globalThis.mpitrace.store.set({ from: at - 2e4, to: at + 2e4 }), middle);
    for (const id of [...PLAIN_VIEWS, 'machine']) {
      await page.evaluate((name) => globalThis.mpitrace.store.set({ view: name }), id);
      await t.settled(page);
      t.same(await page.evaluate(() => document.documentElement.scrollWidth), 400, id);
      await t.shot(page, `narrow-${id}`);
    }
  });
  await page.close();
}

export const VIEW_CLAIMS = [
  testTables,
  testDistribution,
  testAnalysis,
  testTwoRuns,
  testExport,
  testFollow,
  testLogical,
  testBarriers,
  testKeys,
  testTouch,
];
