// bench.mjs - how long a person waits for the viewer: first picture, steps of zooming and panning, our own JavaScript
// on the main thread, memory. node bench.mjs MPITRACE VIEWER_HTML WORKDIR FILE...; one row a trace, as markdown.
// VIEWER_HTML is what its size is taken of; shown is what `mpitrace view` serves. --seek: instead, how long until a state that is sought is
// there; --machine: frames of the machine view, on a map of 1,024 nodes with 64 cores each.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { launch, serve } from './chromium.mjs';

const MODES = ['--seek', '--machine'];
const mode = process.argv.find((x) => MODES.includes(x)) ?? '';
const [mpitrace, viewer, work, ...files] = process.argv
  .slice(2)
  .filter((x) => !MODES.includes(x))
  .map((path) => resolve(path));
const STEPS = 24;
const SEEKS = 60;
const FRAMES = 40;
const QUIET_FRAMES = 2;
const FLOOR_PAGES = 5;

/** Runs in the page before its own script: how long callbacks of frames and of messages take. */
function watch() {
  const spent = (globalThis.spent = []);
  const timed = (f) => (x) => {
    const begin = performance.now();
    f(x);
    spent.push(performance.now() - begin);
  };
  const request = globalThis.requestAnimationFrame;
  globalThis.requestFrame = (f) => request(f);
  globalThis.requestAnimationFrame = (f) => request(timed(f));
  const { set } = Object.getOwnPropertyDescriptor(Worker.prototype, 'onmessage');
  Object.defineProperty(Worker.prototype, 'onmessage', {
    set(f) {
      set.call(this, timed(f));
    },
  });
}

/** ms until bars of all that is shown are on the screen, be it coarsely, and until nothing is loading and the picture is the last one. */
function final(page, act) {
  return page.evaluate(
    async ([text, quiet]) => {
      const frame = () => new Promise((done) => globalThis.requestFrame(done));
      const begin = performance.now();
      let end = begin;
      let sight = 0;
      new Function('store', 'runtime', text)(globalThis.mpitrace.store, globalThis.mpitrace.trace.meta.runtime);
      for (let still = 0; still < quiet;) {
        await frame();
        const { busy, drawn } = globalThis.mpitrace;
        if (sight === 0 && drawn.sight) sight = performance.now() - begin;
        if (busy() > 0 || !drawn.final) still = 0;
        else if (still++ === 0) end = performance.now();
      }
      const whole = Math.max(end, performance.now() - 16 * (quiet - 1)) - begin; // the frames waited for are not the viewer's
      return { sight: Math.min(sight, whole), whole };
    },
    [act, QUIET_FRAMES],
  );
}

const quantile = (values, q) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))];

/** A walk through the trace: in to a ten-thousandth of it and out again, panning on the way. */
function walk() {
  const steps = [];
  let [share, at] = [1, 0.4];
  for (let i = 0; i < STEPS; i++) {
    const pans = i % 3 === 2;
    if (!pans) share *= i < STEPS / 2 ? 0.32 : 1 / 0.32;
    else at = Math.min(0.9, at + 0.7 * share);
    steps.push(
      `store.showInterval(${at} * runtime - ${share / 2} * runtime, ${at} * runtime + ${share / 2} * runtime)`,
    );
  }
  return steps;
}

/** Seconds of processors that the browser has used, and bytes of its largest tab: other programs slow steps down, but not these. */
async function used(browser) {
  const cdp = await browser.newBrowserCDPSession();
  const { processInfo } = await cdp.send('SystemInfo.getProcessInfo');
  await cdp.detach();
  const bytes = processInfo
    .filter((p) => p.type === 'renderer')
    .map((p) => 1024 * Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${p.id}/smaps_rollup`, 'utf8'))?.[1] ?? 0));
  return { cpu: processInfo.reduce((sum, p) => sum + p.cpuTime, 0), tab: Math.max(...bytes) };
}

/** A new page, and ms to its first picture. */
async function opened(browser, url) {
  const page = await browser.newPage({ viewport: { width: 1360, height: 800 } });
  await page.addInitScript(watch);
  const begin = Date.now();
  await page.goto(url);
  await page.waitForFunction(() => globalThis.mpitrace !== undefined, null, { polling: 10, timeout: 120000 });
  await final(page, '');
  return { page, first: Date.now() - begin };
}

/** Pages with nothing but a canvas of one colour: what of a first picture nobody can avoid. */
async function floor(browser) {
  const said = { store: {}, trace: { meta: { runtime: 1 } }, drawn: { final: true } };
  const script = `const g = document.querySelector('canvas').getContext('2d'); g.fillRect(0, 0, 1360, 800);
    globalThis.mpitrace = { busy: () => 0, ...${JSON.stringify(said)} };`;
  const text = `<!doctype html><canvas width=1360 height=800></canvas><script>${script}</script>`;
  const server = createServer((_, answer) => answer.setHeader('Content-Type', 'text/html').end(text));
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const times = [];
  for (let i = 0; i < FLOOR_PAGES; i++) {
    const { page, first } = await opened(browser, `http://127.0.0.1:${server.address().port}/`);
    times.push(first);
    await page.close();
  }
  server.close();
  return quantile(times, 0.5);
}

async function measure(browser, file) {
  const server = await serve(mpitrace, file);
  const { page, first } = await opened(browser, server.url);
  await page.evaluate(() => (globalThis.spent.length = 0));
  const steps = [];
  const before = await used(browser);
  const sights = [];
  for (const step of walk()) {
    const { sight, whole } = await final(page, step);
    steps.push(whole);
    sights.push(sight);
  }
  const after = await used(browser);
  const spent = await page.evaluate(() => globalThis.spent);
  const { ranks, events } = await page.evaluate(() => globalThis.mpitrace.trace.meta);
  await page.close();
  server.stop();
  const ms = (x) => Math.round(x);
  const cells = [basename(file), ranks, events, ms(first), ms(quantile(steps, 0.5)), ms(quantile(steps, 0.95))];
  cells.push(ms(quantile(sights, 0.95)));
  cells.push(
    quantile(spent, 0.95).toFixed(1),
    Math.max(...spent).toFixed(0),
    ms(((after.cpu - before.cpu) / steps.length) * 1000),
    (after.tab / 2 ** 20).toFixed(0),
  );
  console.log(`| ${cells.join(' | ')} |`);
}

/** ms until a state that is sought is on the screen, when all are counted. */
async function seekStates(browser, file) {
  const server = await serve(mpitrace, file);
  const { page } = await opened(browser, server.url);
  await page.click('#tab-states');
  await page.waitForFunction(() => globalThis.mpitrace.drawn.statesWhole === true, null, { timeout: 300000 });
  const times = await page.evaluate(async (seeks) => {
    const { drawn, store } = globalThis.mpitrace;
    const found = [];
    for (let k = 0; k < seeks; k++) {
      const step = Math.floor((((k + 1) * 0.6180339887) % 1) * drawn.statesTotal);
      const begin = performance.now();
      store.setView('states', { step });
      while (globalThis.mpitrace.drawn.statesStep !== step) await new Promise((done) => globalThis.requestFrame(done));
      found.push(performance.now() - begin);
    }
    return found;
  }, SEEKS);
  const { statesTotal } = await page.evaluate(() => globalThis.mpitrace.drawn);
  const ms = (q) => Math.round(quantile(times, q));
  console.log(`| ${basename(file)} | ${statesTotal} | ${ms(0.5)} | ${ms(0.95)} | ${ms(1)} |`);
  await page.close();
  server.stop();
}

/** Frames of a turning camera about 1,024 nodes of 64 cores with a rank on each of those that the trace has. */
async function turnMachine(browser, file) {
  const server = await serve(mpitrace, file);
  const { page } = await opened(browser, server.url);
  const { ranks } = await page.evaluate(() => globalThis.mpitrace.trace.meta);
  await page.click('#tab-machine');
  await page.waitForFunction(() => globalThis.mpitrace.drawn.machineScene);
  const words = ['topology', '--generate', 'racks=32,nodes=32,packages=2,cores=32', '--ranks', String(ranks), '--json'];
  const map = `${work}/machine.json`;
  writeFileSync(map, execFileSync(mpitrace, words, { maxBuffer: 2 ** 30 }));
  await page.setInputFiles('.map-file', map);
  await page.waitForFunction(() => globalThis.mpitrace.drawn.machineFrom === 'map', null, { timeout: 120000 });
  await page.waitForFunction(() => globalThis.mpitrace.busy() === 0, null, { timeout: 120000 });
  const { times, arcs, renderer } = await page.evaluate(async (frames) => {
    const { store, drawn } = globalThis.mpitrace;
    const found = [];
    for (let k = 0; k < frames; k++) {
      const begin = performance.now();
      store.setView('machine', { azimuth: 3 * k });
      await new Promise((done) => globalThis.requestFrame(() => globalThis.requestFrame(done)));
      found.push(performance.now() - begin);
    }
    const g = document.createElement('canvas').getContext('webgl2');
    const info = g?.getExtension('WEBGL_debug_renderer_info');
    return {
      times: found,
      arcs: drawn.machineArcs,
      renderer: info ? g.getParameter(info.UNMASKED_RENDERER_WEBGL) : 'none',
    };
  }, FRAMES);
  const median = quantile(times, 0.5);
  const cells = [basename(file), ranks, 1024, arcs, Math.round(median), (1000 / median).toFixed(1), renderer];
  console.log(`| ${cells.join(' | ')} |`);
  await page.close();
  server.stop();
}

const browser = await launch(work);
if (!browser) process.exit(77);
if (mode !== '') {
  console.log(
    mode === '--seek'
      ? '| trace | changes | seek, median, ms | p95 | most |\n|---|---|---|---|---|\n| goal |  |  | ≤ 100 |  |'
      : '| trace | ranks | nodes | arcs | frame, median, ms | frames a second | drawn by |\n|---|---|---|---|---|---|---|',
  );
  for (const file of files) await (mode === '--seek' ? seekStates : turnMachine)(browser, file);
  await browser.close();
  process.exit(0);
}
const bundle = readFileSync(viewer);
console.log(
  `bundle: ${Math.round(bundle.length / 1000)} KB, ${Math.round(gzipSync(bundle).length / 1000)} KB packed\n`,
);
console.log(`first picture of an empty page: ${await floor(browser)} ms, median of ${FLOOR_PAGES}\n`);
console.log(
  '| trace | ranks | events | first picture, ms | step, median | p95 | bars, p95 | JavaScript, p95, ms | most | processors a step, ms | tab, MiB |',
);
console.log('|---|---|---|---|---|---|---|---|---|---|---|');
console.log('| goal |  |  | ≤ 1000; 1500 of 100 M events | ≤ 100 to 150 | ≤ 250 to 300 |  | ≤ 8 |  |  | ≤ 400 |');
for (const file of files) await measure(browser, file);
await browser.close();
