// opens.mjs - calls that were open when a run was stopped, in tables and totals: the same as `mpitrace show --json` says, marked, once.
// Each takes the browser and the tools of run.mjs.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { recordHung, recordHungPaused, recordHungTotals } from './record.mjs';

const OPEN_KEY = 'open: the rank never came back from it; it counts to the end of the rank';
const OUTSIDE = /^MPI_(Init|Init_thread|Finalize)$/; // of the traced region

const shown = (t, file) => JSON.parse(execFileSync(t.mpitrace, ['show', file, '--json'], { maxBuffer: 2 ** 28 }));
const opensOf = (analysis) => analysis.per_rank.flatMap((r) => (r.open ?? []).map((x) => ({ rank: r.rank, ...x })));
const sum = (list, of) => list.reduce((n, x) => n + of(x), 0);
const length = (x) => x.to_s - x.from_s;

/** Seconds, but for rounding. */
function near(t, got, want, what) {
  t.truth(Math.abs(got - want) < 2e-6 + 1e-6 * Math.abs(want), `${what}: ${got} s, want ${want} s`);
}

/** What the viewer counts between two moments. */
const stats = (page, from, to, more = {}) =>
  page.evaluate(
    ([a, b, rest]) =>
      new Promise((take, refuse) => {
        const { trace, store } = globalThis.mpitrace;
        const query = { from: a, to: b, ranks: [], filter: store.state.filter, ...rest };
        trace.ask('claim', 'stats', query, (s, last) => last && take(s), refuse);
      }),
    [from, to, more],
  );

async function tables(page, t, kind) {
  await page.click('#tab-tables');
  await page.selectOption('.tables select', kind);
  await t.settled(page);
}

/** The table shown as a file: rows of text by the name of the column. */
async function csv(page) {
  const [file] = await Promise.all([page.waitForEvent('download'), page.selectOption('.export', 'csv')]);
  const [head, ...rows] = readFileSync(await file.path(), 'utf8')
    .trim()
    .split('\n');
  const names = head.split(',');
  return rows.map((line) => Object.fromEntries(line.split(',').map((x, i) => [names[i], x])));
}

/** Time and calls of each rank: what was recorded, and what the analysis says of the call at the end. */
async function expectRanks(page, t, analysis, hasEvents) {
  const { runtime } = await page.evaluate(() => globalThis.mpitrace.trace.meta);
  const s = await stats(page, -1e9, runtime + 1e9);
  const opens = opensOf(analysis);
  t.same(s.open, opens.length, 'open calls');
  for (const r of analysis.per_rank) {
    const own = opens.filter((x) => x.rank === r.rank);
    const row = s.ranks.find((x) => x.rank === r.rank) ?? { calls: 0, open: 0, ns: 0 };
    t.same(row.open, own.length, `open calls of rank ${r.rank}`);
    if (own.length === 1 && !OUTSIDE.test(own[0].op)) {
      const alone = await stats(page, own[0].from_s * 1e9 - 1, runtime + 1e9, { ranks: [r.rank] });
      near(t, alone.ns / 1e9, r.unreturned_s + r.hung_s, `unreturned_s and hung_s of rank ${r.rank}`);
    }
    if (hasEvents) t.same(row.calls, r.calls + own.length, `calls of rank ${r.rank}`);
  }
  return s;
}

async function expectOperations(t, analysis, s) {
  const opens = opensOf(analysis);
  for (const { name, calls, open, ns } of s.operations) {
    const of = analysis.operations.find((x) => x.op === name) ?? { calls: 0, time_s: 0 };
    const own = opens.filter((x) => x.op === name);
    t.same([calls, open], [of.calls + own.length, own.length], `calls of ${name}`);
    near(t, ns / 1e9, of.time_s + sum(own, length), `time of ${name}`);
  }
}

/** The table of call sites, and what stands beside all views, of the whole run. */
async function expectTotals(page, t, analysis) {
  const opens = opensOf(analysis);
  await tables(page, t, 'sites');
  const rows = await csv(page);
  const calls = sum(analysis.per_rank, (x) => x.calls) + opens.length;
  t.same(
    [sum(rows, (x) => Number(x.calls)), sum(rows, (x) => Number(x.open))],
    [calls, opens.length],
    'calls of all call sites',
  );
  const time = sum(analysis.operations, (x) => x.time_s) + sum(opens, length);
  near(t, sum(rows, (x) => Number(x.time_ns)) / 1e9, time, 'time of all call sites');
  const inside = opens.filter((x) => !OUTSIDE.test(x.op));
  if (inside.length === opens.length && new Set(opens.map((x) => x.rank)).size === opens.length) {
    const own = sum(
      analysis.per_rank.filter((r) => r.open),
      (r) => r.unreturned_s + r.hung_s,
    );
    near(t, sum(opens, length), own, 'all open calls');
  }
  t.same(await page.textContent('.tables .open-key'), OPEN_KEY, 'the key');
  const side = await page.textContent('section:has(> h2:text("Where the time went"))');
  for (const op of new Set(opens.map((x) => x.op))) {
    const own = opens.filter((x) => x.op === op).length;
    t.truth(new RegExp(`${op}[\\d,]+, ${own} open`).test(side), `${op}, ${own} open: ${side}`);
  }
  t.truth((await page.textContent('.trust .pill')).includes(`${opens.length} open at the end`), 'the header');
}

async function testOpenEvents(browser, t) {
  const file = recordHung(t.mpitrace, t.work, 4, 'stuck', 'halo', 'for_ever');
  if (!file) return;
  const analysis = shown(t, file);
  const opens = opensOf(analysis);
  const page = await t.newPage(browser, { viewport: { width: 1280, height: 800 } });
  await t.check(
    'calls that were open when a run was stopped count by rank and operation as the analysis says',
    async () => {
      await t.pick(page, file);
      t.truth(opens.length >= 3, `${opens.length} open calls`);
      await expectOperations(t, analysis, await expectRanks(page, t, analysis, true));
    },
  );
  await t.check('only the part of them in the interval counts', async () => {
    const to = Math.min(...opens.map((x) => x.to_s)) * 1e9;
    const from = to - 1e9;
    const s = await stats(page, from, to, { ranks: opens.map((x) => x.rank) });
    t.same([s.calls, s.open], [opens.length, opens.length], 'calls');
    near(t, s.ns / 1e9, opens.length, 'a second of each');
    const waiting = opens.filter((x) => x.waits).length;
    near(t, s.waits.find((x) => x.state === 'never returned').ns / 1e9, waiting, 'waiting');
  });
  await t.check('in the table of calls they are marked, with a key, and Enter shows one in the timeline', async () => {
    await tables(page, t, 'events');
    t.truth((await page.textContent('.tables .note')).includes(`calls (${opens.length} open) in `), 'the note');
    t.same(await page.textContent('.tables .open-key'), OPEN_KEY, 'the key');
    await page.click('.tables .grid-head button:has-text("duration")');
    await t.settled(page);
    const marks = await page
      .locator('.tables .grid-body .grid-row')
      .evaluateAll((rows) => rows.slice(0, 8).map((row) => [...row.children].map((x) => x.textContent)));
    const marked = marks.filter((cells) => cells.includes('open'));
    t.same(marked.length, opens.length, JSON.stringify(marks));
    t.truth(
      marked.every((cells) => !cells.some((x) => /^0 ?B?$/.test(x) && cells.indexOf(x) > 3 && / B$/.test(x))),
      'bytes that nobody knows are not 0',
    );
    await t.shot(page, 'open-calls');
    await page.focus('.tables .grid');
    await page.keyboard.press('Home');
    for (let n = 0; n < 8 && !(await t.state(page)).picked.startsWith('n'); n++) await page.keyboard.press('ArrowDown');
    await t.settled(page);
    t.truth(/^n\d\.0$/.test((await t.state(page)).picked), 'picked');
    const selection = await page.textContent('.selection');
    t.truth(/to the end of the rank: it never came back/.test(selection), selection);
    await page.keyboard.press('Enter');
    await t.settled(page);
    t.same((await t.state(page)).view, 'timeline', 'the view');
    await page.evaluate(() => globalThis.mpitrace.store.showAll());
  });
  await t.check('all columns of the table have room on 1280 pixels', async () => {
    await tables(page, t, 'events');
    const cut = await page.locator('.tables .grid').evaluate((grid) => grid.scrollWidth - grid.clientWidth);
    t.truth(cut <= 0, `${cut} pixels of the table are beyond its edge`);
  });
  await t.check('totals of the whole run have them, as call sites and beside all views', async () => {
    await expectTotals(page, t, analysis);
    const cut = await page.locator('.tables .grid').evaluate((grid) => grid.scrollWidth - grid.clientWidth);
    t.truth(cut <= 0, `${cut} pixels of the table are beyond its edge`);
    await t.shot(page, 'open-sites');
  });
  await t.check('the strip of the whole run has their waiting to the end', async () => {
    await page.click('#tab-timeline');
    await t.settled(page);
    const box = await page.locator('.minimap').boundingBox();
    const waiting = [0xd5, 0x5e, 0x00];
    const behind = await t.pixels(page, waiting, { ...box, x: box.x + box.width * 0.6, width: box.width * 0.3 });
    t.truth(behind > 500, `${behind} pixels of waiting in a part in which three of four ranks wait`);
  });
  await t.check('no event has a call that is open', async () => {
    for (const x of opens) {
      const s = await stats(page, x.from_s * 1e9, x.to_s * 1e9, { ranks: [x.rank] });
      t.same([s.calls, s.open], [1, 1], `rank ${x.rank} behind the begin of its last call`);
    }
  });
  await page.close();
}

async function testOpenTotals(browser, t) {
  const file = recordHungTotals(t.mpitrace, t.work, 4, 'stuck', 'barrier', 'for_ever');
  if (!file) return;
  const analysis = shown(t, file);
  const page = await t.newPage(browser, { colorScheme: 'dark', viewport: { width: 1280, height: 800 } });
  await t.check('where only totals were recorded, tables and totals have open calls as well', async () => {
    await t.pick(page, file);
    await expectRanks(page, t, analysis, false);
    await expectTotals(page, t, analysis);
    await tables(page, t, 'events');
    t.truth(/^4 calls \(4 open\) in /.test(await page.textContent('.tables .note')), 'the note');
    await t.shot(page, 'open-totals-dark');
  });
  await t.check('a class that only open calls have has its colour in the key; nothing is said to be lost', async () => {
    await page.click('#tab-timeline');
    await t.settled(page);
    const legend = await page.textContent('.legend');
    t.truth(/barrier/.test(legend) && /point to point/.test(legend), legend);
    const pill = await page.textContent('.trust .pill');
    t.truth(!/lost/.test(pill), pill);
  });
  await t.check('words in States have files without folders, and no line of them is cut', async () => {
    await page.click('#tab-states');
    await page.waitForFunction(() => globalThis.mpitrace.drawn.statesWhole === true);
    await page.focus('.states .layer');
    await page.keyboard.press('End');
    await t.settled(page);
    const words = await page.textContent('.state-words');
    t.truth(/rank \d waits in MPI_Barrier \(stuck\.c:\d+\)/.test(words), words);
    const list = await page
      .locator('.state-words')
      .evaluate((x) => [x.clientHeight, x.querySelector('li').offsetHeight]);
    t.same((list[0] - 2) % 18, 0, `lines of 18 pixels in ${list[0]}`);
    await t.shot(page, 'open-totals-states');
  });
  await t.check('arrows of a cycle up and down go around the words below its icons', async () => {
    const { statesIcons, statesCycle } = await t.drawn(page);
    const [upper, lower] = [0, 3].map((name) => statesIcons.find((x) => x.name === name));
    t.same([statesCycle, Math.round(upper.x - lower.x)], [[0, 3], 0], 'the cycle, one above the other');
    const box = await page.locator('.states .layer').boundingBox();
    const words = { x: box.x + upper.x - 22, y: box.y + upper.y + 33, width: 44, height: lower.y - upper.y - 66 };
    t.same(await t.pixels(page, [0xd5, 0x5e, 0x00], words), 0, 'pixels of arrows in words');
  });
  await page.close();
}

async function testOpenPaused(browser, t) {
  const file = recordHungPaused(t.mpitrace, t.work, 4, 'receives', 'for_ever');
  if (!file) return;
  const analysis = shown(t, file);
  const page = await t.newPage(browser);
  await t.check(
    'where single calls stopped being recorded before a run hung, open calls are in tables and totals',
    async () => {
      await t.pick(page, file);
      await expectRanks(page, t, analysis, false);
      await expectTotals(page, t, analysis);
    },
  );
  await page.close();
}

async function testOpenEnded(browser, t) {
  const file = recordHung(t.mpitrace, t.work, 4, 'stuck', 'ended', 'for_ever');
  if (!file) return;
  const analysis = shown(t, file);
  const page = await t.newPage(browser);
  await t.check(
    'a rank that waits in MPI_Finalize for one that never comes has an open call of no known place',
    async () => {
      await t.pick(page, file);
      await expectOperations(t, analysis, await expectRanks(page, t, analysis, true));
      await expectTotals(page, t, analysis);
    },
  );
  await t.check('who waits for one that has ended is drawn and told as that, and not as a cycle', async () => {
    await page.click('#tab-states');
    await page.waitForFunction(() => globalThis.mpitrace.drawn.statesWhole === true);
    await page.focus('.states .layer');
    await page.keyboard.press('End');
    await t.settled(page);
    const d = await t.drawn(page);
    t.same([d.statesCycle, d.statesDeadlock], [[], [[1, 0]]], 'no cycle, one waits');
    t.same(d.statesWords[0], 'deadlock: rank 1 waits for rank 0, which has ended', 'in words');
    const cut = await page.locator('.states input.moment').evaluate((x) => x.scrollWidth - x.clientWidth);
    t.truth(cut <= 0, `the moment is cut by ${cut} pixels`);
    await t.shot(page, 'open-ended-states');
  });
  await page.close();
}

async function testOpenThreads(browser, t) {
  const file = recordHung(t.mpitrace, t.work, 4, 'stuck', 'threads', 'for_ever');
  if (!file) return;
  const analysis = shown(t, file);
  const page = await t.newPage(browser);
  await t.check(
    'of ranks of which two threads wait for ever each has its open call, and they wait in the end',
    async () => {
      await t.pick(page, file);
      const opens = opensOf(analysis);
      t.same(opens.length, 8, 'open calls');
      await expectOperations(t, analysis, await expectRanks(page, t, analysis, true));
      await expectTotals(page, t, analysis);
      for (const r of analysis.per_rank) {
        const own = r.open.reduce((a, b) => (length(b) > length(a) ? b : a));
        near(t, length(own), r.unreturned_s + r.hung_s, `the longer one of rank ${r.rank}`);
      }
      await page.click('#tab-states');
      await page.waitForFunction(() => globalThis.mpitrace.drawn.statesWhole === true);
      await page.focus('.states .layer');
      await page.keyboard.press('End');
      await t.settled(page);
      t.same((await t.drawn(page)).statesDoing, [0, 0, 0, 0, 4, 0, 0, 0], 'all wait');
      await t.shot(page, 'open-threads-states');
    },
  );
  await page.close();
}

export const OPEN_CLAIMS = [testOpenEvents, testOpenTotals, testOpenPaused, testOpenEnded, testOpenThreads];
