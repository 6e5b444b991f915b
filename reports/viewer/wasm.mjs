// wasm.mjs - what reader/ compiles for the browser as what `import packed from 'reader.wasm'` gives: its bytes, deflated.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { deflateRawSync } from 'node:zlib';

const NAMESPACE = 'wasm';

/** For esbuild; paths of files that are named by their last part. */
export function withWasm(paths) {
  const byName = new Map(paths.map((path) => [basename(path), path]));
  return {
    name: NAMESPACE,
    setup(build) {
      build.onResolve({ filter: /\.wasm$/ }, ({ path }) => ({ path, namespace: NAMESPACE }));
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
        contents: deflateRawSync(readFileSync(byName.get(path)), { level: 9 }),
        loader: 'binary',
        watchFiles: [byName.get(path)],
      }));
    },
  };
}
