// field.mjs - the profile over time in Chromium: what is drawn is what the file says, what the panel asks for, what the address keeps, what plays.
import { exported } from './views.mjs';

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
      t.truth(/, of \d+ threads the mean/.test(await note(page)), await note(page));
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

const shots = ['terrain', 'tube', 'cloud'];

async function testFieldSpace(browser, t) {
  const page = await t.newPage(browser, { acceptDownloads: true });
  const file = t.make('samples.mpix', 4, 2, STEPS, `samples=${SAMPLES}`);
  await t.check('in space: Three comes with the first such picture, under the policy of the page', async () => {
    await show(page, t, file);
    t.same(await page.evaluate(() => typeof globalThis.mpitraceSolidScene), 'undefined', 'before');
    await set(page, { draw: 'terrain', axes: 'rank-event', metric: 'time' });
    await page.waitForFunction(() => globalThis.mpitrace.drawn.fieldScene === 'webgl');
    await t.settled(page);
    t.truth(await page.isHidden('.field .stage:not(.solid)'), 'the flat picture is gone');
  });
  await t.check('flags stand on the largest values, as many and as large as is asked for', async () => {
    await set(page, { events: '-init', flags: 3, flagLeast: 50 });
    await t.settled(page);
    const { fieldFlags } = await t.drawn(page);
    t.same(fieldFlags[0], 'MPI_Waitall 0', 'the largest: rank 0 waits longest');
    t.truth(fieldFlags.length >= 2 && fieldFlags.length <= 3, fieldFlags.join());
    await set(page, { flags: 0 });
    await t.settled(page);
    t.same((await t.drawn(page)).fieldFlags, [], 'none');
    await set(page, { flags: 5, events: '', axes: 'rank-time', metric: 'share' });
    await t.settled(page);
    await t.shot(page, 'field-terrain');
  });
  await t.check('what is in space is saved as SVG with its names, and as PNG of its size', async () => {
    for (const draw of ['terrain', 'tube']) {
      await set(page, { draw, axes: draw === 'tube' ? 'event-time' : 'rank-time' });
      await t.settled(page);
      const svg = String((await exported(page, t, 'svg')).bytes);
      t.truth(/<text[^>]* fill="none" stroke="/.test(svg) && /<path/.test(svg), `${draw}: SVG`);
      const { bytes } = await exported(page, t, 'png');
      const box = await page.locator('.field .solid').boundingBox();
      t.same(bytes.readUInt32BE(16), 2 * Math.round(box.width), `${draw}: PNG`);
    }
    await set(page, { draw: 'terrain', axes: 'rank-time' });
    await t.settled(page);
  });
  await t.check(
    'what is pointed at is told; the camera turns by keys and by dragging, and the address keeps it',
    async () => {
      const box = await page.locator('.field .solid').boundingBox();
      for (let y = 0.3; y < 0.9 && (await page.isHidden('.tooltip')); y += 0.02)
        await page.mouse.move(box.x + box.width / 2, box.y + box.height * y);
      t.truth(/^rank \d/.test(await page.textContent('.tooltip')), await page.textContent('.tooltip'));
      const before = (await own(page)).azimuth;
      await page.focus('.field .solid canvas[tabindex]');
      await page.keyboard.press('Shift+ArrowRight');
      await page.keyboard.press('+');
      const after = await own(page);
      t.truth(after.azimuth !== before && after.range > 0, 'turned');
      await page.keyboard.press('Home');
      t.same((await own(page)).range, 0, 'all of it');
      await page.mouse.move(box.x + 300, box.y + 200);
      await page.mouse.down();
      await page.mouse.move(box.x + 380, box.y + 220, { steps: 4 });
      await page.mouse.up();
      t.truth((await own(page)).range > 0, 'dragged');
      await page.keyboard.press('Home');
    },
  );
  await t.check('a tube along the samples, a corner for each event; the sample looked at is marked', async () => {
    await set(page, { draw: 'tube', axes: 'event-time', sample: 12 });
    await t.settled(page);
    t.same((await t.drawn(page)).fieldRows, 6, 'corners');
    const stage = page.locator('.field .solid');
    const front = await stage.screenshot();
    await set(page, { azimuth: -60 });
    await t.settled(page);
    t.truth((await t.difference(page, front, await stage.screenshot(), 40)) > 0.02, 'seen from elsewhere');
    await set(page, { azimuth: 35 });
    await t.settled(page);
    await t.shot(page, 'field-tube');
    await set(page, { events: 'isend' });
    await t.settled(page);
    t.truth(/a tube has 3 corners or more; lines show fewer/.test(await note(page)), await note(page));
    await set(page, { events: '' });
    await t.settled(page);
  });
  await t.check(
    'a cloud has a point for each thread; a box selects its ranks in all views; clusters on request',
    async () => {
      await set(page, { draw: 'cloud', metric: 'share', up: 'wait', deep: 'ready', tint: 'resident', sample: 0 });
      await t.settled(page);
      t.same((await t.drawn(page)).fieldPoints, 8, 'points');
      await t.shot(page, 'field-cloud');
      await set(page, { brush: true, clusters: 2 });
      await t.settled(page);
      t.same((await t.drawn(page)).fieldClusters, 2, 'clusters');
      const box = await page.locator('.field .solid').boundingBox();
      await page.mouse.move(box.x + 2, box.y + 2);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width - 4, box.y + box.height - 4, { steps: 3 });
      await page.mouse.up();
      await t.settled(page);
      t.same((await t.state(page)).selected.length, 8, 'all of them');
      await set(page, { brush: false, clusters: 0 });
    },
  );
  await t.check('each is painted on files too', async () => {
    for (const draw of shots) {
      await set(page, { draw, axes: 'rank-time', metric: 'share' });
      await t.settled(page);
      const many = await page.evaluate(() => {
        const g = new OffscreenCanvas(600, 400).getContext('2d');
        globalThis.mpitrace.paint(g, 600, 400);
        return g.getImageData(0, 0, 600, 400).data.filter((x, i) => i % 4 === 3 && x > 0).length;
      });
      t.truth(many > 1500, `${draw}: ${many} pixels`);
    }
  });
  await page.close();
  const large = await t.newPage(browser, { colorScheme: 'dark' });
  await t.check('512 ranks in space, in the dark', async () => {
    await show(large, t, t.make('samples512.mpix', 32, 16, 30, 'samples=200'));
    for (const draw of shots) {
      await set(large, { draw, flags: 4, metric: 'share', axes: draw === 'tube' ? 'event-time' : 'rank-time' });
      await t.settled(large);
      await large.waitForFunction(() => globalThis.mpitrace.drawn.fieldScene === 'webgl');
      await t.settled(large);
      await t.shot(large, `field-${draw}-512`);
    }
    t.same((await t.drawn(large)).fieldPoints, 512, 'points');
  });
  await large.close();
}

export const FIELD_CLAIMS = [testField, testFieldSpace];
