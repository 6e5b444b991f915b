// field.mjs - the profile over time in Chromium: what is drawn is what the file says, what the panel asks for, what the address keeps, what plays.
const STEPS = 40;
const SAMPLES = 20;

const set = (page, change) => page.evaluate((x) => globalThis.mpitrace.store.setView('field', x), change);
const own = (page) => page.evaluate(() => globalThis.mpitrace.store.state.views.field);
const note = (page) => page.textContent('.field .note');

/** What the table twin would show, as the file of it says. */
const sheet = (page) => page.evaluate(() => globalThis.mpitrace.sheet());

async function show(page, t, file) {
  await t.pick(page, file);
  await page.click('#tab-field');
  await t.settled(page);
}

async function testField(browser, t) {
  const page = await t.newPage(browser);
  const file = t.make('samples.mpix', 4, 2, STEPS, `samples=${SAMPLES}`);
  await t.check('the profile over time: a row for each rank, a column for each sample', async () => {
    await show(page, t, file);
    const d = await t.drawn(page);
    t.same([d.fieldRows, d.fieldColumns, d.fieldSamples], [8, SAMPLES, SAMPLES], 'rows, columns, samples');
    t.truth(/^share of time in MPI; < 1 % to 100 %$/.test(await note(page)), await note(page)); // MPI_Init fills the first
    await t.shot(page, 'field-heat');
  });
  await t.check('calls of all samples are those of the run: by events, and until the last sample', async () => {
    await set(page, { axes: 'rank-event', metric: 'calls' });
    await t.settled(page);
    let s = await sheet(page);
    const at = s.columns.findIndex((c) => c.title === 'MPI_Isend');
    t.same(
      s.rows.map((row) => row[at]),
      Array(8).fill(4 * STEPS),
      'calls of MPI_Isend',
    );
    await set(page, { axes: 'rank-time', events: 'isend', cumulative: true });
    await t.settled(page);
    s = await sheet(page);
    t.same(
      s.rows.map((row) => row.at(-1)),
      Array(8).fill(4 * STEPS),
      'until the last sample',
    );
    t.truth(/calls in 1 events like “isend”, since the beginning/.test(await note(page)), await note(page));
    await set(page, { cumulative: false });
    await t.settled(page);
    s = await sheet(page);
    t.same(
      s.rows.map((row) => row.slice(1).reduce((a, b) => a + b, 0)),
      Array(8).fill(4 * STEPS),
      'all samples',
    );
  });
  await t.check(
    'events over time as lines, each with its name; a pattern chooses, and one that fits none is said',
    async () => {
      await set(page, { axes: 'event-time', draw: 'lines', metric: 'share', events: '-init, -finalize' });
      await t.settled(page);
      t.same((await t.drawn(page)).fieldRows, 4, 'events');
      await t.shot(page, 'field-lines');
      await set(page, { events: 'nothing like it' });
      await t.settled(page);
      t.truth((await note(page)).includes('no event has such a name'), await note(page));
      await set(page, { events: '', draw: 'heat', by: 'site' });
      await t.settled(page);
      const s = await sheet(page);
      t.truth(
        s.rows.some((row) => row[0] === 'MPI_Waitall at src/halo.c:68'),
        'call sites have their lines',
      );
    },
  );
  await t.check('what the kernel counted: memory grows, the last rank waits longest for a processor', async () => {
    await set(page, { axes: 'rank-time', metric: 'resident', by: 'op' });
    await t.settled(page);
    const d = await t.drawn(page);
    t.same([d.fieldLeast, d.fieldMost], [100 * 2 ** 20, (100 + 7 + SAMPLES - 1) * 2 ** 20], 'bytes');
    await set(page, { metric: 'ready', byValue: true });
    await t.settled(page);
    t.same((await sheet(page)).rows[0][0], '7', 'largest first');
    await set(page, { byValue: false, metric: 'share' });
    await t.settled(page);
  });
  await t.check(
    'keys go from cell to cell and from sample to sample; Enter selects the ranks in all views',
    async () => {
      await page.focus('.field canvas');
      for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight', 'Enter']) await page.keyboard.press(key);
      t.same((await t.state(page)).selected, [1], 'selected');
      t.truth(/^rank 1: share of time in MPI/.test(await page.textContent('.voice')), 'said');
      await page.keyboard.press('.');
      await page.keyboard.press('.');
      t.same((await own(page)).sample, 2, 'sample');
      await page.keyboard.press('Shift+Enter');
      await t.settled(page);
      const { axes, sample, since } = await own(page);
      t.same([axes, sample, since], ['rank-event', 2, -1], 'unrolled');
      await t.shot(page, 'field-events');
      await page.click('.field label:has-text("only selected") input');
      await t.settled(page);
      t.same((await t.drawn(page)).fieldRows, 1, 'only the selected rank');
      await page.click('.field label:has-text("only selected") input');
    },
  );
  await t.check('it plays through the samples and stops at the last', async () => {
    await set(page, { axes: 'rank-time', sample: SAMPLES - 3 });
    await page.click('.field .bottom button:has-text("Play")');
    await page.waitForFunction((n) => globalThis.mpitrace.store.state.views.field.sample === n, SAMPLES);
    await page.waitForSelector('.field .bottom button:has-text("Play")');
  });
  await t.check('the address keeps what is shown', async () => {
    await set(page, { metric: 'bandwidth', log: true, cut: 5, order: 'node', rows: 4 });
    await t.settled(page);
    t.same((await t.drawn(page)).fieldRows, 4, 'rows');
    const before = await own(page);
    await page.waitForFunction(() => location.hash.includes('bandwidth'));
    await page.reload();
    await page.setInputFiles('#file', file);
    await t.settled(page);
    t.same(await own(page), before, 'state');
  });
  await t.check('a trace without samples says how to get them', async () => {
    await show(page, t, t.small);
    t.truth(await page.isVisible('.field .empty'), 'said');
    t.same((await t.drawn(page)).fieldSamples, 0, 'samples');
  });
  await t.check('512 ranks and 200 samples in the dark, and on 400 pixels', async () => {
    const large = t.make('samples512.mpix', 32, 16, 30, 'samples=200');
    await page.emulateMedia({ colorScheme: 'dark' });
    await show(page, t, large);
    const d = await t.drawn(page);
    t.same([d.fieldRows, d.fieldColumns], [512, 200], 'cells');
    await t.shot(page, 'field-heat-512');
    await set(page, { draw: 'lines' });
    await t.settled(page);
    await t.shot(page, 'field-lines-512');
    await page.setViewportSize({ width: 400, height: 700 });
    await t.settled(page);
    await t.shot(page, 'field-narrow');
    await set(page, { draw: 'heat' });
    await t.settled(page);
    await t.shot(page, 'field-narrow-heat');
  });
  await page.close();
}

export const FIELD_CLAIMS = [testField];
