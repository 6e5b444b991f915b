// check.mjs - what can be said about the sources without running them.
// node check.mjs types|imports|format|reformat WORKDIR: types by tsc, imports by imports.mjs, format by prettier
// (.prettierrc.json at the root), which reformat writes. Packages are installed in WORKDIR, those of build.mjs.
import { spawnSync } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { complaints, readImports } from './imports.mjs';
import { packages } from './packages.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, '../..');
const FORMATTED = ['reports/viewer', 'tests/browser', 'tests/viewer'].map((room) => `${room}/**/*.{ts,mjs,css,json}`);

/** Run a program of the packages in the root of the tree; its exit code. */
function run(work, program, ...args) {
  return spawnSync(process.execPath, [join(work, 'node_modules', program), ...args], { cwd: root, stdio: 'inherit' })
    .status;
}

const CHECKS = {
  types: (work) => run(work, 'typescript/bin/tsc', '-p', here),
  imports: (work) => {
    const imports = readImports(packages(work)('typescript'), join(here, 'src'));
    const lines = complaints(imports);
    for (const line of lines) console.error(line);
    console.log(`${imports.size} files`);
    return imports.size > 0 && lines.length === 0 ? 0 : 1;
  },
  format: (work) => {
    const rc = run(work, 'prettier/bin/prettier.cjs', '--check', ...FORMATTED);
    if (rc !== 0) console.log('To repair it: meson compile -C BUILD viewer-format');
    return rc;
  },
  reformat: (work) => run(work, 'prettier/bin/prettier.cjs', '--write', '--list-different', ...FORMATTED),
};

const [name, workdir] = process.argv.slice(2);
const work = resolve(workdir);
packages(work);
process.exitCode = CHECKS[name](work);
