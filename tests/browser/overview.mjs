// overview.mjs - what stands around the timeline: the strip of the whole run with phases and patterns, the bar that says "loading", statistics
// as CSV, rows by switch. Each takes the browser and the tools of run.mjs.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { labels } from './rows.mjs';
import { exported } from './views.mjs';

const analysisOf = (t, trace) => JSON.parse(execFileSync(t.mpitrace, ['show', trace, '--json'], { maxBuffer: 1e9 }));

/** The trace that `generate` and the analysis make of a pattern; null where it is not built. */
function generated(t, name, pattern, ranks, nodes, events) {
  const [dir, trace] = [join(t.work, name), join(t.work, `${name}.mpix`)];
  rmSync(dir, { recursive: true, force: true });
  const size = ['--ranks', ranks, '--nodes', nodes, '--events-per-rank', events].map(String);
  execFileSync(t.generate, ['--pattern', pattern, ...size, '-o', dir]);
  execFileSync(t.mpitrace, ['analyze', dir, '-o', trace], { stdio: 'pipe' });
  rmSync(dir, { recursive: true });
  return trace;
}

/** Of each column of the strip: how many pixels have the colour of text, and whether the two at the bottom have. */
function stripOf(page) {
  return page.evaluate(() => {
    const probe = document.createElement('canvas').getContext('2d');
    probe.fillStyle = getComputedStyle(document.body).color;
    probe.fillRect(0, 0, 1, 1);
    const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
    const canvas = document.querySelector('.minimap');
    const { width, height } = canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
    const isText = (x, y) => {
      const i = 4 * (y * width + x);
      return Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 30;
    };
    const [tall, low] = [[], []];
    for (let x = 0; x < width; x++) {
      let n = 0;
      for (let y = 0; y < height; y++) n += Number(isText(x, y));
      tall.push(n / height);
      low.push(isText(x, height - 4) && isText(x, height - 3));
    }
    return { tall, low, width, left: (globalThis.mpitrace.drawn.left / canvas.clientWidth) * width };
  });
}

async function testStrip(browser, t) {
  const page = await t.newPage(browser);
  await t.check('phases stand in the strip of the whole run, where the analysis says they begin', async () => {
    const loop = generated(t, 'phases', 'alltoall', 4, 2, 4000);
    const { parts } = analysisOf(t, loop).phases;
    t.truth(parts.length >= 3, JSON.stringify(parts)); // what comes before the loop, the loop, what comes after it
    await t.pick(page, loop);
    const runtime = await page.evaluate(() => globalThis.mpitrace.trace.meta.runtime);
    const strip = await stripOf(page);
    const lines = strip.tall.flatMap((share, x) => (share > 0.85 ? [x] : []));
    const wanted = parts.map((p) => p.window_s[0] * 1e9).filter((ns) => ns > 0);
    for (const ns of wanted) {
      const at = strip.left + (ns / runtime) * (strip.width - strip.left);
      const isThere = lines.some((x) => Math.abs(x - at) <= 2);
      t.truth(isThere, `no line at ${at}: ${lines}`);
    }
    t.truth(lines.length <= 2 * wanted.length + 4, `${lines.length} lines`);
    await t.shot(page, 'phases');
  });
  await t.check('a pattern that does not hold all the time is underlined in the strip, while it holds', async () => {
    const trace = generated(t, 'patterns', 'halo', 32, 32, 400);
    const runtime_s = analysisOf(t, trace).summary.runtime_s;
    const part = analysisOf(t, trace).patterns.filter((p) => p.window_s[1] - p.window_s[0] < 0.95 * runtime_s);
    t.truth(part.length > 0, 'no such pattern');
    await t.pick(page, trace);
    const strip = await stripOf(page);
    const isIn = (x) =>
      part.some(({ window_s: [from, to] }) => {
        const at = (s) => strip.left + (s / runtime_s) * (strip.width - strip.left);
        return x >= at(from) - 2 && x <= Math.max(at(to), at(from) + 2) + 2;
      });
    const under = strip.low.flatMap((is, x) => (is && strip.tall[x] < 0.85 ? [x] : [])); // not where a phase begins
    t.truth(under.length > 0, 'nothing is underlined');
    t.same(
      under.filter((x) => !isIn(x)),
      [],
      `columns that are underlined, and are in no pattern, of ${under}`,
    );
    await t.shot(page, 'patterns');
  });
  await page.close();
}

/** A server of the page and a trace that can be made to wait. */
async function waiting(page, trace) {
  const data = readFileSync(trace);
  let free = null;
  let open = Promise.resolve();
  const server = createServer(async (request, answer) => {
    if (!/mpix$/.test(request.url)) return answer.setHeader('Content-Type', 'text/html').end(readFileSync(page));
    const [, from, to] = /bytes=(\d+)-(\d+)/.exec(request.headers.range);
    await open;
    const part = data.subarray(Number(from), Number(to) + 1);
    answer.writeHead(206, {
      'Content-Range': `bytes ${from}-${Number(from) + part.length - 1}/${data.length}`,
      'Content-Length': part.length,
    });
    answer.end(part);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    hold: () => (open = new Promise((done) => (free = done))),
    release: () => free?.(),
    stop: () => (free?.(), server.closeAllConnections(), server.close()),
  };
}

async function testLoading(browser, t) {
  const server = await waiting(t.viewer, t.make('wide.mpix', 32, 8, 60));
  const page = await t.newPage(browser);
  const bar = '.views > .progress';
  await t.check('while a picture is read a bar says so, and goes when it is there', async () => {
    await page.goto(server.url);
    await t.settled(page);
    t.truth(await page.locator(bar).isHidden(), 'it is there though nothing is read');
    server.hold();
    await t.interval(page, 10e6, 12e6);
    await page.waitForSelector(bar, { state: 'visible' });
    const words = (await page.textContent(bar)).trim();
    t.truth(/^loading …( \d+ chunks)?$/.test(words), words);
    const { width, height } = await page.locator(bar).boundingBox();
    t.truth(width > 40 && height > 2, `${width} by ${height} pixels`);
    t.same((await t.drawn(page)).final, false, 'final');
    await t.shot(page, 'loading');
    server.release();
    await t.settled(page);
    await page.waitForSelector(bar, { state: 'hidden' });
    t.truth((await t.drawn(page)).events > 0, 'calls drawn');
  });
  await page.close();
  server.stop();
}

/** Rows of CSV by table and name. */
function csvRows(text) {
  const [head, ...lines] = text.trim().split('\n');
  const names = head.split(',');
  return lines.map((line) => Object.fromEntries(line.split(',').map((cell, i) => [names[i], cell])));
}

async function testCopy(browser, t) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 800 }, acceptDownloads: true });
  const page = await t.newPage(context);
  const server = await waiting(t.viewer, t.small);
  await t.check('statistics of the interval are copied as CSV, all rows', async () => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: new URL(server.url).origin });
    await page.goto(server.url);
    await t.settled(page);
    await page.focus('.stage');
    await page.keyboard.press('x');
    await page.waitForFunction(() => /: 3,664 calls/.test(document.querySelector('.statistics')?.textContent ?? ''));
    await page.click('button:has-text("Copy as CSV")');
    await page.waitForFunction(() => /rows copied/.test(document.querySelector('.statistics').textContent));
    const rows = csvRows(await page.evaluate(() => navigator.clipboard.readText()));
    const of = (table) => rows.filter((x) => x.table === table);
    const calls = (table) => of(table).reduce((sum, x) => sum + Number(x.calls), 0);
    t.same([calls('operation'), calls('rank'), of('rank').length], [3664, 3664, 8], 'calls by operation and by rank');
    const [waitall] = of('operation').filter((x) => x.name === 'MPI_Waitall');
    t.truth(waitall.calls === '400' && Number(waitall.waiting_s) > 0, JSON.stringify(waitall));
    t.same([of('messages')[0].calls, of('messages')[0].bytes], ['1600', String(800 * 8192 + 800 * 65536)], 'messages');
  });
  await t.check('where a page may not write to the clipboard, they are saved', async () => {
    await page.evaluate(() => {
      Object.defineProperty(navigator.clipboard, 'writeText', {
        value: () => Promise.reject(new Error('not allowed')),
      });
    });
    const saved = page.waitForEvent('download');
    await page.click('.statistics button:has-text("copied")');
    const file = await saved;
    t.same(file.suggestedFilename(), 'interval.csv', 'name');
    t.truth(/^operation,MPI_Waitall,400,/m.test(String(readFileSync(await file.path()))), 'content');
    await page.waitForFunction(() => /saved as interval\.csv/.test(document.querySelector('.statistics').textContent));
  });
  await context.close();
  server.stop();
}

async function testSwitches(browser, t) {
  const page = await t.newPage(browser, { acceptDownloads: true });
  await t.check('rows are grouped by switch and folded', async () => {
    await t.pick(page, generated(t, 'switches', 'halo', 64, 32, 60)); // two ranks a node, 16 nodes a switch
    const options = await page.locator('select[aria-label="Groups of ranks"] option').allTextContents();
    t.truth(options.includes('switch'), `groups: ${options}`);
    await page.selectOption('select[aria-label="Groups of ranks"]', 'switch');
    t.same(await labels(page, t, { fold: true }, /^leaf\d+$/), 'leaf0 leaf1', 'folded');
    await t.shot(page, 'switches');
    const numbers = (await labels(page, t, { fold: false, rowHeight: 0 }, /^\d+$/)).split(' ').map(Number);
    const leaf = (rank) => Math.floor(rank / 32);
    t.truth(
      numbers.length > 4 && numbers.every((rank, i) => i === 0 || leaf(rank) >= leaf(numbers[i - 1])),
      `${numbers}`,
    );
  });
  await page.close();
}

async function testAlike(browser, t) {
  const page = await t.newPage(browser, { acceptDownloads: true });
  await t.check('ranks that do the same are one row, who is like nobody another one', async () => {
    await t.pick(page, generated(t, 'alike', 'faults', 64, 8, 1000)); // rank 30 is a late root
    await page.selectOption('select[aria-label="Groups of ranks"]', 'alike');
    await page.waitForFunction(() => /2 kinds of ranks/.test(document.querySelector('.tools .note').textContent));
    t.same(await labels(page, t, {}, /^30$|^63±/), '63±1% 30', 'rows');
    const { x, y } = await page.locator('.stage canvas.bars').boundingBox();
    await page.mouse.move(x + 400, y + 60); // in the first row
    await page.waitForFunction(() => /0-29, 31-63/.test(document.querySelector('.tooltip').textContent));
    await t.shot(page, 'alike');
  });
  await page.close();
}

async function testLinks(browser, t) {
  const page = await t.newPage(browser, { acceptDownloads: true });
  await t.check('the circle says how many of all links it draws, and draws so many', async () => {
    await t.pick(page, generated(t, 'alltoall', 'alltoall', 64, 4, 60));
    await page.click('#tab-circle');
    await page.selectOption('select[aria-label="Traffic of the circle"]', 'collective');
    await t.settled(page);
    const pairs = 64 * 63;
    await page.waitForFunction((all) => globalThis.mpitrace.drawn.circleLinks === all, pairs);
    const note = await page.textContent('.circle .note');
    t.truth(/ on 4,032 links, of which the 3,000 largest are drawn/.test(note), note);
    const svg = String((await exported(page, t, 'svg')).bytes);
    t.same(svg.match(/<path d="[^"]*C[^>]*fill="none"/g)?.length, 3000, 'lines drawn');
    await t.shot(page, 'circle-links');
  });
  await page.close();
}

export const OVERVIEW_CLAIMS = [testStrip, testLoading, testCopy, testSwitches, testAlike, testLinks];
