// gl.ts - WebGL 2: programs for calls, summary tiles, messages and the layer of the messages,
// and the buffers of the chunks they draw. Times are split in two floats (shaders.ts).
import type { EventChunk, MessageChunk } from '../decode/records';
import { PLANES } from '../decode/tiles';
import type { SummaryTile } from '../decode/tiles';
import { CLASSES, rankColor } from '../layout/color';
import type { Rgb } from '../layout/color';
import type { Rows } from '../layout/rows';
import {
  EVENT_FRAGMENT,
  EVENT_VERTEX,
  LAYER_FRAGMENT,
  LAYER_VERTEX,
  MESSAGE_FRAGMENT,
  MESSAGE_VERTEX,
  SPLIT,
  TILE_FRAGMENT,
  TILE_VERTEX,
} from './shaders';

export interface Camera {
  from: number; // ns
  to: number;
  width: number; // CSS pixels of the plot
  height: number;
  rows: Rows;
  firstRank: number; // in view
  lastRank: number;
  bytesPerPixel: number;
}

export function splitTime(ns: number): [number, number] {
  const high = Math.floor(ns / SPLIT);
  return [high, ns - high * SPLIT];
}

function putTime(out: Float32Array, at: number, ns: number): void {
  const high = Math.floor(ns / SPLIT);
  out[at] = high;
  out[at + 1] = ns - high * SPLIT;
}

interface Buffers {
  vertexArray: WebGLVertexArrayObject;
  buffers: WebGLBuffer[];
  count: number;
}

/** What messages are drawn on; device pixels. */
interface Layer {
  frame: WebGLFramebuffer;
  texture: WebGLTexture;
  width: number;
  height: number;
}

class Program {
  readonly handle: WebGLProgram;
  private readonly places = new Map<string, WebGLUniformLocation | null>();

  constructor(
    private readonly gl: WebGL2RenderingContext,
    vertex: string,
    fragment: string,
  ) {
    this.handle = gl.createProgram()!;
    for (const [type, source] of [
      [gl.VERTEX_SHADER, vertex],
      [gl.FRAGMENT_SHADER, fragment],
    ] as const) {
      const shader = gl.createShader(type)!;
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(this.handle, shader);
    }
    gl.linkProgram(this.handle);
    if (!gl.getProgramParameter(this.handle, gl.LINK_STATUS) && !gl.isContextLost())
      throw new Error(`The graphics driver refused a shader: ${gl.getProgramInfoLog(this.handle) ?? ''}`);
  }

  at(name: string): WebGLUniformLocation | null {
    if (!this.places.has(name)) this.places.set(name, this.gl.getUniformLocation(this.handle, name));
    return this.places.get(name)!;
  }
}

export interface TilePlace {
  start: number; // ns
  end: number;
  firstRank: number;
  ranksPerRow: number;
}

export class Painter {
  private readonly gl: WebGL2RenderingContext;
  private readonly events: Program;
  private readonly tiles: Program;
  private readonly messages: Program;
  private readonly layerProgram: Program;
  private layer: Layer | null = null;
  private readonly kept = new Map<object, Buffers | WebGLTexture>();
  private readonly colors = new Float32Array(CLASSES.flatMap((c) => c.color));
  private readonly patterns = new Int32Array(CLASSES.map((c) => c.pattern));
  private readonly rankColors = new Map<number, Uint8Array>();
  private camera!: Camera;

  /** Throws when there is no WebGL 2. */
  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly threads: number,
  ) {
    const gl = canvas.getContext('webgl2', { antialias: false, premultipliedAlpha: true });
    if (!gl) throw new Error('This browser offers no WebGL 2.');
    this.gl = gl;
    this.events = new Program(gl, EVENT_VERTEX, EVENT_FRAGMENT);
    this.tiles = new Program(gl, TILE_VERTEX, TILE_FRAGMENT);
    this.messages = new Program(gl, MESSAGE_VERTEX, MESSAGE_FRAGMENT);
    this.layerProgram = new Program(gl, LAYER_VERTEX, LAYER_FRAGMENT);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  }

  setClassColor(index: number, color: Rgb): void {
    this.colors.set(color, index * 3);
  }

  begin(camera: Camera): void {
    const { gl, canvas } = this;
    const ratio = devicePixelRatio || 1;
    const width = Math.max(1, Math.round(camera.width * ratio));
    const height = Math.max(1, Math.round(camera.height * ratio));
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    this.camera = camera;
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  private use(p: Program): void {
    const { gl, camera } = this;
    gl.useProgram(p.handle);
    gl.uniform2fv(p.at('u_from'), splitTime(camera.from));
    gl.uniform1f(p.at('u_perNs'), camera.width / (camera.to - camera.from));
    gl.uniform2f(p.at('u_size'), camera.width, camera.height);
    gl.uniform4f(p.at('u_rows'), camera.rows.first, camera.rows.height, camera.rows.bar, camera.rows.pad);
    gl.uniform1f(p.at('u_ratio'), devicePixelRatio || 1);
    gl.uniform3fv(p.at('u_colors'), this.colors);
    gl.uniform1iv(p.at('u_patterns'), this.patterns);
  }

  private attribute(index: number, data: Float32Array | Uint8Array, size: number, integer = false): WebGLBuffer {
    const { gl } = this;
    const buffer = gl.createBuffer()!;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(index);
    if (integer) gl.vertexAttribIPointer(index, size, gl.UNSIGNED_BYTE, 0, 0);
    else if (data instanceof Uint8Array) gl.vertexAttribPointer(index, size, gl.UNSIGNED_BYTE, true, 0, 0);
    else gl.vertexAttribPointer(index, size, gl.FLOAT, false, 0, 0);
    gl.vertexAttribDivisor(index, 1);
    return buffer;
  }

  private uploadEvents(c: EventChunk): Buffers {
    const vertexArray = this.gl.createVertexArray()!;
    const time = new Float32Array(c.count * 4);
    const where = new Float32Array(c.count * 2);
    const classes = new Uint8Array(c.count);
    for (let i = 0; i < c.count; i++) {
      putTime(time, i * 4, c.start[i]!);
      putTime(time, i * 4 + 2, c.start[i]! + c.duration[i]!);
      classes[i] = c.signatures.class[c.signature[i]!]!;
    }
    for (const s of c.segments)
      for (let i = s.first; i < s.first + s.count; i++) {
        where[i * 2] = s.rank;
        where[i * 2 + 1] = Math.min(c.threads ? c.threads[i]! : s.thread, this.threads - 1);
      }
    this.gl.bindVertexArray(vertexArray);
    const buffers = [this.attribute(0, time, 4), this.attribute(1, where, 2), this.attribute(2, classes, 1, true)];
    return { vertexArray, buffers, count: c.count };
  }

  private colorOf(rank: number, dark: boolean): Uint8Array {
    const key = dark ? rank : -1 - rank;
    let color = this.rankColors.get(key);
    if (!color) this.rankColors.set(key, (color = Uint8Array.from(rankColor(rank, dark), (x) => x * 255)));
    return color;
  }

  private uploadMessages(c: MessageChunk, dark: boolean): Buffers {
    const vertexArray = this.gl.createVertexArray()!;
    const time = new Float32Array(c.count * 4);
    const ends = new Float32Array(c.count * 3);
    const colors = new Uint8Array(c.count * 3);
    for (let i = 0; i < c.count; i++) {
      putTime(time, i * 4, c.sendStart[i]!);
      putTime(time, i * 4 + 2, c.recvEnd[i]!);
      ends[i * 3] = c.src[i]!;
      ends[i * 3 + 1] = c.dst[i]!;
      ends[i * 3 + 2] = c.bytes[i]!;
      colors.set(this.colorOf(c.src[i]!, dark), i * 3);
    }
    this.gl.bindVertexArray(vertexArray);
    const buffers = [this.attribute(0, time, 4), this.attribute(1, ends, 3), this.attribute(2, colors, 3)];
    return { vertexArray, buffers, count: c.count };
  }

  private keep<T extends Buffers | WebGLTexture>(key: object, make: () => T): T {
    let hit = this.kept.get(key) as T | undefined;
    if (hit) this.kept.delete(key);
    hit ??= make();
    this.kept.set(key, hit);
    return hit;
  }

  drawEvents(c: EventChunk): void {
    const { gl } = this;
    const b = this.keep(c, () => this.uploadEvents(c));
    this.use(this.events);
    gl.uniform1f(this.events.at('u_lanes'), this.threads);
    gl.bindVertexArray(b.vertexArray);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, b.count);
  }

  /** All messages on a layer of their own, which is laid over the bars with `strength`: what is below stays visible
   * however many there are. */
  drawMessages(chunks: MessageChunk[], dark: boolean, alpha: number, strength: number): void {
    if (chunks.length === 0) return;
    const { gl, canvas } = this;
    const { frame, texture } = this.layerFor(canvas.width, canvas.height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.clear(gl.COLOR_BUFFER_BIT);
    for (const chunk of chunks) this.drawLines(chunk, dark, alpha);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.useProgram(this.layerProgram.handle);
    gl.uniform1f(this.layerProgram.at('u_strength'), strength);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.bindVertexArray(null);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  private layerFor(width: number, height: number): Layer {
    const { gl } = this;
    if (this.layer && this.layer.width === width && this.layer.height === height) return this.layer;
    if (this.layer) {
      gl.deleteFramebuffer(this.layer.frame);
      gl.deleteTexture(this.layer.texture);
    }
    const texture = gl.createTexture()!;
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER])
      gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
    const frame = gl.createFramebuffer()!;
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
    return (this.layer = { frame, texture, width, height });
  }

  private drawLines(c: MessageChunk, dark: boolean, alpha: number): void {
    const { gl } = this;
    const b = this.keep(c, () => this.uploadMessages(c, dark));
    this.use(this.messages);
    gl.uniform1f(this.messages.at('u_bytesPerPixel'), this.camera.bytesPerPixel);
    gl.uniform1f(this.messages.at('u_alpha'), alpha);
    gl.uniform2f(this.messages.at('u_shown'), this.camera.firstRank, this.camera.lastRank);
    gl.bindVertexArray(b.vertexArray);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, b.count);
  }

  private uploadTile(t: SummaryTile): WebGLTexture {
    const { gl } = this;
    const texture = gl.createTexture()!;
    const height = PLANES * t.rows;
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8, t.share.length / height, height, 0, gl.RED, gl.UNSIGNED_BYTE, t.share);
    for (const [name, value] of [
      [gl.TEXTURE_MIN_FILTER, gl.NEAREST],
      [gl.TEXTURE_MAG_FILTER, gl.NEAREST],
      [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE],
      [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
    ] as const)
      gl.texParameteri(gl.TEXTURE_2D, name, value);
    return texture;
  }

  drawTile(t: SummaryTile, at: TilePlace, idle: Rgb): void {
    const { gl, tiles } = this;
    const texture = this.keep(t, () => this.uploadTile(t));
    this.use(tiles);
    gl.uniform4fv(tiles.at('u_time'), [...splitTime(at.start), ...splitTime(at.end)]);
    gl.uniform3f(tiles.at('u_tile'), at.firstRank, at.ranksPerRow, t.rows);
    gl.uniform3fv(tiles.at('u_idle'), idle);
    gl.uniform1f(tiles.at('u_lastRank'), this.camera.rows.ranks);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.bindVertexArray(null);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  /** Free what was not drawn for longest, beyond a fair number of chunks; all of it when the theme changes. */
  end(limit = 96): void {
    const { gl } = this;
    for (const [key, value] of this.kept) {
      if (this.kept.size <= limit) break;
      this.kept.delete(key);
      if ('vertexArray' in value) {
        gl.deleteVertexArray(value.vertexArray);
        value.buffers.forEach((b) => gl.deleteBuffer(b));
      } else {
        gl.deleteTexture(value);
      }
    }
  }
}
