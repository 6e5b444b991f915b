// shaders.ts - the programs of gl.ts: calls as bars, summary tiles as stacked or mixed shares, messages as lines on a
// layer of their own. Times are split in two floats, each exact: a microsecond of a day-long run is still sharp.
import { PLANES } from '../decode/tiles';

export const SPLIT = 2 ** 24;

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

export const EVENT_VERTEX = `${COMMON}
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

export const EVENT_FRAGMENT = `#version 300 es
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

export const TILE_VERTEX = `${COMMON}
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

export const TILE_FRAGMENT = `#version 300 es
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

export const LAYER_VERTEX = `#version 300 es
out vec2 v_at;
void main() {
  v_at = vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1));
  gl_Position = vec4(v_at * 2.0 - 1.0, 0.0, 1.0);
}`;

export const LAYER_FRAGMENT = `#version 300 es
precision highp float;
uniform sampler2D u_layer;
uniform float u_strength;
in vec2 v_at;
out vec4 color;
void main() { color = texture(u_layer, v_at) * u_strength; }`;

export const MESSAGE_VERTEX = `${COMMON}
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

export const MESSAGE_FRAGMENT = `#version 300 es
precision highp float;
in vec4 v_color;
in float v_across;
flat in float v_half;
out vec4 color;
void main() { color = v_color * clamp(v_half + 0.5 - abs(v_across), 0.0, 1.0); }`;
