// reader.mjs - the reader of .mpix chunks (reader/, compiled for the browser) as what `import packed from 'reader.wasm'` gives: its
// bytes, deflated.
import { readFileSync } from 'node:fs';
import { deflateRawSync } from 'node:zlib';

const NAME = 'reader.wasm';

/** For esbuild. */
export function withReader(path) {
  return {
    name: 'reader',
    setup(build) {
      build.onResolve({ filter: /^reader\.wasm$/ }, () => ({ path: NAME, namespace: NAME }));
      build.onLoad({ filter: /.*/, namespace: NAME }, () => ({
        contents: deflateRawSync(readFileSync(path), { level: 9 }),
        loader: 'binary',
        watchFiles: [path],
      }));
    },
  };
}
