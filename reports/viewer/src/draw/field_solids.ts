// field_solids.ts - what stands about a field in space: the frame, names of rows and columns, flags on the largest values with their legend, the
// polygon of the sample looked at, axes of a cloud. In: the field, a projection.  Out: a 2D canvas over the scene.
import { css, rankColor } from '../layout/color';
import { hasTime, inUnit } from '../layout/field';
import type { CellPlace, Scale } from '../layout/field';
import { columnMoment, flagText, placeLabels } from '../layout/flags';
import type { Flag } from '../layout/flags';
import { CLUSTER_COLORS, SIDE } from '../layout/cloud';
import type { Vec } from '../layout/machine';
import type { Seen } from '../layout/orbit';
import { DEEP, HIGH, WIDE, groundOf, topOf } from '../layout/terrain';
import { spokeEnd, spokesOf, tubePoint } from '../layout/tube';
import { NO_EVENT } from '../model/field';
import type { Field } from '../model/field';
import { FONT } from './dom';
import type { Theme } from './dom';
import { DASHES, drawScale, lineColors } from './field_picture';

export interface Over {
  g: CanvasRenderingContext2D;
  width: number;
  height: number;
  see(p: Vec): Seen;
  theme: Theme;
  scale: Scale;
}

const SCALE_ROOM = 118; // on the right
const NAME_HALF = 8; // of a name's height

function line(o: Over, points: readonly Vec[], color: string, width = 1): void {
  const { g } = o;
  g.strokeStyle = color;
  g.lineWidth = width;
  g.beginPath();
  points.forEach((p, i) => {
    const at = o.see(p);
    if (i === 0) g.moveTo(at.x, at.y);
    else g.lineTo(at.x, at.y);
  });
  g.stroke();
  g.lineWidth = 1;
}

/** A name with the ground of the page around it, so that it can be read over anything. */
function name(o: Over, text: string, x: number, y: number, align: CanvasTextAlign, color = o.theme.dim): void {
  const { g } = o;
  const whole = Math.min(y, o.height - NAME_HALF);
  g.font = FONT;
  g.textAlign = align;
  g.textBaseline = 'middle';
  g.strokeStyle = o.theme.paper;
  g.lineWidth = 3;
  g.strokeText(text, x, whole);
  g.lineWidth = 1;
  g.fillStyle = color;
  g.fillText(text, x, whole);
}

/** Names along an edge that do not come nearer to each other than so many pixels. */
function along(
  o: Over,
  count: number,
  at: (i: number) => Vec,
  text: (i: number) => string,
  away: [number, number],
): void {
  let [x, y] = [-Infinity, -Infinity];
  for (let i = 0; i < count; i++) {
    const p = o.see(at(i));
    if (p.scale <= 0 || Math.hypot(p.x - x, p.y - y) < 44) continue;
    [x, y] = [p.x, p.y];
    const align = away[0] < 0 ? 'right' : away[0] > 0 ? 'left' : 'center';
    name(o, text(i), p.x + away[0], p.y + away[1], align);
  }
}

const short = (title: string): string => title.replace(/^(ranks?|samples?) /, '');

function columnName(f: Field, c: number): string {
  return hasTime(f) ? columnMoment(f, c) : f.columns[c]!.title;
}

// ---- terrain ----

/** The frame: what stands before it hides it. */
export function underTerrain(o: Over, f: Field): void {
  const [x, z] = [WIDE / 2, DEEP / 2];
  line(
    o,
    [
      [-x, 0, -z],
      [x, 0, -z],
      [x, 0, z],
      [-x, 0, z],
      [-x, 0, -z],
    ],
    o.theme.line,
  );
  line(
    o,
    [
      [-x, 0, -z],
      [-x, HIGH, -z],
      [x, HIGH, -z],
      [x, 0, -z],
    ],
    o.theme.line,
  );
  along(
    o,
    f.columns.length,
    (c) => [groundOf(f, 0, c)[0], 0, z + 2],
    (c) => columnName(f, c),
    [0, 12],
  );
  along(
    o,
    f.rows.length,
    (r) => [x + 2, 0, groundOf(f, r, 0)[1]],
    (r) => short(f.rows[r]!.title),
    [6, 0],
  );
  const top = o.see([-x, HIGH, -z]);
  name(o, inUnit(f.unit, o.scale.high), top.x - 6, top.y, 'right');
  const foot = o.see([-x, 0, -z]);
  name(o, inUnit(f.unit, o.scale.log ? o.scale.low : Math.min(0, o.scale.low)), foot.x - 6, foot.y, 'right');
}

/** Each flag's colour and dash: those of its event or rank. */
function flagColors(f: Field, flags: readonly Flag[], dark: boolean): Map<string, { color: string; dash: number[] }> {
  const of = new Map<string, { color: string; dash: number[] }>();
  for (const { group, row } of flags) {
    if (of.has(group)) continue;
    const rank = f.columns[0]?.event === NO_EVENT ? f.rows[row]!.ranks[0] : undefined;
    const color = rank === undefined ? css(lineColors[of.size % lineColors.length]!) : css(rankColor(rank, dark));
    of.set(group, { color, dash: DASHES[of.size % DASHES.length]! });
  }
  return of;
}

/** Flags with labels; what they are named by once more in a legend. */
function drawFlags(o: Over, f: Field, flags: readonly Flag[]): void {
  const { g, theme } = o;
  const colors = flagColors(f, flags, theme.dark);
  g.font = FONT;
  const text = (x: Flag) => flagText(f, x);
  const heads = flags.map((x) => o.see(topOf(f, o.scale, x.row, x.column)));
  const labels = placeLabels(
    flags.map((x, i) => {
      const width = g.measureText(text(x)).width + 12;
      return { x: heads[i]!.x - width / 2, y: heads[i]!.y - 26, width, height: 18 };
    }),
    o.width - SCALE_ROOM,
    3,
  );
  flags.forEach((x, i) => {
    const { color, dash } = colors.get(x.group)!;
    const [head, label] = [heads[i]!, labels[i]!];
    g.strokeStyle = color;
    g.setLineDash(dash);
    g.beginPath();
    g.moveTo(head.x, head.y);
    g.lineTo(Math.max(label.x + 4, Math.min(label.x + label.width - 4, head.x)), label.y + label.height / 2);
    g.stroke();
    g.setLineDash([]);
    g.fillStyle = theme.paper;
    g.strokeStyle = color;
    g.fillRect(label.x, label.y - label.height / 2, label.width, label.height);
    g.strokeRect(label.x + 0.5, label.y - label.height / 2 + 0.5, label.width - 1, label.height - 1);
    g.fillStyle = theme.text;
    g.textAlign = 'left';
    g.textBaseline = 'middle';
    g.fillText(text(x), label.x + 6, label.y);
  });
  let y = o.height - 14;
  for (const [group, { color, dash }] of [...colors].reverse().slice(0, 10)) {
    line2(g, 14, y, color, dash);
    name(o, group, 40, y, 'left', theme.text);
    y -= 17;
  }
}

function line2(g: CanvasRenderingContext2D, x: number, y: number, color: string, dash: number[]): void {
  g.strokeStyle = color;
  g.setLineDash(dash);
  g.lineWidth = 2.5;
  g.beginPath();
  g.moveTo(x, y);
  g.lineTo(x + 20, y);
  g.stroke();
  g.setLineDash([]);
  g.lineWidth = 1;
}

function pole(o: Over, f: Field, { row, column }: CellPlace): void {
  const top = topOf(f, o.scale, row, column);
  line(o, [[top[0], 0, top[2]], top, [top[0], HIGH * 1.05, top[2]]], o.theme.text, 1.5);
}

export function overTerrain(o: Over, f: Field, flags: readonly Flag[], cell: CellPlace | null, sample: number): void {
  const at = f.columns.findIndex((c) => hasTime(f) && sample > 0 && sample >= c.first && sample <= c.last);
  if (at >= 0)
    line(
      o,
      f.rows.map((_, r) => topOf(f, o.scale, r, at)),
      o.theme.text,
      2.5,
    );
  if (cell) pole(o, f, cell);
  drawFlags(o, f, flags);
  scaleAt(o, f);
}

/** The colours of the values, at the right. */
function scaleAt(o: Over, f: Field): void {
  o.g.font = FONT;
  const frame = { left: 0, top: 12, width: o.width - SCALE_ROOM, height: 170 };
  drawScale(o.g, f, { frame, theme: o.theme, scale: o.scale });
}

// ---- tube ----

function ring(o: Over, f: Field, column: number, color: string, width: number): void {
  const n = spokesOf(f);
  const points = Array.from({ length: n + 1 }, (_, r) => tubePoint(f, o.scale, r % n, column));
  line(o, points, color, width);
}

export function underTube(o: Over, f: Field): void {
  for (let r = 0; r < spokesOf(f); r++) line(o, [[spokeEnd(f, r)[0], 0, 0], spokeEnd(f, r)], o.theme.line);
}

export function overTube(o: Over, f: Field, cell: CellPlace | null, sample: number): void {
  const n = spokesOf(f);
  const start = o.see([spokeEnd(f, 0)[0], 0, 0]);
  let last: [number, number] = [-Infinity, -Infinity];
  for (let r = 0; r < n; r++) {
    const p = o.see(spokeEnd(f, r));
    if (Math.hypot(p.x - last[0], p.y - last[1]) < 14) continue;
    last = [p.x, p.y];
    name(o, short(f.rows[r]!.title), p.x + Math.sign(p.x - start.x) * 5, p.y, p.x < start.x ? 'right' : 'left');
  }
  ring(o, f, 0, o.theme.dim, 1);
  const at = f.columns.findIndex((c) => sample > 0 && sample >= c.first && sample <= c.last);
  if (at >= 0) ring(o, f, at, o.theme.text, 2.5);
  if (cell) {
    ring(o, f, cell.column, o.theme.accent, 2);
    const p = o.see(tubePoint(f, o.scale, cell.row, cell.column));
    o.g.fillStyle = o.theme.accent;
    o.g.beginPath();
    o.g.arc(p.x, p.y, 4, 0, 2 * Math.PI);
    o.g.fill();
  }
  along(
    o,
    f.columns.length,
    (c) => [tubePoint(f, o.scale, 0, c)[0], -27, 0],
    (c) => columnName(f, c),
    [0, 12],
  );
  scaleAt(o, f);
}

// ---- cloud ----

export interface CloudNames {
  titles: string[]; // of the three axes and the colour
  scales: Scale[];
  fields: readonly Field[];
  clusters: number; // 0: the colour is the fourth metric
}

function axis(o: Over, names: CloudNames, k: number, from: Vec, to: Vec): void {
  line(o, [from, to], o.theme.dim, 1.5);
  const [a, b] = [o.see(from), o.see(to)];
  const f = names.fields[k]!;
  const s = names.scales[k]!;
  const out = Math.sign((a.x + b.x) / 2 - o.width / 2) * 10;
  name(
    o,
    names.titles[k]!,
    (a.x + b.x) / 2 + out,
    (a.y + b.y) / 2 + (k === 1 ? 0 : 22),
    k === 1 ? (out < 0 ? 'right' : 'left') : 'center',
    o.theme.text,
  );
  const below = k === 1 ? -8 : 8;
  name(o, inUnit(f.unit, s.low), a.x + (k === 2 ? 6 : 0), a.y + below, k === 2 ? 'left' : 'center');
  name(o, inUnit(f.unit, s.high), b.x - (k === 0 ? 6 : 0), b.y + below, k === 0 ? 'right' : 'center');
}

export function underCloud(o: Over): void {
  const s = SIDE / 2;
  const paths: Vec[][] = [
    [
      [-s, 0, s],
      [s, 0, s],
      [s, 0, -s],
      [-s, 0, -s],
      [-s, 0, s],
    ],
    [
      [-s, 0, -s],
      [-s, SIDE, -s],
      [s, SIDE, -s],
      [s, 0, -s],
    ],
    [
      [-s, 0, s],
      [-s, SIDE, s],
      [-s, SIDE, -s],
    ],
  ];
  for (const path of paths) line(o, path, o.theme.line);
}

export function overCloud(o: Over, names: CloudNames, picked: Vec | null): void {
  const s = SIDE / 2;
  axis(o, names, 0, [-s, 0, s], [s, 0, s]);
  axis(o, names, 1, [-s, 0, s], [-s, SIDE, s]);
  axis(o, names, 2, [s, 0, s], [s, 0, -s]);
  if (picked) {
    const p = o.see(picked);
    o.g.strokeStyle = o.theme.text;
    o.g.lineWidth = 2;
    o.g.beginPath();
    o.g.arc(p.x, p.y, 8, 0, 2 * Math.PI);
    o.g.stroke();
    o.g.lineWidth = 1;
  }
  if (names.clusters === 0) {
    name(o, names.titles[3]!, o.width - 16, 200, 'right', o.theme.text);
    o.g.font = FONT;
    const frame = { left: 0, top: 12, width: o.width - SCALE_ROOM, height: 170 };
    return drawScale(o.g, names.fields[3]!, { frame, theme: o.theme, scale: names.scales[3]! });
  }
  for (let c = 0; c < names.clusters; c++) {
    o.g.fillStyle = css(CLUSTER_COLORS[c % CLUSTER_COLORS.length]!);
    o.g.fillRect(o.width - 104, 14 + c * 18, 11, 11);
    name(o, `cluster ${c + 1}`, o.width - 88, 20 + c * 18, 'left', o.theme.text);
  }
}
