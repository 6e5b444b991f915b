// spacetime_zoom.ts - scrolling and zooming of the space-time view, which all of its runs share: slider, wheel, area, drag, an epoch, an event.
import type { Diagram } from '../layout/spacetime';
import { moved, spreadAbout, zoomAbout, zoomInto } from '../layout/spacetime_frame';
import type { Counts, Frame, Zoom } from '../layout/spacetime_frame';
import type { Store } from '../model/state';
import type { Run } from './spacetime_run';
import { ID, zoomOf } from './spacetime_state';
import type { SpaceState } from './spacetime_state';

const AROUND_EPOCH = { levels: 1, lines: 0.7 };

export class Zooming {
  constructor(
    private readonly store: Store,
    private readonly frame: () => Frame | null,
    private readonly counts: () => Counts,
  ) {}

  private set(z: Zoom): void {
    this.store.setView(ID, { ...z });
  }

  /** That of the state; where that is what can be read, as much as it came to. */
  private now(f: Frame): Zoom {
    const z = zoomOf(this.store.of<SpaceState>(ID));
    return { ...z, zoom: z.zoom || f.zoom, spread: z.spread || f.spread };
  }

  /** Level and line at a point of the canvas. */
  private placeAt(f: Frame, x: number, y: number): { level: number; line: number } {
    const [along, side] = f.upright ? [y - f.top, x - f.left] : [x - f.left, y - f.top];
    return { level: (along - f.from) / f.step - 0.5, line: (side - f.side) / f.pitch - 0.5 };
  }

  wheel(x: number, y: number, factor: number, across: boolean): void {
    const f = this.frame();
    if (!f) return;
    const { level, line } = this.placeAt(f, x, y);
    const z = this.now(f);
    if (across) this.set(spreadAbout(f, z, this.counts().lines, line, factor));
    else this.set(zoomAbout(f, z, this.counts().levels, level, factor));
  }

  to(zoom: number): void {
    const f = this.frame();
    if (!f) return;
    const z = this.now(f);
    const middle = (f.length / 2 - f.from) / f.step - 0.5;
    this.set(zoomAbout(f, z, this.counts().levels, middle, zoom / Math.max(1, z.zoom)));
  }

  by(factor: number): void {
    this.to((this.frame()?.zoom ?? 1) * factor);
  }

  fit(): void {
    this.set({ zoom: 1, spread: 1, along: 0, across: 0 });
  }

  read(): void {
    this.set({ ...zoomOf(this.store.of<SpaceState>(ID)), zoom: 0, spread: 0 });
  }

  pan(dx: number, dy: number): void {
    const f = this.frame();
    if (f) this.set(moved(f, this.now(f), this.counts(), dx, dy));
  }

  area(x1: number, y1: number, x2: number, y2: number): void {
    const f = this.frame();
    if (f) this.set(zoomInto(f, this.now(f), this.counts(), this.placeAt(f, x1, y1), this.placeAt(f, x2, y2)));
  }

  epoch(diagram: Diagram | null, epoch: number): void {
    const f = this.frame();
    const band = diagram?.bands.find((b) => b.epoch === epoch);
    if (!f || !band) return;
    const lines = band.runs.flatMap((r) => [r.line, r.lastLine]);
    const a = { level: band.first - AROUND_EPOCH.levels, line: Math.min(...lines) - AROUND_EPOCH.lines };
    const b = { level: band.last + AROUND_EPOCH.levels, line: Math.max(...lines) + AROUND_EPOCH.lines };
    this.set(zoomInto(f, this.now(f), this.counts(), a, b));
  }

  /** Bring an event into the picture. */
  show(run: Run, event: number): void {
    const { diagram, frame, section } = run;
    const at = run.spotOf(event);
    if (!at || !frame || !diagram || !section) return;
    if (at.x >= frame.left && at.x <= frame.width && at.y >= frame.top && at.y <= frame.height) return;
    const { lines, levels } = this.counts();
    const along = (diagram.level[event]! + 0.5) / levels;
    const across = (diagram.lineOf[section.events.rank[event]!]! + 0.5) / lines;
    this.store.setView(ID, { along, across });
  }
}
