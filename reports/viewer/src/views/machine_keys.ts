// machine_keys.ts - the keys of the machine view.
import { LAYOUTS } from '../layout/machine';
import type { LayoutName } from '../layout/machine';
import { shiftedBy, turned } from '../layout/orbit';
import type { Camera } from './machine_camera';
import { layoutNamed } from './machine_state';
import type { Playback } from './machine_time';

export const HELP =
  'The machine. Arrows turn it, with Shift they move it, plus and minus change the distance, Home shows all. Space plays, comma and period ' +
  'step. L changes the layout, N and P go through the ranks, Enter selects, Escape clears.';

/** What keys act on. */
export interface Keyed {
  camera: Camera;
  time: Playback;
  height(): number; // of the picture, px
  layout(): string;
  setLayout(name: LayoutName): void;
  showAll(): void;
  stepRank(by: number): void;
  toggleRank(): void; // the one that steps led to
  clear(): void;
}

function actions(v: Keyed, isShift: boolean): Record<string, () => void> {
  const turn = (dx: number, dy: number) => {
    const o = v.camera.orbit();
    v.camera.move(isShift ? shiftedBy(o, dx, dy, v.height()) : turned(o, dx, dy));
  };
  const nextLayout = () => {
    const names = LAYOUTS.map(([name]) => name);
    v.setLayout(names[(names.indexOf(layoutNamed(v.layout())) + 1) % names.length]!);
  };
  return {
    ArrowLeft: () => turn(-25, 0),
    ArrowRight: () => turn(25, 0),
    ArrowUp: () => turn(0, -25),
    ArrowDown: () => turn(0, 25),
    '+': () => v.camera.zoom(0.8),
    '-': () => v.camera.zoom(1.25),
    Home: () => v.showAll(),
    ' ': () => v.time.toggle(),
    ',': () => v.time.step(-1),
    '.': () => v.time.step(1),
    l: nextLayout,
    n: () => v.stepRank(1),
    p: () => v.stepRank(-1),
    Enter: () => v.toggleRank(),
    Escape: () => v.clear(),
  };
}

export function pressed(e: KeyboardEvent, v: Keyed): void {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const act = actions(v, e.shiftKey)[e.key];
  if (!act) return;
  e.preventDefault();
  e.stopPropagation();
  act();
}
