// three.d.ts - of Three what the scene uses.
declare module 'three' {
  export class Object3D {
    add(child: Object3D): void;
    remove(child: Object3D): void;
  }
  export class Scene extends Object3D {}
  export class Vector3 {
    set(x: number, y: number, z: number): this;
  }
  export class PerspectiveCamera extends Object3D {
    constructor(fov: number, aspect: number, near: number, far: number);
    near: number;
    far: number;
    aspect: number;
    readonly position: Vector3;
    readonly up: Vector3;
    lookAt(x: number, y: number, z: number): void;
    updateProjectionMatrix(): void;
  }
  export class BufferGeometry {
    setAttribute(name: string, attribute: BufferAttribute): this;
    setIndex(index: number[]): this;
    dispose(): void;
  }
  export class BufferAttribute {
    constructor(array: Float32Array, itemSize: number);
    array: Float32Array;
    needsUpdate: boolean;
  }
  export class InstancedBufferAttribute extends BufferAttribute {}
  export class InstancedBufferGeometry extends BufferGeometry {
    instanceCount: number;
  }
  export class ShaderMaterial {
    constructor(options: {
      vertexShader: string;
      fragmentShader: string;
      glslVersion?: string;
      uniforms?: Record<string, { value: number }>;
      side?: number;
    });
    dispose(): void;
  }
  export const DoubleSide: number;
  export class Points extends Object3D {
    constructor(geometry: BufferGeometry, material: ShaderMaterial);
    frustumCulled: boolean;
  }
  export class Mesh extends Object3D {
    constructor(geometry: BufferGeometry, material: ShaderMaterial);
    frustumCulled: boolean;
    visible: boolean;
  }
  export class WebGLRenderer {
    constructor(options: { canvas: HTMLCanvasElement; antialias: boolean; alpha: boolean });
    setPixelRatio(ratio: number): void;
    setSize(width: number, height: number, style: boolean): void;
    getContext(): WebGLRenderingContext | WebGL2RenderingContext;
    render(scene: Scene, camera: PerspectiveCamera): void;
    dispose(): void;
    readonly debug: { onShaderError: ((...args: unknown[]) => void) | null };
  }
}
