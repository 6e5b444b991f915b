// navigation.ts - pointer, wheel and keyboard on the timeline become changes of the shared state.
import { h } from '../draw/dom';
import { FIT_MAX, ROW_MAX } from '../layout/rows';
import type { Rows } from '../layout/rows';
import type { App } from './view';

export interface Target {
  plot(): { left: number; width: number; height: number; rows: Rows };
  hover(x: number, y: number): void;
  leave(): void;
  click(x: number, y: number): void;
  step(forward: boolean): void;
}

interface Drag {
  x: number;
  y: number;
  lastX: number;
  lastY: number;
  select: boolean; // shift: mark an interval instead of panning
  moved: boolean;
}

export class Navigation {
  private drag: Drag | null = null;
  private readonly band = h('div', { class: 'band', hidden: true });

  constructor(
    private readonly app: App,
    private readonly stage: HTMLElement,
    private readonly target: Target,
  ) {
    stage.appendChild(this.band);
    stage.addEventListener('wheel', (e) => this.wheel(e), { passive: false });
    stage.addEventListener('pointerdown', (e) => this.down(e));
    stage.addEventListener('pointermove', (e) => this.move(e));
    stage.addEventListener('pointerup', (e) => this.up(e));
    stage.addEventListener('pointercancel', () => this.cancel());
    stage.addEventListener('pointerleave', () => target.leave());
    stage.addEventListener('dblclick', (e) => this.doubleClick(e));
    stage.addEventListener('keydown', (e) => this.key(e));
  }

  private at(e: MouseEvent): { x: number; y: number } {
    const box = this.stage.getBoundingClientRect();
    return { x: e.clientX - box.left, y: e.clientY - box.top };
  }

  private time(x: number): number {
    const { left, width } = this.target.plot();
    const { from, to } = this.app.store.state;
    return from + ((x - left) / width) * (to - from);
  }

  private wheel(e: WheelEvent): void {
    e.preventDefault();
    const scale = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1;
    const [dx, dy] = [e.deltaX * scale, e.deltaY * scale];
    const { width, rows } = this.target.plot();
    if (e.shiftKey) return this.scroll((dy || dx) / rows.height);
    if (e.altKey) return this.rowHeight(Math.exp(-dy / 300), this.at(e).y);
    if (Math.abs(dx) > Math.abs(dy)) return this.app.store.pan(dx / width);
    this.app.store.zoom(Math.exp(Math.max(-400, Math.min(400, dy)) / 300), this.time(this.at(e).x));
  }

  private scroll(ranks: number): void {
    const { rows, height } = this.target.plot();
    const most = Math.max(0, rows.ranks - height / rows.height);
    this.app.store.set({ rowFirst: Math.min(most, Math.max(0, rows.first + ranks)) });
  }

  /** Change the height of rows, keeping the rank at y in its place. */
  private rowHeight(factor: number, y: number): void {
    const { rows, height } = this.target.plot();
    const fit = Math.min(FIT_MAX, height / rows.ranks);
    const next = Math.min(ROW_MAX, Math.max(fit, rows.height * factor));
    const rank = rows.first + (y - 26) / rows.height;
    this.app.store.set({ rowHeight: next <= fit ? 0 : next, rowFirst: Math.max(0, rank - (y - 26) / next) });
  }

  private down(e: PointerEvent): void {
    if (e.button !== 0) return;
    const { x, y } = this.at(e);
    this.stage.setPointerCapture(e.pointerId);
    this.drag = { x, y, lastX: x, lastY: y, select: e.shiftKey, moved: false };
  }

  private move(e: PointerEvent): void {
    const { x, y } = this.at(e);
    const d = this.drag;
    if (!d) return this.target.hover(x, y);
    if (!d.moved && Math.hypot(x - d.x, y - d.y) < 4) return;
    d.moved = true;
    const { left, width, height, rows } = this.target.plot();
    if (d.select || d.x < left) return this.mark(d.x, x);
    this.target.leave();
    this.stage.classList.add('dragging');
    this.app.store.pan(-(x - d.lastX) / width);
    if (rows.ranks * rows.height > height + 1) this.scroll(-(y - d.lastY) / rows.height);
    d.lastX = x;
    d.lastY = y;
  }

  private mark(a: number, b: number): void {
    this.band.hidden = false;
    this.band.style.left = `${Math.min(a, b)}px`;
    this.band.style.width = `${Math.abs(a - b)}px`;
  }

  private up(e: PointerEvent): void {
    const d = this.drag;
    this.cancel();
    if (!d) return;
    const { x, y } = this.at(e);
    if (!d.moved) return this.target.click(x, y);
    if (d.select) this.app.store.showInterval(this.time(Math.min(d.x, x)), this.time(Math.max(d.x, x)));
  }

  private cancel(): void {
    this.drag = null;
    this.band.hidden = true;
    this.stage.classList.remove('dragging');
  }

  private doubleClick(e: MouseEvent): void {
    this.app.store.zoom(0.25, this.time(this.at(e).x));
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const { store } = this.app;
    const middle = (store.state.from + store.state.to) / 2;
    const { rows, height } = this.target.plot();
    const actions: Record<string, () => void> = {
      ArrowLeft: () => store.pan(e.shiftKey ? -0.5 : -0.1),
      ArrowRight: () => store.pan(e.shiftKey ? 0.5 : 0.1),
      ArrowUp: () => (e.shiftKey ? this.rowHeight(1.25, 26) : this.scroll(-1)),
      ArrowDown: () => (e.shiftKey ? this.rowHeight(0.8, 26) : this.scroll(1)),
      PageUp: () => this.scroll(-height / rows.height),
      PageDown: () => this.scroll(height / rows.height),
      '+': () => store.zoom(0.6, middle),
      '=': () => store.zoom(0.6, middle),
      '-': () => store.zoom(1 / 0.6, middle),
      w: () => store.zoom(0.6, middle),
      s: () => store.zoom(1 / 0.6, middle),
      a: () => store.pan(-0.1),
      d: () => store.pan(0.1),
      Home: () => store.showAll(),
      n: () => this.target.step(true),
      p: () => this.target.step(false),
      m: () => store.set({ showMessages: !store.state.showMessages }),
      Escape: () => store.set({ picked: null, selected: new Set() }),
    };
    const action = actions[e.key];
    if (!action) return;
    e.preventDefault();
    action();
  }
}
