// scene.ts - the machine drawn by Three: all boxes of a kind in one call. A bundle of its own, which the page runs when the machine is
// looked at (draw/scene_port.ts). In: boxes of layout/machine.ts, colours, a camera.  Out: a WebGL canvas.
// Light comes from above the left shoulder of who looks: faces of a box differ, whichever way it is seen.
import {
  InstancedBufferAttribute,
  InstancedBufferGeometry,
  BufferAttribute,
  BufferGeometry,
  DoubleSide,
  Mesh,
  PerspectiveCamera,
  Points,
  Scene as Space,
  ShaderMaterial,
  WebGLRenderer,
} from 'three';
import type { Colors, Scene, SolidScene } from './draw/scene_port';
import { PARTS } from './layout/machine';
import type { Boxes, Part } from './layout/machine';
import { coarseBoxes, coarseColors } from './layout/machine_coarse';
import { FIELD_OF_VIEW, axesOf, eyeOf } from './layout/orbit';
import type { Orbit } from './layout/orbit';
import { LIGHT } from './layout/solid';
import type { Solid } from './layout/solid';

const VERTEX = `
attribute vec3 middle;
attribute vec3 size;
attribute vec3 tint;
varying vec3 shade;
void main() {
  float light = normal.y > 0.5 ? 1.0 : normal.z > 0.5 ? 0.92 : normal.x < -0.5 ? 0.8 : normal.x > 0.5 ? 0.72 : 0.6;
  shade = tint * light;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(middle + position * size, 1.0);
}`;

const COARSE: readonly Part[] = ['group', 'node']; // drawn of themselves while the camera moves

const FRAGMENT = `
varying vec3 shade;
void main() {
  gl_FragColor = vec4(shade, 1.0);
}`;

/** A box of side 1: four corners a face, so that each has its own normal; faces as corners of triangles: left, right, below, above, behind,
 * before. */
function cube(): { positions: Float32Array; normals: Float32Array; faces: number[][] } {
  const positions: number[] = [];
  const normals: number[] = [];
  const faces: number[][] = [];
  for (let axis = 0; axis < 3; axis++)
    for (const side of [-1, 1]) {
      const first = positions.length / 3;
      for (const [u, v] of [
        [-0.5, -0.5],
        [0.5, -0.5],
        [0.5, 0.5],
        [-0.5, 0.5],
      ] as const) {
        const p = [0, 0, 0];
        [p[axis], p[(axis + 1) % 3], p[(axis + 2) % 3]] = [side / 2, u, v];
        positions.push(...p);
        normals.push(...[0, 1, 2].map((k) => (k === axis ? side : 0)));
      }
      const face = side > 0 ? [0, 1, 2, 0, 2, 3] : [0, 2, 1, 0, 3, 2];
      faces.push(face.map((i) => first + i));
    }
  return { positions: new Float32Array(positions), normals: new Float32Array(normals), faces };
}

class Crowd {
  private readonly faces: number[][];
  private readonly least = [Infinity, Infinity, Infinity]; // of all boxes
  private readonly most = [-Infinity, -Infinity, -Infinity];
  private shown = '';
  private readonly geometry = new InstancedBufferGeometry();
  private readonly tint: InstancedBufferAttribute;
  readonly mesh: Mesh;

  constructor(boxes: Float32Array, material: ShaderMaterial) {
    const { positions, normals, faces } = cube();
    this.faces = faces;
    const count = boxes.length / 6;
    const [middle, size] = [new Float32Array(count * 3), new Float32Array(count * 3)];
    for (let i = 0; i < count; i++) {
      middle.set(boxes.subarray(i * 6, i * 6 + 3), i * 3);
      size.set(boxes.subarray(i * 6 + 3, i * 6 + 6), i * 3);
      for (let k = 0; k < 3; k++) {
        const [at, half] = [boxes[i * 6 + k]!, boxes[i * 6 + 3 + k]! / 2];
        this.least[k] = Math.min(this.least[k]!, at - half);
        this.most[k] = Math.max(this.most[k]!, at + half);
      }
    }
    this.tint = new InstancedBufferAttribute(new Float32Array(count * 3).fill(0.5), 3);
    this.geometry.setIndex(faces.flat());
    this.geometry.setAttribute('position', new BufferAttribute(positions, 3));
    this.geometry.setAttribute('normal', new BufferAttribute(normals, 3));
    this.geometry.setAttribute('middle', new InstancedBufferAttribute(middle, 3));
    this.geometry.setAttribute('size', new InstancedBufferAttribute(size, 3));
    this.geometry.setAttribute('tint', this.tint);
    this.geometry.instanceCount = count;
    this.mesh = new Mesh(this.geometry, material);
    this.mesh.frustumCulled = false;
  }

  /** A colour for each, or one for all. */
  paint(colors: Float32Array): void {
    const to = this.tint.array;
    if (colors.length === to.length) to.set(colors);
    else for (let i = 0; i < to.length; i++) to[i] = colors[i % 3]!;
    this.tint.needsUpdate = true;
  }

  /** Only faces that some box may show to an eye there: half of them, or fewer, where the eye is outside all. */
  seenFrom(eye: readonly number[]): void {
    const sides = this.faces.map((_, f) => {
      const k = f >> 1;
      return f % 2 === 0 ? eye[k]! < this.most[k]! : eye[k]! > this.least[k]!;
    });
    const key = sides.join();
    if (key === this.shown) return;
    this.shown = key;
    this.geometry.setIndex(this.faces.filter((_, f) => sides[f]).flat());
  }

  dispose(): void {
    this.geometry.dispose();
  }
}

/** Names of what draws without a graphics card, in the drivers of browsers. */
function isSoftware(renderer: WebGLRenderer): boolean {
  const g = renderer.getContext();
  const info = g.getExtension('WEBGL_debug_renderer_info');
  return (
    info !== null &&
    /swiftshader|llvmpipe|softpipe|software/i.test(String(g.getParameter(info.UNMASKED_RENDERER_WEBGL)))
  );
}

function look(camera: PerspectiveCamera, o: Orbit, aspect: number): void {
  const [eye, { up }] = [eyeOf(o), axesOf(o)];
  camera.position.set(...eye);
  camera.up.set(...up);
  camera.lookAt(...o.target);
  [camera.near, camera.far, camera.aspect] = [o.distance / 200, o.distance * 20, aspect];
  camera.updateProjectionMatrix();
}

globalThis.mpitraceScene = (canvas: HTMLCanvasElement): Scene => {
  const renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true });
  const space = new Space();
  const camera = new PerspectiveCamera(FIELD_OF_VIEW, 1, 0.1, 1000);
  const material = new ShaderMaterial({ vertexShader: VERTEX, fragmentShader: FRAGMENT });
  const crowds = new Map<Part, Crowd>();
  let summary: Crowd | null = null;
  let nodeOf: Uint32Array = new Uint32Array(0);
  let nodes = 0;
  let size = '';

  const all = () => (summary ? [...crowds.values(), summary] : [...crowds.values()]);

  const clear = () => {
    for (const crowd of all()) {
      space.remove(crowd.mesh);
      crowd.dispose();
    }
    crowds.clear();
    summary = null;
  };

  return {
    isSoftware: isSoftware(renderer),
    boxes(boxes: Boxes, of: Uint32Array) {
      clear();
      [nodeOf, nodes] = [of, boxes.node.length / 6];
      summary = new Crowd(coarseBoxes(boxes.rank, nodeOf, nodes), material);
      space.add(summary.mesh);
      for (const part of PARTS) {
        if (boxes[part].length === 0) continue;
        const crowd = new Crowd(boxes[part], material);
        crowds.set(part, crowd);
        space.add(crowd.mesh);
      }
    },
    colors(colors: Colors) {
      for (const part of PARTS) if (colors[part]) crowds.get(part)?.paint(colors[part]);
      if (colors.rank) summary?.paint(coarseColors(colors.rank, nodeOf, nodes));
    },
    draw(orbit, width, height, coarse) {
      const ratio = devicePixelRatio || 1;
      if (size !== `${width} ${height} ${ratio}`) {
        size = `${width} ${height} ${ratio}`;
        renderer.setPixelRatio(ratio);
        renderer.setSize(width, height, false);
      }
      look(camera, orbit, width / Math.max(1, height));
      const eye = eyeOf(orbit);
      for (const [part, crowd] of crowds) crowd.mesh.visible = !coarse || COARSE.includes(part);
      if (summary) summary.mesh.visible = coarse;
      for (const crowd of all()) if (crowd.mesh.visible) crowd.seenFrom(eye);
      renderer.render(space, camera);
    },
    destroy() {
      clear();
      material.dispose();
      renderer.dispose();
    },
  };
};

// ---- surfaces and points ----

const SOLID_VERTEX = `
attribute vec3 tint;
uniform float point;
varying vec3 shade;
void main() {
  float light = point > 0.0 ? 1.0 : 0.5 + 0.5 * abs(dot(normal, vec3(${LIGHT.join(', ')})));
  shade = min(tint * light, 1.0);
  gl_PointSize = point;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

const SOLID_FRAGMENT = `
uniform float point;
varying vec3 shade;
void main() {
  if (point > 0.0 && length(gl_PointCoord - 0.5) > 0.5) discard;
  gl_FragColor = vec4(shade, 1.0);
}`;

globalThis.mpitraceSolidScene = (canvas: HTMLCanvasElement): SolidScene => {
  const renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true });
  const space = new Space();
  const camera = new PerspectiveCamera(FIELD_OF_VIEW, 1, 0.1, 1000);
  const uniforms = { point: { value: 0 } };
  const material = new ShaderMaterial({
    vertexShader: SOLID_VERTEX,
    fragmentShader: SOLID_FRAGMENT,
    uniforms,
    side: DoubleSide,
  });
  let geometry: BufferGeometry | null = null;
  let thing: Mesh | Points | null = null;
  let points = 0;

  const clear = () => {
    if (thing) space.remove(thing);
    geometry?.dispose();
    [thing, geometry] = [null, null];
  };

  return {
    shape(solid: Solid) {
      clear();
      geometry = new BufferGeometry();
      geometry.setAttribute('position', new BufferAttribute(solid.positions, 3));
      geometry.setAttribute('normal', new BufferAttribute(solid.normals, 3));
      geometry.setAttribute('tint', new BufferAttribute(solid.colors, 3));
      if (solid.points === 0) geometry.setIndex(Array.from(solid.faces));
      points = solid.points;
      thing = solid.points > 0 ? new Points(geometry, material) : new Mesh(geometry, material);
      thing.frustumCulled = false;
      space.add(thing);
    },
    draw(orbit, width, height) {
      const ratio = devicePixelRatio || 1;
      renderer.setPixelRatio(ratio);
      renderer.setSize(width, height, false);
      uniforms.point.value = points * ratio;
      look(camera, orbit, width / Math.max(1, height));
      renderer.render(space, camera);
    },
    destroy() {
      clear();
      material.dispose();
      renderer.dispose();
    },
  };
};
