// chromium.mjs - Debian's Chromium under playwright-core, without a graphics card; and `mpitrace view` for it to look at.
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const ARGS = [
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

/** playwright-core of package-lock.json, installed in `work`. */
function packages(work) {
  mkdirSync(work, { recursive: true });
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(here, name), join(work, name));
  const installed = join(work, 'node_modules/playwright-core/package.json');
  const wanted = JSON.parse(readFileSync(join(here, 'package.json'))).devDependencies['playwright-core'];
  if (!existsSync(installed) || JSON.parse(readFileSync(installed)).version !== wanted)
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: work,
      stdio: 'inherit',
    });
  return createRequire(join(work, 'package.json'))('playwright-core');
}

/** The browser, or null where there is none. */
export async function launch(work, ...more) {
  const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
  if (!executablePath) return null;
  return packages(work).chromium.launch({ executablePath, args: [...ARGS, ...more] });
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
