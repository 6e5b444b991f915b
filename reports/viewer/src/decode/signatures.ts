// signatures.ts - what the calls of one rank group were.
import type { Entry } from './layout';
import type { Meta } from './meta';
import type { Reader } from './reader';
import { emptySignatures } from './records';
import type { Signatures } from './records';

/** A group that made no call has no chunk. */
export function noSignatures(meta: Meta): Signatures {
  return { ...emptySignatures(0), first: new Uint32Array(meta.groupRanks + 1) };
}

export function readSignatures(reader: Reader, data: Uint8Array, entry: Entry): Signatures {
  const c = reader.chunk(entry, data);
  return {
    first: c.u32(),
    op: c.u32(),
    class: c.u8(),
    callSite: c.i32(),
    comm: c.u32(),
    peer: c.i32(),
    tag: c.i32(),
    bytes: c.f64(),
    messageBytes: c.f64(),
    flags: c.u8(),
  };
}
