// clock.ts - what turns ticks of a processor's clock into nanoseconds; the reader does.
import type { Entry } from './layout';
import type { Reader } from './reader';

export interface Clock {
  knots: Uint8Array; // as the reader wants them again
  tickNs: number; // over all of the run
}

export function readClock(reader: Reader, data: Uint8Array, entry: Entry): Clock {
  const c = reader.chunk(entry, data);
  return { knots: c.u8(), tickNs: c.f64()[0]! };
}
