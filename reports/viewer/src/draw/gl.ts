// gl.ts - WebGL 2: three programs (calls, summary tiles, messages) and the buffers of the chunks they draw.
// Times are split in two floats, each exact, so that a microsecond of a day-long run is still sharp.
import type { EventChunk, MessageChunk } from '../decode/records';
import { PLANES } from '../decode/tiles';
import type { SummaryTile } from '../decode/tiles';
import { CLASSES, rankColor } from '../layout/color';
import type { Rgb } from '../layout/color';
import type { Rows } from '../layout/rows';

const SPLIT = 2 ** 24;

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

const COMMON = `#version 300 es
precision highp float;
uniform vec2 u_from;      // time at the left edge, high and low part
uniform float u_perNs;    // pixels a nanosecond
uniform vec2 u_size;      // plot, CSS pixels
uniform vec4 u_rows;      // first, height, bar, pad
float xOf(vec2 t) { return ((t.x - u_from.x) * ${SPLIT}.0 + (t.y - u_from.y)) * u_perNs; }
vec4 place(vec2 p) { return vec4(p.x / u_size.x * 2.0 - 1.0, 1.0 - p.y / u_size.y * 2.0, 0.0, 1.0); }
`;

const PATTERN = `
uniform float u_ratio;    // device pixels a CSS pixel
float patternAt(int kind, vec2 device) {
  vec2 p = device / u_ratio;
  if (kind == 1) return step(mod(p.x + p.y, 6.0), 1.5);
  if (kind == 2) return step(length(mod(p, 5.0) - 2.5), 1.0);
  if (kind == 3) return step(mod(p.x, 4.0), 1.2);
  if (kind == 4) return step(mod(p.x - p.y, 6.0), 1.5);
  if (kind == 5) return step(mod(p.y, 4.0), 1.2);
  if (kind == 6) return max(step(mod(p.x, 6.0), 1.0), step(mod(p.y, 6.0), 1.0));
  return 0.0;
}
`;

const EVENT_VERTEX = `${COMMON}
layout(location = 0) in vec4 a_time;   // start, end
layout(location = 1) in vec2 a_where;  // rank, lane share
layout(location = 2) in uint a_class;
uniform float u_lanes;
flat out uint v_class;
flat out float v_cover;
flat out float v_bar;
void main() {
  float x1 = xOf(a_time.xy), x2 = xOf(a_time.zw);
  v_cover = clamp(x2 - x1, 0.35, 1.0);
  if (x2 - x1 < 1.0) { float m = (x1 + x2) * 0.5; x1 = m - 0.5; x2 = m + 0.5; }
  x1 = clamp(x1, -4.0, u_size.x + 4.0); x2 = clamp(x2, -4.0, u_size.x + 4.0);
  float lane = u_rows.z / u_lanes;
  float y = (a_where.x - u_rows.x) * u_rows.y + u_rows.w + lane * a_where.y;
  float bar = max(lane, 0.6);
  vec2 corner = vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1));
  v_class = a_class;
  v_bar = bar;
  gl_Position = place(vec2(mix(x1, x2, corner.x), y + bar * corner.y));
}`;

const EVENT_FRAGMENT = `#version 300 es
precision highp float;
${PATTERN}
uniform vec3 u_colors[8];
uniform int u_patterns[8];
flat in uint v_class;
flat in float v_cover;
flat in float v_bar;
out vec4 color;
void main() {
  int c = int(v_class);
  vec3 rgb = u_colors[c];
  if (v_bar >= 8.0) rgb = mix(rgb, vec3(1.0), 0.3 * patternAt(u_patterns[c], gl_FragCoord.xy));
  color = vec4(rgb * v_cover, v_cover);
}`;

const TILE_VERTEX = `${COMMON}
uniform vec4 u_time;      // start, end of the tile
uniform vec3 u_tile;      // first rank, ranks a row, rows
out vec2 v_cell;          // bins across, ranks down (from the tile's first)
void main() {
  vec2 corner = vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1));
  float x = mix(xOf(u_time.xy), xOf(u_time.zw), corner.x);
  float ranks = u_tile.y * u_tile.z;
  float y = (u_tile.x + ranks * corner.y - u_rows.x) * u_rows.y;
  v_cell = vec2(corner.x, corner.y * ranks);
  gl_Position = place(vec2(x, y));
}`;

const TILE_FRAGMENT = `#version 300 es
precision highp float;
precision highp sampler2D;
${PATTERN}
uniform sampler2D u_share; // bins wide, planes * rows high
uniform vec3 u_colors[8];
uniform int u_patterns[8];
uniform vec3 u_tile;
uniform vec4 u_rows;
uniform vec3 u_idle;
uniform float u_lastRank;
in vec2 v_cell;
out vec4 color;
float shareOf(int plane, ivec2 cell) { return texelFetch(u_share, ivec2(cell.x, plane * int(u_tile.z) + cell.y), 0).r; }
void main() {
  if (u_tile.x + v_cell.y >= u_lastRank) discard;
  float row = min(floor(v_cell.y / u_tile.y), u_tile.z - 1.0);
  float inRow = fract(v_cell.y) * u_rows.y - u_rows.w;   // CSS pixels below the top of the bar
  bool single = u_tile.y < 1.5;
  if (single && u_rows.y >= 4.0 && (inRow < 0.0 || inRow > u_rows.z)) discard;
  ivec2 size = textureSize(u_share, 0);
  ivec2 cell = ivec2(min(int(v_cell.x * float(size.x)), size.x - 1), int(row));
  if (single && u_rows.z >= 12.0) {                       // stacked: height is the share of time
    float level = 1.0 - inRow / u_rows.z, sum = 0.0;
    for (int c = ${PLANES}; c >= 1; c--) {
      sum += shareOf(c - 1, cell);
      if (level < sum) {
        color = vec4(mix(u_colors[c], vec3(1.0), 0.3 * patternAt(u_patterns[c], gl_FragCoord.xy)), 1.0);
        return;
      }
    }
    color = vec4(u_idle, 1.0);
    return;
  }
  vec3 rgb = vec3(0.0);
  float rest = 1.0;
  for (int c = 1; c <= ${PLANES}; c++) {
    float share = shareOf(c - 1, cell);
    rgb += share * u_colors[c];
    rest -= share;
  }
  color = vec4(rgb + max(rest, 0.0) * u_idle, 1.0);
}`;

const MESSAGE_VERTEX = `${COMMON}
layout(location = 0) in vec4 a_time;   // send start, receive end
layout(location = 1) in vec3 a_ends;   // sender, receiver, bytes
layout(location = 2) in vec3 a_color;
uniform float u_bytesPerPixel;
uniform float u_alpha;
uniform vec2 u_shown;      // first and last rank in view: a message needs one end there
out vec4 v_color;
out float v_across;
flat out float v_half;
void main() {
  float x1 = xOf(a_time.xy), x2 = xOf(a_time.zw);
  float down = a_ends.y > a_ends.x ? 1.0 : 0.0;
  float y1 = (a_ends.x - u_rows.x) * u_rows.y + u_rows.w + u_rows.z * down;
  float y2 = (a_ends.y - u_rows.x) * u_rows.y + u_rows.w + u_rows.z * (1.0 - down);
  if (a_ends.x == a_ends.y) y2 = y1 + u_rows.z;
  vec2 a = vec2(x1, y1), b = vec2(x2, y2), along = b - a;
  float len = max(length(along), 0.001);
  float width = clamp(a_ends.z / u_bytesPerPixel, 0.0, 24.0);
  v_half = max(width, 1.0) * 0.5;
  float alpha = u_alpha * clamp(width, 0.3, 1.0);
  vec2 side = vec2(-along.y, along.x) / len * (v_half + 0.75);
  vec2 corner = vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1) * 2.0 - 1.0);
  v_across = corner.y * (v_half + 0.75);
  v_color = vec4(a_color * alpha, alpha);
  bool touches = (a_ends.x >= u_shown.x && a_ends.x <= u_shown.y) || (a_ends.y >= u_shown.x && a_ends.y <= u_shown.y);
  gl_Position = touches ? place(mix(a, b, corner.x) + side * corner.y) : vec4(2.0, 2.0, 0.0, 1.0);
}`;

const MESSAGE_FRAGMENT = `#version 300 es
precision highp float;
in vec4 v_color;
in float v_across;
flat in float v_half;
out vec4 color;
void main() { color = v_color * clamp(v_half + 0.5 - abs(v_across), 0.0, 1.0); }`;

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

class Program {
  readonly handle: WebGLProgram;
  private readonly places = new Map<string, WebGLUniformLocation | null>();

  constructor(private readonly gl: WebGL2RenderingContext, vertex: string, fragment: string) {
    this.handle = gl.createProgram()!;
    for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
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
  private readonly kept = new Map<object, Buffers | WebGLTexture>();
  private readonly colors = new Float32Array(CLASSES.flatMap((c) => c.color));
  private readonly patterns = new Int32Array(CLASSES.map((c) => c.pattern));
  private readonly rankColors = new Map<number, Uint8Array>();
  private camera!: Camera;

  /** Throws when there is no WebGL 2. */
  constructor(private readonly canvas: HTMLCanvasElement, private readonly threads: number) {
    const gl = canvas.getContext('webgl2', { antialias: false, premultipliedAlpha: true });
    if (!gl) throw new Error('This browser offers no WebGL 2.');
    this.gl = gl;
    this.events = new Program(gl, EVENT_VERTEX, EVENT_FRAGMENT);
    this.tiles = new Program(gl, TILE_VERTEX, TILE_FRAGMENT);
    this.messages = new Program(gl, MESSAGE_VERTEX, MESSAGE_FRAGMENT);
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
    for (let i = 0; i < c.count; i++) {
      putTime(time, i * 4, c.start[i]!);
      putTime(time, i * 4 + 2, c.start[i]! + c.duration[i]!);
      where[i * 2] = c.rank[i]!;
      where[i * 2 + 1] = Math.min(c.thread[i]!, this.threads - 1);
    }
    this.gl.bindVertexArray(vertexArray);
    const buffers = [this.attribute(0, time, 4), this.attribute(1, where, 2), this.attribute(2, c.class, 1, true)];
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

  drawMessages(c: MessageChunk, dark: boolean, alpha: number): void {
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
