// run.mjs - bundle one test with the TypeScript that it imports, run it under node's test runner, print TAP.
// node run.mjs NAME.test.mjs PACKAGES WORKDIR WASM...; PACKAGES is where packages.mjs installs, WASM what is compiled for the browser.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { packages } from '../../reports/viewer/packages.mjs';
import { withWasm } from '../../reports/viewer/wasm.mjs';

const [test, installed, workdir, ...wasm] = process.argv.slice(2).map((path) => resolve(path));
const work = join(workdir, basename(test, '.test.mjs'));
const bundle = join(work, 'bundle.mjs');

mkdirSync(work, { recursive: true });
await packages(installed)('esbuild').build({
  entryPoints: [test],
  outfile: bundle,
  bundle: true,
  platform: 'node',
  target: 'es2022',
  format: 'esm',
  sourcemap: 'inline',
  plugins: [withWasm(wasm)],
});
const env = { ...process.env, WORK: work };
const options = ['--enable-source-maps', '--test-reporter=tap'];
process.exitCode = spawnSync(process.execPath, [...options, bundle], { env, stdio: 'inherit' }).status ?? 1;
