// raster.ts - rows of shares become pixels: colours of classes, patterns, hatching of waiting, textures of what is not
// known. Pure: a Uint32Array in the order of ImageData. Nothing here needs a page, or a graphics card.
import { CLASSES, WAITING_STYLE } from './color';
import type { Rgb } from './color';
import { Known, PLANES_ALL, WAITING } from './shares';
import type { Shares } from './shares';

const LEAST = 0.3; // of its colour that a call shows, however short it is
const DOMINANT = 0.6; // of a pixel: then it has the pattern of its class
const SEVERAL = 255; // planes share a pixel
const STACKED_FROM = 12; // device pixels of a bar that shows shares as heights

export interface Palette {
  idle: Rgb;
  hidden: Rgb;
  paper: Rgb;
  unknown: Rgb; // lines of textures
  damaged: Rgb;
}

/** 0xAABBGGRR, as ImageData has it on little-endian machines. */
export function packed(c: Rgb, alpha = 1): number {
  const [r, g, b] = c.map((x) => Math.round(Math.min(1, Math.max(0, x)) * 255)) as Rgb;
  return ((Math.round(alpha * 255) << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** Whether a pattern has a stroke there; x, y in CSS pixels. */
export function inPattern(kind: number, x: number, y: number): boolean {
  const mod = (a: number, n: number) => ((a % n) + n) % n;
  if (kind === 1) return mod(x + y, 6) < 1.5;
  if (kind === 2) return Math.hypot(mod(x, 5) - 2.5, mod(y, 5) - 2.5) < 1;
  if (kind === 3) return mod(x, 5) < 1.2;
  if (kind === 4) return mod(x - y, 6) < 1.5;
  if (kind === 5) return mod(y, 4) < 1.2;
  return kind === 6 && (mod(x, 6) < 1 || mod(y, 6) < 1);
}

const TILE = 60; // of the patterns in CSS pixels: a multiple of all their periods

/** Patterns by kind, as a tile of device pixels. */
class Patterns {
  readonly size: number;
  private readonly tiles: Uint8Array[] = [];

  constructor(readonly ratio: number) {
    this.size = Math.round(TILE * ratio);
    for (let kind = 0; kind <= 6; kind++) {
      const tile = new Uint8Array(this.size * this.size);
      for (let y = 0; y < this.size; y++)
        for (let x = 0; x < this.size; x++)
          tile[y * this.size + x] = Number(inPattern(kind, (x + 0.5) / ratio, (y + 0.5) / ratio));
      this.tiles.push(tile);
    }
  }

  at(kind: number, x: number, y: number): boolean {
    if (kind === 0) return false;
    return this.tiles[kind]![(y % this.size) * this.size + (x % this.size)] === 1;
  }
}

function clamped(x: number): number {
  return x >= 1 ? 255 : x <= 0 ? 0 : (x * 255 + 0.5) | 0;
}

function mixed(a: Rgb, b: Rgb, share: number): Rgb {
  return a.map((v, k) => v + (b[k]! - v) * share) as Rgb;
}

let kept: Patterns | null = null;

export class Raster {
  readonly pixels: Uint32Array;
  private readonly patterns: Patterns;
  private readonly colors: Rgb[];
  private readonly plain: number[]; // by plane
  private readonly stroke: number[];
  private readonly kinds: number[];
  private readonly column: Uint32Array; // of the row that is drawn
  private readonly dominant: Uint8Array; // plane; 0: none; SEVERAL
  private readonly specials: Uint32Array;
  private readonly textures: { base: number; line: number; kind: number }[];

  constructor(
    readonly width: number,
    readonly height: number,
    ratio: number,
    palette: Palette,
  ) {
    this.pixels = new Uint32Array(width * height);
    if (!kept || kept.ratio !== ratio) kept = new Patterns(ratio);
    this.patterns = kept;
    this.colors = [palette.idle, ...CLASSES.slice(1).map((c) => c.color), WAITING_STYLE.color, palette.hidden];
    this.kinds = [0, ...CLASSES.slice(1).map((c) => c.pattern), WAITING_STYLE.pattern, 0];
    this.plain = this.colors.map((c) => packed(c));
    const white: Rgb = [1, 1, 1];
    this.stroke = this.colors.map((c, k) => packed(k === WAITING ? palette.paper : mixed(c, white, 0.34)));
    this.column = new Uint32Array(width);
    this.dominant = new Uint8Array(width);
    this.specials = new Uint32Array(width);
    const faint = (share: number) => packed(mixed(palette.paper, palette.unknown, share));
    this.textures = [
      { base: this.plain[0]!, line: this.plain[0]!, kind: 0 },
      { base: 0, line: 0, kind: 0 },
      { base: faint(0.12), line: faint(0.4), kind: 4 },
      { base: packed(mixed(palette.paper, palette.damaged, 0.25)), line: packed(palette.damaged), kind: 6 },
      { base: faint(0.03), line: faint(0.5), kind: 2 },
    ];
  }

  /** The colour of one pixel, and which plane it is mostly of. */
  private mix(s: Shares, x: number, planes: readonly number[]): void {
    const { share, width } = s;
    let sum = 0;
    let most = 0;
    let plane = 0;
    for (const p of planes) {
      const v = share[p * width + x]!;
      if (v === 0) continue;
      sum += v;
      if (v > most) {
        most = v;
        plane = p;
      }
    }
    if (sum <= 1e-7) {
      this.dominant[x] = 0;
      this.column[x] = this.plain[0]!;
      return;
    }
    if (most > 0.98) {
      this.dominant[x] = plane;
      this.column[x] = this.plain[plane]!;
      return;
    }
    const shown = Math.min(1, Math.max(LEAST, sum));
    const scale = shown / sum;
    const rest = 1 - shown;
    const idle = this.colors[0]!;
    let r = idle[0] * rest;
    let g = idle[1] * rest;
    let b = idle[2] * rest;
    for (const p of planes) {
      const v = share[p * width + x]! * scale;
      if (v <= 0) continue;
      const c = this.colors[p]!;
      r += v * c[0];
      g += v * c[1];
      b += v * c[2];
    }
    this.dominant[x] = most >= DOMINANT ? plane : SEVERAL;
    this.column[x] = (0xff000000 | (clamped(b) << 16) | (clamped(g) << 8) | clamped(r)) >>> 0;
  }

  /** Shares as heights: which plane a pixel of a bar has, level counted from its bottom. */
  private stacked(s: Shares, x: number, level: number): number {
    let sum = 0;
    for (let p = PLANES_ALL - 1; p >= 1; p--) {
      sum += s.share[p * s.width + x]!;
      if (level < sum) return p;
    }
    return 0;
  }

  /** A pixel that is not simply its colour in the column. */
  private special(s: Shares, x: number, y: number, level: number): number {
    const dominant = this.dominant[x]!;
    if (dominant === 0) {
      if (s.known[x] === Known.Yes) return this.plain[0]!;
      const t = this.textures[s.known[x]!]!;
      return this.patterns.at(t.kind, x, y) ? t.line : t.base;
    }
    const stacks = level >= 0 && (dominant === SEVERAL || this.column[x] !== this.plain[dominant]);
    const plane = stacks ? this.stacked(s, x, level) : dominant;
    const kind = this.kinds[plane]!;
    if (kind > 0 && this.patterns.at(kind, x, y)) return this.stroke[plane]!;
    return stacks ? this.plain[plane]! : this.column[x]!;
  }

  /** Pixels of the row that differ from line to line. */
  private findSpecial(s: Shares, stacks: boolean): number {
    let n = 0;
    const planes = s.planes();
    for (let x = 0; x < this.width; x++) {
      this.mix(s, x, planes);
      const dominant = this.dominant[x]!;
      const isTexture = dominant === 0 && s.known[x] !== Known.Yes;
      const mixed = dominant === SEVERAL || this.column[x] !== this.plain[dominant];
      if (
        isTexture ||
        (dominant > 0 && dominant < SEVERAL && this.kinds[dominant]! > 0) ||
        (stacks && dominant > 0 && mixed)
      )
        this.specials[n++] = x;
    }
    return n;
  }

  /** A bar from y1 to y2, device pixels. */
  row(s: Shares, y1: number, y2: number, stacks: boolean): void {
    const [top, bottom] = [Math.max(0, y1), Math.min(this.height, y2)];
    if (bottom <= top) return;
    const isStacked = stacks && y2 - y1 >= STACKED_FROM;
    const n = this.findSpecial(s, isStacked);
    for (let y = top; y < bottom; y++) {
      const base = y * this.width;
      const level = isStacked ? 1 - (y - y1 + 0.5) / (y2 - y1) : -1;
      this.pixels.set(this.column, base);
      for (let k = 0; k < n; k++) {
        const x = this.specials[k]!;
        this.pixels[base + x] = this.special(s, x, y, level);
      }
    }
  }
}
