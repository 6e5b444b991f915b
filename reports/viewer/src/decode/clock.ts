// clock.ts - ticks of a processor's clock in nanoseconds: by the last knot before a tick, in the same operations in
// which whoever wrote the file computed them, so that times are equal to the nanosecond.
import { Bytes, Damaged } from './bytes';

const KNOT_BYTES = 24;
const KNOTS_MAX = 1 << 21;
const NS_FAR = 1e17; // what a clock says beyond it is that

export interface Clock {
  tick: Float64Array; // ascending
  ns: Float64Array;
  nsPerTick: Float64Array;
}

export function readClock(data: Uint8Array): Clock {
  const c = new Bytes(data);
  const knots = c.u32();
  c.skip(4 + 8); // the base tick only tells what the counter was
  if (knots < 1 || knots > KNOTS_MAX || c.left !== knots * KNOT_BYTES) throw new Damaged('impossible number of knots');
  const read = (next: () => number) => Float64Array.from({ length: knots }, next);
  const clock = { tick: read(() => c.u64()), ns: read(() => c.f64()), nsPerTick: read(() => c.f64()) };
  for (let k = 0; k < knots; k++) {
    const ascends = k === 0 || clock.tick[k]! > clock.tick[k - 1]!;
    const rate = clock.nsPerTick[k]!;
    if (!ascends || !Number.isFinite(clock.ns[k]!) || !Number.isFinite(rate) || rate <= 0)
      throw new Damaged('impossible knot');
  }
  return clock;
}

/** The knot for a tick: the last one before it, or the first; searched upwards from `from`. */
export function knotFor(clock: Clock, tick: number, from: number): number {
  const { tick: knots } = clock;
  let k = from;
  while (k + 1 < knots.length && knots[k + 1]! <= tick) k++;
  return k;
}

/** The nearest whole number. */
export function rounded(x: number): number {
  if (!(x > -NS_FAR && x < NS_FAR)) return x > 0 ? NS_FAR : -NS_FAR;
  const whole = Math.floor(x);
  return x - whole >= 0.5 ? whole + 1 : whole;
}

export function nsAt(clock: Clock, tick: number, k = knotFor(clock, tick, 0)): number {
  return rounded(clock.ns[k]! + (tick - clock.tick[k]!) * clock.nsPerTick[k]!);
}
