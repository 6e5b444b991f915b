// scene_port.ts - what the scene with Three can do, and how it comes: its code lies packed in the page until somebody looks at the
// machine. Types only are shared with it, and no view knows Three.
import type { Boxes, Part } from '../layout/machine';
import type { Orbit } from '../layout/orbit';
import type { Solid } from '../layout/solid';
import { unpack } from '../io/packed';
import { h } from './dom';

/** Colours: three numbers a box, 0..1, or three for all. */
export type Colors = Partial<Record<Part, Float32Array>>;

export interface Scene {
  /** No graphics card draws it, but the processor. */
  readonly isSoftware: boolean;
  /** nodeOf: by rank. */
  boxes(boxes: Boxes, nodeOf: Uint32Array): void;
  colors(colors: Colors): void;
  /** Draw; size in CSS pixels. coarse: a box a node in place of its ranks and cores. */
  draw(orbit: Orbit, width: number, height: number, coarse: boolean): void;
  destroy(): void;
}

/** Throws where there is no WebGL. */
export type MakeScene = (canvas: HTMLCanvasElement) => Scene;

/** Surfaces and points, in the light of layout/solid.ts. */
export interface SolidScene {
  shape(solid: Solid): void;
  /** Draw; size in CSS pixels. */
  draw(orbit: Orbit, width: number, height: number): void;
  destroy(): void;
}

/** Throws where there is no WebGL. */
export type MakeSolidScene = (canvas: HTMLCanvasElement) => SolidScene;

declare global {
  // eslint-disable-next-line no-var
  var mpitraceSolidScene: MakeSolidScene | undefined;
  // eslint-disable-next-line no-var
  var mpitraceScene: MakeScene | undefined;
}

let coming: Promise<void> | null = null;

async function start(): Promise<void> {
  const script = h('script', {});
  script.textContent = await unpack('scene'); // the policy knows its hash
  document.head.append(script);
  if (!globalThis.mpitraceScene) throw new Error('The part of this page that draws in 3-D did not start.');
}

/** Once for the page. */
export async function loadScene(): Promise<MakeScene> {
  coming ??= start();
  await coming;
  return globalThis.mpitraceScene!;
}

export async function loadSolidScene(): Promise<MakeSolidScene> {
  await loadScene();
  return globalThis.mpitraceSolidScene!;
}
