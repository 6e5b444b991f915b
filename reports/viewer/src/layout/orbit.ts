// orbit.ts - a camera that looks at a point from around it, and where it sees things: the scene, the map, labels, traffic and the
// pointer agree because all of them use this. Pure.
import type { Layout, Vec } from './machine';

type Room = Pick<Layout, 'middle' | 'size'>;

export interface Orbit {
  target: Vec;
  distance: number;
  azimuth: number; // degrees; 0: from the front
  elevation: number; // degrees; 90: from above
}

export const FIELD_OF_VIEW = 35; // degrees, upright
export const LOOKS: Record<string, { azimuth: number; elevation: number }> = {
  iso: { azimuth: 35, elevation: 38 },
  top: { azimuth: 0, elevation: 90 },
  front: { azimuth: 0, elevation: 0 },
  side: { azimuth: 90, elevation: 0 },
};

/** A camera at the beginning: all of it, from the front and above. */
export const HOME = { azimuth: LOOKS.iso!.azimuth, elevation: LOOKS.iso!.elevation, range: 0, x: 0, y: 0, z: 0 };

const RADIAN = Math.PI / 180;
const dot = (a: Vec, b: Vec): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

export interface Axes {
  right: Vec;
  up: Vec;
  back: Vec; // from the target to the eye
}

export function axesOf(o: Orbit): Axes {
  const [a, e] = [o.azimuth * RADIAN, o.elevation * RADIAN];
  return {
    right: [Math.cos(a), 0, -Math.sin(a)],
    up: [-Math.sin(e) * Math.sin(a), Math.cos(e), -Math.sin(e) * Math.cos(a)],
    back: [Math.cos(e) * Math.sin(a), Math.sin(e), Math.cos(e) * Math.cos(a)],
  };
}

export function eyeOf(o: Orbit): Vec {
  const { back } = axesOf(o);
  return o.target.map((x, k) => x + back[k]! * o.distance) as Vec;
}

export interface Seen {
  x: number; // CSS pixels
  y: number;
  scale: number; // pixels of a unit there; <= 0: behind the eye
}

/** How a point is seen on so many pixels. */
export function projector(o: Orbit, width: number, height: number): (p: Vec) => Seen {
  const { right, up, back } = axesOf(o);
  const focal = height / 2 / Math.tan((FIELD_OF_VIEW / 2) * RADIAN);
  return (p) => {
    const d: Vec = [p[0] - o.target[0], p[1] - o.target[1], p[2] - o.target[2]];
    const depth = o.distance - dot(d, back);
    const scale = depth > 1e-6 ? focal / depth : -1;
    return { x: width / 2 + dot(d, right) * scale, y: height / 2 - dot(d, up) * scale, scale };
  };
}

const ROUNDS = 8; // each brings what is seen nearer to the middle, and to the edges
const FILL = 0.9; // of the picture

/** From so far away, and so shifted, that all of it is seen and fills the picture. */
export function fit(layout: Room, azimuth: number, elevation: number, width: number, height: number): Orbit {
  const corners = Array.from({ length: 8 }, (_, corner) =>
    layout.middle.map((x, k) => x + (layout.size[k]! / 2) * (corner & (1 << k) ? 1 : -1)),
  ) as Vec[];
  const { back } = axesOf({ target: layout.middle, distance: 1, azimuth, elevation });
  const deep = layout.size.reduce((sum, x, k) => sum + (x / 2) * Math.abs(back[k]!), 0); // of it before the middle
  let o: Orbit = { target: [...layout.middle], distance: 4 * Math.hypot(...layout.size) + 1, azimuth, elevation };
  for (let round = 0; round < ROUNDS; round++) {
    const seen = corners.map(projector(o, width, height));
    const [xs, ys] = [seen.map((p) => p.x), seen.map((p) => p.y)];
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const share = Math.max((right - left) / width, (bottom - top) / height, 1e-3);
    o = shiftedBy(o, (width - left - right) / 2, (height - top - bottom) / 2, height);
    o = { ...o, distance: deep + Math.max(1, ((o.distance - deep) * share) / FILL) };
  }
  return o;
}

/** Drag by pixels: around the target. */
export function turned(o: Orbit, dx: number, dy: number): Orbit {
  const azimuth = ((((o.azimuth - dx * 0.4 + 180) % 360) + 360) % 360) - 180;
  return { ...o, azimuth, elevation: Math.min(90, Math.max(-20, o.elevation + dy * 0.3)) };
}

/** Drag by pixels: the target in the plane that is seen. */
export function shiftedBy(o: Orbit, dx: number, dy: number, height: number): Orbit {
  const { right, up } = axesOf(o);
  const unit = (2 * o.distance * Math.tan((FIELD_OF_VIEW / 2) * RADIAN)) / Math.max(1, height);
  return { ...o, target: o.target.map((x, k) => x - right[k]! * dx * unit + up[k]! * dy * unit) as Vec };
}
