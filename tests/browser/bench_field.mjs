// bench_field.mjs - how long the pictures of the profile take: from the choice of one to the picture, and a frame while its camera turns (in space) or its
// scale changes (flat). node bench_field.mjs MPITRACE MAKE_MPIX WORKDIR [SHOTS]; traces of 8, 512 and 16,384 ranks with 100 samples each, as markdown.
// SHOTS: a directory for pictures, light and dark.
import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { launch, serve } from './chromium.mjs';

const [mpitrace, make, work, shots] = process.argv.slice(2).map((path) => resolve(path));
const SIZES = [
  [4, 2],
  [32, 16],
  [128, 128],
];
const [STEPS, SAMPLES, FRAMES] = [20, 100, 15];
const DRAWS = ['heat', 'lines', 'terrain', 'tube', 'cloud'];
const middle = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

/** Ends when the field is all there and on the screen. */
function until(page, change) {
  return page.evaluate(async (x) => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const begin = performance.now();
    const { store, drawn, busy } = globalThis.mpitrace;
    store.setView('field', x);
    for (let quiet = 0; quiet < 2; await frame()) {
      const isThere = ['heat', 'lines'].includes(x.draw ?? 'heat') || drawn.fieldScene !== '';
      quiet = busy() === 0 && isThere ? quiet + 1 : 0;
    }
    return performance.now() - begin;
  }, change);
}

async function measure(browser, [columns, rows]) {
  const file = join(work, `field-${columns}x${rows}.mpix`);
  execFileSync(make, [file, columns, rows, STEPS, `samples=${SAMPLES}`].map(String));
  const server = await serve(mpitrace, file);
  const page = await browser.newPage({ viewport: { width: 1360, height: 800 } });
  await page.goto(server.url);
  await page.waitForFunction(() => globalThis.mpitrace !== undefined, null, { timeout: 120000 });
  await page.click('#tab-field');
  await page.waitForFunction(() => globalThis.mpitrace.busy() === 0 && globalThis.mpitrace.drawn.fieldRows > 0, null, {
    timeout: 120000,
  });
  for (const draw of DRAWS) {
    const first = await until(page, { draw });
    const frames = [];
    for (let k = 0; k < FRAMES; k++) {
      const change = draw === 'heat' || draw === 'lines' ? { cut: k % 2 ? 5 : 0 } : { azimuth: 5 * k };
      frames.push(await until(page, { draw, ...change }));
    }
    const drawn = await page.evaluate(() => ({ ...globalThis.mpitrace.drawn }));
    const size = draw === 'cloud' ? `${drawn.fieldPoints} points` : `${drawn.fieldRows} x ${drawn.fieldColumns}`;
    const cells = [
      columns * rows,
      draw,
      size,
      first.toFixed(0),
      middle(frames).toFixed(0),
      Math.min(...frames).toFixed(0),
    ];
    console.log(`| ${cells.join(' | ')} |`);
    if (!shots) continue;
    await until(page, { draw, azimuth: 35, cut: 0 });
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(300);
      await page.screenshot({ path: join(shots, `field-${columns * rows}-${draw}-${colorScheme}.png`) });
    }
    await page.emulateMedia({ colorScheme: 'light' });
  }
  await page.close();
  server.stop();
}

const browser = await launch(work);
if (!browser) process.exit(77);
console.log('| threads | picture | of | first picture, ms | frame, median of 15 | least |');
console.log('|---|---|---|---|---|---|');
for (const size of SIZES) await measure(browser, size);
await browser.close();
