// live.mjs - the page of a running step: it grows, follows, stays where its reader went back to; shares of a known profile.
import { spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

const RANKS = 8;
const NODES = 2;
const TICK_NS = 20e6; // of each of the units in which grow_mpic counts

/** What a rank of grow_mpic spends in MPI each second: 10 units for each of its messages, and a barrier of rank + 1. */
const shareOf = (rank) => ((10 * ((rank % 3) + 1) + rank + 1) * TICK_NS) / 1e9;
const mean = Array.from({ length: RANKS }, (_, r) => shareOf(r)).reduce((a, b) => a + b, 0) / RANKS;

/** A step that is written as it is told. */
function grow(t) {
  const dir = join(t.work, 'live-step');
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const start = Math.floor(Date.now() / 1000) - 100;
  const words = [dir, NODES, RANKS / NODES, start, 1, NODES, TICK_NS].map(String);
  const writer = spawn(join(dirname(t.makeMpix), 'grow_mpic'), words, { stdio: ['pipe', 'pipe', 'inherit'] });
  const tell = (...command) =>
    new Promise((done) => {
      writer.stdout.once('data', done);
      writer.stdin.write(`${command.join(' ')}\n`);
    });
  return { dir, tell, end: () => writer.stdin.end() };
}

async function serve(t, dir) {
  const server = spawn(t.mpitrace, ['live', dir, '--view', '--no-browser', '--interval', '0.1'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const url = await new Promise((done, refuse) => {
    server.stdout.once('data', (line) => done(String(line).trim()));
    server.once('exit', () => refuse(new Error('mpitrace live ended')));
  });
  return { url, stop: () => server.kill() };
}

const has = (page, number) =>
  page.waitForFunction((n) => globalThis.mpitraceLive?.run.newest >= n, number, { timeout: 60000 });
const words = (page) => page.textContent('.live-words');
const shown = (page) => page.evaluate(() => globalThis.mpitraceLive.run.shown?.number);

/** The colour of a point of the picture: shares of its width and of the height of its rows of ranks. */
const colorAt = (page, x, y) =>
  page.evaluate(
    ([a, b]) => {
      const c = document.querySelector('.live-canvas');
      const [left, top, right, foot] = [64, 84, 12, 22];
      const [w, h] = [c.clientWidth - left - right, c.clientHeight - top - foot];
      const k = c.width / c.clientWidth;
      const g = c.getContext('2d');
      return [...g.getImageData(Math.round((left + a * w) * k), Math.round((top + b * h) * k), 1, 1).data].slice(0, 3);
    },
    [x, y],
  );

async function testLive(browser, t) {
  const job = grow(t);
  const server = await serve(t, job.dir);
  const page = await t.newPage(browser);
  await page.goto(server.url);
  await t.check('a running step without samples says so', async () => {
    await page.waitForFunction(() => document.querySelector('.live-words')?.textContent.startsWith('No samples yet'));
  });
  for (let k = 1; k <= 12; k++) await job.tell('sample', k, 0, NODES - 1);
  await has(page, 12);
  await t.check('it grows as samples come: the newest is said, with the share of its time in MPI', async () => {
    const said = await words(page);
    t.truth(said.startsWith('Sample 12, the newest') && said.includes(`in MPI ${Math.round(mean * 100)} %`), said);
  });
  await t.check('the share of each rank is that of the program', async () => {
    const rows = await page.evaluate(() => globalThis.mpitraceLive.run.shown.rows);
    t.same(
      rows.map((x) => x.toFixed(2)),
      Array.from({ length: RANKS }, (_, r) => shareOf(r).toFixed(2)),
      'shares',
    );
  });
  await t.check('ranks of one share have one colour, others another', async () => {
    const [a, b, c] = [0, 3, 2].map((rank) => colorAt(page, 0.7, (rank + 0.5) / RANKS));
    const [one, alike, other] = [await a, await b, await c];
    const apart = (p, q) => p.reduce((sum, x, i) => sum + Math.abs(x - q[i]), 0);
    t.truth(apart(one, other) > 3 * apart(one, alike) + 30, [one, alike, other].join(' / '));
  });
  await t.check('the table has each rank, its node and what it is in', async () => {
    await page.waitForFunction((n) => document.querySelectorAll('.live .grid-row').length === n + 1, RANKS);
    const text = await page.textContent('.live .grid');
    t.truth(text.includes('n0') && text.includes('n1') && text.includes('silent'), text); // its samples are of 100 s ago
  });
  await t.check('back with the keys: it stays there while the job goes on', async () => {
    await page.focus('.live-stage');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    t.same(await shown(page), 10, 'sample');
    for (let k = 13; k <= 15; k++) await job.tell('sample', k, 0, NODES - 1);
    await has(page, 15);
    t.same(await shown(page), 10, 'still');
    t.truth((await page.url()).endsWith('#sample=10'), page.url());
    await page.waitForFunction(() => document.querySelector('.live h2').textContent.includes('sample 10'));
    await page.waitForFunction(() => document.querySelector('.live .grid').textContent.includes('MPI_Barrier'));
  });
  await t.check('an address with a sample is of that sample', async () => {
    await page.reload();
    await has(page, 15);
    t.same(await shown(page), 10, 'sample');
    await page.click('text=Follow');
    t.same(await shown(page), 15, 'the newest');
    t.truth(!page.url().includes('#'), page.url());
  });
  await t.check('a click on the picture goes to that moment', async () => {
    const box = await page.locator('.live-stage').boundingBox();
    await page.mouse.click(box.x + 64 + 3, box.y + 150);
    t.same(await shown(page), 1, 'the first');
  });
  if (t.shots) {
    await page.screenshot({ path: join(t.shots, 'live.png') });
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.screenshot({ path: join(t.shots, 'live-dark.png') });
    await page.setViewportSize({ width: 400, height: 800 });
    await page.screenshot({ path: join(t.shots, 'live-narrow.png') });
    await page.setViewportSize({ width: 1360, height: 800 });
    await page.emulateMedia({ colorScheme: 'light' });
  }
  await t.check('a silent node is said, and the end', async () => {
    await page.click('text=Follow');
    await job.tell('sample', 16, 0, 0);
    await page.waitForFunction(() => document.querySelector('.live-words').textContent.includes('1 node silent'));
    await job.tell('end', 17, 0, NODES - 1);
    await page.waitForFunction(() => document.querySelector('.live-state').textContent === 'over');
  });
  await t.check('the samples as a table', async () => {
    await page.keyboard.press('t');
    const text = await page.textContent('dialog.twin');
    t.truth(text.includes('Samples so far') && text.includes('Rank 7'), text.slice(0, 300));
    await page.keyboard.press('Escape');
  });
  await t.check('the events so far open as a trace', async () => {
    await page.click('text=Events so far');
    await page.waitForURL(/src=trace-1\.mpix/, { timeout: 60000 });
    await page.waitForFunction(() => globalThis.mpitrace?.trace.meta.ranks !== undefined, null, { timeout: 60000 });
    t.same(await page.evaluate(() => globalThis.mpitrace.trace.meta.ranks), RANKS, 'ranks');
  });
  await page.close();
  server.stop();
  job.end();
  rmSync(job.dir, { recursive: true });
}

export const LIVE_CLAIMS = [testLive];
