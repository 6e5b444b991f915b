// mpeye.mjs - the two views of MPEye as it had them: message timings (docs/SEMANTICS.md: bars with outlines, width by bytes) and the network load
// on a circle (interval by scroll bar, its length in a box, total time, play), by mouse and by keyboard.

/** Colours of one column of pixels of the timeline, from below its axis on. */
const column = (page) =>
  page.evaluate(() => {
    const c = document.querySelector('.timeline .bars');
    const { data } = c.getContext('2d').getImageData(c.width - 30, 0, 1, c.height);
    return Array.from({ length: c.height - 30 }, (_, k) => [...data.slice(4 * (k + 30), 4 * (k + 30) + 3)]);
  });

/** Coloured pixels of a canvas. */
const ink = (page, canvas) =>
  page.evaluate((selector) => {
    const c = document.querySelector(selector);
    const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
    let n = 0;
    for (let i = 0; i < d.length; i += 4)
      n += Number(Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 30);
    return n;
  }, canvas);

/** Moves a slider as a person does: by value, with the event that follows. */
const slide = (page, name, value) =>
  page.evaluate(
    ([label, x]) => {
      const input = [...document.querySelectorAll('input[type=range]')].find(
        (e) => e.checkVisibility() && (e.ariaLabel ?? e.closest('label')?.textContent ?? '').includes(label),
      );
      input.value = String(x);
      input.dispatchEvent(new Event('input'));
    },
    [name, value],
  );

const runtimeOf = (page) => page.evaluate(() => globalThis.mpitrace.trace.meta.runtime);

async function testTimings(browser, t) {
  const page = await t.newPage(browser);
  await t.check(
    'each rank has a bar with an outline of its own colour, the time scale and the time shown above',
    async () => {
      await t.pick(page, t.small);
      await t.rows(page, { messages: false });
      await t.interval(page, 5.2e6, 5.4e6); // all are outside MPI, so that the lines are those of the bars
      await t.settled(page);
      const lines = new Map(); // by colour: at which heights
      (await column(page)).forEach((rgb, y) => {
        if (Math.max(...rgb) - Math.min(...rgb) >= 40) lines.set(rgb.join(), [...(lines.get(rgb.join()) ?? []), y]);
      });
      const outlines = [...lines.values()].filter((at) => at.length === 2 && at[1] - at[0] > 12);
      t.same(outlines.length, 8, `bars of colours of their own, of ${JSON.stringify([...lines])}`);
      t.truth(
        /^200\.00 µs shown/.test(await page.textContent('.timeline .note')),
        await page.textContent('.timeline .note'),
      );
    },
  );
  await t.check('a line is as wide as its bytes over the bytes of a pixel', async () => {
    await t.rows(page, { messages: true, widths: 'linear', rowHeight: 0 });
    await t.interval(page, 10.2e6, 11.2e6); // messages, nearly no calls
    const covered = async (log2) => {
      await slide(page, 'width', log2);
      await t.settled(page);
      return ink(page, '.timeline .bars');
    };
    const [wide, narrow] = [await covered(12), await covered(15)];
    t.truth(narrow > 0 && wide > 1.2 * narrow, `${wide} pixels at 4 KiB, ${narrow} at 32 KiB a pixel`);
  });
  await page.close();
}

async function testLoad(browser, t) {
  const page = await t.newPage(browser, { acceptDownloads: true });
  const shown = () => t.state(page).then(({ from, to }) => [from, to]);
  const box = 'input[aria-label="Length of the interval in milliseconds"]';
  await t.check(
    'the box gives the interval its length, the scroll bar its begin, both and the total time are told',
    async () => {
      await t.pick(page, t.small);
      await page.click('#tab-circle');
      await t.settled(page);
      await page.fill(box, '20');
      await page.keyboard.press('Enter');
      await page.waitForFunction(
        () => globalThis.mpitrace.store.state.to - globalThis.mpitrace.store.state.from === 20e6,
      );
      const runtime = await runtimeOf(page);
      await slide(page, 'Start of the interval', 500);
      await t.settled(page);
      const [from, to] = await shown();
      t.truth(Math.abs(from - (runtime - 20e6) / 2) < 1e3 && Math.abs(to - from - 20e6) < 1, `${from} to ${to}`);
      const facts = await page.textContent('.circle .facts');
      t.truth(/^40\.316 ms to 60\.316 ms of 100\.633 ms$/.test(facts), facts);
      t.same((await t.drawn(page)).circleMessages < 1600, true, 'messages of the interval only');
    },
  );
  await t.check('ranks are numbered points, lines as wide as their bytes over the bytes of a pixel', async () => {
    const coming = page.waitForEvent('download', { timeout: 20000 });
    await page.selectOption('.export', 'svg');
    const stream = await (await coming).createReadStream();
    let svg = '';
    for await (const part of stream) svg += part;
    const numbers = [...svg.matchAll(/<text[^>]*>(\d+)<\/text>/g)].map((m) => Number(m[1]));
    t.same(
      numbers.sort((a, b) => a - b),
      [0, 1, 2, 3, 4, 5, 6, 7],
      'numbers',
    );
    const covered = async (log2) => {
      await slide(page, 'width', log2);
      await t.settled(page);
      return ink(page, '.circle .layer');
    };
    const [wide, narrow] = [await covered(17), await covered(19)];
    t.truth(wide > 1.5 * narrow, `${wide} pixels at 128 KiB, ${narrow} at 512 KiB a pixel`);
  });
  await t.check('Play goes on to the end of the run and stops there, Space too', async () => {
    const runtime = await runtimeOf(page);
    await t.interval(page, 0, runtime / 2);
    await page.click('.circle button:has-text("Play")');
    await page.waitForFunction((r) => globalThis.mpitrace.store.state.to >= r, runtime);
    await page.waitForSelector('.circle button:has-text("Play")');
    await t.interval(page, 0, runtime / 2);
    await page.focus('.circle .layer');
    await page.keyboard.press('Space');
    await page.waitForSelector('.circle button:has-text("Stop")');
    await page.waitForFunction(() => globalThis.mpitrace.store.state.from > 0);
    await page.keyboard.press('Space');
    await page.waitForSelector('.circle button:has-text("Play")');
  });
  await t.check('keys move the interval of the circle, change its length and show all', async () => {
    await t.interval(page, 20e6, 40e6);
    await page.focus('.circle .layer');
    const after = async (key) => {
      const before = await shown();
      await page.keyboard.press(key);
      await page.waitForFunction((x) => globalThis.mpitrace.store.state.from !== x, before[0]);
      return [before, await shown()];
    };
    const [a, b] = await after('ArrowRight');
    t.truth(b[0] > a[0] && Math.abs(b[1] - b[0] - 20e6) < 1, `${b}`);
    const [c, d] = await after('+');
    t.truth(d[1] - d[0] < c[1] - c[0], `${d}`);
    const [, e] = await after('Home');
    t.same(e, [0, await runtimeOf(page)], 'all');
  });
  await page.close();
}

export const MPEYE_CLAIMS = [testTimings, testLoad];
