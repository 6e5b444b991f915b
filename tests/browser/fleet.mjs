// fleet.mjs - the fleet's pages in Chromium: sorted and filtered by keyboard, exported, never wider than the screen, and names that
// are markup stay names. node fleet.mjs MPITRACE MAKE_FLEET WORKDIR [--shots DIR]; ends with "N passed, N failed".
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { barriers } from './axe.mjs';
import { launch, packages, watched } from './chromium.mjs';
import { HOSTILE } from './hostile.mjs';
import { check, end, same, truth } from './claims_said.mjs';

const [mpitrace, makeFleet, work] = process.argv.slice(2, 5).map((path) => resolve(path));
const shots = process.argv.includes('--shots') ? resolve(process.argv[process.argv.indexOf('--shots') + 1]) : null;
const SKIPPED = 77;
const NAME_BYTES_MAX = 512;
const SIZES = [
  ['light', { viewport: { width: 1400, height: 900 }, colorScheme: 'light' }],
  ['dark', { viewport: { width: 1400, height: 900 }, colorScheme: 'dark' }],
  ['narrow', { viewport: { width: 400, height: 800 }, colorScheme: 'light' }],
];

const fleet = (input, ...words) => execFileSync(mpitrace, ['fleet', ...words], { input, maxBuffer: 1 << 28 });

/** Pages of these records in a directory of that name. */
function site(name, records) {
  const db = join(work, `${name}.db`);
  const out = join(work, name);
  for (const end of ['', '-wal', '-shm']) rmSync(db + end, { force: true });
  rmSync(out, { recursive: true, force: true });
  fleet(records.join('\n') + '\n', 'ingest', '-', '--db', db);
  fleet('', 'report', '--db', db, '-o', out, '--days', '2', '--jobs', '60');
  return { out, db, url: (page) => pathToFileURL(join(out, page)).href };
}

/** How many lines the links to the other pages take. */
const linesOfLinks = () =>
  new Set([...document.querySelectorAll('.pages a')].map((a) => Math.round(a.getBoundingClientRect().top))).size;
/** Sections of which the heading stands beside what it is about. */
const headedBeside = () =>
  [...document.querySelectorAll('section:not(.all-wide) > header')].filter(
    (h) => h.nextElementSibling && h.nextElementSibling.getBoundingClientRect().left > h.getBoundingClientRect().right,
  ).length;
const overflow = () => document.documentElement.scrollWidth - window.innerWidth;
/** Of the first table that sorts: the shown rows' texts of one column. */
const column = (at) =>
  [...document.querySelector('table.sortable').tBodies[0].rows]
    .filter((row) => !row.hidden)
    .map((row) => row.cells[at].dataset.v ?? row.cells[at].textContent.trim());
const headings = () =>
  [...document.querySelector('table.sortable').tHead.rows[0].cells].map((head) => head.textContent.trim());

async function sorting(browser, s) {
  const { page, noted, close } = await watched(browser);
  await page.goto(s.url('programs.html'));
  const at = (await page.evaluate(headings)).indexOf('jobs');
  await check('a heading sorts by keyboard, the largest first, then the smallest', async () => {
    await page
      .locator('th button', { hasText: /^jobs$/ })
      .first()
      .focus();
    await page.keyboard.press('Enter');
    const numbers = (await page.evaluate(column, at)).map(Number);
    truth(numbers.length > 5, `${numbers.length} rows`);
    same(
      numbers,
      [...numbers].sort((a, b) => b - a),
      'order',
    );
    same(await page.locator('th[aria-sort]').first().getAttribute('aria-sort'), 'descending', 'said');
    await page.keyboard.press('Space');
    same(
      (await page.evaluate(column, at)).map(Number),
      [...numbers].sort((a, b) => a - b),
      'order',
    );
    same(await page.locator('th[aria-sort]').count(), 1, 'headings that say so');
  });
  await check('names sort as names', async () => {
    await page
      .locator('th button', { hasText: /^program$/ })
      .first()
      .click();
    const names = await page.evaluate(column, 0);
    same(names, [...names].sort(), 'order');
  });
  await check('the address leads back to it', async () => {
    const names = await page.evaluate(column, 0);
    const again = await watched(browser);
    await again.page.goto(page.url());
    same(await again.page.evaluate(column, 0), names, 'order');
    await again.close();
  });
  await check('an address that says nonsense harms nothing', async () => {
    for (const hash of ['#sort-0=99', '#sort-0=-x', '#sort-0=1e1&filter=%00', '#%', '#nope=1'])
      for (const name of ['programs.html', 'nodes.html']) {
        await page.goto('about:blank');
        await page.goto(s.url(name) + hash);
      }
    same(noted, [], 'noted');
  });
  await close();
}

async function filtering(browser, s) {
  const { page, close } = await watched(browser);
  await page.goto(s.url('jobs.html'));
  const rows = await page.evaluate(column, 3);
  await check('words filter rows, and how many are left is told', async () => {
    const word = rows[0];
    await page.getByRole('searchbox').fill(word.toUpperCase());
    const left = await page.evaluate(column, 3);
    same(
      left,
      rows.filter((x) => x === word),
      'rows',
    );
    same(await page.getByRole('status').textContent(), `${left.length} of ${rows.length} rows`, 'told');
  });
  await check('all words must be there, directories of programs among them', async () => {
    await page.getByRole('searchbox').fill(`/bin/${rows[0]} no-such-word`);
    same((await page.evaluate(column, 3)).length, 0, 'rows');
    await page.getByRole('searchbox').fill(`/bin/${rows[0]}`);
    truth((await page.evaluate(column, 3)).length > 0, 'none');
  });
  await check('what is exported is what is shown, as it is sorted', async () => {
    await page.locator('th button', { hasText: 'core-hours lost' }).first().click();
    const shown = (await page.evaluate(column, 9)).map(Number);
    for (const kind of ['CSV', 'JSON']) {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.locator('p.data', { hasText: 'as shown' }).first().getByText(kind).click(),
      ]);
      const text = readFileSync(await download.path(), 'utf8');
      const got =
        kind === 'JSON'
          ? JSON.parse(text).map((x) => x['core-hours lost'])
          : text
              .trim()
              .split('\r\n')
              .slice(1)
              .map((line) => Number(line.split(',').at(-2)));
      same(got, shown, kind);
    }
  });
  await close();
}

async function leading(browser, s) {
  await check('each link leads to a page that is there, on each page', async () => {
    const files = new Set(readdirSync(s.out));
    const wrong = [];
    const { page, close } = await watched(browser);
    for (const name of [...files].filter((x) => x.endsWith('.html')).slice(0, 40)) {
      await page.goto(s.url(name));
      const found = await page.evaluate(() =>
        [...document.querySelectorAll('a')]
          .map((a) => a.getAttribute('href'))
          .map((x) => [x, x.startsWith('#') && x !== '#' && !document.getElementById(x.slice(1))]),
      );
      for (const [x, lost] of found)
        if (lost || !(x.startsWith('#') || x.startsWith('file://') || files.has(x.split('#')[0])))
          wrong.push(`${name}: ${x}`);
    }
    same(wrong.slice(0, 5), [], 'lost');
    await close();
  });
  await check('a suspected node leads to its jobs, which unfold', async () => {
    const { page, close } = await watched(browser);
    await page.goto(s.url('nodes.html'));
    const links = page.locator('.effect a');
    truth((await links.count()) > 1, 'fewer than two nodes');
    await links.nth(1).focus();
    await page.keyboard.press('Enter');
    truth(await page.locator(await links.nth(1).getAttribute('href')).isVisible(), 'folded');
    await close();
  });
}

async function looks(browser, s, name) {
  const pages = ['index', 'programs', 'users', 'nodes', 'jobs'];
  for (const kind of ['program-', 'user-', 'job-', 'jobs-2']) {
    const one = readdirSync(s.out).find((x) => x.startsWith(kind) && x.endsWith('.html'));
    if (one) pages.push(one.replace('.html', ''));
  }
  for (const [size, options] of SIZES)
    await check(`${name}, ${size}: each page fits, and the console is silent`, async () => {
      const { page, noted, close } = await watched(browser, options);
      for (const one of pages) {
        await page.goto(s.url(`${one}.html`));
        const wide = await page.evaluate(overflow);
        if (wide > 0) noted.push(`${one} is ${wide} px too wide`);
        if (size !== 'narrow' && (await page.evaluate(linesOfLinks)) > 1) noted.push(`${one}: links are not in a line`);
        if (size === 'light' && one === 'index' && !(await page.evaluate(headedBeside)))
          noted.push('no heading is beside its section');
        noted.push(...(await barriers(page, work)).map((x) => `${one}: ${x}`));
        if (shots) await page.screenshot({ path: join(shots, `${name}-${one}-${size}.png`), fullPage: true });
        if (shots && size === 'light') await page.pdf({ path: join(shots, `${name}-${one}.pdf`), format: 'A4' });
      }
      await close();
      same(noted, [], 'noted');
    });
  const { HtmlValidate } = packages(work)('html-validate');
  const validator = new HtmlValidate({
    root: true,
    extends: ['html-validate:standard'],
    rules: { 'doctype-style': 'off' },
  });
  await check(`${name}: each kind of page is valid HTML`, async () => {
    const wrong = [];
    for (const one of pages)
      for (const r of (await validator.validateFile(join(s.out, `${one}.html`))).results)
        for (const m of r.messages) wrong.push(`${one}:${m.line}: ${m.ruleId}: ${m.message}`);
    same(wrong.slice(0, 5), [], 'wrong');
  });
}

/** Every text of a record replaced. */
function hostile(record, i) {
  const text = (at) => {
    const x = HOSTILE[at % HOSTILE.length];
    return Buffer.byteLength(x) < NAME_BYTES_MAX ? x : x.slice(0, 100);
  };
  return JSON.stringify({
    ...record,
    id: `hostile${i}`,
    job_id: text(i),
    user: text(i + 1),
    account: text(i + 2),
    partition: text(i + 3),
    program: `/apps/${text(i + 4)}`,
    build_id: text(i + 5),
    versions: { mpi: text(i + 6), slurm: text(i + 7) },
    issues: [{ issue: text(i + 8), severity: 'high', loss_core_hours: 1, what: text(i + 9) }],
    callsites: [{ op: text(i + 10), function: text(i + 11), file: text(i + 12), line: 1, time_s: 1, wait_s: 1 }],
    operations: [{ op: text(i + 13), calls: 1, time_s: 1, bytes: 1 }],
    report: `/${text(i + 14)}`,
  });
}

async function names(browser, record) {
  const s = site(
    'hostile',
    HOSTILE.map((_, i) => hostile(record, i)),
  );
  const jobs = readdirSync(s.out).filter((x) => x.endsWith('.html'));
  truth(jobs.length > 100, `${jobs.length} pages`);
  const { page, noted, close } = await watched(browser, { viewport: { width: 400, height: 800 } });
  const odd = new Set();
  for (const name of jobs) {
    await page.goto(s.url(name));
    const wide = await page.evaluate(overflow);
    if (wide > 0) noted.push(`${name} is ${wide} px too wide`);
    const found = await page.evaluate(() => ({
      tags: [...document.querySelectorAll('img, iframe, object, embed, form, base, link, script + script')].map(
        (e) => e.localName,
      ),
      on: [...document.querySelectorAll('*')].flatMap((e) =>
        [...e.attributes].filter((a) => /^on/i.test(a.name)).map((a) => a.name),
      ),
      away: [...document.links].map((a) => a.href).filter((x) => !/^(file:|#)/.test(x)),
    }));
    for (const x of [...found.tags, ...found.on, ...found.away]) odd.add(x);
  }
  await close();
  await check(
    `${HOSTILE.length} hostile texts in every field on ${jobs.length} pages: nothing runs, loads or is too wide`,
    () => same([...new Set(noted)].slice(0, 5), [], 'noted'),
  );
  await check('and they make no element, handler or link', () => same([...odd].slice(0, 5), [], 'made'));
  await check('a table with them keeps its columns as CSV, and no spreadsheet reckons with them', async () => {
    const one = await watched(browser);
    await one.page.goto(s.url('users.html'));
    const [download] = await Promise.all([
      one.page.waitForEvent('download'),
      one.page.locator('#users p.data', { hasText: 'as shown' }).getByText('CSV').click(),
    ]);
    const text = readFileSync(await download.path(), 'utf8');
    const fields = text.match(/("([^"]|"")*"|[^",\r\n]*)(,|\r\n)/g);
    const rows = await one.page.locator('#users tbody tr').count();
    same(fields.length, (rows + 1) * 6, 'fields');
    same(
      fields.filter((x) => /^"?[=+@\uff1d\uff0b\uff0d\uff20]/.test(x)),
      [],
      'formulas',
    );
    await one.close();
  });
}

async function main() {
  mkdirSync(work, { recursive: true });
  if (shots) mkdirSync(shots, { recursive: true });
  const browser = await launch(work);
  if (!browser) process.exit(SKIPPED);
  const records = execFileSync(makeFleet, ['--jobs', '6000', '--nodes', '60', '--slow', '3'], {
    maxBuffer: 1 << 28,
    encoding: 'utf8',
  })
    .trim()
    .split('\n');
  const year = site('year', records);
  await sorting(browser, year);
  await filtering(browser, year);
  await leading(browser, year);
  await looks(browser, year, 'year');
  await looks(browser, site('one', records.slice(0, 1)), 'one');
  await looks(browser, site('none', []), 'none');
  await names(browser, JSON.parse(records[0]));
  await browser.close();
  for (const name of ['year', 'one', 'none', 'hostile']) rmSync(join(work, name), { recursive: true, force: true });
  for (const name of readdirSync(work)) if (/\.db(-wal|-shm)?$/.test(name)) rmSync(join(work, name));
  end();
}

await main();
