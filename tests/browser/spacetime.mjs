// spacetime.mjs - the space-time view: events, epochs and filters as they are shown, clicks, keys, zoom, super epochs, the address, files, sizes.
// Each takes the browser and the tools of run.mjs.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serve } from './chromium.mjs';
import { exported } from './views.mjs';

const RULES = 'P(0,*) -> P(*,*);';
const THESIS = '0:E=0:S:1:1; 1:E=0:R:0:1; 1:E=1:R:2:2; 2:E=0:S:1:2;\n';

const set = (page, change) => page.evaluate((x) => globalThis.mpitrace.store.setView('spacetime', x), change);
const own = (page) => page.evaluate(() => globalThis.mpitrace.store.state.views.spacetime);
const note = (page) => page.textContent('.view.spacetime .note');
const panel = (page) => page.innerText('.space-panel');

async function show(page, t, file) {
  await t.pick(page, file);
  await page.click('#tab-spacetime');
  await page.waitForFunction(() => globalThis.mpitrace.drawn.spaceEvents >= 0);
  await t.settled(page);
}

async function spot(page, name) {
  const box = await page.locator('.spacetime .layer').boundingBox();
  const { spaceSpots } = await page.evaluate(() => ({ spaceSpots: globalThis.mpitrace.drawn.spaceSpots }));
  if (!spaceSpots[name]) throw new Error(`no event ${name} of ${Object.keys(spaceSpots).join(' ')}`);
  return { x: box.x + spaceSpots[name].x, y: box.y + spaceSpots[name].y };
}

function imported(t, name, log) {
  const [from, to] = [join(t.work, `${name}.log`), join(t.work, `${name}.mpix`)];
  writeFileSync(from, log);
  execFileSync(t.mpitrace, ['import', '--from', 'mprov', from, '-o', to], { stdio: 'pipe' });
  return to;
}

async function testSpaceThesis(browser, t) {
  const page = await t.newPage(browser);
  await t.check("the thesis's example: four events on three lines, two messages, two epochs", async () => {
    await show(page, t, imported(t, 'thesis', THESIS));
    const d = await t.drawn(page);
    t.same([d.spaceEvents, d.spaceLines, d.spaceMessages, d.spaceEpochs], [4, 3, 2, [1, 2]], 'drawn');
    t.same(await note(page), '4 events, 2 messages, epochs E1 to E2', 'note');
    t.same(Object.keys(d.spaceSpots).sort(), ['0.0', '1.0', '1.1', '2.0'], 'events');
    t.truth(d.spaceSpots['1.0'].y > d.spaceSpots['0.0'].y, 'a receive stands below its send');
    t.truth(d.spaceSpots['2.0'].y > d.spaceSpots['1.0'].y, 'E2 stands below E1');
    await t.shot(page, 'spacetime-thesis');
  });
  await t.check('a click on an event says source, destination, numbers, epoch', async () => {
    const { x, y } = await spot(page, '1.1');
    await page.mouse.click(x, y);
    await t.settled(page);
    t.same((await t.drawn(page)).spacePicked, '1.1', 'picked');
    const text = await panel(page);
    for (const words of ['Rank 1, event 1: receive', 'rank 2, event 0', 'rank 1, event 1', 'E2'])
      t.truth(text.includes(words), `${words} in ${text}`);
    t.truth(/^m\d+\.\d+$/.test((await t.state(page)).picked), 'the message is picked in all views');
  });
  await t.check('G goes to the other end of the message, arrows along and across the lines', async () => {
    await page.focus('.spacetime .layer');
    const go = async (key, event) => {
      await page.keyboard.press(key);
      await page.waitForFunction((x) => globalThis.mpitrace.drawn.spacePicked === x, event);
    };
    await go('g', '2.0');
    await go('ArrowLeft', '1.0');
    await go('ArrowDown', '1.1');
    await go('ArrowUp', '1.0');
    await go('ArrowLeft', '0.0');
    await go('Escape', '');
  });
  await t.check('a message that is picked elsewhere is the event here', async () => {
    const ref = await page.evaluate(() => globalThis.mpitrace.drawn.spaceRefs['0.0']);
    await page.evaluate((x) => globalThis.mpitrace.store.set({ picked: x }), ref);
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spacePicked === '0.0');
  });
  await t.check('messages have the verdicts of the specification that the protocol view applied', async () => {
    const text = 'P(0,*) -> P(1,*); P(2,*) -> P(0,*);';
    await page.evaluate((x) => globalThis.mpitrace.store.setView('protocol', { text: x }), text);
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spaceVerdicts === 2);
    const said = await page.innerText('.space-check');
    t.truth(/green: 1/.test(said) && /red: 1/.test(said), said);
    await set(page, { verdicts: ['red'] });
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spaceEvents === 2);
    await set(page, { verdicts: [] });
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spaceEvents === 4);
    await t.shot(page, 'spacetime-protocol');
  });
  await t.check('a tooltip says what is under the pointer', async () => {
    const { x, y } = await spot(page, '0.0');
    await page.mouse.move(x, y);
    await page.waitForFunction(() => !document.querySelector('.tooltip').hidden);
    const text = await page.innerText('.tooltip');
    t.truth(/Rank 0, event 0: send/.test(text) && /rank 1, event 0/.test(text) && /E1/.test(text), text);
  });
  await page.close();
}

async function testSpaceFilters(browser, t) {
  const page = await t.newPage(browser);
  const file = t.make('space16.mpix', 4, 4, 3);
  await t.check('a range leaves its lines; orphans and empty epochs can be hidden, but only then', async () => {
    await show(page, t, file);
    const whole = await t.drawn(page);
    t.same([whole.spaceLines, whole.spaceEvents], [16, 16 * (3 * 8 + 1)], 'all');
    await page.click('.space-filter summary');
    const [orphans, empty, others] = ['hide orphans', 'hide empty epochs', 'others grey'].map((x) =>
      page.locator('.space-filters label', { hasText: x }).locator('input'),
    );
    t.same(
      [await orphans.isDisabled(), await empty.isDisabled(), await others.isDisabled()],
      [true, true, true],
      'off',
    );
    await page.fill('.space-filters input[aria-label="First of ranks"]', '0');
    await page.fill('.space-filters input[aria-label="Last of ranks"]', '1');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spaceLines === 2);
    const two = await t.drawn(page);
    t.same([two.spaceEvents, two.spaceOrphans], [2 * 25, 2 * 3 * 6], 'events, orphans');
    await orphans.check();
    await page.waitForFunction((n) => globalThis.mpitrace.drawn.spaceEvents === n, two.spaceEvents - two.spaceOrphans);
    await empty.check();
    await page.waitForFunction((n) => globalThis.mpitrace.drawn.spaceBands < n, two.spaceBands);
    t.truth(/of 400 events.*orphans.*epochs? empty/.test(await note(page)), await note(page));
    await t.shot(page, 'spacetime-range');
  });
  await t.check('show-all draws the others in grey', async () => {
    await page.locator('.space-filters label', { hasText: 'others grey' }).locator('input').check();
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spaceLines === 16);
    await t.shot(page, 'spacetime-others');
  });
  await t.check('pick up: any set; members of a communicator; what is selected in all views; reset', async () => {
    await page.click('.space-filters button:has-text("Reset")');
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spaceEvents === 400);
    await page.fill('.space-filters input[type=text]', '0-2, 7, 9');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spaceLines === 5);
    await set(page, { ranks: [], selection: true });
    await page.evaluate(() => globalThis.mpitrace.store.set({ selected: new Set([3, 4, 5]) }));
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spaceLines === 3);
    await page.evaluate(() => globalThis.mpitrace.store.set({ selected: new Set() }));
    await set(page, { selection: false, epochFirst: 2, epochLast: 2, empty: true });
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spaceBands === 1);
    t.same((await t.drawn(page)).spaceEvents, 16 * 8, 'events of E2');
    await set(page, { epochFirst: 0, epochLast: 0, eventFirst: 0, eventLast: 1 });
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spaceEvents === 32);
  });
  await t.check('the address holds filters, zoom and the event; the table twin and the CSV have its rows', async () => {
    await set(page, { eventFirst: -1, eventLast: -1, first: 2, last: 5, zoom: 2.5, upright: false, mode: 'time' });
    await page.waitForFunction(() => location.hash.includes('spacetime.zoom=2.5'));
    const address = page.url();
    await page.goto('about:blank');
    await page.goto(address);
    await page.setInputFiles('#file', file);
    await page.waitForFunction(() => globalThis.mpitrace?.drawn.spaceLines === 4);
    await t.settled(page);
    const s = await own(page);
    t.same([s.first, s.last, s.zoom, s.upright, s.mode], [2, 5, 2.5, false, 'time'], 'state');
    const [csv] = await Promise.all([page.waitForEvent('download'), page.selectOption('.export', 'csv')]);
    const lines = readFileSync(await csv.path(), 'utf8')
      .trim()
      .split('\n');
    t.same(lines.length, 1 + 4 * 25, 'lines');
    t.same(lines[0].split(',').slice(0, 4), ['rank', 'event', 'what', 'epoch'], 'columns');
    const [svg] = await Promise.all([page.waitForEvent('download'), page.selectOption('.export', 'svg')]);
    t.truth(/<text[^>]*>P2</.test(readFileSync(await svg.path(), 'utf8')), 'SVG with names of lines');
  });
  await page.close();
}

async function testSpaceOpens(browser, t) {
  const page = await t.newPage(browser);
  const shown = page.locator('.space-shown');
  await t.check('it opens on what can be read, says how much that is, and Home shows the whole run', async () => {
    await show(page, t, t.make('space64.mpix', 8, 8, 12));
    const d = await t.drawn(page);
    t.truth(d.spaceStep >= 16 && d.spacePitch >= 44, `${d.spaceStep} ${d.spacePitch}`);
    t.truth(d.spaceShown > 50 && d.spaceShown < d.spaceEvents, `${d.spaceShown} events`);
    const { x, y } = d.spaceSpots['0.0'];
    const box = await page.locator('.spacetime .layer').boundingBox();
    t.truth(x > 0 && y > 0 && x < box.width && y < box.height, 'the first event is in the picture');
    const words = new RegExp(`^${d.spaceShown} of 6,272 events, [12]\\d of 64 lines in the picture · whole run: Home$`);
    t.truth(words.test(await shown.textContent()), await shown.textContent());
    await t.shot(page, 'spacetime-opens');
    await page.focus('.spacetime .layer');
    await page.keyboard.press('Home');
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spaceShown === globalThis.mpitrace.drawn.spaceEvents);
    t.truth(await shown.isHidden(), 'nothing is left out');
    await page.keyboard.press('n');
    await page.waitForFunction((n) => globalThis.mpitrace.drawn.spaceShown === n, d.spaceShown);
    await shown.click();
    await page.waitForFunction(() => globalThis.mpitrace.store.state.views.spacetime.zoom === 1);
  });
  await t.check('a run that has room is whole from the beginning', async () => {
    await show(page, t, imported(t, 'thesis', THESIS));
    t.same((await t.drawn(page)).spaceShown, 4, 'events');
    t.truth(await shown.isHidden(), 'no words');
  });
  await page.close();
}

async function testSpaceBeside(browser, t) {
  const page = await t.newPage(browser);
  const [one, two] = [t.make('space64.mpix', 8, 8, 12), t.make('space16.mpix', 4, 4, 3)];
  await t.check('two runs side by side: a second file, each with its own epochs, at one scale', async () => {
    await show(page, t, one);
    const before = (await t.drawn(page)).spaceEpochs;
    await page.locator('.spacetime label', { hasText: 'more runs' }).locator('input').check();
    await page.setInputFiles('.spacetime .empty input[aria-label="Second run"]', two);
    await page.waitForFunction(() => globalThis.mpitrace.drawn.besideEvents > 0);
    await t.settled(page);
    const d = await t.drawn(page);
    t.same((await t.state(page)).view, 'spacetime', 'view');
    t.same([d.spaceEvents, d.besideEvents, d.spaceLines, d.besideLines], [6272, 400, 64, 16], 'events, lines');
    t.same(d.spaceEpochs, before, 'epochs of the first');
    t.truth(d.besideEpochs.length < d.spaceEpochs.length, 'epochs of the second');
    t.same(d.besideStep, d.spaceStep, 'scale');
    await page.focus('.spacetime .layer >> nth=0');
    await page.keyboard.press('Home');
    await page.waitForFunction((x) => globalThis.mpitrace.drawn.spaceStep < x, d.spaceStep);
    await t.settled(page);
    const whole = await t.drawn(page);
    t.same(whole.besideStep, whole.spaceStep, 'scale of the whole runs');
    await page.keyboard.press('n');
    await t.settled(page);
    t.same(await page.locator('.space-name b').nth(1).textContent(), 'space16.mpix', 'name');
    await t.shot(page, 'spacetime-two');
  });
  await t.check('they scroll and zoom together, from either', async () => {
    const layer = page.locator('.spacetime .layer').nth(1);
    const box = await layer.boundingBox();
    await page.mouse.move(box.x + 150, box.y + 300);
    await page.mouse.down();
    await page.mouse.move(box.x + 150, box.y + 120, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => globalThis.mpitrace.drawn.besideFrom < -100);
    await t.settled(page);
    const d = await t.drawn(page);
    t.same(d.besideFrom, d.spaceFrom, 'scrolled');
    await page.mouse.wheel(0, -200);
    await page.waitForFunction((x) => globalThis.mpitrace.drawn.besideStep > x, d.besideStep);
    await t.settled(page);
    const after = await t.drawn(page);
    t.same([after.besideStep, after.besideFrom], [after.spaceStep, after.spaceFrom], 'zoomed');
  });
  await t.check(
    'an event of the second run is picked by click and keys, with all that one of the first has',
    async () => {
      await page.focus('.spacetime .layer >> nth=1');
      await page.keyboard.press('Home');
      await t.settled(page);
      const spot = (await t.drawn(page)).besideSpot;
      await page.locator('.spacetime .layer').nth(1).click({ position: spot });
      await t.settled(page);
      const first = await t.drawn(page);
      t.truth(first.besidePicked !== '' && first.spacePicked === '', `${first.besidePicked}, ${first.spacePicked}`);
      const panel = await page.textContent('.space-event');
      const [rank, number] = first.besidePicked.split('.');
      t.truth(panel.includes(`Rank ${rank}, event ${number}: send`), panel);
      for (const word of ['of space16.mpix', 'source', 'destination', 'epoch', 'Other end'])
        t.truth(panel.includes(word), `${word}: ${panel}`);
      await page.keyboard.press('g');
      await t.settled(page);
      const end = await t.drawn(page);
      t.truth(end.besidePicked !== first.besidePicked, 'the other end');
      t.truth((await page.textContent('.space-event')).includes(': receive'), 'a receive');
      t.truth((await t.state(page)).views.spacetime.besideEvent === end.besidePicked, 'in the state');
      await page.focus('.spacetime .layer >> nth=0');
      await page.keyboard.press('ArrowDown');
      await t.settled(page);
      const own = await t.drawn(page);
      t.truth(own.spacePicked !== '' && own.besidePicked === '', 'one is picked at a time');
    },
  );
  await t.check('a protocol judges the messages of both, and super epochs are of both', async () => {
    await page.evaluate(
      (text) => globalThis.mpitrace.store.setView('protocol', { text, name: 'both.rules', level: 1 }),
      RULES,
    );
    await page.evaluate(() => globalThis.mpitrace.store.setView('spacetime', { budget: 64 }));
    await page.waitForFunction(
      () => globalThis.mpitrace.drawn.besideVerdicts > 0 && globalThis.mpitrace.drawn.besideSuper > 0,
    );
    await t.settled(page);
    const d = await t.drawn(page);
    t.same([d.spaceVerdicts, d.besideVerdicts], [d.spaceMessages, 16 * 4 * 3], 'judged');
    t.truth(d.spaceSuper > 0 && d.besideSuper < d.spaceSuper, `${d.besideSuper} of ${d.spaceSuper}`);
    const check = await page.textContent('.space-check');
    t.truth(/space64\.mpix:.*space16\.mpix:/.test(check), check);
    await t.shot(page, 'spacetime-two-judged');
    await page.evaluate(() => globalThis.mpitrace.store.setView('protocol', { text: '' }));
    await page.evaluate(() => globalThis.mpitrace.store.setView('spacetime', { budget: 0 }));
  });
  await t.check('the address holds that there are two, and says which file is missing', async () => {
    await page.waitForFunction(() => /spacetime\.beside=/.test(location.hash));
    await page.reload();
    await page.setInputFiles('#file', one);
    await page.waitForSelector('.spacetime .space-side .empty');
    const text = await page.textContent('.spacetime .space-side .empty');
    t.truth(/It was beside space16\.mpix/.test(text), text);
  });
  await page.close();
}

/** Names of the runs that are shown, with their keys. */
const runsOf = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('.space-name:not([hidden])')].map((x) => {
      const key = x.querySelector('.space-key');
      return [key.textContent, x.querySelector('b').textContent, key.style.borderStyle, key.style.borderColor];
    }),
  );

async function testSpaceRuns(browser, t) {
  const page = await t.newPage(browser, { acceptDownloads: true });
  const [one, two, three] = [
    t.make('runs8.mpix', 4, 2, 3),
    t.make('runs16.mpix', 4, 4, 3),
    t.make('runs4.mpix', 2, 2, 3),
  ];
  const add = async (file, n) => {
    await page
      .locator('.spacetime input[aria-label="Second run"]:visible, .space-runs label.choose:visible input')
      .first()
      .setInputFiles(file);
    await page.waitForFunction((k) => globalThis.mpitrace.drawn.besides?.[k - 1]?.besideEvents > 0, n);
    await t.settled(page);
  };
  await t.check('three runs stand beside each other, each with a letter, a colour and a line of its own', async () => {
    await show(page, t, one);
    await page.locator('.spacetime label', { hasText: 'more runs' }).locator('input').check();
    await add(two, 1);
    await add(three, 2);
    const runs = await runsOf(page);
    t.same(
      runs.map(([key, name]) => `${key} ${name}`),
      ['A runs8.mpix', 'B runs16.mpix', 'C runs4.mpix'],
      'names',
    );
    for (const i of [2, 3]) t.same(new Set(runs.map((x) => x[i])).size, 3, 'told apart');
    const { besides, spaceStep } = await t.drawn(page);
    t.same(
      besides.map((x) => [x.besideLines, x.besideStep]),
      [
        [16, spaceStep],
        [4, spaceStep],
      ],
      'lines, scale',
    );
    await t.shot(page, 'spacetime-three');
  });
  await t.check('files of the view have all of them, by name', async () => {
    const [head, ...lines] = String((await exported(page, t, 'csv')).bytes)
      .split('\n')
      .filter((x) => !x.startsWith('#'));
    t.truth(head.startsWith('run,'), head);
    for (const name of ['runs8.mpix', 'runs16.mpix', 'runs4.mpix'])
      t.truth(
        lines.some((x) => x.startsWith(`${name},`)),
        name,
      );
    const svg = String((await exported(page, t, 'svg')).bytes);
    for (const name of ['A  runs8.mpix', 'B  runs16.mpix', 'C  runs4.mpix']) t.truth(svg.includes(name), name);
  });
  await t.check('one is closed, the others stay; the address has their names', async () => {
    await page.click('button[aria-label="Close runs16.mpix"], button[title="Close runs16.mpix"]');
    await t.settled(page);
    t.same(
      (await runsOf(page)).map((x) => x.slice(0, 2).join(' ')),
      ['A runs8.mpix', 'B runs4.mpix'],
      'names',
    );
    await page.waitForFunction(() => /spacetime\.runs=runs4\.mpix/.test(location.hash));
  });
  await t.check('mpitrace view A B C opens all of them', async () => {
    const server = await serve(t.mpitrace, one, two, three);
    await page.goto(server.url);
    await page.waitForFunction(() => globalThis.mpitrace?.drawn?.besides?.[1]?.besideEvents > 0);
    t.same(
      (await runsOf(page)).map((x) => x.slice(0, 2).join(' ')),
      ['A runs8.mpix', 'B runs16.mpix', 'C runs4.mpix'],
      'names',
    );
    t.same(
      (await t.drawn(page)).besides.map((x) => x.besideLines),
      [16, 4],
      'lines',
    );
    server.stop();
  });
  await page.close();
}

async function testSpaceZoom(browser, t) {
  const page = await t.newPage(browser);
  const file = t.make('space64.mpix', 8, 8, 12);
  await t.check('the wheel zooms about the pointer, Shift drag into an area, drag pans, Home shows all', async () => {
    await show(page, t, file);
    await page.focus('.spacetime .layer');
    await page.keyboard.press('Home');
    await page.waitForFunction(() => globalThis.mpitrace.store.state.views.spacetime.zoom === 1);
    await t.settled(page);
    const box = await page.locator('.spacetime .layer').boundingBox();
    const first = (await t.drawn(page)).spaceStep;
    await page.mouse.move(box.x + 300, box.y + 250);
    await page.mouse.wheel(0, -400);
    await page.waitForFunction((x) => globalThis.mpitrace.drawn.spaceStep > 2 * x, first);
    await page.keyboard.down('Shift');
    await page.mouse.down();
    await page.mouse.move(box.x + 420, box.y + 330, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up('Shift');
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spacePitch > 30);
    const before = await own(page);
    await page.mouse.move(box.x + 300, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x + 220, box.y + 120, { steps: 4 });
    await page.mouse.up();
    await t.settled(page);
    const after = await own(page);
    t.truth(after.along > before.along && after.across > before.across, 'panned');
    await t.shot(page, 'spacetime-zoomed');
    await page.focus('.spacetime .layer');
    await page.keyboard.press('Home');
    await page.waitForFunction((x) => globalThis.mpitrace.drawn.spaceStep === x, first);
  });
  await t.check('the slider has its number, O turns the lines, L spaces by time', async () => {
    await page.fill('.spacetime input[aria-label="Zoom in percent"]', '300');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => globalThis.mpitrace.store.state.views.spacetime.zoom === 3);
    await t.settled(page);
    t.truth(Number(await page.inputValue('.spacetime input[aria-label="Zoom along the lines"]')) > 0.2, 'slider');
    await page.focus('.spacetime .layer');
    await page.keyboard.press('o');
    await page.waitForFunction(() => globalThis.mpitrace.store.state.views.spacetime.upright === false);
    await page.keyboard.press('l');
    await page.waitForFunction(() => globalThis.mpitrace.store.state.views.spacetime.mode === 'time');
    await t.settled(page);
    await t.shot(page, 'spacetime-time');
  });
  await t.check('the interval that all views share is what is read; its events have the same numbers', async () => {
    await set(page, { mode: 'logical', upright: true, zoom: 1 });
    await t.interval(page, 12e6, 16e6);
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spaceEvents < 3000);
    await t.settled(page);
    const { spaceEpochs } = await t.drawn(page);
    t.truth(spaceEpochs[0] > 1 && spaceEpochs.every((n, i) => i === 0 || n > spaceEpochs[i - 1]), `${spaceEpochs}`);
    await page.evaluate(() => globalThis.mpitrace.store.showAll());
  });
  await t.check('super epochs: the budget merges them, the answer is in words', async () => {
    await t.settled(page);
    await page.fill('.spacetime input[aria-label="Budget of buffers; 0: no super epochs"]', '4');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spaceSuper > 0);
    const few = (await t.drawn(page)).spaceSuper;
    t.truth(
      /rank 0 needs 4 buffers of 64\.0 KiB in E1.*with 4 this program can deadlock/s.test(await panel(page)),
      await panel(page),
    );
    await t.settled(page);
    await t.shot(page, 'spacetime-super');
    await set(page, { budget: 4096 });
    await page.waitForFunction((n) => globalThis.mpitrace.drawn.spaceSuper < n, few);
    t.same((await t.drawn(page)).spaceSuper, 1, 'one super epoch');
    t.truth(!/deadlock/.test(await panel(page)), 'it is enough');
  });
  await page.close();
}

async function testSpaceSizes(browser, t) {
  const page = await t.newPage(browser);
  await t.check('4, 64 and 1,024 ranks, light and dark; nodes as lines; 400 pixels', async () => {
    await show(page, t, t.make('space4.mpix', 2, 2, 6));
    await t.shot(page, 'spacetime-4');
    await show(page, t, t.make('space64.mpix', 8, 8, 12));
    await t.shot(page, 'spacetime-64');
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await show(page, t, t.make('space1024.mpix', 32, 32, 5));
    t.same((await t.drawn(page)).spaceLines, 1024, 'lines');
    await t.shot(page, 'spacetime-1024-dark');
    await set(page, { by: 'node' });
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spaceLines === 2);
    await set(page, { by: 'rank', first: 0, last: 7, zoom: 2 });
    await page.waitForFunction(() => globalThis.mpitrace.drawn.spaceLines === 8);
    await page.setViewportSize({ width: 400, height: 800 });
    await t.settled(page);
    t.same(await page.evaluate(() => document.documentElement.scrollWidth), 400, 'width');
    await t.shot(page, 'spacetime-narrow');
  });
  await page.close();
}

export const SPACE_CLAIMS = [
  testSpaceThesis,
  testSpaceFilters,
  testSpaceOpens,
  testSpaceBeside,
  testSpaceRuns,
  testSpaceZoom,
  testSpaceSizes,
];
