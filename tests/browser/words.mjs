// words.mjs - what views say of what was not recorded: nothing is 0 or none that nobody knows. Each takes the browser and the tools of
// run.mjs.
import { record, recordTotals } from './record.mjs';

const UNKNOWN = /not known: single calls were not recorded/i;

async function show(page, t, view, change = {}) {
  await page.evaluate(
    ([id, more]) => {
      globalThis.mpitrace.store.set({ view: id });
      globalThis.mpitrace.store.setView(id, more);
    },
    [view, change],
  );
  await t.settled(page);
}

async function find(page, text) {
  await page.fill('input.find', text);
  await page.press('input.find', 'Enter');
  await page.waitForFunction(() => !/^…?$/.test(document.querySelector('.answer').textContent));
  return page.textContent('.answer');
}

async function testWordsTotals(browser, t) {
  const file = recordTotals(t.mpitrace, t.work, 3, 'ring');
  if (!file) return;
  const page = await t.newPage(browser, { viewport: { width: 1280, height: 800 } });
  await t.pick(page, file);
  const views = [
    ['timeline', {}, '.note'],
    ['tables', { kind: 'events' }, '.note'],
    ['tables', { kind: 'messages' }, '.note'],
    ['tables', { kind: 'events' }, '.empty'],
    ['circle', { kind: 'p2p' }, '.note'],
    ['circle', { kind: 'late' }, '.note'],
    ['matrix', { kind: 'p2p' }, '.note'],
    ['distribution', { metric: 'duration' }, '.note'],
    ['distribution', { metric: 'messageBytes' }, '.note'],
    ['spacetime', {}, '.note'],
    ['logical', {}, '.note'],
    ['machine', {}, '.note'],
    ['analysis', {}, 'section[aria-label="Who waited, where, how long"]'],
  ];
  for (const [view, change, where] of views)
    await t.check(`of totals alone the view ${view} ${Object.values(change)} does not say 0 or none`, async () => {
      await show(page, t, view, change);
      const said = await page.textContent(`.view.${view} ${where}`);
      t.truth(UNKNOWN.test(said) && !/\b0 (calls|messages|B)\b|\bno (rank|message)/i.test(said), said);
    });
  await t.check('of totals alone statistics of an interval and a search do not say 0 or none', async () => {
    await page.evaluate(() => globalThis.mpitrace.store.set({ view: 'timeline', markFrom: 0, markTo: 1e9 }));
    await t.settled(page);
    const said = await page.textContent('.statistics p');
    t.truth(UNKNOWN.test(said) && !/\b0\b/.test(said), said);
    t.truth(UNKNOWN.test(await find(page, 'sendrecv')), await find(page, 'sendrecv'));
  });
  await t.check('of totals alone it is not known which ranks are alike, nor that any waited for 0 ns', async () => {
    await show(page, t, 'timeline', { group: 'alike' });
    const said = await page.textContent('.view.timeline .note');
    t.truth(/who is alike is not known/.test(said), said);
    await show(page, t, 'field', { metric: 'wait' });
    const field = await page.textContent('.view.field .note');
    t.truth(!/0 ns/.test(field), field);
  });
  await t.check('of totals alone those that were recorded stand where they were', async () => {
    await show(page, t, 'matrix', { kind: 'whole' });
    const said = await page.textContent('.view.matrix .note');
    t.truth(/ in 30 messages/.test(said) && !UNKNOWN.test(said), said);
    t.truth(/^Only totals were recorded: /.test(await page.textContent('.view.timeline .only-totals')), 'the sentence');
  });
  await page.close();
}

async function testWordsEmpty(browser, t) {
  const file = record(t.mpitrace, t.work, 3, 'empty');
  if (!file) return;
  const page = await t.newPage(browser, { viewport: { width: 1280, height: 800 } });
  await t.pick(page, file);
  await t.check('messages of 0 bytes are traffic, in the matrix as in the network', async () => {
    for (const view of ['matrix', 'circle']) {
      await show(page, t, view, { kind: 'whole' });
      const said = await page.textContent(`.view.${view} .note`);
      t.truth(/^0 B in 30 messages/.test(said), `${view}: ${said}`);
    }
  });
  await t.check('a cell of the matrix says of what its number is', async () => {
    const names = { whole: 'messages', late: 'waits', collective: 'operations' };
    for (const [kind, name] of Object.entries(names)) {
      await show(page, t, 'matrix', { kind, measure: 'messages' });
      await page.focus('.view.matrix canvas');
      await page.keyboard.press('ArrowRight');
      const said = await page.evaluate(() =>
        [...document.querySelectorAll('[aria-live]')].map((x) => x.textContent).join(),
      );
      t.truth(new RegExp(`→ \\d: ${name} \\d`).test(said), `${kind}: ${said}`);
    }
  });
  await page.close();
}

export const WORD_CLAIMS = [testWordsTotals, testWordsEmpty];
