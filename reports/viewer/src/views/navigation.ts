// navigation.ts - pointer, wheel, touch and keyboard on the timeline become changes of the state.
import { h } from '../draw/dom';
import { FIT_MAX, ROW_MAX } from '../layout/rows';
import type { Rows } from '../layout/rows';
import { AXIS } from '../draw/axis';
import type { App } from './view';

export interface Target {
  plot(): { left: number; width: number; height: number; rows: Rows };
  setRows(change: { rowFirst?: number; rowHeight?: number }): void;
  hover(x: number, y: number): void;
  leave(): void;
  click(x: number, y: number): void;
  step(forward: boolean): void;
  toggleMessages(): void;
}

interface Drag {
  x: number;
  y: number;
  lastX: number;
  lastY: number;
  marks: boolean; // an interval instead of panning
  moved: boolean;
}

interface Point {
  x: number;
  y: number;
}

export class Navigation {
  private drag: Drag | null = null;
  private readonly fingers = new Map<number, Point>();
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
    stage.addEventListener('pointercancel', (e) => this.cancel(e));
    stage.addEventListener('pointerleave', () => target.leave());
    stage.addEventListener('dblclick', (e) => this.doubleClick(e));
    stage.addEventListener('keydown', (e) => this.key(e));
  }

  private at(e: MouseEvent): Point {
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
    this.target.leave();
    const scale = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1;
    const [dx, dy] = [e.deltaX * scale, e.deltaY * scale];
    const { width, rows } = this.target.plot();
    if (e.shiftKey) return this.scroll((dy || dx) / rows.height);
    if (e.altKey) return this.rowHeight(Math.exp(-dy / 300), this.at(e).y);
    if (Math.abs(dx) > Math.abs(dy)) return this.app.store.pan(dx / width);
    this.app.store.zoom(Math.exp(Math.max(-400, Math.min(400, dy)) / 300), this.time(this.at(e).x));
  }

  private scroll(by: number): void {
    const { rows, height } = this.target.plot();
    const most = Math.max(0, rows.count - height / rows.height);
    this.target.setRows({ rowFirst: Math.min(most, Math.max(0, rows.first + by)) });
  }

  /** Change the height of rows, keeping the row at y in its place. */
  private rowHeight(factor: number, y: number): void {
    const { rows, height } = this.target.plot();
    const fit = Math.min(FIT_MAX, height / rows.count);
    const next = Math.min(ROW_MAX, Math.max(fit, rows.height * factor));
    const row = rows.first + (y - AXIS) / rows.height;
    this.target.setRows({ rowHeight: next <= fit ? 0 : next, rowFirst: Math.max(0, row - (y - AXIS) / next) });
  }

  private down(e: PointerEvent): void {
    if (e.button !== 0) return;
    const { x, y } = this.at(e);
    this.stage.setPointerCapture(e.pointerId);
    this.fingers.set(e.pointerId, { x, y });
    const { left } = this.target.plot();
    this.drag = { x, y, lastX: x, lastY: y, marks: e.shiftKey || (y < AXIS && x > left), moved: false };
  }

  private move(e: PointerEvent): void {
    const { x, y } = this.at(e);
    if (this.fingers.size === 2 && this.fingers.has(e.pointerId)) return this.pinch(e.pointerId, { x, y });
    const d = this.drag;
    if (!d) return this.target.hover(x, y);
    if (!d.moved && Math.hypot(x - d.x, y - d.y) < 4) return;
    d.moved = true;
    const { left, width, height, rows } = this.target.plot();
    this.target.leave();
    if (d.marks || d.x < left) return this.mark(d.x, x);
    this.stage.classList.add('dragging');
    this.app.store.pan(-(x - d.lastX) / width);
    if (rows.count * rows.height > height + 1) this.scroll(-(y - d.lastY) / rows.height);
    d.lastX = x;
    d.lastY = y;
  }

  /** Two fingers: what is below each stays below it. */
  private pinch(id: number, now: Point): void {
    const before = [...this.fingers.values()];
    this.fingers.set(id, now);
    const after = [...this.fingers.values()];
    const [a, b] = [Math.abs(before[0]!.x - before[1]!.x), Math.abs(after[0]!.x - after[1]!.x)];
    this.drag = null;
    this.target.leave();
    if (a < 8 || b < 8) return;
    this.app.store.zoom(a / b, this.time((after[0]!.x + after[1]!.x) / 2));
  }

  private mark(a: number, b: number): void {
    this.band.hidden = false;
    this.band.style.left = `${Math.min(a, b)}px`;
    this.band.style.width = `${Math.abs(a - b)}px`;
  }

  private up(e: PointerEvent): void {
    const d = this.drag;
    this.cancel(e);
    if (!d) return;
    const { x, y } = this.at(e);
    if (!d.moved) return this.target.click(x, y);
    if (!d.marks) return;
    const times = [this.time(Math.min(d.x, x)), this.time(Math.max(d.x, x))] as const;
    this.app.store.set({ markFrom: Math.max(0, times[0]), markTo: Math.min(this.app.session.meta.runtime, times[1]) });
  }

  private cancel(e: PointerEvent): void {
    this.fingers.delete(e.pointerId);
    this.drag = null;
    this.band.hidden = true;
    this.stage.classList.remove('dragging');
  }

  private doubleClick(e: MouseEvent): void {
    this.target.leave();
    this.app.store.zoom(0.25, this.time(this.at(e).x));
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const { store } = this.app;
    const middle = (store.state.from + store.state.to) / 2;
    const { rows, height } = this.target.plot();
    const [zoomIn, zoomOut] = [() => store.zoom(0.6, middle), () => store.zoom(1 / 0.6, middle)];
    const actions: Record<string, () => void> = {
      ArrowLeft: () => store.pan(e.shiftKey ? -0.5 : -0.1),
      ArrowRight: () => store.pan(e.shiftKey ? 0.5 : 0.1),
      ArrowUp: () => (e.shiftKey ? this.rowHeight(1.25, AXIS) : this.scroll(-1)),
      ArrowDown: () => (e.shiftKey ? this.rowHeight(0.8, AXIS) : this.scroll(1)),
      PageUp: () => this.scroll(-height / rows.height),
      PageDown: () => this.scroll(height / rows.height),
      '+': zoomIn,
      '=': zoomIn,
      '-': zoomOut,
      w: zoomIn,
      s: zoomOut,
      a: () => store.pan(-0.1),
      d: () => store.pan(0.1),
      Home: () => this.showAll(),
      n: () => this.target.step(true),
      p: () => this.target.step(false),
      ']': () => this.target.step(true),
      '[': () => this.target.step(false),
      m: () => this.target.toggleMessages(),
      x: () => store.set({ markFrom: Math.max(0, store.state.from), markTo: Math.min(store.runtime, store.state.to) }),
      Escape: () => store.set({ picked: '', selected: new Set(), markFrom: 0, markTo: 0 }),
    };
    const action = actions[e.key];
    if (!action) return;
    e.preventDefault();
    this.target.leave();
    action();
  }

  showAll(): void {
    this.app.store.showAll();
    this.target.setRows({ rowFirst: 0, rowHeight: 0 });
  }
}
