// packages.mjs - the packages of package-lock.json, installed in a work directory once per lock file.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const NPM_CI = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];

/** Install what the lock file says, unless it is there; returns a require() for it. Ends the program when it cannot. */
export function packages(work) {
  const lock = readFileSync(join(here, 'package-lock.json'));
  const stamp = join(work, 'installed');
  const wanted = createHash('sha256').update(lock).digest('base64');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
    mkdirSync(work, { recursive: true });
    for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(here, name), join(work, name));
    try {
      execFileSync('npm', NPM_CI, { cwd: work, stdio: 'inherit' });
    } catch {
      console.error('viewer: npm ci failed. It needs a package registry or a filled npm cache once.');
      console.error('To build without the viewer: meson configure -Dviewer=disabled');
      process.exit(1);
    }
    writeFileSync(stamp, wanted);
  }
  return createRequire(join(work, 'package.json'));
}
