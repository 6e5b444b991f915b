// states.ts - paints a consistent global state: icons of processes, containers, active collectives, arrows along the data. A filled head is of
// a call that waits for nobody, a hollow one of a call that may wait; it stands at whose call it is.
import { placedAt } from '../layout/boxes';
import type { Placed } from '../layout/boxes';
import { CLASSES, WAITING_STYLE, css } from '../layout/color';
import { count, duration, plural } from '../layout/format';
import { tally } from '../layout/state_words';
import { shortRange } from '../model/containers';
import type { Box } from '../model/containers';
import { Doing } from '../model/snapshot';
import type { Active, Snapshot } from '../model/snapshot';
import { unknownPattern } from './dom';
import type { Theme } from './dom';

export interface Scene {
  snapshot: Snapshot;
  placed: Placed[];
  theme: Theme;
  pale(rank: number): boolean;
  selected: ReadonlySet<number>;
  focused: Placed | null;
  waits: readonly (readonly [number, number])[]; // of a deadlock: who for whom
}

interface Point {
  x: number;
  y: number;
}

const FAMILY = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const TEXT_MIN = 26; // pixels of an icon with text below it
const ARROWS_MAX = 4000;

const GREEN = css(CLASSES[3]!.color);
const VERMILLION = css(WAITING_STYLE.color);
const BLUE = css(CLASSES[1]!.color);
const SKY = css(CLASSES[2]!.color);

function blockingColor(theme: Theme): string {
  return theme.dark ? SKY : BLUE;
}

/** What stands for each rank: its icon, or that of a closed container around it. */
function standsFor(placed: readonly Placed[], ranks: number): Int32Array {
  const of = new Int32Array(ranks).fill(-1);
  placed.forEach((p, k) => {
    if (p.open) return;
    if (typeof p.item === 'number') of[p.item] = k;
    else for (const rank of p.item.ranks) of[rank] = k;
  });
  return of;
}

const radiusOf = (p: Placed) => Math.max(2.5, Math.min(p.width, p.height) * 0.25);

const BESIDE = 40; // pixels from the middle of an icon to beside the words below it

/** From the rim of one icon to that of another, bent a little to the left of who sends; up or down, around the words below icons. */
function curveBetween(a: Placed, b: Placed): [Point, Point, Point] {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const long = Math.hypot(dx, dy) || 1;
  const steep = Math.max(0, Math.abs(dy) / long - 0.7) / 0.3;
  const around = a.width > TEXT_MIN * 1.7 ? Math.min(0.9, (2 * BESIDE * steep) / long) : 0;
  const bend = Math.max(around, Math.min(0.16, 20 / long) + 0.04);
  const c = { x: (a.x + b.x) / 2 + dy * bend, y: (a.y + b.y) / 2 - dx * bend };
  const rim = (p: Placed, to: Point) => {
    const d = Math.hypot(to.x - p.x, to.y - p.y) || 1;
    const r = radiusOf(p) + 3;
    return { x: p.x + ((to.x - p.x) / d) * r, y: p.y + ((to.y - p.y) / d) * r };
  };
  return [rim(a, c), c, rim(b, c)];
}

function onCurve([a, c, b]: [Point, Point, Point], t: number): Point {
  const u = 1 - t;
  return { x: u * u * a.x + 2 * u * t * c.x + t * t * b.x, y: u * u * a.y + 2 * u * t * c.y + t * t * b.y };
}

function head(
  g: CanvasRenderingContext2D,
  tip: Point,
  from: Point,
  size: number,
  filled: boolean,
  ground: string,
): void {
  const angle = Math.atan2(tip.y - from.y, tip.x - from.x);
  const corner = (turn: number) => ({
    x: tip.x - size * Math.cos(angle + turn),
    y: tip.y - size * Math.sin(angle + turn),
  });
  const [a, b] = [corner(0.45), corner(-0.45)];
  g.setLineDash([]);
  g.beginPath();
  g.moveTo(tip.x, tip.y);
  g.lineTo(a.x, a.y);
  g.lineTo(b.x, b.y);
  g.closePath();
  g.fillStyle = filled ? (g.strokeStyle as string) : ground;
  g.fill();
  g.stroke();
}

interface Link {
  from: number; // numbers of placed
  to: number;
  atFrom: boolean;
  blocking: boolean;
  sent: boolean;
  count: number;
  pale: boolean;
}

/** Arrows of ranks laid over each other where containers are closed. */
export function linksOf(scene: Scene): Link[] {
  const { snapshot, placed, pale } = scene;
  const of = standsFor(placed, snapshot.doing.length);
  const links = new Map<string, Link>();
  for (const x of snapshot.arrows) {
    const [from, to] = [of[x.from]!, of[x.to]!];
    if (from < 0 || to < 0 || from === to) continue;
    const key = [from, to, x.at === x.from, x.blocking, x.sent].join(' ');
    const known = links.get(key);
    const dim = pale(x.from) && pale(x.to);
    if (known) {
      known.count++;
      known.pale &&= dim;
    } else {
      const { blocking, sent } = x;
      links.set(key, { from, to, atFrom: x.at === x.from, blocking, sent, count: 1, pale: dim });
    }
  }
  return [...links.values()].slice(0, ARROWS_MAX);
}

function paintLink(g: CanvasRenderingContext2D, x: Link, { placed, theme }: Scene): void {
  const [a, b] = [placed[x.from]!, placed[x.to]!];
  const curve = curveBetween(a, b);
  const size = Math.max(5, Math.min(12, radiusOf(a) * 0.55));
  g.globalAlpha = x.pale ? 0.2 : 1;
  g.strokeStyle = !x.sent ? VERMILLION : x.blocking ? blockingColor(theme) : GREEN;
  g.lineWidth = Math.min(6, 1.2 + Math.log2(x.count) * 0.6);
  g.setLineDash(x.sent ? [] : [5, 4]);
  g.beginPath();
  g.moveTo(curve[0].x, curve[0].y);
  g.quadraticCurveTo(curve[1].x, curve[1].y, curve[2].x, curve[2].y);
  g.stroke();
  g.lineWidth = 1.4;
  const long = Math.hypot(curve[2].x - curve[0].x, curve[2].y - curve[0].y) || 1;
  const near = Math.min(0.45, (size * 1.15) / long);
  const tip = x.atFrom ? onCurve(curve, near) : curve[2];
  head(g, tip, onCurve(curve, x.atFrom ? 0 : 1 - near), size, !x.blocking, theme.paper);
  g.globalAlpha = 1;
}

// ---- icons ----

function disc(g: CanvasRenderingContext2D, p: Point, r: number): void {
  g.beginPath();
  g.arc(p.x, p.y, r, 0, 2 * Math.PI);
}

function cross(g: CanvasRenderingContext2D, p: Point, r: number): void {
  g.beginPath();
  g.moveTo(p.x - r, p.y - r);
  g.lineTo(p.x + r, p.y + r);
  g.moveTo(p.x + r, p.y - r);
  g.lineTo(p.x - r, p.y + r);
  g.stroke();
}

/** One shape and colour for each thing that a process can do. */
export function paintDoing(g: CanvasRenderingContext2D, doing: Doing, p: Point, r: number, theme: Theme): void {
  g.setLineDash(doing === Doing.NotBegun || doing === Doing.Unknown ? [3, 3] : []);
  g.lineWidth = Math.max(1.2, Math.min(3.5, r * (doing === Doing.Waits ? 0.2 : 0.12)));
  g.strokeStyle = theme.dim;
  g.fillStyle = theme.paper;
  if (doing === Doing.Outside) g.fillStyle = theme.idle;
  if (doing === Doing.Unknown) g.fillStyle = unknownPattern(g, theme.line);
  if (doing === Doing.NonBlocking) g.fillStyle = g.strokeStyle = GREEN;
  if (doing === Doing.Blocking) g.strokeStyle = blockingColor(theme);
  if (doing === Doing.Waits) g.strokeStyle = VERMILLION;
  if (doing === Doing.Over || doing === Doing.Dead) {
    g.beginPath();
    g.rect(p.x - r * 0.85, p.y - r * 0.85, r * 1.7, r * 1.7);
  } else disc(g, p, r);
  g.fill();
  g.stroke();
  g.setLineDash([]);
  if (doing === Doing.Waits && r > 6) {
    g.lineWidth = Math.max(1, r * 0.07);
    disc(g, p, r * 0.72); // a second ring: not by colour alone
    g.stroke();
  }
  if (doing === Doing.Dead) {
    g.strokeStyle = VERMILLION;
    cross(g, p, r * 0.85);
  }
}

/** No wider than that. */
function shortened(g: CanvasRenderingContext2D, whole: string, width: number): string {
  if (g.measureText(whole).width <= width) return whole;
  const text = shortRange(whole);
  if (g.measureText(text).width <= width) return text;
  let n = text.length;
  while (n > 1 && g.measureText(`${text.slice(0, n)}…`).width > width) n--;
  return n > 2 ? `${text.slice(0, n)}…` : '';
}

function paintProcess(g: CanvasRenderingContext2D, p: Placed, rank: number, s: Scene): void {
  const { snapshot, theme } = s;
  const r = radiusOf(p);
  const doing = snapshot.doing[rank]! as Doing;
  g.globalAlpha = s.pale(rank) ? 0.28 : 1;
  paintDoing(g, doing, p, r, theme);
  if (r > 6) {
    g.font = `600 ${Math.round(Math.min(15, r * (rank > 999 ? 0.62 : 0.8)))}px ${FAMILY}`;
    g.textAlign = 'center';
    g.textBaseline = 'middle';
    g.fillStyle = doing === Doing.NonBlocking ? '#06251b' : theme.text;
    g.fillText(String(rank), p.x, p.y + 0.5);
  }
  g.globalAlpha = 1;
}

/** To be read where arrows pass below it. */
function paintText(g: CanvasRenderingContext2D, text: string, x: number, y: number, theme: Theme): void {
  g.strokeStyle = theme.paper;
  g.lineWidth = 4;
  g.setLineDash([]);
  g.strokeText(text, x, y);
  g.fillText(text, x, y);
}

/** Below an icon: what it is in, and for how long. */
function paintBelow(g: CanvasRenderingContext2D, p: Placed, rank: number, s: Scene): void {
  const { snapshot, theme } = s;
  const doing = snapshot.doing[rank]! as Doing;
  if (p.width <= TEXT_MIN * 1.7 || doing < Doing.NonBlocking) return;
  const r = radiusOf(p);
  const inCall = doing <= Doing.Waits;
  const op = inCall
    ? (snapshot.ops[snapshot.op[rank]!] ?? '').replace(/^MPI_/, '')
    : doing === Doing.Dead
      ? 'dies'
      : doing === Doing.Unknown
        ? 'not known'
        : 'finished';
  const small = Math.max(9, Math.min(12, p.width * 0.14));
  const width = p.width * 0.98;
  g.font = `${small}px ${FAMILY}`;
  g.textAlign = 'center';
  g.textBaseline = 'alphabetic';
  g.fillStyle = theme.text;
  g.globalAlpha = s.pale(rank) ? 0.28 : 1;
  paintText(g, shortened(g, op, width), p.x, p.y + r + small + 2, theme);
  if ((doing !== Doing.Waits && doing !== Doing.Dead) || p.height < 58) return;
  g.fillStyle = theme.dim;
  const until = snapshot.open[rank] ? snapshot.until[rank]! : snapshot.time;
  const since = duration(Math.max(0, until - snapshot.since[rank]!));
  const unreturned = snapshot.unreturned[rank] ?? 0;
  const dies = unreturned > 0 ? `in MPI, ${duration(unreturned)}` : 'outside MPI';
  paintText(g, shortened(g, doing === Doing.Dead ? dies : since, width), p.x, p.y + r + 2 * small + 4, theme);
}

/** From the bottom of a bar. */
export const STATE_ORDER: Doing[] = [
  Doing.Waits,
  Doing.Blocking,
  Doing.NonBlocking,
  Doing.Outside,
  Doing.NotBegun,
  Doing.Over,
  Doing.Dead,
  Doing.Unknown,
];

/** Below a container: as much of it as there is room for. */
const sumsWords = (waits: number, ranks: number): string[] =>
  waits > 0 ? [`${count(waits)}/${count(ranks)} wait`, `${count(waits)} wait`] : [plural(ranks, 'rank'), count(ranks)];

/** The sum of what is inside: a bar in the colours of what processes do, waiting from the bottom. */
function paintBox(g: CanvasRenderingContext2D, p: Placed, box: Box, s: Scene): void {
  const { theme, snapshot } = s;
  const r = radiusOf(p) * 1.2;
  const [x, y, size] = [p.x - r, p.y - r, 2 * r];
  const sums = tally(snapshot, box.ranks);
  g.globalAlpha = box.ranks.every(s.pale) ? 0.28 : 1;
  let from = y + size;
  for (const doing of STATE_ORDER) {
    const high = (size * sums[doing]!) / Math.max(1, box.ranks.length);
    if (high <= 0) continue;
    from -= high;
    g.fillStyle = fillOf(g, doing, theme);
    g.fillRect(x, from, size, high);
    if (doing === Doing.Waits) hatch(g, x, from, size, high, theme);
  }
  g.strokeStyle = theme.text;
  g.lineWidth = 1.4;
  g.strokeRect(x, y, size, size);
  if (p.width > TEXT_MIN) {
    const small = Math.max(9, Math.min(12, p.width * 0.13));
    g.font = `600 ${small}px ${FAMILY}`;
    g.textAlign = 'center';
    g.textBaseline = 'alphabetic';
    g.fillStyle = theme.text;
    g.fillText(shortened(g, box.name, p.width * 0.98), p.x, y - 4);
    g.font = `${small}px ${FAMILY}`;
    g.fillStyle = theme.dim;
    const waits = sums[Doing.Waits]!;
    const fits = sumsWords(waits, box.ranks.length).find((words) => g.measureText(words).width <= p.width * 0.98);
    g.fillText(fits ?? '', p.x, y + size + small + 2);
  }
  g.globalAlpha = 1;
}

export function fillOf(g: CanvasRenderingContext2D, doing: Doing, theme: Theme): string | CanvasPattern {
  if (doing === Doing.Unknown) return unknownPattern(g, theme.line);
  if (doing === Doing.Waits) return VERMILLION;
  if (doing === Doing.Blocking) return blockingColor(theme);
  if (doing === Doing.NonBlocking) return GREEN;
  return doing === Doing.Outside ? theme.idle : theme.paper;
}

export function hatch(g: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, theme: Theme): void {
  g.save();
  g.beginPath();
  g.rect(x, y, w, h);
  g.clip();
  g.strokeStyle = theme.paper;
  g.lineWidth = 1;
  g.beginPath();
  for (let at = -h; at < w; at += 5) {
    g.moveTo(x + at, y + h);
    g.lineTo(x + at + h, y);
  }
  g.stroke();
  g.restore();
}

function paintFrame(g: CanvasRenderingContext2D, p: Placed, box: Box, s: Scene): void {
  const { theme, snapshot } = s;
  const [x, y] = [p.x - p.width / 2, p.y - p.height / 2];
  g.setLineDash([]);
  g.strokeStyle = theme.line;
  g.lineWidth = 1.5;
  g.strokeRect(x, y, p.width, p.height);
  const waits = tally(snapshot, box.ranks)[Doing.Waits]!;
  g.font = `600 11px ${FAMILY}`;
  g.textAlign = 'left';
  g.textBaseline = 'top';
  g.fillStyle = theme.text;
  g.fillText(shortened(g, `${box.name}: ${waits} of ${box.ranks.length} wait`, p.width - 10), x + 5, y + 5);
}

// ---- collectives ----

const FAN = /(Bcast|Scatterv?)$/;
const TO_ROOT = /^MPI_I?(Reduce|Gatherv?)$/;

/** Where icons of collectives stand: in the middle of who came, beside each other. */
export function collectivePlaces(scene: Scene, width: number, height: number): { c: Active; x: number; y: number }[] {
  const of = standsFor(scene.placed, scene.snapshot.doing.length);
  const shown = scene.snapshot.collectives.filter((c) => new Set(c.came.map((r) => of[r]!)).size > 0 && c.size > 1);
  const wide = 96;
  return shown.slice(0, 24).map((c, k) => {
    const all = [...c.came, ...c.missing].map((rank) => scene.placed[of[rank]!]).filter((p) => p !== undefined);
    const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / Math.max(1, values.length);
    const shift =
      shown.length > 1 ? (k - (Math.min(24, shown.length) - 1) / 2) * Math.min(wide, width / shown.length) : 0;
    const x = Math.max(
      48,
      Math.min(width - 48, mean(all.map((p) => p.x)) + (all.length < scene.placed.length ? 0 : shift)),
    );
    return { c, x, y: Math.max(24, Math.min(height - 24, mean(all.map((p) => p.y)) + ((k % 3) - 1) * 8)) };
  });
}

function paintCollective(
  g: CanvasRenderingContext2D,
  { c, x, y }: { c: Active; x: number; y: number },
  s: Scene,
): void {
  const { placed, theme, snapshot } = s;
  const of = standsFor(placed, snapshot.doing.length);
  const fan = FAN.test(c.op) && c.root >= 0;
  const line = (rank: number, missing: boolean, done: Set<number>) => {
    const p = placed[of[rank]!];
    if (!p || done.has(of[rank]!)) return;
    done.add(of[rank]!);
    g.globalAlpha = missing ? 0.75 : 0.55;
    g.strokeStyle = missing ? VERMILLION : blockingColor(theme);
    g.lineWidth = missing ? 1.3 : 1.1;
    g.setLineDash(missing ? [2, 5] : []);
    const d = Math.hypot(p.x - x, p.y - y) || 1;
    const rim = { x: p.x - ((p.x - x) / d) * (radiusOf(p) + 4), y: p.y - ((p.y - y) / d) * (radiusOf(p) + 4) };
    g.beginPath();
    g.moveTo(x, y);
    g.lineTo(rim.x, rim.y);
    g.stroke();
    g.globalAlpha = 1;
    // data flows from the root to the others, or from them to it
    const toRank = fan ? rank !== c.root : TO_ROOT.test(c.op) && rank === c.root;
    if (missing || (!fan && !TO_ROOT.test(c.op))) return;
    const middle = { x: x + (rim.x - x) * 0.6, y: y + (rim.y - y) * 0.6 };
    const blocking = !/^MPI_I/.test(c.op);
    if (toRank) head(g, rim, { x, y }, 7, !blocking, theme.paper);
    else head(g, middle, rim, 7, !blocking, theme.paper);
  };
  const missing = new Set<number>();
  if (c.missing.length <= 64) for (const rank of c.missing) line(rank, true, missing);
  const came = new Set<number>();
  for (const rank of c.came) line(rank, false, came);
  paintPlate(g, x, y, c, theme);
}

function paintPlate(g: CanvasRenderingContext2D, x: number, y: number, c: Active, theme: Theme): void {
  const text = `${c.op.replace(/^MPI_/, '')} ${c.gone}/${c.size}`;
  g.font = `600 12px ${FAMILY}`;
  const wide = g.measureText(text).width / 2 + 14;
  g.setLineDash([]);
  g.beginPath();
  g.moveTo(x - wide, y);
  g.lineTo(x - wide + 9, y - 12);
  g.lineTo(x + wide - 9, y - 12);
  g.lineTo(x + wide, y);
  g.lineTo(x + wide - 9, y + 12);
  g.lineTo(x - wide + 9, y + 12);
  g.closePath();
  g.fillStyle = theme.paper;
  g.fill();
  g.strokeStyle = blockingColor(theme);
  g.lineWidth = 1.8;
  g.stroke();
  g.fillStyle = theme.text;
  g.textAlign = 'center';
  g.textBaseline = 'middle';
  g.fillText(text, x, y + 0.5);
}

/** Who waits for whom for ever. */
function paintDeadlock(g: CanvasRenderingContext2D, s: Scene): void {
  const of = standsFor(s.placed, s.snapshot.doing.length);
  g.strokeStyle = VERMILLION;
  s.waits.forEach(([rank, other]) => {
    const [a, b] = [s.placed[of[rank]!], s.placed[of[other]!]];
    if (!a || !b || a === b) return;
    const curve = curveBetween(a, b);
    g.lineWidth = 3;
    g.setLineDash([9, 4]);
    g.beginPath();
    g.moveTo(curve[0].x, curve[0].y);
    g.quadraticCurveTo(curve[1].x, curve[1].y, curve[2].x, curve[2].y);
    g.stroke();
    g.lineWidth = 1.5;
    head(g, curve[2], onCurve(curve, 0.85), 13, true, s.theme.paper);
  });
  g.setLineDash([]);
}

function paintMarks(g: CanvasRenderingContext2D, p: Placed, s: Scene): void {
  const ranks = typeof p.item === 'number' ? [p.item] : p.item.ranks;
  const chosen = ranks.length > 0 && ranks.every((rank) => s.selected.has(rank));
  const focused = s.focused !== null && s.focused.item === p.item;
  if (!chosen && !focused) return;
  g.setLineDash(focused ? [4, 3] : []);
  g.strokeStyle = focused ? s.theme.accent : s.theme.text;
  g.lineWidth = 2;
  const r = radiusOf(p) * (typeof p.item === 'number' ? 1 : 1.2) + 4.5;
  g.beginPath();
  if (p.open) g.rect(p.x - p.width / 2 - 2, p.y - p.height / 2 - 2, p.width + 4, p.height + 4);
  else g.rect(p.x - r, p.y - r, 2 * r, 2 * r);
  g.stroke();
  g.setLineDash([]);
}

export function paintStates(g: CanvasRenderingContext2D, scene: Scene, width: number, height: number): void {
  const { placed } = scene;
  g.lineJoin = 'round';
  for (const p of placed) if (p.open && typeof p.item !== 'number') paintFrame(g, p, p.item, scene);
  const plates = collectivePlaces(scene, width, height);
  for (const link of linksOf(scene)) paintLink(g, link, scene);
  for (const plate of plates) paintCollective(g, plate, scene);
  for (const p of placed) {
    if (typeof p.item === 'number') paintProcess(g, p, p.item, scene);
    else if (!p.open) paintBox(g, p, p.item, scene);
    paintMarks(g, p, scene);
  }
  paintDeadlock(g, scene);
  for (const p of placed) if (typeof p.item === 'number') paintBelow(g, p, p.item, scene);
  g.globalAlpha = 1;
  for (const { c, x, y } of plates) if (!placedAt(placed, x, y)?.open) paintPlate(g, x, y, c, scene.theme);
}
