// minimap.ts - the whole run in one strip: the share of all ranks' time per class, with the interval shown as a
// window that can be dragged, pulled at its edges, or drawn anew.
import { Kind } from '../decode/layout';
import { PLANES } from '../decode/tiles';
import type { SummaryTile } from '../decode/tiles';
import { CLASSES, css } from '../layout/color';
import type { Store } from '../model/state';
import type { Trace } from '../model/trace';
import { h, paper, theme } from './dom';

type Grip = 'from' | 'to' | 'all' | 'new';

/** Mean share per class and bin over all ranks of one time level-0 picture. */
async function totals(trace: Trace): Promise<Float32Array> {
  const { meta } = trace;
  const sums = new Float32Array(PLANES * meta.bins);
  const rankLevel = meta.rankLevels - 1;
  const entry = trace.tile(Kind.Summary, 0, 0, rankLevel, 0);
  if (!entry) return sums;
  const tile: SummaryTile = await trace.summary(entry);
  for (let c = 0; c < PLANES; c++)
    for (let r = 0; r < tile.rows; r++)
      for (let b = 0; b < meta.bins; b++)
        sums[c * meta.bins + b]! += tile.share[(c * tile.rows + r) * meta.bins + b]! / 255 / tile.rows;
  return sums;
}

export class Minimap {
  readonly element = h('canvas', { class: 'minimap', 'aria-hidden': 'true' });
  private shares: Float32Array | null = null;
  private grip: Grip | null = null;
  private anchor = 0; // ns

  constructor(
    private readonly trace: Trace,
    private readonly store: Store,
    private readonly left: () => number,
  ) {
    this.element.addEventListener('pointerdown', (e) => this.down(e));
    this.element.addEventListener('pointermove', (e) => this.move(e));
    for (const type of ['pointerup', 'pointercancel'] as const)
      this.element.addEventListener(type, () => (this.grip = null));
  }

  /** Load what is drawn below the window. */
  async load(): Promise<void> {
    this.shares = await totals(this.trace);
  }

  private get runtime(): number {
    return Math.max(1, this.trace.meta.runtime);
  }

  private x(ns: number): number {
    return this.left() + (ns / this.runtime) * (this.element.clientWidth - this.left());
  }

  private time(event: PointerEvent): number {
    return ((event.offsetX - this.left()) / (this.element.clientWidth - this.left())) * this.runtime;
  }

  private gripAt(event: PointerEvent): Grip {
    const { from, to } = this.store.state;
    const [x1, x2] = [this.x(from), this.x(to)];
    if (Math.abs(event.offsetX - x1) < 6) return 'from';
    if (Math.abs(event.offsetX - x2) < 6) return 'to';
    const whole = to - from > this.runtime * 0.98;
    return !whole && event.offsetX > x1 && event.offsetX < x2 ? 'all' : 'new';
  }

  private down(event: PointerEvent): void {
    this.grip = this.gripAt(event);
    this.anchor = this.time(event);
    this.element.setPointerCapture(event.pointerId);
  }

  private move(event: PointerEvent): void {
    const { store } = this;
    const { from, to } = store.state;
    const now = this.time(event);
    if (!this.grip) {
      const grip = this.gripAt(event);
      this.element.style.cursor = grip === 'all' ? 'grab' : grip === 'new' ? 'crosshair' : 'ew-resize';
      return;
    }
    if (this.grip === 'all') {
      store.showInterval(from + now - this.anchor, to + now - this.anchor);
      this.anchor = now;
    } else if (this.grip === 'new') {
      if (Math.abs(now - this.anchor) > this.runtime / 500)
        store.showInterval(Math.min(now, this.anchor), Math.max(now, this.anchor));
    } else {
      const ends = this.grip === 'from' ? [now, to] : [from, now];
      if (ends[0]! < ends[1]!) store.showInterval(ends[0]!, ends[1]!);
    }
  }

  draw(): void {
    const { g, width, height } = paper(this.element);
    const colors = theme();
    const { from, to } = this.store.state;
    const bins = this.trace.meta.bins;
    const step = (width - this.left()) / bins;
    g.fillStyle = colors.idle;
    g.fillRect(this.left(), 0, width - this.left(), height);
    for (let b = 0; this.shares && b < bins; b++) {
      let y = height;
      for (let c = PLANES; c >= 1; c--) {
        const tall = this.shares[(c - 1) * bins + b]! * height;
        g.fillStyle = css(CLASSES[c]!.color);
        g.fillRect(this.left() + b * step, y - tall, step + 0.5, tall);
        y -= tall;
      }
    }
    const [x1, x2] = [Math.max(this.left(), this.x(from)), Math.min(width, this.x(to))];
    g.fillStyle = colors.paper;
    g.globalAlpha = 0.72;
    g.fillRect(this.left(), 0, x1 - this.left(), height);
    g.fillRect(x2, 0, width - x2, height);
    g.globalAlpha = 1;
    g.strokeStyle = colors.accent;
    g.lineWidth = 1.5;
    g.strokeRect(x1 + 0.75, 0.75, Math.max(1, x2 - x1 - 1.5), height - 1.5);
    g.font = '11px system-ui, sans-serif';
    g.fillStyle = colors.dim;
    g.textAlign = 'right';
    g.textBaseline = 'middle';
    if (this.left() > 50) g.fillText('whole run', this.left() - 8, height / 2);
  }
}
