// build.mjs - bundle src/ into one offline HTML file whose policy admits its own script and style and nothing else.
// node build.mjs OUT WORKDIR [--check]: packages are installed in WORKDIR, once per package-lock.json;
// --check runs the type checker instead of writing OUT.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const [out, work] = process.argv.slice(2, 4).map((path) => resolve(path));
const check = process.argv.includes('--check');

function hash(text) {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

function installPackages() {
  const lock = readFileSync(join(here, 'package-lock.json'));
  const stamp = join(work, 'installed');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash(lock)) return;
  mkdirSync(work, { recursive: true });
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(here, name), join(work, name));
  try {
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: work, stdio: 'inherit' });
  } catch {
    console.error('viewer: npm ci failed. It needs a package registry or a filled npm cache once; without: meson configure -Dviewer=disabled');
    process.exit(1);
  }
  writeFileSync(stamp, hash(lock));
}

async function bundle() {
  const esbuild = createRequire(join(work, 'package.json'))('esbuild');
  const options = { bundle: true, minify: true, write: false, legalComments: 'none', target: 'es2022' };
  const script = await esbuild.build({ ...options, entryPoints: [join(here, 'src/main.ts')], format: 'esm' });
  const style = await esbuild.build({ ...options, entryPoints: [join(here, 'src/style.css')] });
  return { script: script.outputFiles[0].text.trim(), style: style.outputFiles[0].text.trim() };
}

function page({ script, style }) {
  if (/<\/(script|style)/i.test(script + style)) throw new Error('the bundle closes its own element');
  const parts = { script, style, 'script-hash': hash(script), 'style-hash': hash(style) };
  return readFileSync(join(here, 'page.html'), 'utf8').replace(/\{\{([a-z-]+)\}\}/g, (_, name) => parts[name]);
}

installPackages();
if (check) {
  execFileSync(process.execPath, [join(work, 'node_modules/typescript/bin/tsc'), '-p', here], { stdio: 'inherit' });
} else {
  writeFileSync(`${out}.tmp`, page(await bundle()));
  renameSync(`${out}.tmp`, out);
}
