// chromium.mjs - Debian's Chromium under playwright-core, without a graphics card; and `mpitrace view` for it to look at.
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const PATIENCE_MS = 120000; // machines are shared
const ARGS = [
  // What puts a page together is as good without OpenGL, and takes half as much of the processors.
  '--disable-gpu-compositing',
  '--no-sandbox',
  '--use-gl=angle',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The packages of package-lock.json, installed in `work`. */
export function packages(work) {
  mkdirSync(work, { recursive: true });
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(here, name), join(work, name));
  const wanted = JSON.parse(readFileSync(join(here, 'package.json'))).devDependencies;
  const installed = (name) => join(work, 'node_modules', name, 'package.json');
  const isThere = (name) =>
    existsSync(installed(name)) && JSON.parse(readFileSync(installed(name))).version === wanted[name];
  if (!Object.keys(wanted).every(isThere))
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: work,
      stdio: 'inherit',
    });
  return createRequire(join(work, 'package.json'));
}

/** A page that notes whatever is not just shown. */
export async function watched(browser, options = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const noted = [];
  page.on('console', (m) => noted.push(`console: ${m.text()}`));
  page.on('pageerror', (e) => noted.push(`error: ${e}`));
  page.on('dialog', (d) => (noted.push(`dialog: ${d.message()}`), d.dismiss()));
  page.on('request', (r) => r.isNavigationRequest() || noted.push(`request: ${r.url()}`));
  page.on('popup', () => noted.push('popup'));
  await page.addInitScript(() => {
    globalThis.pwned = () => console.log('a text ran');
    document.addEventListener('securitypolicyviolation', (e) =>
      console.log(`policy: ${e.violatedDirective} ${e.blockedURI}`),
    );
  });
  return { page, noted, close: () => context.close() };
}

/** The browser, or null where there is none. */
export async function launch(work, ...more) {
  const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
  if (!executablePath) return null;
  return packages(work)('playwright-core').chromium.launch({ executablePath, args: [...ARGS, ...more] });
}

/** `mpitrace view FILE...`: { url, stop() }. */
export async function serve(mpitrace, ...files) {
  const server = spawn(mpitrace, ['view', ...files, '--no-browser'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const url = await new Promise((done, reject) => {
    server.stdout.once('data', (line) => done(String(line).trim()));
    server.once('exit', () => reject(new Error('mpitrace view ended')));
  });
  return { url, stop: () => server.kill() };
}
