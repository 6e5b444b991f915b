// live.mjs - the page of a running step: it grows, follows, stays where its reader went back to; shares and fields of a known profile.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { barriers } from './axe.mjs';
import { startHung } from './record.mjs';

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

/** What stands at the top of the strip of all ranks in a column: hatching, or the colour of what is known. */
const stripAt = (page, x) =>
  page.evaluate((a) => {
    const c = document.querySelector('.live-canvas');
    const k = c.width / c.clientWidth;
    const [left, right] = [64, 12];
    const at = Math.floor((left + a * (c.clientWidth - left - right)) * k) - 10;
    const p = c.getContext('2d').getImageData(at, Math.round(10 * k), 10, Math.round(20 * k)).data;
    const colors = new Set();
    for (let i = 0; i < p.length; i += 4) colors.add(p.slice(i, i + 4).join());
    return { hatched: colors.size > 1 && colors.has('0,0,0,0'), known: colors.size === 1 };
  }, x);

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
  await t.check('the page of a running step has no barriers', async () => {
    t.same(await barriers(page, t.work), [], 'overview');
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
  await t.check('paused, all stays as it is while the job goes on', async () => {
    await page.click('text=Follow');
    await page.click('text=Pause');
    const now = () =>
      page.evaluate(() => [
        document.querySelector('.live').textContent,
        document.querySelector('.live-canvas').toDataURL(),
      ]);
    const before = await now();
    for (const k of [16, 17]) {
      await job.tell('sample', k, 0, NODES - 1); // when the second is known, the first was shown if anything was
      await has(page, k);
    }
    t.same(await now(), before, 'words and picture');
  });
  await t.check('the profile, opened only then, holds at the same sample', async () => {
    await page.click('role=tab[name="Profile"]');
    await columns(page, 15);
    await page.waitForFunction(() => globalThis.mpitraceLive.field.newest === 17);
    t.same([(await drawn(page)).fieldColumns, await page.textContent('.live-state')], [15, 'paused'], 'held');
    const text = () => page.textContent('.live');
    const before = await text();
    t.truth(before.includes('until sample 15; Follow continues'), before);
    await job.tell('sample', 18, 0, NODES - 1);
    await page.waitForFunction(() => globalThis.mpitraceLive.field.newest === 18);
    t.same([await text(), (await drawn(page)).fieldColumns], [before, 15], 'words and columns');
    await page.click('role=tab[name="Overview"]');
  });
  await t.check('a silent node is said, and the end', async () => {
    await page.click('text=Follow');
    await job.tell('sample', 19, 0, 0);
    await page.waitForFunction(() =>
      document.querySelector('.live-words').textContent.includes('1 node without samples'),
    );
    t.truth((await words(page)).includes('shares are of the others'), await words(page));
    const top = await stripAt(page, 0.999);
    t.truth(top.hatched && !top.known, 'the part of the ranks that are not known is hatched');
    await job.tell('end', 20, 0, NODES - 1);
    await page.waitForFunction(() => document.querySelector('.live-state').textContent === 'over');
  });
  await t.check('whatever its width, all of it can be reached, and nothing is cut off sideways', async () => {
    for (const tab of ['Overview', 'Profile']) {
      await page.click(`role=tab[name="${tab}"]`);
      for (const [width, height] of [
        [320, 700],
        [600, 400],
        [800, 600],
        [2400, 900],
      ]) {
        await page.setViewportSize({ width, height });
        await page.mouse.move(40, 30); // above the words
        await page.mouse.wheel(0, 2000);
        await page.waitForTimeout(300);
        const cut = await page.evaluate(() => {
          const live = document.querySelector('.live');
          const shown = [...live.querySelectorAll('button, select, input, p, h1, h2, canvas')].filter(
            (e) => e.checkVisibility() && !e.closest('.grid'),
          );
          const right =
            live.getBoundingClientRect().left + live.clientWidth - parseFloat(getComputedStyle(live).paddingRight);
          const field = live.querySelector('.view.field');
          const wide = shown.filter((e) => e.getBoundingClientRect().right > right + 0.5);
          const low =
            !field.checkVisibility() && live.querySelector('.grid').getBoundingClientRect().bottom > innerHeight + 1;
          return [
            ...wide.map((e) => `${e.tagName} ${e.ariaLabel ?? e.className}`),
            ...(low ? ['the table is below'] : []),
          ];
        });
        t.same(cut, [], `${tab} at ${width} x ${height}`);
      }
      await page.setViewportSize({ width: 1360, height: 800 });
    }
    await page.click('role=tab[name="Overview"]');
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

/** The field on the page, as numbers. */
const drawn = (page) => page.evaluate(() => ({ ...globalThis.mpitrace.drawn }));
const columns = (page, n) =>
  page.waitForFunction((k) => globalThis.mpitrace?.drawn.fieldColumns === k && globalThis.mpitrace.busy() === 0, n);
const fieldRows = (page) => page.evaluate(async () => globalThis.mpitraceLive.sheet());

/** The colour of a rank in the heat map, well inside of it. */
const rankColor = (page, rank) =>
  page.evaluate(
    ([r, ranks]) => {
      const canvas = document.querySelector('.live-field .stage:not(.solid) canvas');
      const k = canvas.width / canvas.clientWidth;
      const [top, foot] = [10, 34];
      const y = top + ((r + 0.5) / ranks) * (canvas.clientHeight - top - foot);
      const g = canvas.getContext('2d');
      return [...g.getImageData(Math.round(canvas.clientWidth * 0.63 * k), Math.round(y * k), 1, 1).data].slice(0, 3);
    },
    [rank, RANKS],
  );

async function testLiveProfile(browser, t) {
  const job = grow(t);
  const server = await serve(t, job.dir);
  const page = await t.newPage(browser);
  await page.goto(server.url);
  await page.click('role=tab[name="Profile"]');
  await t.check('the profile of a step without samples says so', async () => {
    await page.waitForFunction(() =>
      document.querySelector('.live-field .empty')?.textContent.startsWith('No samples yet'),
    );
  });
  for (let k = 1; k <= 6; k++) await job.tell('sample', k, 0, NODES - 1);
  await columns(page, 6);
  await t.check('the profile grows as samples come, a column each', async () => {
    await job.tell('sample', 7, 0, NODES - 1);
    await columns(page, 7);
    const f = await drawn(page);
    t.same([f.fieldRows, f.fieldSamples], [RANKS, 7], 'rows and samples');
    t.truth(
      Math.abs(f.fieldMost - Math.max(...Array.from({ length: RANKS }, (_, r) => shareOf(r)))) < 0.01,
      f.fieldMost,
    );
  });
  await t.check('its numbers are those of the program', async () => {
    const { rows } = await fieldRows(page);
    const last = rows.map((row) => row.at(-1));
    last.forEach((v, r) => t.truth(Math.abs(v - shareOf(r)) < 0.01, `rank ${r}: ${v}`));
  });
  await t.check('ranks of one share have one colour, others another', async () => {
    const [a, b, c] = [0, 3, 2].map((rank) => rankColor(page, rank));
    const [one, alike, other] = [await a, await b, await c];
    const apart = (p, q) => p.reduce((sum, x, i) => sum + Math.abs(x - q[i]), 0);
    t.truth(apart(one, other) > 2 * apart(one, alike) + 20, [one, alike, other].join(' / '));
  });
  await t.check('paused, it holds still while the job goes on; Follow shows what came', async () => {
    await page.click('text=Pause');
    for (let k = 8; k <= 10; k++) await job.tell('sample', k, 0, NODES - 1);
    await has(page, 10);
    await page.waitForFunction(() => globalThis.mpitraceLive.field.newest === 10);
    t.same((await drawn(page)).fieldColumns, 7, 'columns');
    t.truth(page.url().includes('sample=7') && page.url().includes('view=field'), page.url());
    await page.click('text=Follow');
    await columns(page, 10);
    t.truth(!page.url().includes('sample='), page.url());
  });
  await t.check('a sample chosen in the view is the one that the page looks at, and stays', async () => {
    await page.click('.live-field button[title^="Sample before"]');
    t.same(await shown(page), 10, 'the newest, and no more');
    await page.click('.live-field button[title^="Sample before"]');
    await page.waitForFunction(() => globalThis.mpitraceLive.run.shown.number === 9);
    await job.tell('sample', 11, 0, NODES - 1);
    await has(page, 11);
    t.same(await shown(page), 9, 'still');
    t.truth(
      (await page.textContent('.live-field .facts')).startsWith('9 of 10'),
      await page.textContent('.live-field .facts'),
    );
    t.truth(page.url().includes('sample=9'), page.url());
  });
  await t.check('an address has picture, sample and interval', async () => {
    await page.selectOption('select[aria-label="Rows and columns"]', 'rank-event');
    await page.waitForFunction(() => location.hash.includes('field.axes=rank-event'));
    await page.reload();
    await page.waitForFunction(
      () => globalThis.mpitrace?.drawn.fieldColumns === 2 && globalThis.mpitraceLive.run.shown.number === 9,
    );
    const { rows } = await fieldRows(page);
    t.truth(rows.length === RANKS, JSON.stringify(rows[0]));
    await page.click('text=Follow');
    await page.selectOption('select[aria-label="Rows and columns"]', 'rank-time');
    await columns(page, 11);
  });
  await t.check('in space, also without WebGL, and it grows there', async () => {
    for (const draw of ['terrain', 'tube', 'cloud']) {
      await page.selectOption('select[aria-label="Picture"]', draw);
      await page.waitForFunction(() => globalThis.mpitrace.drawn.fieldScene !== '' && globalThis.mpitrace.busy() === 0);
      if (t.shots) await page.screenshot({ path: join(t.shots, `live-${draw}.png`) });
    }
    await page.selectOption('select[aria-label="Picture"]', 'terrain');
    await job.tell('sample', 12, 0, NODES - 1);
    await columns(page, 12);
  });
  await t.check('a node that says nothing is hatched, and said', async () => {
    await page.selectOption('select[aria-label="Picture"]', 'heat');
    await job.tell('sample', 13, 0, 0);
    await page.waitForFunction(() =>
      document.querySelector('.live-field .note').textContent.includes('without samples'),
    );
  });
  await t.check('the overview is a key away, and looks at the same sample', async () => {
    await page.click('text=Pause');
    await page.focus('role=tab[name="Profile"]');
    await page.keyboard.press('ArrowLeft');
    await page.waitForFunction(
      () => !document.querySelector('.live-overview').hidden && document.querySelector('.live-field').hidden,
    );
    t.truth((await words(page)).startsWith('Sample 13'), await words(page));
    await page.click('text=Follow');
    await page.click('role=tab[name="Profile"]');
  });
  await t.check('the end: all that was sampled is there', async () => {
    await job.tell('end', 14, 0, NODES - 1);
    await page.waitForFunction(() => document.querySelector('.live-state').textContent === 'over');
    await columns(page, 14);
  });
  if (t.shots) {
    await page.screenshot({ path: join(t.shots, 'live-profile.png') });
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.screenshot({ path: join(t.shots, 'live-profile-dark.png') });
    await page.setViewportSize({ width: 400, height: 800 });
    await page.screenshot({ path: join(t.shots, 'live-profile-narrow.png') });
    await page.setViewportSize({ width: 1360, height: 800 });
    await page.emulateMedia({ colorScheme: 'light' });
  }
  await page.close();
  server.stop();
  job.end();
  rmSync(job.dir, { recursive: true });
}

async function testLiveDeadlock(browser, t) {
  const run = startHung(t.mpitrace, t.work, 4, 'stuck', 'threads', 'for_ever');
  if (!run) return;
  let server = null;
  for (let n = 0; n < 50 && !existsSync(run.trace); n++) await new Promise((done) => setTimeout(done, 100));
  try {
    server = await serve(t, run.trace);
    const page = await t.newPage(browser, { viewport: { width: 1280, height: 800 } });
    await page.goto(server.url);
    await t.check('a step that has come to a deadlock says so, and whose ranks wait for ever', async () => {
      await page.waitForSelector('.live-trouble:has-text("Deadlock: ")', { timeout: 60000 });
      await page.waitForFunction(() => {
        const rows = [...document.querySelectorAll('.live .grid-body .grid-row')];
        return rows.length === 4 && rows.every((row) => /deadlock/.test(row.textContent));
      });
      const cells = await page
        .locator('.live .grid-body .grid-row')
        .evaluateAll((rows) => rows.map((row) => [...row.children].map((x) => x.textContent)));
      t.same(
        cells.map((row) => row.includes('deadlock')),
        [true, true, true, true],
        JSON.stringify(cells),
      );
    });
    await t.check('no title of its table and no line of the deadlock is cut', async () => {
      const cut = await page
        .locator('.live .grid-head > div')
        .evaluateAll((heads) =>
          heads.filter((x) => x.firstChild.scrollWidth > x.clientWidth).map((x) => x.textContent),
        );
      t.same(cut, [], 'titles that are wider than their columns');
      await page.setViewportSize({ width: 800, height: 600 });
      const [height, line] = await page
        .locator('.live-trouble')
        .evaluate((x) => [x.clientHeight, parseFloat(getComputedStyle(x).lineHeight)]);
      t.same(height % line, 0, `lines of ${line} pixels in ${height}`);
      t.truth(height >= 4 * line, `${height} pixels`);
      if (t.shots) await page.screenshot({ path: join(t.shots, 'live-deadlock.png') });
    });
    await page.close();
  } finally {
    server?.stop();
    await run.stop();
  }
}

export const LIVE_CLAIMS = [testLive, testLiveDeadlock, testLiveProfile];
