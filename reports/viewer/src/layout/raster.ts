// raster.ts - rows of shares become pixels: colours of classes, patterns, hatching of waiting, textures of what is not
// known. Pure: a Uint32Array in the order of ImageData. Nothing here needs a page, or a graphics card.
import { CLASSES, WAITING_STYLE } from './color';
import type { ClassStyle, Rgb } from './color';
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
  planes?: ClassStyle[]; // 1 to 8, where they are not classes and waiting
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
  readonly tiles: Uint8Array[] = [];

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
  private readonly column: Uint32Array; // of the row that is drawn: its colours without strokes
  private readonly dominant: Uint8Array; // plane; 0: none; SEVERAL
  private readonly sums: Float32Array; // share of all planes; most of one; red, green, blue times share
  private readonly strokes: Uint32Array; // pixels that may have a stroke, their colour and pattern
  private readonly strokeColors: Uint32Array;
  private readonly strokeKinds: Uint8Array;
  private readonly stacks: Uint32Array; // pixels that differ from line to line by more than a stroke
  private readonly place: Uint16Array; // in a tile of patterns
  private readonly unrecorded: Rgb;
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
    const planes = palette.planes ?? [...CLASSES.slice(1), WAITING_STYLE];
    this.colors = [palette.idle, ...planes.map((c) => c.color), palette.hidden];
    this.kinds = [0, ...planes.map((c) => c.pattern), 0];
    this.plain = this.colors.map((c) => packed(c));
    const white: Rgb = [1, 1, 1];
    this.stroke = this.colors.map((c, k) => packed(k === WAITING ? palette.paper : mixed(c, white, 0.34)));
    this.column = new Uint32Array(width);
    this.dominant = new Uint8Array(width);
    this.sums = new Float32Array(5 * width);
    this.strokes = new Uint32Array(width);
    this.strokeColors = new Uint32Array(width);
    this.strokeKinds = new Uint8Array(width);
    this.stacks = new Uint32Array(width);
    this.place = Uint16Array.from({ length: width }, (_, x) => x % kept!.size);
    const faint = (share: number) => packed(mixed(palette.paper, palette.unknown, share));
    this.unrecorded = mixed(palette.paper, palette.unknown, 0.12);
    this.textures = [
      { base: this.plain[0]!, line: this.plain[0]!, kind: 0 },
      { base: 0, line: 0, kind: 0 },
      { base: faint(0.12), line: faint(0.4), kind: 4 },
      { base: packed(mixed(palette.paper, palette.damaged, 0.25)), line: packed(palette.damaged), kind: 6 },
      { base: faint(0.03), line: faint(0.5), kind: 2 },
      { base: faint(0.12), line: faint(0.4), kind: 4 },
    ];
  }

  /** Adds the shares up, plane by plane: much faster than pixel by pixel. */
  private addPlanes(s: Shares): void {
    const { share, width } = s;
    const { sums, dominant } = this;
    sums.fill(0);
    dominant.fill(0);
    const [most, red, green, blue] = [width, 2 * width, 3 * width, 4 * width];
    for (const p of s.planes()) {
      const [r, g, b] = this.colors[p]!;
      const base = p * width;
      for (let x = 0; x < width; x++) {
        const v = share[base + x]!;
        if (v === 0) continue;
        sums[x]! += v;
        const shown = v > 0 ? v : 0;
        sums[red + x]! += shown * r;
        sums[green + x]! += shown * g;
        sums[blue + x]! += shown * b;
        if (v > sums[most + x]!) {
          sums[most + x] = v;
          dominant[x] = p;
        }
      }
    }
  }

  /** The colour of one pixel, and which plane it is mostly of; known: of what is in no plane. */
  private mix(x: number, known: number): void {
    const { sums, width, dominant, column } = this;
    const sum = sums[x]!;
    if (sum <= 1e-7) {
      dominant[x] = 0;
      column[x] = this.plain[0]!;
      return;
    }
    const most = sums[width + x]!;
    if (most > 0.98) {
      column[x] = this.plain[dominant[x]!]!;
      return;
    }
    const shown = Math.min(1, Math.max(LEAST, sum));
    const scale = shown / sum;
    const rest = 1 - shown;
    const idle = known === Known.Unrecorded ? this.unrecorded : this.colors[0]!;
    const r = clamped(idle[0] * rest + sums[2 * width + x]! * scale);
    const g = clamped(idle[1] * rest + sums[3 * width + x]! * scale);
    const b = clamped(idle[2] * rest + sums[4 * width + x]! * scale);
    if (most < DOMINANT) dominant[x] = SEVERAL;
    column[x] = (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
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

  private stackedPixel(s: Shares, x: number, y: number, level: number): number {
    const plane = this.stacked(s, x, level);
    const kind = this.kinds[plane]!;
    return kind > 0 && this.patterns.at(kind, x, y) ? this.stroke[plane]! : this.plain[plane]!;
  }

  /** The column of the row, and its pixels that differ from line to line: how many have strokes, how many are stacked. */
  private findSpecial(s: Shares, stacks: boolean): [number, number] {
    let [strokes, stacked] = [0, 0];
    const { dominant, column, plain, kinds } = this;
    const strokeAt = (x: number, kind: number, color: number) => {
      this.strokes[strokes] = x;
      this.strokeKinds[strokes] = kind;
      this.strokeColors[strokes++] = color;
    };
    this.addPlanes(s);
    for (let x = 0; x < this.width; x++) {
      this.mix(x, s.known[x]!);
      const plane = dominant[x]!;
      if (plane === 0) {
        if (s.known[x] === Known.Yes) continue;
        const t = this.textures[s.known[x]!]!;
        column[x] = t.base;
        if (t.kind > 0) strokeAt(x, t.kind, t.line);
      } else if (stacks && (plane === SEVERAL || column[x] !== plain[plane])) this.stacks[stacked++] = x;
      else if (plane !== SEVERAL && kinds[plane]! > 0) strokeAt(x, kinds[plane]!, this.stroke[plane]!);
    }
    return [strokes, stacked];
  }

  /** A bar from y1 to y2, device pixels. */
  row(s: Shares, y1: number, y2: number, stacks: boolean): void {
    const [top, bottom] = [Math.max(0, y1), Math.min(this.height, y2)];
    if (bottom <= top) return;
    const isStacked = stacks && y2 - y1 >= STACKED_FROM;
    const [strokes, stacked] = this.findSpecial(s, isStacked);
    for (let y = top; y < bottom; y++) {
      const base = y * this.width;
      this.pixels.set(this.column, base);
      this.drawStrokes(strokes, y, base);
      const level = 1 - (y - y1 + 0.5) / (y2 - y1);
      for (let k = 0; k < stacked; k++) {
        const x = this.stacks[k]!;
        this.pixels[base + x] = this.stackedPixel(s, x, y, level);
      }
    }
  }

  private drawStrokes(n: number, y: number, base: number): void {
    const { strokes, strokeKinds, strokeColors, place, pixels, patterns } = this;
    const line = (y % patterns.size) * patterns.size;
    for (let k = 0; k < n; k++) {
      const x = strokes[k]!;
      if (patterns.tiles[strokeKinds[k]!]![line + place[x]!] === 1) pixels[base + x] = strokeColors[k]!;
    }
  }
}
