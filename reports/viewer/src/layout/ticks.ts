// ticks.ts - round moments for a time axis. Pure.

/** The step (1, 2 or 5 times a power of ten, in ns) that puts ticks at least minPixels apart. */
export function tickStep(nsPerPixel: number, minPixels: number): number {
  const least = Math.max(nsPerPixel * minPixels, 1);
  const power = 10 ** Math.floor(Math.log10(least));
  for (const k of [1, 2, 5]) if (k * power >= least * 0.999999) return k * power;
  return 10 * power;
}

export function ticks(from: number, to: number, step: number): number[] {
  const out: number[] = [];
  for (let k = Math.ceil(from / step); k * step <= to; k++) out.push(k * step);
  return out;
}
