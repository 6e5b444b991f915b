// machine_state.ts - what the machine view keeps for itself: plain values, which the page's address holds; cameras with names.
import { LAYOUTS } from '../layout/machine';
import type { LayoutName, Vec } from '../layout/machine';
import { HOME } from '../layout/orbit';
import type { Orbit } from '../layout/orbit';
import { DISTANCES } from '../model/machine';
import { HALOS } from '../model/overlays';
import { FLOW_KINDS } from '../model/instant';

export const ID = 'machine';

export interface MachineState {
  [key: string]: string | number | boolean | string[];
  layout: string; // LayoutName
  azimuth: number; // degrees
  elevation: number;
  range: number; // of the camera from what it looks at; 0: so that all is seen
  x: number; // what it looks at
  y: number;
  z: number;
  follow: boolean; // the selection
  at: number; // ns; -1: the middle of the interval
  speed: number; // of the run's time; 0: so that the interval lasts some seconds
  halfLife: number; // ns; 0: by the interval
  least: number; // bytes of a message
  color: string; // of ranks
  arcs: string; // what their colours tell: distance or class
  flows: string[]; // Distance
  kinds: string[]; // of traffic: FlowKind
  halos: string[];
  links: string[];
  severity: string;
  limit: number; // halos and links of a kind
  isolated: number; // number of an issue; -1: none
  panel: boolean;
  section: string;
  saved: string[]; // cameras
}

export const FIRST_STATE: MachineState = {
  layout: 'blueprint',
  ...HOME,
  follow: false,
  at: -1,
  speed: 0,
  halfLife: 0,
  least: 0,
  color: 'wait',
  arcs: 'distance',
  flows: [...DISTANCES],
  kinds: [...FLOW_KINDS],
  halos: HALOS.filter((kind) => kind === 'issue'),
  links: ['issue'],
  severity: 'low',
  limit: 20,
  isolated: -1,
  panel: false,
  section: 'issues',
  saved: [],
};

/** From where a layout is looked at first. */
export const FIRST_LOOK: Record<LayoutName, string> = {
  blueprint: 'iso',
  'top-down': 'top',
  rack: 'front',
  line: 'iso',
};

const round = (x: number): number => Math.round(x * 100) / 100;

export function placeOfCamera(o: Orbit): Partial<MachineState> {
  const [x, y, z] = o.target.map(round) as Vec;
  return { azimuth: round(o.azimuth), elevation: round(o.elevation), range: round(o.distance), x, y, z };
}

export function layoutNamed(name: string): LayoutName {
  return LAYOUTS.find(([known]) => known === name)?.[0] ?? 'blueprint';
}

/** A camera and its layout under a name. */
export interface SavedCamera {
  name: string;
  layout: LayoutName;
  azimuth: number;
  elevation: number;
  range: number;
  x: number;
  y: number;
  z: number;
}

const NUMBERS = ['azimuth', 'elevation', 'range', 'x', 'y', 'z'] as const;
const SAVED_MAX = 32;
export const SAVED_SCHEMA = 'mpitrace/cameras/1';

export function writeCamera(c: SavedCamera): string {
  return [encodeURIComponent(c.name), c.layout, ...NUMBERS.map((key) => round(c[key]))].join(':');
}

/** null: it is none. */
export function readCamera(text: string): SavedCamera | null {
  const [name, layout, ...rest] = text.split(':');
  const values = rest.map(Number);
  if (!name || !layout || values.length !== NUMBERS.length || !values.every(Number.isFinite)) return null;
  const [azimuth, elevation, range, x, y, z] = values as [number, number, number, number, number, number];
  try {
    return { name: decodeURIComponent(name), layout: layoutNamed(layout), azimuth, elevation, range, x, y, z };
  } catch {
    return null;
  }
}

/** The list with one more, which takes the place of one of its name. */
export function withCamera(saved: readonly string[], c: SavedCamera): string[] {
  const others = saved.filter((text) => readCamera(text)?.name !== c.name);
  return [...others, writeCamera(c)].slice(-SAVED_MAX);
}

export function camerasJson(saved: readonly string[]): string {
  const cameras = saved.map(readCamera).filter((c) => c !== null);
  return `${JSON.stringify({ schema: SAVED_SCHEMA, cameras }, null, 1)}\n`;
}

function parsedOrNull(text: string): { schema?: unknown; cameras?: unknown } | null {
  try {
    return JSON.parse(text) as { schema?: unknown; cameras?: unknown } | null;
  } catch {
    return null; // no JSON
  }
}

/** Cameras of a file, as the state keeps them. What is none is an error in words. */
export function camerasFrom(text: string): string[] {
  const parsed = parsedOrNull(text);
  if (parsed?.schema !== SAVED_SCHEMA || !Array.isArray(parsed.cameras))
    throw new Error(`This file has no cameras: it lacks "schema": "${SAVED_SCHEMA}".`);
  return parsed.cameras
    .map((c: Record<string, unknown> | null) => {
      const isOne = typeof c?.name === 'string' && NUMBERS.every((key) => typeof c[key] === 'number');
      return isOne ? readCamera(writeCamera(c as unknown as SavedCamera)) : null;
    })
    .filter((c) => c !== null)
    .map(writeCamera)
    .slice(0, SAVED_MAX);
}
