// lines.ts - messages as lines, many thousand of them: each adds its cover to the pixels it passes, and what many cover
// is shown by a curve that never hides what is below. Pure.
import type { Rgb } from './color';

const WIDTH_MAX = 24; // CSS pixels
const STRENGTH = 0.92; // of one wide line
const CROWDED = 0.6; // of that, of many on each other
const CROWDED_LEAST = 0.42; // of that, where lines are everywhere
const ROOM = 0.12; // of the picture that lines may cover and still be strong

export type WidthScale = 'log' | 'linear';

/** How wide a message is, CSS pixels. Logarithmic: a pixel more for each fourfold size from 1/64 of `bytesPerPixel` on; linear: its
 * bytes over bytesPerPixel. */
export function widthOf(bytes: number, bytesPerPixel: number, scale: WidthScale): number {
  const px = bytes / Math.max(1e-9, bytesPerPixel);
  if (scale === 'linear') return Math.min(WIDTH_MAX, px);
  return Math.min(WIDTH_MAX, 0.7 + Math.max(0, Math.log2(Math.max(px, 2 ** -40) * 64) / 2) * 0.5);
}

/** A square in which the cover is added up; kept from picture to picture, so that memory is taken once. */
let sheet = new Float32Array(0);

export class Lines {
  private readonly sum: Float32Array; // cover, red, green, blue of each pixel

  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    const n = 4 * width * height;
    if (sheet.length < n) sheet = new Float32Array(n);
    else sheet.fill(0, 0, n);
    this.sum = sheet;
  }

  /** A line from (x1, y1) to (x2, y2), all in device pixels; a thin one is a faint one. */
  line(x1: number, y1: number, x2: number, y2: number, width: number, c: Rgb): void {
    const dx = x2 - x1;
    const dy = y2 - y1;
    const steep = Math.abs(dy) > Math.abs(dx);
    const along = steep ? dy : dx;
    if (along === 0) return;
    const a1 = steep ? y1 : x1;
    const a2 = steep ? y2 : x2;
    const b1 = steep ? x1 : y1;
    const slope = (steep ? dx : dy) / along;
    const strength = Math.min(1, Math.max(0.25, width));
    const half = (Math.max(1, width) * Math.sqrt(1 + slope * slope)) / 2;
    const limit = steep ? this.height : this.width;
    const breadth = steep ? this.width : this.height;
    const first = Math.max(0, Math.floor(Math.min(a1, a2)));
    const last = Math.min(limit - 1, Math.ceil(Math.max(a1, a2)) - 1);
    const { sum } = this;
    const stepA = steep ? 4 * this.width : 4;
    const stepB = steep ? 4 : 4 * this.width;
    for (let a = first; a <= last; a++) {
      const centre = b1 + (a + 0.5 - a1) * slope;
      const from = Math.max(0, centre - half);
      const to = Math.min(breadth, centre + half);
      for (let b = Math.floor(from); b < to; b++) {
        const cover = (Math.min(to, b + 1) - Math.max(from, b)) * strength;
        const at = a * stepA + b * stepB;
        sum[at] = sum[at]! + cover;
        sum[at + 1] = sum[at + 1]! + cover * c[0];
        sum[at + 2] = sum[at + 2]! + cover * c[1];
        sum[at + 3] = sum[at + 3]! + cover * c[2];
      }
    }
  }

  /** How much of the picture is below lines. */
  private filled(): number {
    const { sum } = this;
    const n = this.width * this.height;
    let covered = 0;
    for (let i = 0; i < n; i += 7) if (sum[4 * i]! > 0.3) covered++;
    return covered / Math.max(1, n / 7);
  }

  /** Over the pixels of the bars: the more of the picture is covered, and the more lines a pixel has, the more of the bars shows. */
  over(pixels: Uint32Array): void {
    const { sum } = this;
    const most = STRENGTH * Math.min(1, Math.max(CROWDED_LEAST, Math.sqrt(ROOM / Math.max(1e-6, this.filled()))));
    for (let i = 0, at = 0; i < pixels.length; i++, at += 4) {
      const n = sum[at]!;
      if (n <= 0.004) continue;
      const alpha = n <= 1 ? n * most : most * (CROWDED + (1 - CROWDED) / n);
      const below = pixels[i]!;
      const kept = ((below >>> 24) / 255) * (1 - alpha);
      const out = alpha + kept;
      const mine = (alpha * 255) / n / out;
      const theirs = kept / out;
      const r = sum[at + 1]! * mine + (below & 255) * theirs;
      const g = sum[at + 2]! * mine + ((below >>> 8) & 255) * theirs;
      const b = sum[at + 3]! * mine + ((below >>> 16) & 255) * theirs;
      pixels[i] = ((out * 255) << 24) | ((b & 255) << 16) | ((g & 255) << 8) | (r & 255);
    }
  }
}
