// report.mjs - the report in Chromium: hostile texts stay texts, the page is valid HTML, and fits screens and paper.
// node report.mjs REPORT_JSON CORPUS WORKDIR [--shots DIR]; ends with "N passed, N failed".
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { barriers } from './axe.mjs';
import { launch, packages, watched } from './chromium.mjs';
import { HOSTILE, replaceTexts, schemaTextPaths, textPaths, withAllTexts } from './hostile.mjs';
import { check, end, truth } from './claims_said.mjs';

const [reportJson, corpus, work] = process.argv.slice(2, 5).map((path) => resolve(path));
const shots = process.argv.includes('--shots') ? resolve(process.argv[process.argv.indexOf('--shots') + 1]) : null;
const SKIPPED = 77;
const HEIGHT_MOST = 2500;
const FIXTURES = ['halo_issues', 'partial', 'nothing_to_fix'];
const SIZES = [
  ['light', { viewport: { width: 1280, height: 900 }, colorScheme: 'light' }],
  ['dark', { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' }],
  ['narrow', { viewport: { width: 400, height: 800 }, colorScheme: 'light' }],
];

const fixture = (name) => JSON.parse(readFileSync(join(corpus, `${name}.json`)));

/** The page of an analysis, as a file. */
function render(name, analysis) {
  const json = join(work, `${name}.json`);
  const html = join(work, `${name}.html`);
  writeFileSync(json, JSON.stringify(analysis));
  writeFileSync(html, execFileSync(reportJson, [json], { maxBuffer: 1 << 26 }));
  return html;
}

/** How many elements of each kind, attributes that could run, and links that lead away. */
const structure = () => {
  const tags = {};
  const wrong = [];
  for (const e of document.querySelectorAll('*')) {
    tags[e.localName] = (tags[e.localName] ?? 0) + 1;
    for (const a of e.attributes) if (/^on/i.test(a.name)) wrong.push(`${e.localName} ${a.name}`);
    if (e.localName === 'a' && !/^(#|data:text\/csv;)/.test(e.getAttribute('href'))) wrong.push(e.getAttribute('href'));
    if (e.localName === 'script' && e.type !== 'application/json') wrong.push('script');
    if (['img', 'iframe', 'object', 'embed', 'form', 'base', 'link'].includes(e.localName)) wrong.push(e.localName);
  }
  return { tags, wrong };
};

const overflow = () => document.documentElement.scrollWidth - window.innerWidth;

function texts(list, first) {
  let at = first;
  return () => list[at++ % list.length];
}

async function hostile(browser, name) {
  const schema = JSON.parse(readFileSync(join(corpus, '../../../docs/analysis.schema.json')));
  const base = withAllTexts(fixture(name), schema);
  const there = textPaths(base);
  await check(`${name}: each text field of the schema is tried`, () => {
    const missing = [...schemaTextPaths(schema)].filter((x) => !there.has(x));
    truth(missing.length === 0 && there.size > 80, `${there.size} fields, not ${missing}`);
  });
  const { page, noted, close } = await watched(browser, { viewport: { width: 400, height: 800 } });
  const harmless = {};
  for (const words of [false, true]) {
    const html = render(`${name}-harmless`, replaceTexts(base, texts(['text'], 0), words));
    await page.goto(pathToFileURL(html).href);
    harmless[words] = (await page.evaluate(structure)).tags;
  }
  let wide = 0;
  const differing = [];
  for (let i = 0; i < HOSTILE.length; i++) {
    const words = i % 2 === 1;
    const html = render(`${name}-hostile`, replaceTexts(base, texts(HOSTILE, i), words));
    await page.goto(pathToFileURL(html).href);
    const found = await page.evaluate(structure);
    if (found.wrong.length > 0) noted.push(...found.wrong);
    // A word that is known, or an empty text, may leave out an element of ours; nothing else is ever there.
    const strange = Object.keys(found.tags).filter((tag) => !(tag in harmless[words]));
    if (strange.length > 0) differing.push(`${i}: ${strange}`);
    wide = Math.max(wide, await page.evaluate(overflow));
    JSON.parse(await page.evaluate(() => document.getElementById('analysis').textContent));
  }
  await close();
  // What is looked at next has names that can be read: a heading of blanks is one that nobody could name.
  const readable = HOSTILE.filter((x) => /[\p{L}\p{N}]/u.test(x));
  render(`${name}-hostile`, replaceTexts(base, texts(readable, 0), true));
  await check(
    `${name}: ${HOSTILE.length} hostile texts in every field: nothing runs, loads or is refused by the policy`,
    () => truth(noted.length === 0, [...new Set(noted)].slice(0, 5).join(' | ')),
  );
  await check(`${name}: they make no element`, () => truth(differing.length === 0, differing.slice(0, 3).join(' | ')));
  await check(`${name}: they do not make the page wider than a telephone`, () => truth(wide <= 0, `${wide} px`));
}

/** What is there at first sight; where links go is opened. */
async function opens(page, name) {
  await check(`${name}: all of it is ${HEIGHT_MOST} pixels high at most, folded`, async () => {
    const high = await page.evaluate(() => document.documentElement.scrollHeight);
    truth(high <= HEIGHT_MOST, `${high} pixels`);
  });
  await check(`${name}: headline, figures and trust are in the first screen`, async () => {
    const ends = await page.evaluate(() =>
      ['h1', '.figures', '.strip-of-run', '.trust dl']
        .map((x) => document.querySelector(x))
        .filter((x) => x)
        .map((x) => Math.round(x.getBoundingClientRect().bottom + window.scrollY)),
    );
    truth(Math.max(...ends) <= 800, ends.join(', '));
  });
  await check(`${name}: each heading says its result, and a link opens what it goes to`, async () => {
    const empty = await page.evaluate(() =>
      [...document.querySelectorAll('section > details > summary')]
        .filter((x) => !x.querySelector('.result').textContent.trim())
        .map((x) => x.textContent),
    );
    truth(empty.length === 0, empty.join(', '));
    for (const link of await page.locator('.masthead a[href^="#"]').all()) {
      const to = await link.getAttribute('href');
      await link.click();
      truth(await page.evaluate((id) => document.querySelector(id).checkVisibility(), to), to);
    }
  });
}

async function looks(browser, name) {
  const html = render(name, fixture(name));
  for (const [size, options] of SIZES) {
    const { page, noted, close } = await watched(browser, options);
    await page.goto(pathToFileURL(html).href);
    await check(`${name}, ${size}: fits, and the console is silent`, async () => {
      truth((await page.evaluate(overflow)) <= 0, `${await page.evaluate(overflow)} px too wide`);
      truth(noted.length === 0, noted.join(' | '));
    });
    if (shots) await page.screenshot({ path: join(shots, `${name}-${size}.png`), fullPage: true });
    if (size === 'light') await opens(page, name);
    if (size === 'light')
      await check(`${name}: is printed on paper`, async () => {
        const pdf = await page.pdf({ format: 'A4', path: shots ? join(shots, `${name}.pdf`) : undefined });
        truth(pdf.length > 10000, `${pdf.length} bytes`);
        await page.emulateMedia({ media: 'print' });
        const folded = await page.evaluate(
          () =>
            [...document.querySelectorAll('section .body')].filter(
              (x) => !x.checkVisibility({ contentVisibilityAuto: true }),
            ).length,
        );
        truth(folded === 0, `${folded} sections are folded on paper`);
        await page.emulateMedia({ media: null });
      });
    await close();
  }
  await check(`${name}: the call sites are a file`, async () => {
    const { page, close } = await watched(browser);
    await page.goto(`${pathToFileURL(html).href}#callsites`);
    const link = page.locator('a[download]');
    if ((await link.count()) === 1) {
      const download = await downloaded(page, link);
      const lines = readFileSync(await download.path(), 'utf8')
        .trim()
        .split('\n');
      const sites = fixture(name).callsites.filter((s) => s.calls > 0).length;
      truth(lines.length === sites + 1 && lines[0].startsWith('op,function,file'), `${lines.length} lines of ${sites}`);
      truth(
        lines.slice(1).every((x) => /^MPI_/.test(x)),
        lines[1],
      );
    } else truth(fixture(name).callsites.length === 0, 'no link');
    await close();
  });
  return html;
}

/** A browser that was short of processors has lost the click on an address of data. */
async function downloaded(page, link) {
  const patience = { timeout: 40000 };
  for (let clicks = 1; ; clicks++)
    try {
      const [download] = await Promise.all([page.waitForEvent('download', patience), link.click()]);
      return download;
    } catch (e) {
      if (clicks === 3) throw e;
    }
}

async function valid(files) {
  const { HtmlValidate } = packages(work)('html-validate');
  // A doctype is a doctype in small letters too.
  const htmlvalidate = new HtmlValidate({
    root: true,
    extends: ['html-validate:standard'],
    rules: { 'doctype-style': 'off' },
  });
  for (const file of files)
    await check(`${file.split('/').pop()} is valid HTML`, async () => {
      const report = await htmlvalidate.validateFile(file);
      const found = report.results.flatMap((r) => r.messages).map((m) => `${m.line}: ${m.ruleId}: ${m.message}`);
      truth(found.length === 0, found.slice(0, 5).join(' | '));
    });
  await check('what is not valid is noticed', async () => {
    const report = await htmlvalidate.validateString('<!doctype html><html lang="en"><title>x</title><p><div></p>');
    truth(!report.valid, 'it was not');
  });
}

/** For who cannot see it, or not well; in both schemes of colours. */
async function accessible(browser, files) {
  for (const file of files)
    for (const colorScheme of ['light', 'dark']) {
      const { page, close } = await watched(browser, { viewport: { width: 1280, height: 900 }, colorScheme });
      await page.goto(pathToFileURL(file).href);
      await check(`${file.split('/').pop()}, ${colorScheme}: no barriers`, async () => {
        const found = await barriers(page, work);
        truth(found.length === 0, found.join(' | '));
      });
      await close();
    }
  const { page, close } = await watched(browser);
  await check('what is a barrier is noticed', async () => {
    await page.setContent(
      '<html lang="en"><title>x</title><main><h1>x</h1><input><p style="color: #ddd">pale</p></main>',
    );
    const found = (await barriers(page, work)).map((x) => x.split(':')[0]);
    truth(found.includes('label') && found.includes('color-contrast'), found.join(' '));
  });
  await close();
}

async function main() {
  mkdirSync(work, { recursive: true });
  if (shots) mkdirSync(shots, { recursive: true });
  const browser = await launch(work);
  if (!browser) process.exit(SKIPPED);
  const files = [];
  for (const name of FIXTURES) files.push(await looks(browser, name));
  await hostile(browser, 'halo_issues');
  files.push(join(work, 'halo_issues-hostile.html'));
  await valid(files);
  await accessible(browser, files);
  await browser.close();
  end();
}

await main();
