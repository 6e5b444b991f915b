// foreign.ts - traces of other tools: what postproc/protocol/ has to import them, compiled for the browser (reader/import.c). In: bytes of such
// a file.  Out: those of the .mpix that `mpitrace import` makes of it, chunks as they are instead of deflated.
import packed from 'import.wasm';
import { Native, compiler } from './native';

interface Exports {
  error(): number;
  import(format: number, name: number, at: number, bytes: number): number;
  written(): number;
  length(): number;
}

const prepare = compiler(packed);

/** As import_formats of postproc/protocol/import.h: how each begins. */
const FORMATS: ((head: string) => boolean)[] = [
  (head) => /^[ \t-\r]*[0-9]/.test(head), // MPROV
  (head) => head.startsWith('MPICv002'), // Pyrite
];

/** A number for importTrace(); -1: it is no such file. */
export function foreignFormat(head: Uint8Array): number {
  const text = String.fromCharCode(...head.subarray(0, 64));
  return FORMATS.findIndex((begins) => begins(text));
}

/** Throws with the words of `mpitrace import`. name: of the file. */
export async function importTrace(format: number, name: string, bytes: Uint8Array): Promise<Uint8Array> {
  const memory = () => native.call.memory.buffer;
  const native: Native<Exports> = await Native.create<Exports>(prepare(), {
    print(value: number, digits: number, isFixed: number, to: number) {
      const text = isFixed ? value.toFixed(digits) : String(Number(value.toPrecision(Math.max(1, digits))));
      new Uint8Array(memory()).set(new TextEncoder().encode(`${text}\0`), to);
    },
    parse: (at: number) => Number(native.text(at)),
  });
  const named = native.put(new TextEncoder().encode(`${name}\0`));
  const rc = native.call.import(format, named, native.put(bytes), bytes.length);
  if (rc < 0) throw new Error(native.text(native.call.error()));
  return new Uint8Array(memory(), native.call.written(), native.call.length()).slice();
}
