// minimap.ts - the whole run in one strip: the share of all ranks' time per class, with the interval shown as a
// window that can be dragged, pulled at its edges, or drawn anew.
import { PLANES } from '../decode/tiles';
import { CLASSES, WAITING_STYLE, css } from '../layout/color';
import { list, num } from '../model/analysis';
import { isTotals, opensOf } from '../model/open';
import type { Open } from '../model/open';
import { patternsOf, phasesOf } from '../model/phases';
import type { Phase } from '../model/phases';
import type { Store } from '../model/state';
import type { Session } from '../work/session';
import { h, paper, theme, unknownPattern } from './dom';
import type { Theme } from './dom';

const HEIGHT = 40; // as the style sheet has it, where the page is wide

type Grip = 'from' | 'to' | 'all' | 'new';

export class Minimap {
  readonly element = h('canvas', { class: 'minimap', 'aria-hidden': 'true' });
  private shares: Float32Array | null = null;
  private readonly phases: Phase[];
  private readonly isTotals: boolean;
  private readonly unknownFrom: Float64Array; // ns, ascending: what is not drawn of a rank more is not known
  private readonly opens: ReadonlyMap<number, Open[]>;
  private readonly patterns: Phase[];
  private readonly ground = h('canvas'); // all but the window, which is all that changes from step to step
  private groundKey = '';
  private shownKey = '';
  private width = 100;
  private grip: Grip | null = null;
  private anchor = 0; // ns

  constructor(
    private readonly trace: Session,
    private readonly store: Store,
    private readonly left: () => number,
  ) {
    this.phases = phasesOf(trace.analysis);
    const { analysis, meta } = trace;
    this.isTotals = isTotals(analysis, meta.events);
    const first = Float64Array.from(
      { length: meta.ranks },
      (_, rank) => trace.laneRecordedUntil[meta.firstLane[rank]!]!,
    ); // as tiles are
    this.unknownFrom = first.filter((ns) => ns < Infinity).sort();
    this.opens = opensOf(analysis);
    const whole = (p: Phase) => p.to - p.from > 0.95 * trace.meta.runtime;
    this.patterns = patternsOf(trace.analysis).filter((p) => !whole(p));
    this.element.addEventListener('pointerdown', (e) => this.down(e));
    this.element.addEventListener('pointermove', (e) => this.move(e));
    for (const type of ['pointerup', 'pointercancel'] as const)
      this.element.addEventListener(type, () => (this.grip = null));
  }

  /** What is drawn below the window: by class and bin. */
  take(shares: Float32Array): void {
    this.shares = shares;
    this.groundKey = '';
  }

  private get runtime(): number {
    return Math.max(1, this.trace.meta.runtime);
  }

  private x(ns: number): number {
    return this.left() + (ns / this.runtime) * (this.width - this.left());
  }

  private time(event: PointerEvent): number {
    return ((event.offsetX - this.left()) / (this.width - this.left())) * this.runtime;
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

  /** How much of it was waiting, by the time windows of the analysis: from the top. */
  private drawWaiting(g: CanvasRenderingContext2D, width: number, height: number): void {
    g.fillStyle = css(WAITING_STYLE.color);
    if (this.isTotals) this.drawOpen(g, width, height);
    for (const x of list(this.trace.analysis, 'time_windows')) {
      const [from, to] = [num(x, 'start_s'), num(x, 'end_s')];
      const all = (num(x, 'useful_s') ?? 0) + (num(x, 'mpi_s') ?? 0);
      if (from === undefined || to === undefined || all <= 0) continue;
      const [x1, x2] = [this.x(from * 1e9), Math.min(width, this.x(to * 1e9))];
      g.fillRect(x1, 0, Math.max(1, x2 - x1 - 0.5), (Math.min(1, (num(x, 'wait_s') ?? 0) / all) * height) / 2);
    }
  }

  /** Of calls that nobody came back from, where there are no such windows: how many wait from each moment on. */
  private drawOpen(g: CanvasRenderingContext2D, width: number, height: number): void {
    const { meta } = this.trace;
    const waiting = [...this.opens.values()].map((calls) => calls.find((x) => x.waits)).filter((x) => !!x);
    const changes = waiting.flatMap(({ from, to }) => [
      { at: from, by: 1 },
      { at: to, by: -1 },
    ]);
    changes.sort((a, b) => a.at - b.at);
    let n = 0;
    changes.forEach(({ at, by }, i) => {
      n += by;
      const [x1, x2] = [this.x(at), Math.min(width, this.x(changes[i + 1]?.at ?? at))];
      g.fillRect(x1, 0, x2 - x1, ((n / meta.ranks) * height) / 2);
    });
  }

  /** Where phases begin, with their names; below them the windows of patterns that do not hold for all of the run. */
  private drawPhases(g: CanvasRenderingContext2D, width: number, height: number, colors: Theme): void {
    g.font = '10px system-ui, sans-serif';
    g.textBaseline = 'top';
    g.textAlign = 'left';
    const label = (text: string, from: number, room: number, y: number) => {
      const x = Math.round(from); // as the line beside it
      const wide = g.measureText(text).width + 6;
      if (wide > room) return;
      g.globalAlpha = 0.85;
      g.fillStyle = colors.paper;
      g.fillRect(x + 1, y, wide, 13);
      g.globalAlpha = 1;
      g.fillStyle = colors.text;
      g.fillText(text, x + 4, y + 1);
    };
    for (const { name, from, to } of this.phases) {
      const [x1, x2] = [this.x(from), Math.min(width, this.x(to))];
      g.fillStyle = colors.text;
      if (from > 0) g.fillRect(Math.round(x1), 0, 1, height);
      label(name, x1, x2 - x1, 1);
    }
    for (const { name, from, to } of this.patterns) {
      const [x1, x2] = [this.x(from), Math.min(width, this.x(to))];
      g.fillStyle = colors.text;
      g.fillRect(x1, height - 5, Math.max(2, x2 - x1), 3); // above the edge of the window
      label(name, x1, x2 - x1, height - 19);
    }
  }

  /** Of how many ranks single calls are missing, bin by bin. */
  private drawUnknown(g: CanvasRenderingContext2D, width: number, height: number, colors: Theme): void {
    const { bins, ranks } = this.trace.meta;
    const step = (width - this.left()) / bins;
    const hatch = unknownPattern(g, colors.line);
    let n = 0;
    for (let b = 0; b < bins; b++) {
      while (n < this.unknownFrom.length && this.unknownFrom[n]! <= ((b + 0.5) / bins) * this.runtime) n++;
      const [x, tall] = [this.left() + b * step, (n / ranks) * height];
      g.fillStyle = colors.paper;
      g.fillRect(x, 0, step, tall);
      g.fillStyle = hatch;
      g.fillRect(x, 0, step, tall);
    }
  }

  private drawGround(width: number, height: number, colors: Theme): void {
    const { g } = paper(this.ground, { width, height });
    const bins = this.trace.meta.bins;
    const step = (width - this.left()) / bins;
    g.fillStyle = colors.idle;
    g.fillRect(this.left(), 0, width - this.left(), height);
    if (this.unknownFrom.length > 0) this.drawUnknown(g, width, height, colors);
    for (let b = 0; this.shares && b < bins; b++) {
      let y = height;
      for (let c = PLANES; c >= 1; c--) {
        const tall = this.shares[(c - 1) * bins + b]! * height;
        g.fillStyle = css(CLASSES[c]!.color);
        g.fillRect(this.left() + b * step, y - tall, step + 0.5, tall);
        y -= tall;
      }
    }
    this.drawWaiting(g, width, height);
    this.drawPhases(g, width, height, colors);
    g.font = '11px system-ui, sans-serif';
    g.fillStyle = colors.dim;
    g.textAlign = 'right';
    g.textBaseline = 'middle';
    if (this.left() > 50) g.fillText('whole run', this.left() - 8, height / 2);
  }

  draw(width: number): void {
    const height = HEIGHT;
    const colors = theme();
    const { from, to } = this.store.state;
    const groundKey = JSON.stringify([width, this.left(), devicePixelRatio, colors]);
    const isNew = groundKey !== this.groundKey;
    const shownKey = `${from} ${to}`;
    if (!isNew && shownKey === this.shownKey) return;
    this.width = width;
    if (isNew) this.drawGround(width, height, colors);
    this.groundKey = groundKey;
    this.shownKey = shownKey;
    const { g } = paper(this.element, { width, height });
    g.drawImage(this.ground, 0, 0, width, height);
    const [x1, x2] = [Math.max(this.left(), this.x(from)), Math.min(width, this.x(to))];
    g.fillStyle = colors.paper;
    g.globalAlpha = 0.72;
    g.fillRect(this.left(), 0, x1 - this.left(), height);
    g.fillRect(x2, 0, width - x2, height);
    g.globalAlpha = 1;
    g.strokeStyle = colors.accent;
    g.lineWidth = 1.5;
    g.strokeRect(x1 + 0.75, 0.75, Math.max(1, x2 - x1 - 1.5), height - 1.5);
  }
}
