// bench_spacetime.mjs - how long the space-time view takes: from the click on its tab to the picture, one drawing, a step of panning; and what
// the worker takes to count to the end of the run. node bench_spacetime.mjs MPITRACE WORKDIR FILE...; one row a trace, as markdown.
import { basename, resolve } from 'node:path';
import { launch, serve } from './chromium.mjs';

const [mpitrace, work, ...files] = process.argv.slice(2).map((path) => resolve(path));
const STEPS = 15;

/** Ends when the picture is on the screen and nothing is under way. */
function until(page, act) {
  return page.evaluate(async (text) => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const begin = performance.now();
    new Function('mpitrace', text)(globalThis.mpitrace);
    for (let quiet = 0; quiet < 2; await frame()) {
      const { busy, drawn } = globalThis.mpitrace;
      quiet = busy() === 0 && drawn.spaceEvents >= 0 ? quiet + 1 : 0;
    }
    return performance.now() - begin;
  }, act);
}

const middle = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

async function measure(browser, file) {
  const server = await serve(mpitrace, file);
  const page = await browser.newPage({ viewport: { width: 1360, height: 800 } });
  await page.goto(server.url);
  await page.waitForFunction(() => globalThis.mpitrace !== undefined, null, { timeout: 120000 });
  await page.waitForFunction(() => globalThis.mpitrace.busy() === 0);
  const first = await until(page, `mpitrace.store.set({ view: 'spacetime' })`);
  const [draws, steps] = [[], []];
  for (let i = 0; i < STEPS; i++) {
    const change = `{ zoom: ${1 + (i % 5)}, along: ${(i % 7) / 7} }`;
    steps.push(await until(page, `mpitrace.store.setView('spacetime', ${change})`));
    draws.push(await page.evaluate(() => globalThis.mpitrace.drawn.spacePaintMs));
  }
  const end = await until(
    page,
    `const { runtime } = mpitrace.trace.meta; mpitrace.store.showInterval(runtime * 0.98, runtime)`,
  );
  const { ranks, events } = await page.evaluate(() => globalThis.mpitrace.trace.meta);
  const { spaceEvents } = await page.evaluate(() => ({ spaceEvents: globalThis.mpitrace.drawn.spaceEvents }));
  await page.close();
  server.stop();
  const ms = [first, middle(draws), Math.min(...draws), middle(steps), end].map((x) => x.toFixed(0));
  console.log(`| ${[basename(file), ranks, events, ...ms, spaceEvents].join(' | ')} |`);
}

const browser = await launch(work);
if (!browser) process.exit(77);
console.log(
  '| trace | ranks | calls | first picture, ms | drawing, median | least | pan or zoom | to the last fiftieth of the run | events there |',
);
console.log('|---|---|---|---|---|---|---|---|---|');
for (const file of files) await measure(browser, file);
await browser.close();
