// map.ts - the machine as a flat picture, for browsers without WebGL: does what the scene with Three does, on a 2D canvas.
import type { Boxes, Layout } from '../layout/machine';
import type { Orbit } from '../layout/orbit';
import type { Machine } from '../model/machine';
import { paper, theme } from './dom';
import { paintMachine } from './machine_paint';
import type { Colors, Scene } from './scene_port';

export function makeMap(canvas: HTMLCanvasElement, now: () => { machine: Machine; layout: Layout }): Scene {
  let colors: Colors = {};
  return {
    isSoftware: false,
    boxes(_: Boxes) {},
    colors: (all) => (colors = all),
    draw(orbit: Orbit, width, height) {
      const { g } = paper(canvas, { width, height });
      paintMachine(g, { ...now(), orbit, width, height, theme: theme() }, colors);
    },
    destroy() {},
  };
}
