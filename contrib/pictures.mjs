// pictures.mjs - the pictures of README.md and docs/VIEWS.md, from a trace that tests/bench/generate.c makes.
// node contrib/pictures.mjs BUILD [WORKDIR]: needs Chromium; writes docs/*.png, at most 150 KB each.
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { deflateSync, inflateSync } from 'node:zlib';
import { launch, serve } from '../tests/browser/chromium.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const [build, work] = [process.argv[2] ?? 'build', process.argv[3] ?? 'build/pictures'].map((path) => resolve(path));
const MPITRACE = join(build, 'cli/mpitrace');
const BYTES_MAX = 150 * 1000;
const SIZE = { width: 1280, height: 660 };
const PAGE = { viewport: { width: 1200, height: 1250 }, deviceScaleFactor: 0.8 };
const SPECIFICATION = '# within a row of the grid, or to the row below or above\nP(i,*) -> P(k,*) :: forall k: k == i + 1 || k == i - 1;\nP(i,*) -> P(k,*) :: forall k: (k - i) % 4 == 0;\n';

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

function chunk(type, data) {
  const out = Buffer.alloc(12 + data.length);
  out.writeUInt32BE(data.length, 0);
  out.write(type, 4, 'latin1');
  data.copy(out, 8);
  let crc = 0xffffffff;
  for (const byte of out.subarray(4, 8 + data.length)) crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8);
  out.writeUInt32BE((crc ^ 0xffffffff) >>> 0, 8 + data.length);
  return out;
}

function paeth(a, b, c) {
  const p = a + b - c;
  const [x, y, z] = [Math.abs(p - a), Math.abs(p - b), Math.abs(p - c)];
  return x <= y && x <= z ? a : y <= z ? b : c;
}

const PREDICT = [() => 0, (a) => a, (_, b) => b, (a, b) => (a + b) >> 1, paeth];

/** The pixels of a PNG of 8-bit RGB or RGBA, as RGB. */
function pixelsOf(png) {
  const [width, height, channels] = [png.readUInt32BE(16), png.readUInt32BE(20), png[25] === 6 ? 4 : 3];
  const parts = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const raw = inflateSync(Buffer.concat(parts));
  const stride = width * channels;
  const rows = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const predict = PREDICT[raw[y * (stride + 1)]];
    for (let i = 0; i < stride; i++) {
      const at = y * stride + i;
      const left = i >= channels ? rows[at - channels] : 0;
      const up = y > 0 ? rows[at - stride] : 0;
      const corner = y > 0 && i >= channels ? rows[at - stride - channels] : 0;
      rows[at] = raw[y * (stride + 1) + 1 + i] + predict(left, up, corner);
    }
  }
  const rgb = Buffer.alloc(width * height * 3);
  for (let i = 0; i < width * height; i++) rows.copy(rgb, i * 3, i * channels, i * channels + 3);
  return { width, height, rgb };
}

/** The most frequent colours, and of what is left one for each range of colours, those with most pixels first. */
function paletteOf(count) {
  const palette = count.slice(0, 128).map(([color]) => color);
  const ranges = new Map();
  for (const [color, n] of count.slice(128)) {
    const key = color & 0xf0f0f0;
    const range = ranges.get(key) ?? { color, pixels: 0 };
    range.pixels += n;
    ranges.set(key, range);
  }
  const rest = [...ranges.values()].sort((a, b) => b.pixels - a.pixels).map(({ color }) => color);
  return [...palette, ...rest].slice(0, 256);
}

/** The same picture in at most 256 colours, the others as the nearest of these. */
function small(png) {
  const { width, height, rgb } = pixelsOf(png);
  const count = new Map();
  const at = (i) => (rgb[i * 3] << 16) | (rgb[i * 3 + 1] << 8) | rgb[i * 3 + 2];
  for (let i = 0; i < width * height; i++) count.set(at(i), (count.get(at(i)) ?? 0) + 1);
  const palette = paletteOf([...count].sort((a, b) => b[1] - a[1]));
  const apart = (a, b) =>
    ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;
  const index = new Map(palette.map((color, i) => [color, i]));
  for (const color of count.keys())
    if (!index.has(color)) {
      let best = 0;
      palette.forEach((other, i) => apart(other, color) < apart(palette[best], color) && (best = i));
      index.set(color, best);
    }
  const lines = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) lines[y * (width + 1) + 1 + x] = index.get(at(y * width + x));
  const head = Buffer.from(png.subarray(16, 29));
  [head[8], head[9]] = [8, 3]; // bits, and a palette
  const colors = Buffer.from(palette.flatMap((c) => [c >> 16, (c >> 8) & 255, c & 255]));
  const body = deflateSync(lines, { level: 9 });
  return Buffer.concat([png.subarray(0, 8), chunk('IHDR', head), chunk('PLTE', colors), chunk('IDAT', body), chunk('IEND', Buffer.alloc(0))]);
}

/** A halo exchange on 16 ranks in simulated time: the same on every machine. */
function generate() {
  const folder = join(work, 'halo');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const shape = ['--pattern', 'halo', '--ranks', '16', '--nodes', '2', '--events-per-rank', '60000'];
  execFileSync(join(build, 'tests/bench/generate'), [...shape, '-o', folder], { stdio: 'ignore' });
  execFileSync(MPITRACE, ['analyze', folder, '-o', join(work, 'halo.mpix')], { stdio: 'ignore' });
  return join(work, 'halo.mpix');
}

async function settle(page) {
  await page.evaluate(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    for (let quiet = 0; quiet < 8; await frame()) quiet = globalThis.mpitrace.busy() === 0 ? quiet + 1 : 0;
  });
}

async function keep(page, name) {
  await page.mouse.move(2, 2);
  const picture = small(await page.screenshot());
  if (picture.length > BYTES_MAX) throw new Error(`${name}: ${picture.length} bytes are too many`);
  writeFileSync(join(root, `docs/${name}.tmp`), picture);
  renameSync(join(root, `docs/${name}.tmp`), join(root, `docs/${name}`));
  console.log(`docs/${name}: ${picture.length} bytes`);
}

/** What tests/tools/make_mpix.c makes, as a file. */
function made(name, ...words) {
  execFileSync(join(build, 'tests/tools/make_mpix'), [join(work, name), ...words]);
  return join(work, name);
}

async function opened(trace) {
  const server = await serve(MPITRACE, trace);
  const page = await browser.newPage({ viewport: SIZE });
  await page.goto(server.url);
  await page.waitForFunction(() => globalThis.mpitrace !== undefined);
  return { page, stop: server.stop };
}

const browser = await launch(work);
if (!browser) throw new Error('no chromium here; apt install chromium');
const { page, stop } = await opened(generate());
await page.evaluate(() => {
  const { store, trace } = globalThis.mpitrace;
  const [from, to] = trace.analysis.patterns[0].window_s; // where it works
  const middle = ((from + to) / 2) * 1e9;
  store.showInterval(middle, middle + 250e3);
});
await settle(page);
await keep(page, 'timeline.png');
for (const view of ['analysis', 'logical', 'spacetime', 'states', 'machine']) {
  await page.evaluate((name) => globalThis.mpitrace.store.set({ view: name }), view);
  await settle(page);
  if (view === 'states') await page.evaluate(() => globalThis.mpitrace.store.setView('states', { step: 963_000 })); // in the middle
  if (view === 'machine') await page.waitForFunction(() => globalThis.mpitrace.drawn.machineScene);
  await settle(page);
  await keep(page, `${view}.png`);
}
await page.evaluate(() => globalThis.mpitrace.store.set({ view: 'protocol' }));
await settle(page);
await page.fill('.spec textarea', SPECIFICATION);
await page.click('.protocol button:has-text("Apply")');
await page.waitForFunction(() => globalThis.mpitrace.drawn.protocolDone === true);
await settle(page);
await keep(page, 'protocol.png');
stop();
const many = await opened(made('many.mpix', '128', '128', '4'));
await many.page.evaluate(() => globalThis.mpitrace.store.setView('timeline', { group: 'alike', fold: true, messages: false }));
await many.page.waitForFunction(() => /kinds of ranks/.test(document.querySelector('.tools .note').textContent));
await settle(many.page);
await keep(many.page, 'alike.png');
many.stop();
const { page: profile, stop: stopProfile } = await opened(made('samples.mpix', '32', '16', '30', 'samples=200'));
await profile.evaluate(() => {
  const { store } = globalThis.mpitrace;
  store.setView('field', { draw: 'terrain', flags: 0 });
  store.set({ view: 'field' });
});
await profile.waitForFunction(() => globalThis.mpitrace.drawn.fieldScene === 'webgl');
await settle(profile);
await keep(profile, 'profile.png');
stopProfile();
execFileSync(MPITRACE, ['report', join(work, 'halo.mpix'), '-o', join(work, 'halo.html')]);
const report = await browser.newPage(PAGE);
await report.goto(pathToFileURL(join(work, 'halo.html')).href);
await keep(report, 'report.png');
await browser.close();
