// imports.mjs - who imports whom in src/. A file knows only folders that stand before its own, and nobody knows itself
// by way of others; the viewer imports no package but Three, and that in one file only, which loads when it is needed,
// and the reader of format/.
import { readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';

/** The way of the data; files of src/ itself come last. */
export const FOLDERS = ['decode', 'io', 'model', 'layout', 'work', 'draw', 'views', '.'];

const PACKAGES = { 'scene.ts': ['three'], 'decode/reader.ts': ['reader.wasm'], 'decode/foreign.ts': ['import.wasm'] };

/** Map of every .ts file below `root` to the files it imports; types count as well. A name that is no file stays a name. */
export function readImports(ts, root) {
  const files = ts.sys.readDirectory(root, ['.ts']).map((path) => relative(root, path));
  const imports = new Map();
  for (const file of files.sort()) {
    const { importedFiles } = ts.preProcessFile(readFileSync(join(root, file), 'utf8'), true, true);
    const resolved = importedFiles.map(({ fileName }) =>
      fileName.startsWith('.') ? `${posix.join(posix.dirname(file), fileName)}.ts` : fileName,
    );
    imports.set(file, resolved);
  }
  return imports;
}

/** The files of one circle, the first of them again at the end; null when there is none. */
export function circle(imports) {
  const path = [];
  const done = new Set();
  function visit(file) {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return null;
    path.push(file);
    for (const next of imports.get(file) ?? []) {
      const found = visit(next);
      if (found) return found;
    }
    path.pop();
    done.add(file);
    return null;
  }
  for (const file of imports.keys()) {
    const found = visit(file);
    if (found) return found;
  }
  return null;
}

/** What is wrong, one line each. */
export function complaints(imports) {
  const place = (file) => FOLDERS.indexOf(posix.dirname(file));
  const lines = [];
  for (const [file, targets] of imports) {
    if (place(file) < 0) lines.push(`${file}: its folder is not in FOLDERS`);
    for (const target of targets) {
      if (PACKAGES[file]?.includes(target)) continue;
      if (!imports.has(target)) lines.push(`${file} imports ${target}, which is no file of the viewer`);
      else if (place(target) > place(file)) lines.push(`${file} imports ${target}, of a folder behind its own`);
    }
  }
  const found = circle(imports);
  if (found) lines.push(`import circle: ${found.join(' -> ')}`);
  return lines;
}
