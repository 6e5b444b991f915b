// claims.mjs - what a daily user does: addresses, undo, statistics, search, filters, threads' and rows' order, damage, keyboard.
// Each takes the browser and the tools of run.mjs.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const find = async (page, text, key = 'Enter') => {
  await page.fill('.find', text);
  await page.focus('.find');
  await page.keyboard.press(key);
};

/** Byte offsets of the chunks of a kind, from the index as format/SPEC.md draws it. */
function chunksOf(bytes, kind) {
  const at = Number(bytes.readBigUInt64LE(24));
  const entries = Array.from({ length: bytes.readUInt32LE(32) }, (_, i) => at + i * 56);
  return entries.filter((e) => bytes[e] === kind).map((e) => Number(bytes.readBigUInt64LE(e + 32)));
}

const DAMAGED = [191, 38, 38]; // lines of its texture

/** Where the rows of the first and of the other half of the ranks are, without what lies between them and above. */
async function halves(page) {
  const box = await page.locator('.timeline .stage').boundingBox();
  const [left, top] = [80, 26]; // names of ranks, axis
  const tall = (box.height - top) / 2;
  return [0, 1].map((k) => ({
    x: box.x + left,
    y: Math.ceil(box.y + top + k * tall + 4),
    width: box.width - left,
    height: Math.floor(tall - 8),
  }));
}

async function testAddress(browser, t) {
  const page = await t.newPage(browser);
  let address = '';
  await t.check('the address holds the whole state: a reload brings the same picture', async () => {
    await t.pick(page, t.small);
    await t.interval(page, 5e6, 9e6);
    await t.rows(page, { rowHeight: 60, sort: 'wait_s', widths: 'linear' });
    await page.evaluate(() => globalThis.mpitrace.store.set({ selected: new Set([1, 2, 3]), picked: 'e0.3.9' }));
    await t.settled(page);
    await page.waitForFunction(() => location.hash.includes('e0.3.9'));
    const before = await t.state(page);
    const stage = () => page.locator('.stage').screenshot();
    await page.mouse.move(5, 5);
    await page.waitForFunction(() => /MPI_Waitall/.test(document.querySelector('.selection').textContent));
    const shown = await stage();
    address = page.url();
    await page.goto('about:blank');
    await page.goto(address);
    await page.setInputFiles('#file', t.small);
    await t.settled(page);
    await page.waitForFunction(() => /MPI_Waitall/.test(document.querySelector('.selection').textContent));
    await t.settled(page);
    t.same(await t.state(page), before, 'state');
    t.truth(shown.equals(await stage()), 'another picture');
  });
  await t.check('undo and redo go back and forth, by keyboard', async () => {
    const before = await t.state(page);
    await t.interval(page, 20e6, 30e6);
    await page.evaluate(() => globalThis.mpitrace.store.settle());
    await page.keyboard.press('Control+z');
    await t.settled(page);
    t.same((await t.state(page)).from, before.from, 'undone');
    await page.keyboard.press('Control+Shift+z');
    await t.settled(page);
    t.same((await t.state(page)).from, 20e6, 'done again');
  });
  await t.check('what was saved can be had again', async () => {
    const saved = await t.state(page);
    await page.selectOption('.saved', 'save');
    await page.keyboard.press('Escape');
    await page.evaluate(() => globalThis.mpitrace.store.showAll());
    await t.rows(page, { rowHeight: 0, sort: '' });
    await t.settled(page);
    await page.selectOption('.saved', 'go 0');
    await t.settled(page);
    t.same(await t.state(page), saved, 'state');
  });
  await t.check('a message leads to its send and its receive', async () => {
    const ref = await page.evaluate(
      () =>
        new Promise((done, fail) =>
          globalThis.mpitrace.trace.ask('test', 'thing', 'e0.3.9', (x) => done(x.messages[0].ref), fail),
        ),
    );
    await page.evaluate((picked) => globalThis.mpitrace.store.set({ picked }), ref);
    await t.settled(page);
    await page.click('button:has-text("Its send")');
    await t.settled(page);
    await page.waitForFunction(() => document.querySelector('.selection h3')?.textContent === 'MPI_Isend');
  });
  await t.check('an address names an issue: its worst instance is opened', async () => {
    await page.goto('about:blank');
    await page.goto(`${address.split('#')[0]}#issue=0`);
    await page.setInputFiles('#file', t.small);
    await t.settled(page);
    await page.waitForFunction(() => /MPI_Waitall/.test(document.querySelector('.selection').textContent));
    const { to, from } = await t.state(page);
    t.truth(to - from < 5e6, `${to - from} ns shown`);
  });
  await page.close();
}

async function testTruth(browser, t) {
  const page = await t.newPage(browser);
  await t.check('a damaged chunk is said and drawn, the rest is there', async () => {
    const many = t.make('two_groups.mpix', 8, 4, 50); // of 16 ranks each
    const bad = join(t.work, 'damaged.mpix');
    const bytes = readFileSync(many);
    bytes[chunksOf(bytes, 4)[0] + 40] ^= 0xff;
    writeFileSync(bad, bytes);
    await t.pick(page, many);
    await t.rows(page, { messages: false });
    await t.interval(page, 5e6, 25e6);
    await t.settled(page);
    const rowsOf = await halves(page);
    const red = async (clip) => (await t.pixels(page, DAMAGED, clip)) / (clip.width * clip.height);
    const waits = async (clip) => (await t.pixels(page, [0xd5, 0x5e, 0x00], clip)) / (clip.width * clip.height);
    const before = await Promise.all(rowsOf.map(waits));
    t.same(await Promise.all(rowsOf.map(red)), [0, 0], 'the texture of damage where there is none');
    await t.pick(page, bad);
    await t.rows(page, { messages: false });
    await t.interval(page, 5e6, 25e6);
    await t.settled(page);
    await t.shot(page, 'damaged');
    t.truth(/EVENTS 0\.0 at offset .*damaged/.test(await page.textContent('.alert')), await page.textContent('.alert'));
    t.same((await t.drawn(page)).missing, 0, 'missing');
    const [first, second] = await Promise.all(rowsOf.map(red));
    t.truth(first > 0.1 && second === 0, `${first} and ${second} of the rows are of the texture of damage`);
    const after = await Promise.all(rowsOf.map(waits));
    t.truth(after[0] === 0 && after[1] > 0.5 * before[1], `waiting: ${before} of the rows before, ${after} now`);
  });
  await t.check('dropping a wrong file keeps the open one', async () => {
    await t.pick(page, t.small);
    const transfer = await page.evaluateHandle(() => {
      const x = new DataTransfer();
      x.items.add(new File(['this is no trace'], 'letter.txt'));
      return x;
    });
    await page.dispatchEvent('body', 'drop', { dataTransfer: transfer });
    await page.waitForSelector('.refusal');
    t.truth(/letter\.txt: The file cannot be read: not an \.mpix/.test(await page.textContent('.refusal')), 'words');
    t.same(await page.textContent('h1'), 'halo', 'title');
    await page.click('.refusal button');
    await page.focus('.stage');
    await page.keyboard.press('+');
    await t.settled(page);
    t.truth((await t.drawn(page)).events > 0, 'calls drawn');
  });
  await t.check('All resets rows too, and Show scrolls to its ranks', async () => {
    await t.rows(page, { rowHeight: 90, rowFirst: 0 });
    await page.click('.issue button:has-text("Show")');
    await t.settled(page);
    const shown = await t.state(page);
    t.truth(shown.timeline.rowFirst > 0 && shown.selected.includes(7), JSON.stringify(shown.timeline));
    await page.click('.tools button:has-text("All")');
    await t.settled(page);
    const { timeline, from, to } = await t.state(page);
    t.same([timeline.rowFirst, timeline.rowHeight, from], [0, 0, 0], 'rows');
    t.same(to, await page.evaluate(() => globalThis.mpitrace.trace.meta.runtime), 'interval');
    await page.keyboard.press('Escape');
  });
  await t.check('the tooltip goes when what it was about goes', async () => {
    await t.interval(page, 5e6, 9e6);
    await t.settled(page);
    const box = await page.locator('.stage').boundingBox();
    await page.mouse.move(box.x + 400, box.y + 60);
    await page.waitForSelector('.tooltip:not([hidden])');
    await page.mouse.wheel(0, 200);
    await page.waitForSelector('.tooltip', { state: 'hidden' });
    await page.mouse.move(5, 5);
  });
  await t.check('a Waitall says with whom, on which communicator, and which was sent last', async () => {
    await page.evaluate(() => globalThis.mpitrace.store.set({ picked: 'e0.0.9' }));
    await t.settled(page);
    const text = await page.textContent('.selection');
    t.truth(/with(from|to) \d/.test(text) && /sent lastthe one from rank/.test(text), text);
    t.truth(/onMPI_COMM_WORLD/.test(text), text);
  });
  await t.check('the plot does not move, whatever is shown', async () => {
    const box = () => page.locator('.stage').boundingBox();
    await page.evaluate(() => globalThis.mpitrace.store.showAll());
    await t.settled(page);
    const before = await box();
    for (const change of [{ messages: false }, { widths: 'linear' }, { rowHeight: 90 }]) await t.rows(page, change);
    await t.interval(page, 50e6, 50.001e6);
    await t.settled(page);
    t.same(await box(), before, 'place');
    await t.rows(page, { messages: true, widths: 'log', rowHeight: 0 });
  });
  await t.check('circle and matrix show late traffic', async () => {
    await page.evaluate(() => globalThis.mpitrace.store.showAll());
    await page.click('#tab-circle');
    await page.selectOption('select[aria-label="Traffic of the circle"]', 'late');
    await t.settled(page);
    await page.waitForFunction(() => /waits on \d+ links/.test(document.querySelector('.circle .note').textContent));
    await t.shot(page, 'circle-late');
    await page.click('#tab-matrix');
    await page.selectOption('select[aria-label="Traffic"]', 'late');
    await t.settled(page);
    await page.waitForFunction(() => / ms in [\d,]+ waits/.test(document.querySelector('.matrix .note').textContent));
    await page.click('#tab-timeline');
  });
  await page.close();
}

async function testInterval(browser, t) {
  const page = await t.newPage(browser);
  await t.check('shift-drag marks an interval: its statistics are shown', async () => {
    await t.pick(page, t.small);
    const box = await page.locator('.stage').boundingBox();
    await page.keyboard.down('Shift');
    await page.mouse.move(box.x + 300, box.y + 120);
    await page.mouse.down();
    await page.mouse.move(box.x + 500, box.y + 120, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up('Shift');
    await t.settled(page);
    await page.waitForSelector('.statistics table');
    const { markFrom, markTo } = await t.state(page);
    t.truth(markTo > markFrom, 'nothing is marked');
    const text = await page.textContent('.statistics');
    t.truth(/MPI_Waitall/.test(text) && /late sender/.test(text) && /messages sent/.test(text), text);
    await t.shot(page, 'interval');
  });
  await t.check('X marks all that is shown, Escape marks nothing', async () => {
    await page.focus('.stage');
    await page.keyboard.press('Home');
    await t.settled(page);
    await page.keyboard.press('x');
    await page.waitForFunction(() => /: 3,664 calls/.test(document.querySelector('.statistics')?.textContent ?? ''));
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => document.querySelector('section[aria-label="Interval"]').hidden);
  });
  await t.check('a search goes from hit to hit and says the number of all', async () => {
    await page.keyboard.press('/');
    await find(page, 'allreduce ranks 3-4');
    await page.waitForFunction(() => document.querySelector('.answer').textContent === '1 / 12');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector('.answer').textContent === '2 / 12');
    await t.settled(page);
    t.truth(/MPI_Allreduce/.test(await page.textContent('.selection')), await page.textContent('.selection'));
    await page.keyboard.press('Shift+Enter');
    await page.waitForFunction(() => document.querySelector('.answer').textContent === '1 / 12');
    await find(page, 'bcast');
    await page.waitForFunction(() => /No operation “bcast”/.test(document.querySelector('.answer').textContent));
  });
  await t.check('a filter is said, and holds in all views', async () => {
    await find(page, '>=64KiB', 'Control+Enter');
    await page.waitForSelector('.chip:not([hidden])');
    t.truth(/only >=64KiB/.test(await page.textContent('.chip')), 'chip');
    await page.evaluate(() => globalThis.mpitrace.store.showAll());
    await page.click('#tab-circle');
    await page.waitForFunction(() => globalThis.mpitrace.drawn.circleMessages === 800);
    t.truth(/only >=64KiB/.test(await page.textContent('.circle .note')), 'note');
    await page.click('#tab-timeline');
    await t.settled(page);
    t.same((await t.drawn(page)).lines, 800, 'messages drawn');
    await t.shot(page, 'filtered');
    await page.click('.chip button');
    await t.settled(page);
    t.same((await t.drawn(page)).lines, 1600, 'messages drawn without');
  });
  await t.check('a collective is one thing: who came last, on all ranks', async () => {
    await find(page, 'allreduce');
    await t.settled(page);
    await page.waitForSelector('button:has-text("All its ranks")');
    await page.click('text=All its ranks');
    await t.settled(page);
    const text = await page.textContent('.selection');
    t.truth(/MPI_Allreduce, all its ranks/.test(text) && /last inrank \d/.test(text) && /ranks8/.test(text), text);
    await page.mouse.move(5, 5);
    await t.shot(page, 'collective');
  });
  await t.check('the help shows all keys, and goes', async () => {
    await page.focus('.stage');
    await page.keyboard.press('?');
    await page.waitForSelector('dialog.help[open]');
    await t.shot(page, 'help');
    const titles = await page.locator('nav [role=tab]').allTextContents();
    t.same(await page.locator('.help .views-keys dd').allTextContents(), titles, 'views in the help');
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog.help[open]', { state: 'detached' }).catch(() => undefined);
    t.same(await page.locator('dialog.help[open]').count(), 0, 'open dialogues');
  });
  await page.close();
}

/** What to press for a key as the help has it. */
const pressed = (key) => key.replace('Shift ', 'Shift+Digit');

async function testKeys(browser, t) {
  const page = await t.newPage(browser);
  await t.check(
    'each view has a key of its own: in the help, in the title of its tab, and by pressing it',
    async () => {
      await t.pick(page, t.small);
      const tabs = await page.evaluate(() =>
        [...document.querySelectorAll('nav [role=tab]')].map((x) => [
          x.id.slice('tab-'.length),
          x.title,
          x.textContent,
        ]),
      );
      const keys = await page.locator('.help .views-keys dt').allTextContents();
      t.same([keys.length, new Set(keys).size], [tabs.length, tabs.length], 'keys');
      for (const [i, [id, title, name]] of tabs.entries()) {
        t.same(title, `${name} (${keys[i]})`, 'title');
        await page.evaluate((view) => globalThis.mpitrace.store.set({ view }), tabs[(i + 1) % tabs.length][0]);
        await page.evaluate(() => document.activeElement?.blur());
        await page.keyboard.press(pressed(keys[i]));
        t.same((await t.state(page)).view, id, `view after ${keys[i]}`);
      }
    },
  );
  await page.close();
}

export const CLAIMS = [testTruth, testInterval, testAddress, testKeys];
