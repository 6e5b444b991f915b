// run.mjs - opens traces of known content in Chromium and checks what is drawn, what was read and what was said.
// node run.mjs MPITRACE MAKE_MPIX VIEWER_HTML WORKDIR [--shots DIR] [--only testTables] [--generate GENERATE]; ends with "N passed, N failed".
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { launch, serve } from './chromium.mjs';
import { CLAIMS } from './claims.mjs';
import { FIELD_CLAIMS } from './field.mjs';
import { LIVE_CLAIMS } from './live.mjs';
import { MPEYE_CLAIMS } from './mpeye.mjs';
import { OPEN_CLAIMS } from './opens.mjs';
import { WORD_CLAIMS } from './words.mjs';
import { PROTOCOL_CLAIMS } from './protocol.mjs';
import { SPACE_CLAIMS } from './spacetime.mjs';
import { STATE_CLAIMS } from './states.mjs';
import { MACHINE_CLAIMS } from './machine.mjs';
import { OVERVIEW_CLAIMS } from './overview.mjs';
import { ROW_CLAIMS } from './rows.mjs';
import { VIEW_CLAIMS } from './views.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const [mpitrace, makeMpix, viewer, work] = process.argv.slice(2, 6).map((path) => resolve(path));
const option = (name) => (process.argv.includes(name) ? (process.argv[process.argv.indexOf(name) + 1] ?? '') : '');
const shots = option('--shots') === '' ? null : resolve(option('--shots'));
const only = option('--only');
// built from tests/bench/generate.c: files of steps on many nodes
const generate = resolve(option('--generate') || join(dirname(makeMpix), '../bench/generate'));
const SKIPPED = 77;

let passed = 0;
let failed = 0;
let complaints = []; // of the console, since the last check

async function check(claim, test) {
  try {
    await test();
    if (complaints.length > 0) throw new Error(`console: ${complaints.join(' | ')}`);
    passed++;
    console.log(`ok     ${claim}`);
  } catch (error) {
    failed++;
    console.log(`FAILED ${claim}: ${error.message}`);
  }
  complaints = [];
}

function same(got, want, what) {
  if (JSON.stringify(got) !== JSON.stringify(want))
    throw new Error(`${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}

function truth(condition, what) {
  if (!condition) throw new Error(what);
}

async function newPage(browser, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1360, height: 800 }, ...options });
  page.on(
    'console',
    (m) => ['error', 'warning'].includes(m.type()) && !/GPU stall/.test(m.text()) && complaints.push(m.text()),
  );
  page.on('pageerror', (e) => complaints.push(String(e)));
  page.on(
    'request',
    (r) => !/^(file|http:\/\/127\.0\.0\.1|data|blob)/.test(r.url()) && complaints.push(`request to ${r.url()}`),
  );
  return page;
}

/** Wait until the picture is complete: frames with nothing asked for and nothing changing. */
async function settled(page) {
  await page.waitForFunction(() => globalThis.mpitrace !== undefined);
  await page.evaluate(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    for (let quiet = 0; quiet < 4; await frame()) {
      const { busy, drawn, store } = globalThis.mpitrace;
      const isWhole = store.state.view !== 'timeline' || drawn.final === true;
      quiet = busy() === 0 && isWhole ? quiet + 1 : 0;
    }
  });
}

const rows = (page, change) => page.evaluate((x) => globalThis.mpitrace.store.setView('timeline', x), change);
const state = (page) =>
  page.evaluate(() => {
    const { state: s } = globalThis.mpitrace.store;
    return { ...s, selected: [...s.selected], timeline: s.views.timeline };
  });
const drawn = (page) => page.evaluate(() => ({ ...globalThis.mpitrace.drawn }));
const interval = (page, from, to) =>
  page.evaluate(([a, b]) => globalThis.mpitrace.store.showInterval(a, b), [from, to]);
const bytesRead = (page) => page.evaluate(() => globalThis.mpitrace.trace.bytesRead);

async function pick(page, file) {
  await page.goto(pathToFileURL(viewer).href);
  await page.setInputFiles('#file', file);
  await settled(page);
}

/** How many pixels of the timeline have nearly this colour; read from a picture of the element. */
async function pixels(page, rgb, clip) {
  const png = (await page.screenshot({ clip })).toString('base64');
  return page.evaluate(
    async ([data, [r, g, b]]) => {
      const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
      const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
      const g2 = new OffscreenCanvas(image.width, image.height).getContext('2d');
      g2.drawImage(image, 0, 0);
      const p = g2.getImageData(0, 0, image.width, image.height).data;
      let n = 0;
      for (let i = 0; i < p.length; i += 4)
        if (Math.abs(p[i] - r) + Math.abs(p[i + 1] - g) + Math.abs(p[i + 2] - b) < 24) n++;
      return n;
    },
    [png, rgb],
  );
}

/** Share of the pixels in which two pictures differ by more than `much`, of 255. */
async function difference(page, one, other, much) {
  return page.evaluate(
    async ([pictures, limit]) => {
      const [a, b] = await Promise.all(
        pictures.map(async (data) => {
          const image = await createImageBitmap(
            new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], { type: 'image/png' }),
          );
          const g = new OffscreenCanvas(image.width, image.height).getContext('2d');
          g.drawImage(image, 0, 0);
          return g.getImageData(0, 0, image.width, image.height).data;
        }),
      );
      return a.reduce((n, x, i) => n + Number(Math.abs(x - b[i]) > limit), 0) / a.length;
    },
    [[one, other].map((png) => png.toString('base64')), much],
  );
}

async function shot(page, name) {
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`) });
}

async function testPicker(browser, file) {
  const page = await newPage(browser);
  await check('a file chosen is drawn with every call and every message', async () => {
    await pick(page, file);
    const d = await drawn(page);
    same([d.detail, d.events, d.lines, d.messageDetail], ['events', 8 * (2 + 50 * 9 + 6), 8 * 50 * 4, 'all'], 'drawn');
  });
  await check('the header says program, efficiency and that the trace is complete', async () => {
    same(await page.textContent('h1'), 'halo', 'title');
    truth(/Complete: 3,664 calls/.test(await page.textContent('.trust')), 'coverage');
    truth(/73\s%/.test(await page.textContent('.verdict')), 'parallel efficiency');
  });
  await check('the panel names the issues, what they cost and what to do next', async () => {
    const heads = await page.locator('.side h2:visible').allTextContents();
    same(heads, ['Selection', 'Issues', 'Where the time went'], 'panel');
    same(await page.locator('.issue h3').allTextContents(), ['uneven work between ranks175.42 ms lost'], 'issues');
    same(await page.textContent('.issue .next'), 'Give rank 7 a smaller part of the grid.', 'advice');
  });
  await shot(page, 'timeline-all');
  await check('waiting is drawn in the colour of waiting', async () => {
    await interval(page, 5e6, 9e6);
    await settled(page);
    const clip = await page.locator('.stage').boundingBox();
    truth((await pixels(page, [0xd5, 0x5e, 0x00], clip)) > 5000, 'too few pixels of the colour of waiting');
  });
  await shot(page, 'timeline-zoomed');
  await check('a click on a call tells operation, duration, call site', async () => {
    const box = await page.locator('.stage').boundingBox();
    const at = await page.evaluate(() => {
      const { from, to } = globalThis.mpitrace.store.state;
      return (6.3e6 - from) / (to - from);
    });
    const row = (box.height - 26) / 8;
    const height = Math.min(72, row);
    await page.mouse.move(box.x + 76 + at * (box.width - 76), box.y + 26 + height / 2);
    await shot(page, 'timeline-tooltip');
    await page.mouse.down();
    await page.mouse.up();
    await settled(page);
    const text = await page.textContent('.selection');
    truth(/MPI_Waitall/.test(text) && /src\/halo\.c:68/.test(text) && /of it waiting/.test(text), text);
  });
  await check('a call that waited names who caused it, and leads there', async () => {
    const text = await page.textContent('.selection');
    truth(/late sender.*caused by rank 4 on n2: MPI_Isend, src\/halo\.c:61/.test(text), text);
    await page.mouse.move(10, 10);
    await shot(page, 'timeline-cause');
    await page.click('text=Go to the cause');
    await settled(page);
    await page.waitForFunction(() => document.querySelector('.selection h3')?.textContent === 'MPI_Isend');
    truth(/rank4 on n2/.test(await page.textContent('.selection')), await page.textContent('.selection'));
    await interval(page, 5e6, 9e6);
    await settled(page);
  });
  await check('the keyboard pans, zooms, steps and shows all', async () => {
    const before = await state(page);
    await page.focus('.stage');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('+');
    await settled(page);
    const after = await state(page);
    truth(after.from > before.from && after.to - after.from < before.to - before.from, 'did not move');
    await page.keyboard.press('n');
    await settled(page);
    truth((await page.textContent('.selection')).includes('MPI_'), 'no call picked');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Home');
    await page.keyboard.press('m');
    await settled(page);
    same((await drawn(page)).lines, 0, 'messages shown after m');
    await page.keyboard.press('m');
  });
  await check('the wheel zooms about the pointer', async () => {
    const box = await page.locator('.stage').boundingBox();
    const time = () =>
      page.evaluate(
        ([x, w]) => {
          const { from, to } = globalThis.mpitrace.store.state;
          return from + ((x - 76) / (w - 76)) * (to - from);
        },
        [600, box.width],
      );
    await settled(page);
    await page.mouse.move(box.x + 600, box.y + 100);
    const before = await time();
    await page.mouse.wheel(0, -300);
    await settled(page);
    truth(Math.abs((await time()) - before) < 2e3, 'the moment under the pointer moved');
  });
  await check('the matrix holds exactly what was sent', async () => {
    await page.click('#tab-matrix');
    await settled(page);
    const d = await drawn(page);
    const each = 50 * 8192 * 2 + 50 * 65536 * 2;
    same([d.matrixSize, d.matrixTotal], [8, 8 * each], 'matrix');
    await shot(page, 'matrix');
  });
  await check('the circle counts the messages of the interval shown', async () => {
    await page.click('#tab-circle');
    await page.evaluate(() => globalThis.mpitrace.store.showAll());
    await settled(page);
    await page.waitForFunction(() => globalThis.mpitrace.drawn.circleMessages === 1600);
    same((await drawn(page)).circleExact, true, 'exact');
    truth(/1,600 messages on 24 links/.test(await page.textContent('.circle .note')), 'the note above the circle');
    await shot(page, 'circle');
    await interval(page, 5e6, 7.5e6);
    await page.waitForFunction(() => globalThis.mpitrace.drawn.circleMessages === 32);
  });
  await page.close();
}

async function testVersion1(browser) {
  const page = await newPage(browser, { colorScheme: 'dark' });
  await check('a file of version 1 is drawn with every call and every message', async () => {
    const path = join(here, '../corpus/version_1.mpix');
    const { events, messages } = JSON.parse(readFileSync(join(here, '../corpus/version_1.json')));
    await pick(page, path);
    const d = await drawn(page);
    same([d.detail, d.lines], ['events', messages.length], 'drawn');
    truth(d.events >= events.length, `${d.events} calls of ${events.length}`); // some are carried on
    await shot(page, 'version1-dark');
  });
  await page.close();
}

async function testDrop(browser, file) {
  const page = await newPage(browser);
  await check('a file dropped on the page is opened', async () => {
    await page.goto(pathToFileURL(viewer).href);
    await shot(page, 'start');
    const data = readFileSync(file).toString('base64');
    const transfer = await page.evaluateHandle((text) => {
      const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
      const t = new DataTransfer();
      t.items.add(new File([bytes], 'dropped.mpix'));
      return t;
    }, data);
    await page.dispatchEvent('body', 'drop', { dataTransfer: transfer });
    await settled(page);
    same((await drawn(page)).lines, 1600, 'messages');
  });
  await page.close();
}

async function testRefusals(browser, file) {
  const page = await newPage(browser);
  const bad = join(work, 'cut.mpix');
  await check('a file cut short is refused in words', async () => {
    copyFileSync(file, bad);
    truncateSync(bad, 5000);
    await page.goto(pathToFileURL(viewer).href);
    await page.setInputFiles('#file', bad);
    await page.waitForSelector('.problem');
    truth(/cut: 5000 of/.test(await page.textContent('.problem')), await page.textContent('.problem'));
  });
  await check('a file of another format is refused in words', async () => {
    writeFileSync(bad, 'this is no trace at all, but it is longer than a superblock, so there');
    await page.setInputFiles('#file', bad);
    await page.waitForFunction(() => document.querySelector('.problem')?.textContent.includes('not an .mpix'));
    await shot(page, 'refused');
  });
  await page.close();
}

async function testPartial(browser, file) {
  const page = await newPage(browser, { colorScheme: 'dark' });
  await check('a partial trace says so and why', async () => {
    await pick(page, file);
    const text = await page.textContent('.trust');
    truth(
      /Partial: .*1,234 single events lost \(totals stay exact\)/.test(text) && /killed by signal 9/.test(text),
      text,
    );
    await interval(page, 5e6, 20e6);
    await settled(page);
    await shot(page, 'partial-dark');
  });
  await page.close();
}

async function testSmall(browser, file) {
  const page = await newPage(browser, { viewport: { width: 420, height: 760 } });
  await check('a narrow window shows everything without sideways scrolling', async () => {
    await pick(page, file);
    same(await page.evaluate(() => document.documentElement.scrollWidth), 420, 'width');
    await shot(page, 'narrow');
  });
  await page.close();
}

async function testServed(browser, file) {
  const server = await serve(mpitrace, file);
  const { url } = server;
  const size = statSync(file).size;
  const page = await newPage(browser);
  await check('mpitrace view: 1024 ranks are drawn from few tiles', async () => {
    await page.goto(url);
    await settled(page);
    const d = await drawn(page);
    same(d.detail, 'summary', 'detail');
    truth(d.chunks <= 24 && d.chunks > 0, `${d.chunks} tiles`);
    truth((await bytesRead(page)) < size / 3, `${await bytesRead(page)} of ${size} bytes`);
    await shot(page, 'big-all');
  });
  await check('however many messages there are, the bars below stay visible', async () => {
    // So wide that the words above the plot stay in one line, with messages and without.
    await page.setViewportSize({ width: 1800, height: 800 });
    await settled(page);
    const stage = await page.locator('.stage').boundingBox();
    const clip = { x: stage.x + 90, y: stage.y + 40, width: stage.width - 100, height: stage.height - 50 };
    const { lines } = await drawn(page);
    truth(lines > 1.3 * clip.width, `only ${lines} messages`);
    const shown = await page.screenshot({ clip });
    await rows(page, { messages: false });
    await settled(page);
    same(await page.locator('.stage').boundingBox(), stage, 'the plot moved');
    const hidden = await page.screenshot({ clip });
    const [some, strong] = [await difference(page, shown, hidden, 10), await difference(page, shown, hidden, 120)];
    truth(some > 0.01 && strong < 0.2, `${some} of the pixels change, ${strong} by much`);
    await rows(page, { messages: true });
    await page.setViewportSize({ width: 1360, height: 800 });
    await settled(page);
  });
  await check('mpitrace view: only the ranges needed are read', async () => {
    const before = await bytesRead(page);
    await rows(page, { rowHeight: 24, rowFirst: 500 });
    await interval(page, 100e6, 103e6);
    await settled(page);
    const d = await drawn(page);
    same(d.detail, 'events', 'detail');
    truth(d.chunks <= 16, `${d.chunks} chunks`);
    truth((await bytesRead(page)) - before < size / 4, `${(await bytesRead(page)) - before} bytes for a zoomed view`);
    await shot(page, 'big-zoomed');
    await page.click('#tab-matrix');
    await settled(page);
    await shot(page, 'big-matrix');
    await page.evaluate(() => globalThis.mpitrace.store.showAll());
    await page.click('#tab-circle');
    await settled(page);
    await shot(page, 'big-circle');
  });
  await check('of a part of the run with many messages, compute nodes are shown by their names', async () => {
    await interval(page, 20e6, 180e6);
    await settled(page);
    await page.waitForFunction(() => /compute node/.test(document.querySelector('.circle .note').textContent));
    same((await drawn(page)).circleLinks, 4, 'links between two nodes');
    await shot(page, 'big-circle-nodes');
    await page.click('#tab-matrix');
    await page.selectOption('select[aria-label="Traffic"]', 'p2p');
    await page.waitForFunction(() => globalThis.mpitrace.drawn.matrixSize === 2);
    await shot(page, 'big-matrix-nodes');
  });
  await check('mpitrace view: without the token there is nothing', async () => {
    for (const path of ['/', '/trace.mpix', '/../etc/passwd', `/${'0'.repeat(32)}/trace.mpix`]) {
      const answer = await fetch(new URL(path, url));
      same(answer.status, 404, path);
    }
    const range = await fetch(`${url}trace.mpix`, { headers: { Range: 'bytes=0-3' } });
    same([range.status, (await range.arrayBuffer()).byteLength], [206, 4], 'range');
  });
  await page.close();
  server.stop();
}

/** A picture of the timeline by a browser with these graphics. */
async function timelineOf(graphics, file) {
  const browser = await launch(work, ...graphics);
  const page = await newPage(browser);
  await pick(page, file);
  await interval(page, 5e6, 25e6);
  await settled(page);
  await page.mouse.move(5, 5);
  const has = await page.evaluate(() => document.createElement('canvas').getContext('webgl') !== null);
  const png = await page.locator('.timeline .stage').screenshot();
  await browser.close();
  return { has, png };
}

async function testGraphics(browser, file) {
  await check('without WebGL, and without a graphics card of any kind, the timeline is the same', async () => {
    const page = await newPage(browser);
    const soft = await timelineOf([], file);
    truth(soft.has, 'software WebGL is there');
    for (const graphics of [
      ['--disable-webgl', '--disable-webgl2'],
      ['--disable-gpu', '--disable-software-rasterizer'],
    ]) {
      const none = await timelineOf(graphics, file);
      truth(!none.has, `${graphics}: WebGL is there`);
      const share = await difference(page, soft.png, none.png, 16);
      truth(share < 0.001, `${graphics}: ${share} of the picture differs`);
    }
    await page.close();
  });
}

async function main() {
  const browser = await launch(work);
  if (!browser) {
    console.log('skipped: no chromium here; apt install chromium');
    return SKIPPED;
  }
  if (shots) mkdirSync(shots, { recursive: true });
  const make = (name, ...args) => {
    execFileSync(makeMpix, [join(work, name), ...args.map(String)]);
    return join(work, name);
  };
  const small = make('small.mpix', 4, 2, 50);
  const wants = (test) => test.name.includes(only);
  for (const test of [testPicker, testDrop, testRefusals, testSmall].filter(wants)) await test(browser, small);
  if (wants(testGraphics)) await testGraphics(browser, small);
  if (wants(testVersion1)) await testVersion1(browser);
  if (wants(testPartial)) await testPartial(browser, make('partial.mpix', 2, 2, 30, 'partial'));
  for (const test of [
    ...CLAIMS,
    ...ROW_CLAIMS,
    ...OVERVIEW_CLAIMS,
    ...VIEW_CLAIMS,
    ...MPEYE_CLAIMS,
    ...STATE_CLAIMS,
    ...OPEN_CLAIMS,
    ...WORD_CLAIMS,
    ...SPACE_CLAIMS,
    ...MACHINE_CLAIMS,
    ...PROTOCOL_CLAIMS,
    ...FIELD_CLAIMS,
    ...LIVE_CLAIMS,
  ].filter(wants))
    await test(browser, {
      small,
      make,
      mpitrace,
      generate,
      viewer,
      makeMpix,
      shots,
      check,
      newPage,
      pick,
      settled,
      state,
      drawn,
      interval,
      rows,
      same,
      truth,
      shot,
      pixels,
      difference,
      work,
    });
  if (wants(testServed)) await testServed(browser, make('big.mpix', 32, 32, 100));
  await browser.close();
  console.log(`${passed} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

process.exit(await main());
