// lines.ts - messages as lines, many thousand of them: each adds its cover to the pixels it passes, and what many cover
// is shown by a curve that never hides what is below. Pure.
import { packed } from './raster';
import type { Rgb } from './color';

const WIDTH_MAX = 24; // CSS pixels
const STRENGTH = 0.92; // of one wide line
const CROWDED = 0.62; // of many on each other

export type WidthScale = 'log' | 'linear';

/** How wide a message is, CSS pixels. Logarithmic: a pixel more for each fourfold size from 1/64 of `bytesPerPixel` on; linear: its
 * bytes over bytesPerPixel. */
export function widthOf(bytes: number, bytesPerPixel: number, scale: WidthScale): number {
  const px = bytes / Math.max(1e-9, bytesPerPixel);
  if (scale === 'linear') return Math.min(WIDTH_MAX, px);
  return Math.min(WIDTH_MAX, 0.7 + Math.max(0, Math.log2(Math.max(px, 2 ** -40) * 64) / 2) * 0.5);
}

export class Lines {
  private readonly cover: Float32Array;
  private readonly red: Float32Array;
  private readonly green: Float32Array;
  private readonly blue: Float32Array;

  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    const n = width * height;
    [this.cover, this.red, this.green, this.blue] = [0, 0, 0, 0].map(() => new Float32Array(n)) as [
      Float32Array,
      Float32Array,
      Float32Array,
      Float32Array,
    ];
  }

  private put(x: number, y: number, cover: number, c: Rgb): void {
    if (x < 0 || y < 0 || x >= this.width || y >= this.height) return;
    const at = y * this.width + x;
    this.cover[at]! += cover;
    this.red[at]! += cover * c[0];
    this.green[at]! += cover * c[1];
    this.blue[at]! += cover * c[2];
  }

  /** A line from (x1, y1) to (x2, y2), all in device pixels; a thin one is a faint one. */
  line(x1: number, y1: number, x2: number, y2: number, width: number, c: Rgb): void {
    const [dx, dy] = [x2 - x1, y2 - y1];
    const steep = Math.abs(dy) > Math.abs(dx);
    const [along, across] = steep ? [dy, dx] : [dx, dy];
    if (along === 0) return;
    const [a1, a2, b1] = steep ? [y1, y2, x1] : [x1, x2, y1];
    const slope = across / along;
    const strength = Math.min(1, Math.max(0.25, width));
    const half = (Math.max(1, width) * Math.hypot(1, slope)) / 2;
    const limit = steep ? this.height : this.width;
    const first = Math.max(0, Math.floor(Math.min(a1, a2)));
    const last = Math.min(limit - 1, Math.ceil(Math.max(a1, a2)) - 1);
    for (let a = first; a <= last; a++) {
      const centre = b1 + (a + 0.5 - a1) * slope;
      const [from, to] = [centre - half, centre + half];
      for (let b = Math.floor(from); b < to; b++) {
        const part = Math.min(to, b + 1) - Math.max(from, b);
        if (part <= 0) continue;
        if (steep) this.put(b, a, part * strength, c);
        else this.put(a, b, part * strength, c);
      }
    }
  }

  /** Over the pixels of the bars. */
  over(pixels: Uint32Array): void {
    const { cover } = this;
    for (let i = 0; i < cover.length; i++) {
      const n = cover[i]!;
      if (n <= 0.004) continue;
      // one line is strong, a crowd settles where the bars still show
      const alpha = n <= 1 ? n * STRENGTH : CROWDED + (STRENGTH - CROWDED) / n;
      const below = pixels[i]!;
      const kept = ((below >>> 24) / 255) * (1 - alpha);
      const out = alpha + kept;
      const mix = (mine: number, shift: number) =>
        ((mine / n) * alpha + (((below >>> shift) & 255) / 255) * kept) / out;
      pixels[i] = packed([mix(this.red[i]!, 0), mix(this.green[i]!, 8), mix(this.blue[i]!, 16)], out);
    }
  }
}
