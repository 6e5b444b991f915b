// carried.mjs - a report that carries the viewer and the trace, from file:// in Chromium: one click leads to the place, Back to where one was.
// node carried.mjs MPITRACE MAKE_MPIX GENERATE WORKDIR [--shots DIR]; ends with "N passed, N failed".
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch, packages } from './chromium.mjs';
import { check, end, same, truth } from './claims_said.mjs';

const [mpitrace, makeMpix, generate, work] = process.argv.slice(2, 6).map((path) => resolve(path));
const shots = process.argv.includes('--shots') ? resolve(process.argv[process.argv.indexOf('--shots') + 1]) : null;
const SKIPPED = 77;
const PATIENCE_MS = 120000;
const BYTES_MOST = 5e6; // HTML_CARRYING_BYTES_MAX
const HOSTILE = `a"><script>pwned()<!--'&.mpix`;

/** The files of a step on two nodes, as they are analysed when it has ended. */
function analysed(name, size = ['--ranks', '8', '--nodes', '2', '--events-per-rank', '400']) {
  const [step, trace, html] = ['', '.mpix', '.html'].map((end) => join(work, name + end));
  rmSync(step, { recursive: true, force: true });
  const what = ['--pattern', 'halo', ...size, '--seed', '1'];
  execFileSync(generate, [...what, '--clock', 'steps', '-o', step]);
  execFileSync(mpitrace, ['analyze', step, '-o', trace, '--report', html]);
  return { trace, html };
}

/** A trace of 64 ranks, larger by `iterations`, and the report of it. */
function made(name, iterations) {
  const trace = join(work, `${name}.mpix`);
  const html = join(work, `${name}.html`);
  execFileSync(makeMpix, [trace, '8', '8', String(iterations)]);
  execFileSync(mpitrace, ['report', trace, '-o', html]);
  return { trace, html };
}

/** A page that notes whatever is not just shown. */
async function opened(browser, html, options = {}, hash = '') {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const noted = [];
  page.on('console', (m) => /GPU stall/.test(m.text()) || noted.push(`console: ${m.text()}`));
  page.on('pageerror', (e) => noted.push(`error: ${e}`));
  page.on('request', (r) => /^(file|blob|data):/.test(r.url()) || noted.push(`request: ${r.url()}`));
  await page.addInitScript(() => {
    globalThis.pwned = () => console.log('a text ran');
    globalThis.unpacked = 0;
    const make = URL.createObjectURL;
    URL.createObjectURL = (x) => (globalThis.unpacked++, make(x));
  });
  await page.goto(pathToFileURL(html).href + hash);
  return { page, noted, close: () => context.close() };
}

const viewer = (page) => page.frames().find((f) => f.url().startsWith('blob:'));

/** The state of the viewer over the page, once its picture is whole. */
async function shown(page) {
  await page.waitForSelector('dialog.viewer[open] iframe');
  for (let i = 0; !viewer(page) && i < 100; i++) await page.waitForTimeout(50);
  const frame = viewer(page);
  await frame.waitForFunction(() => {
    const m = globalThis.mpitrace;
    return m !== undefined && m.busy() === 0 && m.drawn.final === true;
  });
  return frame.evaluate(() => {
    const { from, to, markFrom, markTo, selected, filter } = globalThis.mpitrace.store.state;
    const mark = [markFrom, markTo].map(Math.round);
    return { ranks: [...selected], mark, inside: from <= markFrom && markTo <= to, sites: filter.sites };
  });
}

/** The key may take away the frame that it was pressed in, which then does not answer any more. */
async function escape(page) {
  const pressed = page.keyboard.press('Escape').catch(() => undefined);
  await Promise.race([pressed, page.waitForTimeout(1000)]);
}

const gone = (page) => page.waitForFunction(() => !document.querySelector('dialog[open], iframe'));
const scrolled = (page) => page.evaluate(() => Math.round(window.scrollY));

async function shot(page, name) {
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`) });
}

/** Unfold the card of the first issue, and stand there. */
async function firstIssue(page) {
  const card = page.locator('.card').first();
  await card.locator('summary').click();
  await card.evaluate((x) => x.scrollIntoView({ behavior: 'instant' }));
  return card;
}

async function opens(browser, { trace, html }) {
  const analysis = JSON.parse(execFileSync(mpitrace, ['show', '--json', trace]));
  const { worst, ranks, window_s: window } = analysis.issues[0];
  const ns = (...seconds) => seconds.map((s) => Math.round(s * 1e9));
  const { page, noted, close } = await opened(browser, html);
  const card = await firstIssue(page);
  const link = card.locator('.what a.place');
  const before = await scrolled(page);
  await check('before the first click nothing is unpacked', async () => {
    same([page.frames().length, await page.evaluate(() => globalThis.unpacked)], [1, 0], 'frames and blobs');
    truth(before > 100, 'the page is not scrolled');
  });
  await shot(page, 'report-light');
  await check('ranks of the first issue open them with its interval', async () => {
    await card
      .locator('dl a.place', { hasText: String(ranks[0]) })
      .first()
      .click();
    const state = await shown(page);
    same([state.ranks.sort(), state.mark, state.inside], [[...ranks].sort(), ns(...window), true], 'selected');
    await page.goBack();
    await gone(page);
  });
  await check('the sentence of the first issue opens the rank that waited longest, and when', async () => {
    await link.click();
    const state = await shown(page);
    same([state.ranks, state.mark, state.inside], [[worst.rank], ns(worst.from_s, worst.to_s), true], 'selected');
    await shot(page, 'opened-light');
  });
  await check('Back leads to where one was, with the focus on the link', async () => {
    await page.goBack();
    await gone(page);
    same(await scrolled(page), before, 'scrolled');
    truth(await link.evaluate((x) => x === document.activeElement), 'focus');
    truth(!page.url().includes('#view'), page.url());
  });
  await check('Forward opens it again, Escape in the viewer leads back', async () => {
    await page.goForward();
    await shown(page);
    await escape(page);
    await gone(page);
    same(await scrolled(page), before, 'scrolled');
    truth(!page.url().includes('#view'), page.url());
  });
  await check('Escape does first what it has to do in the viewer', async () => {
    await link.focus();
    await page.keyboard.press('Enter');
    await shown(page);
    await viewer(page).focus('.stage');
    await escape(page);
    await page.waitForTimeout(200);
    same((await shown(page)).ranks, [], 'ranks');
    await escape(page);
    await gone(page);
  });
  await check('the button leads back, too', async () => {
    await link.click();
    await shown(page);
    await page.click('dialog.viewer button');
    await gone(page);
    same(await scrolled(page), before, 'scrolled');
    truth(!page.url().includes('#view'), page.url());
  });
  await check('ranks, call sites, cells and bars have places of their own', async () => {
    const goes = async (what, does, want) => {
      await does();
      const { ranks, mark, sites } = await shown(page);
      want({ ranks, mark, sites });
      await page.goBack();
      await gone(page);
    };
    for (const id of ['ranks', 'callsites', 'strip']) await page.locator(`#${id}-h`).click();
    const site = page.locator('#callsites tbody a.place').first();
    const id = Number(/sites=(\d+)/.exec(await site.getAttribute('data-at'))[1]);
    await goes(
      'rank',
      () => page.locator('#ranks tbody a.place').nth(3).click(),
      (s) => same(s.ranks, [3], 'rank'),
    );
    await goes(
      'bar',
      () => page.locator('#ranks td.wide').nth(5).click(),
      (s) => same(s.ranks, [5], 'bar'),
    );
    await goes(
      'site',
      () => site.click(),
      (s) => same(s.sites, [id], 'site'),
    );
    await page.evaluate(() => document.querySelectorAll('details').forEach((x) => (x.open = true)));
    const column = page.locator('.evidence rect[data-at]').nth(2);
    const [, of] = /ranks=(\d+)/.exec(await column.getAttribute('data-at'));
    await goes(
      'column',
      () => column.click(),
      (s) => same([s.ranks, s.mark[1] > s.mark[0]], [[Number(of)], true], 'column of the evidence'),
    );
    const pair = page.locator('rect[data-at="ranks=1,2"]').first();
    await goes(
      'pair',
      () => pair.click(),
      (s) => same(s.ranks, [1, 2], 'cell of the matrix'),
    );
    const strip = page.locator('#strip svg[data-ns]').first();
    const box = await strip.boundingBox();
    const [ns, columns] = await strip.evaluate((x) => [Number(x.dataset.ns), Number(x.dataset.columns)]);
    const position = { x: (box.width * 10.5) / columns, y: (box.height * 2.5) / 8 };
    await goes(
      'cell',
      () => strip.click({ position }),
      (s) => {
        same(s.ranks, [2], 'rank of the cell');
        same(
          s.mark,
          [10, 11].map((n) => Math.round((n * ns) / columns)),
          'interval of the cell',
        );
      },
    );
  });
  await check(
    'a view that was saved is there when the viewer comes up again, also in the page opened anew',
    async () => {
      const saved = () => viewer(page).locator('select.saved option[value^=go]').allTextContents();
      const open = async () => {
        await page.locator('#ranks tbody a.place').nth(3).click();
        await shown(page);
      };
      await open();
      same(await saved(), [], 'at first');
      await viewer(page).selectOption('select.saved', 'save');
      const [name] = await saved();
      await page.goBack();
      await gone(page);
      await open();
      same(await saved(), [name], 'the next time');
      await page.goBack();
      await page.reload();
      await page.locator('#ranks-h').click();
      await open();
      same(await saved(), [name], 'in the page anew');
      await page.goBack();
      await gone(page);
      const here = page.url();
      const other = join(work, 'other.html'); // the report of another job, whose trace has the same name
      copyFileSync(html, other);
      await page.goto(pathToFileURL(other).href);
      await page.locator('#ranks-h').click();
      await open();
      same(await saved(), [], 'in another report');
      await page.goto(here);
    },
  );
  await check(
    'how much of an issue is repaired is chosen, and the run is as long as the replay of that part',
    async () => {
      await page.evaluate(() => document.querySelectorAll('details').forEach((d) => (d.open = true)));
      const place = page.locator('[data-gains]').first();
      const [gains, run] = await place.evaluate((e) => [e.dataset.gains.split(' ').map(Number), Number(e.dataset.run)]);
      truth(
        gains.length === 5 && gains.every((g, i) => i === 0 || g >= gains[i - 1]) && gains[4] > 0,
        `gains: ${gains}`,
      );
      const said = async (percent) => {
        await place.locator('input').fill(String(percent));
        return (await place.locator('output').textContent()).replaceAll('\u00a0', ' ');
      };
      for (const [percent, gain] of [
        [0, 0],
        [25, gains[1]],
        [60, gains[2] + 0.4 * (gains[3] - gains[2])],
        [100, gains[4]],
      ]) {
        const [, all, time, unit, less] =
          /^(\d+) % of it repaired: the run takes ([\d.]+) (s|ms|µs), ([\d.]+) % less$/.exec(await said(percent));
        const seconds = Number(time) * { s: 1, ms: 1e-3, µs: 1e-6 }[unit];
        truth(
          Number(all) === percent && Math.abs(Number(less) - 100 * gain) <= 0.06,
          `${percent}: ${less}, not ${gain}`,
        );
        truth(Math.abs(seconds / (run * (1 - gain)) - 1) < 0.01, `${percent}: ${seconds} s of ${run}`);
      }
      const barriers = await page.evaluate(() => document.querySelectorAll('[data-gains]').length);
      truth(barriers < (await page.locator('article.card').count()) + 1, 'more sliders than issues');
    },
  );
  await check('nothing is asked of anybody, and the console is silent', () =>
    truth(noted.length === 0, [...new Set(noted)].slice(0, 4).join(' | ')),
  );
  await close();
}

async function direct(browser, { html }) {
  const { page, noted, close } = await opened(browser, html, { colorScheme: 'dark' }, '#view&ranks=2');
  await check('an address of a place opens it, and leads to the report all the same', async () => {
    same((await shown(page)).ranks, [2], 'ranks');
    await escape(page);
    await gone(page);
    truth(/\.html$/.test(page.url()) && (await page.locator('h1').isVisible()), page.url());
  });
  await check('a page that was left while it unpacked stays the report', async () => {
    await page.evaluate(() => ((location.hash = '#view&ranks=1'), history.back()));
    await page.waitForTimeout(300);
    same(await page.locator('dialog[open], iframe').count(), 0, 'frames');
  });
  await check('dark: the console is silent', () => truth(noted.length === 0, noted.slice(0, 4).join(' | ')));
  await close();
}

async function looks(browser, { html }) {
  for (const colorScheme of ['light', 'dark'])
    for (const [width, height] of [
      [1280, 800],
      [800, 600],
    ]) {
      const { page, close } = await opened(browser, html, { colorScheme, viewport: { width, height } });
      const name = `${colorScheme}-${width}`;
      await check(`${name}: report and viewer are not wider than the window`, async () => {
        const card = await firstIssue(page);
        await shot(page, `report-${name}`);
        same(await page.evaluate(() => document.documentElement.scrollWidth), width, 'report');
        await card.locator('.what a.place').click();
        await shown(page);
        same(await viewer(page).evaluate(() => document.documentElement.scrollWidth), width, 'viewer');
        await shot(page, `opened-${name}`);
      });
      await close();
    }
}

async function withoutScript(browser, { html }) {
  const { page, close } = await opened(browser, html, { javaScriptEnabled: false });
  await check('without a script there is no link into the trace, and the sentences are there', async () => {
    same(await page.locator('a.place[href]').count(), 0, 'links');
    truth((await page.locator('a.place').count()) > 0, 'no place');
    same(await page.locator('.go:visible').count(), 0, 'what looks like links');
  });
  await close();
}

async function tooLarge(browser) {
  const small = made('room', 5600);
  await check('a page with room carries the trace, and is not larger than it may be', () => {
    const bytes = statSync(small.html).size;
    truth(/id="carried-trace"/.test(readFileSync(small.html, 'utf8')), `${bytes} bytes without it`);
    truth(bytes > BYTES_MOST / 2 && bytes <= BYTES_MOST, `${bytes} bytes`);
  });
  await check('without that room it carries a part, and is not larger than it may be either', async () => {
    const large = made('no-room', 7000); // with the viewer and in text it is too large
    const [trace, html] = [large.trace, large.html].map((path) => statSync(path).size);
    truth(trace < BYTES_MOST && trace > 0.75 * BYTES_MOST, `${trace} bytes`);
    truth(html > BYTES_MOST / 2 && html <= BYTES_MOST, `${html} bytes`);
    const { page, noted, close } = await opened(browser, large.html);
    await (await firstIssue(page)).locator('.what a.place').click();
    await shown(page);
    truth(noted.length === 0, noted.join(' | '));
    await close();
  });
}

const drawn = (page) =>
  viewer(page).evaluate(() => {
    const { detail, missing, spans } = globalThis.mpitrace.drawn;
    return {
      detail,
      missing,
      waits: spans > 0,
      banner: document.querySelector('[role=alert]:not([hidden])')?.textContent,
    };
  });
const noteOf = (page) => viewer(page).evaluate(() => document.querySelector('.note').textContent);

/** A trace that is too large by itself: single calls are there where sentences lead, all else is there in sums. */
async function ofAPart(browser) {
  const { trace, html } = analysed('part', ['--ranks', '8', '--nodes', '2', '--events-per-rank', '500000']);
  const { page, noted, close } = await opened(browser, html);
  await check('a page carries of a trace that is too large what its sentences lead to', async () => {
    truth(statSync(trace).size > BYTES_MOST, `${statSync(trace).size} bytes`);
    truth(statSync(html).size <= BYTES_MOST, `${statSync(html).size} bytes`);
    await page.locator('#next-h').click();
    truth(/of which [\d.]+\sMiB of [\d.]+\sMiB are in this page/.test(await page.textContent('#next')), 'how much');
  });
  await check('each of them leads to single calls and their waiting, and nothing is missing there', async () => {
    const places = await page.locator('a.place').evaluateAll((links) => links.map((x) => x.dataset.at));
    const narrow = [...new Set(places)].filter((x) => /^t=/.test(x) && !x.startsWith('t=0~'));
    truth(narrow.length > 1, `${places}`);
    let waiting = 0;
    for (const place of narrow) {
      await page.evaluate((x) => (location.hash = `view&${x}`), place);
      await page.waitForFunction((x) => document.querySelector('iframe')?.src.endsWith(x), `#${place}`);
      await shown(page);
      const { waits, ...picture } = await drawn(page);
      same(picture, { detail: 'events', missing: 0, banner: undefined }, place);
      waiting += waits;
    }
    truth(waiting > 1, `${waiting} of ${narrow.length} show waiting`);
    truth((await page.textContent('dialog.viewer .says')).includes('All of it: mpitrace view part.mpix'), 'says');
    await shot(page, 'part');
  });
  await check('elsewhere shares are drawn, and it is said where the calls are', async () => {
    await page.evaluate(() => (location.hash = 'view&t=1600000000~1601000000&mark=1600000000~1601000000'));
    await page.waitForFunction(() => document.querySelector('iframe')?.src.includes('t=1600000000'));
    await shown(page);
    same(await drawn(page), { detail: 'summary', missing: 0, waits: false, banner: undefined }, 'the picture');
    truth(/single calls of this interval are in part\.mpix, not in the page/.test(await noteOf(page)), 'note');
    await viewer(page).waitForSelector('[aria-label=Interval] :text("All of it: mpitrace view part.mpix")');
    await shot(page, 'part-elsewhere');
  });
  await check('a view that goes through all of the run says that it cannot', async () => {
    await viewer(page).evaluate(() => globalThis.mpitrace.store.set({ view: 'states' }));
    truth(/of which this page has a part/.test(await viewer(page).textContent('.only-totals')), 'States');
    truth(noted.length === 0, noted.slice(0, 4).join(' | '));
  });
  await close();
}

async function hostile(browser, { trace, html }) {
  const named = join(work, HOSTILE);
  copyFileSync(trace, named);
  execFileSync(mpitrace, ['report', named, '-o', join(work, 'hostile.html')]);
  const { page, noted, close } = await opened(browser, join(work, 'hostile.html'));
  await check('a hostile name of the trace stays a name', async () => {
    await page.locator('.cause a.place, h1 a.place').first().click();
    await shown(page);
    truth((await page.textContent('dialog.viewer .says')).includes(HOSTILE), 'name');
    same(await page.locator('script').count(), 4, 'scripts');
    truth(noted.length === 0, noted.slice(0, 4).join(' | '));
  });
  await close();
  const { HtmlValidate } = packages(work)('html-validate');
  const rules = { 'doctype-style': 'off' };
  const validate = new HtmlValidate({ root: true, extends: ['html-validate:standard'], rules });
  await check('the page is valid HTML', async () => {
    const found = (await validate.validateFile(html)).results.flatMap((r) => r.messages);
    same(
      found.slice(0, 5).map((m) => `${m.line}: ${m.ruleId}: ${m.message}`),
      [],
      'complaints',
    );
  });
}

async function main() {
  mkdirSync(work, { recursive: true });
  if (shots) mkdirSync(shots, { recursive: true });
  const browser = await launch(work);
  if (!browser) process.exit(SKIPPED);
  const small = analysed('small');
  await opens(browser, small);
  await direct(browser, small);
  await looks(browser, small);
  await withoutScript(browser, small);
  await tooLarge(browser);
  await ofAPart(browser);
  await hostile(browser, small);
  await browser.close();
  end();
}

await main();
