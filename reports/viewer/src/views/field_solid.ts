// field_solid.ts - the stage of a field in space: scene below, words over it, a camera as in the machine view. Three comes when this is first shown;
// without WebGL the same is painted on a 2D canvas.
import { h, paper } from '../draw/dom';
import { loadSolidScene } from '../draw/scene_port';
import type { SolidScene } from '../draw/scene_port';
import { paintSolid } from '../draw/solid_paint';
import { LOOKS, fit, projector } from '../layout/orbit';
import type { Orbit, Seen } from '../layout/orbit';
import type { Vec } from '../layout/machine';
import { EMPTY, vertexAt } from '../layout/solid';
import type { Room, Solid } from '../layout/solid';
import { OrbitPointer } from './machine_pointer';
import { placeOfCamera } from './machine_state';
import type { FieldState } from './field_state';
import type { SampledApp } from './view';

/** What is on the stage. */
export interface Show {
  solid: Solid;
  room: Room;
  /** What the solid may hide, and what nothing hides. */
  under(g: CanvasRenderingContext2D, see: (p: Vec) => Seen, size: { width: number; height: number }): void;
  over(g: CanvasRenderingContext2D, see: (p: Vec) => Seen, size: { width: number; height: number }): void;
}

export interface StageOwner {
  state(): FieldState;
  set(change: Partial<FieldState>): void;
  hover(vertex: number, e: PointerEvent): void;
  click(): void;
  leave(): void;
  brushed(isIn: (seen: Seen) => boolean): void;
  key(e: KeyboardEvent): void;
}

const HELP =
  'Profile in space. Drag turns, Shift drag moves, the wheel or plus and minus change the distance, Home shows all, Shift arrows turn; arrow keys move ' +
  'between cells, Enter selects their ranks.';

interface Brush {
  x: number;
  y: number;
  toX: number;
  toY: number;
}

export class SolidStage {
  private readonly over = h('canvas', { class: 'layer', tabindex: 0, role: 'application', 'aria-label': HELP });
  private readonly below = h('canvas', { class: 'layer' });
  private ground = h('canvas', { class: 'layer' });
  readonly element = h('div', { class: 'stage solid', hidden: true }, this.below, this.ground, this.over);
  private scene: SolidScene | null = null;
  private isFlat = false;
  private loading = false;
  private ended = false;
  private shown: Solid = EMPTY;
  private now: Show | null = null;
  private brush: Brush | null = null;

  constructor(
    private readonly app: SampledApp,
    private readonly owner: StageOwner,
  ) {
    this.over.addEventListener('pointerdown', (e) => this.beginBrush(e), { capture: true });
    this.over.addEventListener('pointermove', (e) => this.moveBrush(e), { capture: true });
    this.over.addEventListener('pointerup', (e) => this.endBrush(e), { capture: true });
    new OrbitPointer(this.over, {
      orbit: () => this.orbit(),
      height: () => this.over.clientHeight,
      move: (o) => this.move(o),
      zoom: (factor) => this.zoom(factor),
      click: () => owner.click(),
      hover: (e) => owner.hover(this.vertexAt(e.offsetX, e.offsetY), e),
      leave: () => owner.leave(),
    });
    this.over.addEventListener('keydown', (e) => this.key(e));
  }

  get kind(): string {
    return this.scene ? 'webgl' : this.isFlat ? 'flat' : '';
  }

  destroy(): void {
    this.ended = true;
    this.scene?.destroy();
  }

  private async load(): Promise<void> {
    if (this.loading) return;
    this.loading = true;
    try {
      const make = await loadSolidScene();
      if (!this.ended) this.scene = make(this.ground);
    } catch {
      this.isFlat = true;
      const flat = h('canvas', { class: 'layer' }); // one that has no context yet
      this.ground.replaceWith(flat);
      this.ground = flat;
    }
    this.shown = EMPTY;
    this.app.redraw();
  }

  // ---- the camera ----

  private size(): { width: number; height: number } {
    return { width: this.over.clientWidth, height: this.over.clientHeight };
  }

  orbit(size = this.size()): Orbit {
    const s = this.owner.state();
    const room = this.now?.room ?? { middle: [0, 0, 0], size: [1, 1, 1] };
    if (!(s.range > 0)) return fit(room, s.azimuth, s.elevation, size.width, size.height);
    return { target: [s.x, s.y, s.z], distance: s.range, azimuth: s.azimuth, elevation: s.elevation };
  }

  private move(o: Orbit): void {
    this.owner.set(placeOfCamera(o) as Partial<FieldState>);
  }

  private zoom(factor: number): void {
    const o = this.orbit();
    this.move({ ...o, distance: Math.min(2000, Math.max(4, o.distance * factor)) });
  }

  private vertexAt(x: number, y: number): number {
    return this.now ? vertexAt(this.now.solid, this.orbit(), this.size(), x, y) : -1;
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const o = this.orbit();
    const turn = { ArrowLeft: [-8, 0], ArrowRight: [8, 0], ArrowUp: [0, 6], ArrowDown: [0, -6] }[e.key];
    const act = {
      '+': () => this.zoom(0.85),
      '=': () => this.zoom(0.85),
      '-': () => this.zoom(1 / 0.85),
      Home: () => this.owner.set({ ...LOOKS.iso!, range: 0 }),
    }[e.key];
    if (turn && e.shiftKey)
      this.move({
        ...o,
        azimuth: o.azimuth + turn[0]!,
        elevation: Math.min(90, Math.max(-20, o.elevation + turn[1]!)),
      });
    else if (act) act();
    else return this.owner.key(e);
    e.preventDefault();
    e.stopPropagation();
  }

  // ---- a box that selects ----

  private beginBrush(e: PointerEvent): void {
    if (!this.owner.state().brush) return;
    e.stopImmediatePropagation();
    this.over.setPointerCapture(e.pointerId);
    this.brush = { x: e.offsetX, y: e.offsetY, toX: e.offsetX, toY: e.offsetY };
  }

  private moveBrush(e: PointerEvent): void {
    if (!this.brush) return;
    e.stopImmediatePropagation();
    [this.brush.toX, this.brush.toY] = [e.offsetX, e.offsetY];
    this.app.redraw();
  }

  private endBrush(e: PointerEvent): void {
    if (!this.brush) return;
    e.stopImmediatePropagation();
    const { x, y, toX, toY } = this.brush;
    this.brush = null;
    const [left, right, top, bottom] = [Math.min(x, toX), Math.max(x, toX), Math.min(y, toY), Math.max(y, toY)];
    this.owner.brushed((p) => p.scale > 0 && p.x >= left && p.x <= right && p.y >= top && p.y <= bottom);
    this.app.redraw();
  }

  /** Which vertices are seen where. */
  seen(): Seen[] {
    const { positions } = this.now?.solid ?? EMPTY;
    const { width, height } = this.size();
    const see = projector(this.orbit(), width, height);
    return Array.from({ length: positions.length / 3 }, (_, i) =>
      see([positions[3 * i]!, positions[3 * i + 1]!, positions[3 * i + 2]!]),
    );
  }

  // ---- drawing ----

  show(now: Show | null): void {
    this.now = now;
    if (!this.scene && !this.isFlat) void this.load();
    const { g, width, height } = paper(this.over);
    if (!now || width < 2) return;
    const o = this.orbit();
    const see = projector(o, width, height);
    now.under(paper(this.below, { width, height }).g, see, { width, height });
    if (this.scene) {
      if (now.solid !== this.shown) this.scene.shape(now.solid);
      this.shown = now.solid;
      this.scene.draw(o, width, height);
    } else if (this.isFlat) paintSolid(paper(this.ground, { width, height }).g, now.solid, o, width, height);
    now.over(g, see, { width, height });
    if (this.brush) this.drawBrush(g, this.brush);
  }

  private drawBrush(g: CanvasRenderingContext2D, { x, y, toX, toY }: Brush): void {
    g.strokeStyle = this.app.theme().accent;
    g.setLineDash([5, 3]);
    g.strokeRect(x, y, toX - x, toY - y);
    g.setLineDash([]);
  }

  /** For files. */
  paint(g: CanvasRenderingContext2D, width: number, height: number): void {
    if (!this.now) return;
    const o = this.orbit({ width, height });
    const see = projector(o, width, height);
    this.now.under(g, see, { width, height });
    paintSolid(g, this.now.solid, o, width, height);
    this.now.over(g, see, { width, height });
  }
}
