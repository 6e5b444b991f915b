// samples.ts - the profile over time: what every thread did at each place from one sample to the next.
import type { Entry } from './layout';
import type { Reader } from './reader';

export const enum Known {
  System = 1, // cpu, ready
  Resident = 2,
  Silent = 4, // its node said nothing for this sample; what it did is in a later one
}
/** Threads in order of lane, and the cells of each in order of (operation, call site). All numbers are differences to the sample before. */
export interface Sample {
  number: number; // of the first one that it stands for
  samples: number; // how many it stands for: more than 1 when neighbours were made one
  start: number; // ns
  end: number;
  lane: Uint32Array; // of threads
  known: Uint8Array;
  cpu: Float64Array; // ns on a processor
  ready: Float64Array; // ns ready to run, and on none
  resident: Float64Array; // bytes of the process, at the end
  firstCell: Uint32Array; // of each thread, and one more
  op: Uint16Array; // of cells
  site: Float64Array; // call site, -1 not known
  calls: Float64Array;
  ticks: Float64Array; // of the lane's clock
  bytes: Float64Array;
  wait: Float64Array; // ns in wait states
}

export function readSample(reader: Reader, data: Uint8Array, entry: Entry): Sample {
  const c = reader.chunk(entry, data);
  const [number, samples] = c.f64();
  const { start, end } = entry;
  const of = { lane: c.u32(), known: c.u8() };
  const system = { cpu: c.f64(), ready: c.f64(), resident: c.f64(), firstCell: c.u32() };
  const where = { op: c.u16(), site: c.f64() };
  const sums = { calls: c.f64(), ticks: c.f64(), bytes: c.f64(), wait: c.f64() };
  return { number: number!, samples: samples!, start, end, ...of, ...system, ...where, ...sums };
}
