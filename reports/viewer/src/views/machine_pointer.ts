// machine_pointer.ts - what pointers do to a camera: drag turns it, with Shift or the other buttons moves it, wheel and two fingers change
// the distance; a press without a drag is a click.
import { shiftedBy, turned } from '../layout/orbit';
import type { Orbit } from '../layout/orbit';

const CLICK_PX = 5;

export interface OrbitOwner {
  orbit(): Orbit;
  height(): number; // of the picture, px
  move(o: Orbit): void;
  zoom(factor: number): void;
  click(e: PointerEvent): void;
  hover(e: PointerEvent): void;
  leave(): void;
}

export class OrbitPointer {
  private readonly down = new Map<number, { x: number; y: number }>();
  private dragged = 0; // px

  constructor(
    private readonly on: HTMLElement,
    private readonly owner: OrbitOwner,
  ) {
    on.addEventListener('pointerdown', (e) => this.press(e));
    on.addEventListener('pointermove', (e) => this.move(e));
    on.addEventListener('pointerup', (e) => this.release(e));
    on.addEventListener('pointercancel', (e) => this.down.delete(e.pointerId));
    on.addEventListener('pointerleave', () => owner.leave());
    on.addEventListener('contextmenu', (e) => e.preventDefault());
    const wheel = (e: WheelEvent) => {
      e.preventDefault();
      owner.zoom(Math.exp(Math.max(-300, Math.min(300, e.deltaY)) * 0.0015));
    };
    on.addEventListener('wheel', wheel, { passive: false });
  }

  private press(e: PointerEvent): void {
    this.on.setPointerCapture(e.pointerId);
    this.down.set(e.pointerId, { x: e.clientX, y: e.clientY });
    this.dragged = this.down.size > 1 ? Infinity : 0;
  }

  private move(e: PointerEvent): void {
    const last = this.down.get(e.pointerId);
    if (!last) return this.owner.hover(e);
    const [dx, dy] = [e.clientX - last.x, e.clientY - last.y];
    const other = [...this.down].find(([id]) => id !== e.pointerId)?.[1];
    this.down.set(e.pointerId, { x: e.clientX, y: e.clientY });
    this.dragged += Math.abs(dx) + Math.abs(dy);
    if (other) {
      const apart = (p: { x: number; y: number }) => Math.max(1, Math.hypot(p.x - other.x, p.y - other.y));
      return this.owner.zoom(apart(last) / apart({ x: e.clientX, y: e.clientY }));
    }
    if (this.dragged < CLICK_PX) return;
    const isMove = e.shiftKey || (e.buttons & 6) !== 0;
    const o = this.owner.orbit();
    this.owner.move(isMove ? shiftedBy(o, dx, dy, this.owner.height()) : turned(o, dx, dy));
  }

  private release(e: PointerEvent): void {
    const isClick = this.down.delete(e.pointerId) && this.dragged < CLICK_PX;
    if (isClick) this.owner.click(e);
  }
}
