// shares.ts - what a row of pixels of the timeline shows: for each pixel the share of time of each class, of waiting,
// of what a filter hides, and what is known at all. Pure; filled from calls, wait states and summary tiles.

export const WAITING = 8; // planes 1..7 are the classes
export const HIDDEN = 9; // by a filter
export const PLANES_ALL = 10;

/** What is known of a moment of a row. */
export const enum Known {
  Yes = 0, // what is not MPI is outside of it
  Outside = 1, // of the run
  Loading = 2,
  Damaged = 3,
  Ended = 4, // the record of the rank
  Unrecorded = 5, // single calls are missing
}

export class Shares {
  readonly share: Float32Array; // by plane, by pixel
  readonly known: Uint8Array; // by pixel: Known
  private rows = 0;
  private used = 0; // bit by plane

  constructor(readonly width: number) {
    this.share = new Float32Array(PLANES_ALL * width);
    this.known = new Uint8Array(width);
  }

  /** Planes that anything was added to. */
  planes(): number[] {
    const list: number[] = [];
    for (let p = 1; p < PLANES_ALL; p++) if ((this.used >> p) & 1) list.push(p);
    return list;
  }

  clear(): void {
    for (const p of this.planes()) this.share.fill(0, p * this.width, (p + 1) * this.width);
    this.used = 0;
    this.known.fill(Known.Yes);
    this.rows = 0;
  }

  /** So many ranks or threads were added: the mean is shown. */
  addRows(n: number): void {
    this.rows += n;
  }

  /** Time from x1 to x2, in pixels, of a plane; weight: its share there. */
  add(plane: number, x1: number, x2: number, weight: number): void {
    const { share, width } = this;
    const left = x1 > 0 ? x1 : 0;
    const right = x2 < width ? x2 : width;
    if (!(right > left)) return;
    this.used |= 1 << plane;
    const base = plane * width;
    const first = Math.floor(left);
    const last = Math.min(width - 1, Math.floor(right));
    if (first === last) {
      share[base + first]! += (right - left) * weight;
      return;
    }
    share[base + first]! += (first + 1 - left) * weight;
    for (let x = first + 1; x < last; x++) share[base + x]! += weight;
    share[base + last]! += (right - last) * weight;
  }

  /** Pixels of which more than half lies in [x1, x2). */
  mark(known: Known, x1: number, x2: number): void {
    const first = Math.max(0, Math.round(x1));
    const last = Math.min(this.width, Math.round(x2));
    if (last > first) this.known.fill(known, first, last);
  }

  /** Shares of the mean of the rows. */
  seal(): void {
    if (this.rows <= 1) return;
    const scale = 1 / this.rows;
    for (const p of this.planes()) for (let i = p * this.width; i < (p + 1) * this.width; i++) this.share[i]! *= scale;
  }
}
