// spacetime_pointer.ts - the pointer over the space-time diagram: drag pans, Shift drag is an area, the wheel zooms, a press without a move clicks.
import { h } from '../draw/dom';

export interface Actions {
  hover(x: number, y: number): void;
  leave(): void;
  click(x: number, y: number): void;
  move(dx: number, dy: number): void;
  area(x1: number, y1: number, x2: number, y2: number): void;
  /** across: the distance of lines, not that of levels. */
  wheel(x: number, y: number, factor: number, across: boolean): void;
}

const MOVED = 4; // pixels that make a drag
const PER_PIXEL = 0.0025; // of the wheel

export class Pointer {
  private pressed: { x: number; y: number; lastX: number; lastY: number; area: HTMLElement | null } | null = null;
  private moving = false;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly stage: HTMLElement,
    private readonly act: Actions,
  ) {
    canvas.addEventListener('pointermove', (e) => this.move(e));
    canvas.addEventListener('pointerleave', () => act.leave());
    canvas.addEventListener('pointerdown', (e) => this.press(e));
    canvas.addEventListener('pointerup', (e) => this.release(e));
    canvas.addEventListener('pointercancel', () => this.end());
    canvas.addEventListener('wheel', (e) => this.wheel(e), { passive: false });
  }

  private press(e: PointerEvent): void {
    if (e.button !== 0) return;
    const area = e.shiftKey ? h('div', { class: 'space-area' }) : null;
    this.pressed = { x: e.offsetX, y: e.offsetY, lastX: e.offsetX, lastY: e.offsetY, area };
    this.moving = false;
    this.canvas.setPointerCapture(e.pointerId);
  }

  private move(e: PointerEvent): void {
    const p = this.pressed;
    if (!p) return this.act.hover(e.offsetX, e.offsetY);
    if (!this.moving && Math.hypot(e.offsetX - p.x, e.offsetY - p.y) < MOVED) return;
    if (!this.moving) {
      this.moving = true;
      this.act.leave();
      if (p.area) this.stage.append(p.area);
      else this.stage.classList.add('dragging');
    }
    if (p.area) {
      const [left, top] = [Math.min(p.x, e.offsetX), Math.min(p.y, e.offsetY)];
      const size = { width: Math.abs(e.offsetX - p.x), height: Math.abs(e.offsetY - p.y) };
      Object.assign(p.area.style, { left: `${left}px`, top: `${top}px` });
      Object.assign(p.area.style, { width: `${size.width}px`, height: `${size.height}px` });
    } else this.act.move(e.offsetX - p.lastX, e.offsetY - p.lastY);
    [p.lastX, p.lastY] = [e.offsetX, e.offsetY];
  }

  private release(e: PointerEvent): void {
    const p = this.pressed;
    const isClick = p && !this.moving;
    const isArea = p?.area && this.moving;
    this.end();
    if (isClick) this.act.click(e.offsetX, e.offsetY);
    else if (isArea) this.act.area(p.x, p.y, e.offsetX, e.offsetY);
  }

  private end(): void {
    this.pressed?.area?.remove();
    this.pressed = null;
    this.moving = false;
    this.stage.classList.remove('dragging');
  }

  private wheel(e: WheelEvent): void {
    e.preventDefault();
    const lines = e.deltaMode === 1 ? 20 : 1;
    const turned = (e.deltaY || e.deltaX) * lines;
    this.act.wheel(e.offsetX, e.offsetY, Math.exp(-turned * PER_PIXEL), e.altKey || e.shiftKey);
  }
}
