// build.mjs - bundle src/ into one offline HTML file whose policy admits its own script, worker and style and nothing else.
// The worker's code lies in the page as text, packed; the page makes the worker of it. So does the scene with Three: a page
// that shows the machine unpacks it and runs it as a script of its own, which the policy knows by its hash.
// What reader/ compiles for the browser is in the worker (wasm.mjs).
// node build.mjs OUT WORKDIR READER IMPORT [DEPFILE]: packages are installed in WORKDIR; READER and IMPORT are reader.wasm and import.wasm;
// DEPFILE gets a rule with all files that it is made of.
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateRawSync } from 'node:zlib';
import { packages } from './packages.mjs';
import { withWasm } from './wasm.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const [out, work, reader, foreign, depfile] = process.argv.slice(2, 7).map((path) => resolve(path));

function hash(text) {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

async function bundle(esbuild) {
  const options = { bundle: true, minify: true, write: false, metafile: true, legalComments: 'none', target: 'es2022' };
  const script = await esbuild.build({ ...options, entryPoints: [join(here, 'src/main.ts')], format: 'esm' });
  const worker = await esbuild.build({
    ...options,
    entryPoints: [join(here, 'src/worker.ts')],
    format: 'iife',
    plugins: [withWasm([reader, foreign])],
  });
  const style = await esbuild.build({ ...options, entryPoints: [join(here, 'src/style.css')] });
  const scene = await esbuild.build({
    ...options,
    entryPoints: [join(here, 'src/scene.ts')],
    format: 'iife',
    nodePaths: [join(work, 'node_modules')],
    charset: 'ascii',
  });
  const all = [script, worker, style, scene];
  const [a, b, c, d] = all.map((x) => x.outputFiles[0].text.trim());
  const inputs = new Set(
    all.flatMap((x) => Object.keys(x.metafile.inputs).filter((path) => !path.startsWith('wasm:'))),
  );
  return { parts: { script: a, worker: b, style: c, scene: d }, inputs: [...inputs].map((path) => resolve(path)) };
}

/** As make writes it; the target is named as it was given. */
function writeDepfile(inputs) {
  const name = (path) => path.replace(/[ #]/g, '\\$&').replaceAll('$', '$$');
  writeFileSync(
    depfile,
    `${name(process.argv[2])}: ${[...inputs, reader, foreign, join(here, 'page.html')].map(name).join(' ')}\n`,
  );
}

function packed(text) {
  return deflateRawSync(text, { level: 9 }).toString('base64');
}

/** Licence of a package, which goes where its code goes. */
function licence(name) {
  return readFileSync(join(work, 'node_modules', name, 'LICENSE'), 'utf8').trim();
}

function page({ script, worker, style, scene }) {
  const parts = { script, worker, style, 'scene-licence': licence('three') };
  if (/<\/(script|style)|<!--/i.test(Object.values(parts).join('')))
    throw new Error('the bundle closes its own element');
  const hashes = { 'script-hash': hash(script), 'style-hash': hash(style), 'scene-hash': hash(scene) };
  Object.assign(parts, hashes, { worker: packed(worker), scene: packed(scene) });
  return readFileSync(join(here, 'page.html'), 'utf8').replace(/\{\{([a-z-]+)\}\}/g, (_, name) => parts[name]);
}

const { parts, inputs } = await bundle(packages(work)('esbuild'));
if (depfile) writeDepfile(inputs);
writeFileSync(`${out}.tmp`, page(parts));
renameSync(`${out}.tmp`, out);
