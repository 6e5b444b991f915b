// logical_pointer.ts - pointer and wheel on the view of logical time: zoom about the pointer, pan, scroll ranks.
import type { Rows } from '../layout/rows';

interface Target {
  plot(): { left: number; width: number; rows: Rows };
  zoom(factor: number, x: number): void;
  pan(steps: number, rows: number): void;
  stepsAPixel(): number;
  rowHeight(factor: number, y: number): void;
  /** at: in the window. */
  hover(x: number, y: number, at: { x: number; y: number }): void;
  leave(): void;
  click(x: number, y: number): void;
}

const MOVED = 4; // CSS pixels from where on a press is a drag

export class LogicalPointer {
  private drag: { x: number; y: number; moved: boolean } | null = null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly target: Target,
  ) {
    canvas.addEventListener('wheel', (e) => this.wheel(e), { passive: false });
    canvas.addEventListener('pointerdown', (e) => this.down(e));
    canvas.addEventListener('pointermove', (e) => this.move(e));
    canvas.addEventListener('pointerup', (e) => this.up(e));
    canvas.addEventListener('pointercancel', () => (this.drag = null));
    canvas.addEventListener('pointerleave', () => target.leave());
  }

  private wheel(e: WheelEvent): void {
    e.preventDefault();
    const { target } = this;
    const scale = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1;
    const [dx, dy] = [e.deltaX * scale, e.deltaY * scale];
    target.leave();
    if (e.shiftKey) return target.pan(0, (dy || dx) / target.plot().rows.height);
    if (e.altKey) return target.rowHeight(Math.exp(-dy / 300), e.offsetY);
    if (Math.abs(dx) > Math.abs(dy)) return target.pan(dx * target.stepsAPixel(), 0);
    target.zoom(Math.exp(Math.max(-400, Math.min(400, dy)) / 300), e.offsetX);
  }

  private down(e: PointerEvent): void {
    if (e.button !== 0) return;
    this.canvas.setPointerCapture(e.pointerId);
    this.drag = { x: e.offsetX, y: e.offsetY, moved: false };
  }

  private move(e: PointerEvent): void {
    const { drag, target } = this;
    if (!drag) return target.hover(e.offsetX, e.offsetY, { x: e.clientX, y: e.clientY });
    const [dx, dy] = [e.offsetX - drag.x, e.offsetY - drag.y];
    if (!drag.moved && Math.hypot(dx, dy) < MOVED) return;
    target.leave();
    target.pan(-dx * target.stepsAPixel(), -dy / target.plot().rows.height);
    this.drag = { x: e.offsetX, y: e.offsetY, moved: true };
  }

  private up(e: PointerEvent): void {
    const { drag } = this;
    this.drag = null;
    if (drag && !drag.moved) this.target.click(e.offsetX, e.offsetY);
  }
}
