// spacetime.ts - the space-time diagram on a canvas: a line for each rank, events on it, messages from line to line, a collective as one bar
// through all that take part, epochs as bands. What has no room for its text has none. Paths hold many lines each: a stroke a line
// would take many times as long.
import { moment } from '../layout/format';
import { Seen } from '../layout/spacetime';
import type { Diagram } from '../layout/spacetime';
import { DIGIT, acrossOf, alongOf, levelsSeen, linesSeen, point } from '../layout/spacetime_frame';
import type { Frame } from '../layout/spacetime_frame';
import { COLOUR_STYLES } from '../layout/protocol_colors';
import type { ColourStyle } from '../layout/protocol_colors';
import { tickStep, ticks } from '../layout/ticks';
import { Role } from '../model/section';
import type { Section } from '../model/section';
import type { Colour } from '../model/protocol';
import { FONT } from './dom';
import { box, drawBandLabels, drawBands } from './spacetime_bands';
import type { Written } from './spacetime_bands';
import type { Scene } from './spacetime_scene';
import type { Theme } from './dom';

/** Room for labels of lines and of epochs; names: of super epochs, which are longer. */
export function marginsOf(upright: boolean, names: boolean): { left: number; top: number } {
  return upright ? { left: names ? 128 : 46, top: 30 } : { left: 64, top: 20 };
}

const STROKE_MAX = 400; // lines in a path
const TEXT_STEP = 12; // pixels between levels that a number needs
const TEXT_PITCH = 34;
const ARROW_STEP = 6;
const TICK = 80; // pixels between moments
const MESSAGE = { light: '#0072b2', dark: '#56b4e9' };
const COLLECTIVE = { light: '#0c8f65', dark: '#10af7c' };
const DOT_STEP = 2.2;
const ROOM_MAX = 20;
const ROUND = 2.2; // pixels of the radius: smaller ones nobody tells from squares

type G = CanvasRenderingContext2D;

/** Pixels from an event of a line to its next one: by time they stand in bursts, so on average. */
function roomOf({ section, diagram: d, frame: f }: Scene): number {
  if (!d.clock) return f.step;
  const [low, high] = levelsSeen(f);
  const share = Math.min(1, (Math.min(high, d.levels) - Math.max(low, 0)) / d.levels);
  return Math.min(ROOM_MAX, f.length / Math.max(1, (section.events.count * share) / Math.max(1, d.lines)));
}

/** Lines of one look, stroked together. */
class Strokes {
  private readonly at: number[] = [];

  add(x1: number, y1: number, x2: number, y2: number): void {
    this.at.push(x1, y1, x2, y2);
  }

  draw(g: G): void {
    const { at } = this;
    for (let i = 0; i < at.length;) {
      g.beginPath();
      for (const end = Math.min(at.length, i + 4 * STROKE_MAX); i < end; i += 4) {
        g.moveTo(at[i]!, at[i + 1]!);
        g.lineTo(at[i + 2]!, at[i + 3]!);
      }
      g.stroke();
    }
  }
}

// ---- lines of ranks ----

function drawLines(g: G, { frame: f, theme, diagram, marked, labels }: Scene): void {
  const [low, high] = linesSeen(f).map((x, i) => (i === 0 ? Math.max(0, Math.floor(x)) : Math.ceil(x)));
  const begin = f.upright ? f.top : f.left;
  const strokes = new Strokes();
  for (let line = low!; line <= Math.min(diagram.lines - 1, high!); line++) {
    const across = acrossOf(f, line);
    if (marked.has(line)) {
      g.fillStyle = theme.accent;
      g.globalAlpha = 0.14;
      box(g, f, begin, across - f.pitch / 2, f.length, Math.max(1, f.pitch));
      g.globalAlpha = 1;
    }
    strokes.add(...point(f, begin, across), ...point(f, begin + f.length, across));
  }
  g.strokeStyle = theme.dim;
  g.lineWidth = 1;
  g.globalAlpha = Math.min(0.55, Math.max(0.12, f.pitch / 24));
  strokes.draw(g);
  g.globalAlpha = 1;
  drawLabels(g, f, theme, diagram, labels, marked);
}

function drawLabels(
  g: G,
  f: Frame,
  theme: Theme,
  diagram: Diagram,
  labels: readonly string[],
  marked: ReadonlySet<number>,
): void {
  g.font = FONT;
  const widest = labels.slice(0, 64).reduce((w, text) => Math.max(w, text.length), 1);
  const room = f.upright ? 7.2 * widest + 8 : 15;
  let every = 1;
  while (every * f.pitch < room) every *= every === 2 || every === 20 || every === 200 ? 2.5 : 2;
  g.textBaseline = 'middle';
  g.textAlign = f.upright ? 'center' : 'right';
  const [low, high] = linesSeen(f);
  for (let line = 0; line < diagram.lines; line += every) {
    if (line < low || line > high) continue;
    const across = acrossOf(f, line);
    if (across < (f.upright ? f.left : f.top) - 2) continue;
    g.fillStyle = marked.has(line) ? theme.text : theme.dim;
    const [x, y] = f.upright ? [across, f.top / 2] : [f.left - 8, across];
    g.fillText(labels[line]!, x, y);
  }
}

// ---- messages ----

interface Look {
  strokes: Strokes;
  heads: number[]; // x, y, angle
  symbols: [number, number][];
}

function look(): Look {
  return { strokes: new Strokes(), heads: [], symbols: [] };
}

/** Messages by how they are drawn: '' is without a verdict, grey is filtered away. */
function gather(scene: Scene): Map<string, Look> {
  const { section, diagram: d, frame: f, verdictOf } = scene;
  const { messages: m, events } = section;
  const [low, high] = levelsSeen(f);
  const [lowLine, highLine] = linesSeen(f);
  const room = roomOf(scene);
  const looks = new Map<string, Look>();
  const dense = room < 1 || f.pitch < 1 ? new Set<number>() : null; // places where there is a line already
  for (let k = 0; k < m.count; k++) {
    const [a, b] = [m.send[k]!, m.receive[k]!];
    const seenA = a >= 0 ? d.seen[a]! : Seen.Hidden;
    const seenB = b >= 0 ? d.seen[b]! : Seen.Hidden;
    const seen = Math.max(seenA, seenB);
    if (seen === Seen.Hidden) continue;
    const [lineA, lineB] = [d.lineOf[m.src[k]!]!, d.lineOf[m.dst[k]!]!];
    const isStub = seenA === Seen.Hidden || seenB === Seen.Hidden;
    const levelA = seenA !== Seen.Hidden ? d.level[a]! : d.level[b]! - 0.8;
    const levelB = seenB !== Seen.Hidden ? d.level[b]! : d.level[a]! + 0.8;
    if (Math.max(levelA, levelB) < low || Math.min(levelA, levelB) > high) continue;
    if (Math.max(lineA, lineB) < lowLine || Math.min(lineA, lineB) > highLine) continue;
    let [from, to] = [acrossOf(f, lineA), acrossOf(f, lineB)];
    if (isStub) {
      const isSend = seenA !== Seen.Hidden;
      const other = isSend ? m.dst[k]! : m.src[k]!;
      const own = events.rank[isSend ? a : b]!;
      const reach = Math.min(26, f.pitch * 0.42) * (other > own ? 1 : -1);
      if (isSend) to = from + reach;
      else from = to + reach;
    }
    const [p, q] = [alongOf(f, levelA), alongOf(f, levelB)];
    if (dense) {
      const key =
        (((Math.round(p) * 8192 + Math.round(from)) * 8192 + Math.round(q)) * 8192 + Math.round(to)) % 2 ** 52;
      if (dense.has(key)) continue;
      dense.add(key);
    }
    const both = Math.min(seenA || seen, seenB || seen);
    const verdict = both === Seen.Drawn ? verdictOf(k) : null;
    const name = both === Seen.Grey ? 'grey' : isStub ? 'stub' : (verdict?.colour ?? '');
    const to2 = looks.get(name) ?? look();
    looks.set(name, to2);
    const [x1, y1] = point(f, p, from);
    const [x2, y2] = point(f, q, to);
    if (lineA === lineB && !isStub) loop(to2.strokes, f, p, q, from);
    else to2.strokes.add(x1, y1, x2, y2);
    if (room >= ARROW_STEP && f.pitch > 9) to2.heads.push(x2, y2, Math.atan2(y2 - y1, x2 - x1));
    if (verdict && room >= TEXT_STEP && f.pitch >= TEXT_PITCH)
      to2.symbols.push([x1 + (x2 - x1) * 0.35, y1 + (y2 - y1) * 0.35]);
  }
  return looks;
}

/** From a rank to itself, or within a group. */
function loop(strokes: Strokes, f: Frame, p: number, q: number, across: number): void {
  const out = across + Math.min(14, f.pitch * 0.3);
  const middle = (p + q) / 2;
  strokes.add(...point(f, p, across), ...point(f, middle, out));
  strokes.add(...point(f, middle, out), ...point(f, q, across));
}

function drawHeads(g: G, heads: readonly number[], size: number): void {
  g.beginPath();
  for (let i = 0; i < heads.length; i += 3) {
    const [x, y, angle] = [heads[i]!, heads[i + 1]!, heads[i + 2]!];
    const back = 3.5; // the dot is before it
    const [tx, ty] = [x - back * Math.cos(angle), y - back * Math.sin(angle)];
    g.moveTo(tx, ty);
    g.lineTo(tx - size * Math.cos(angle - 0.4), ty - size * Math.sin(angle - 0.4));
    g.lineTo(tx - size * Math.cos(angle + 0.4), ty - size * Math.sin(angle + 0.4));
    g.lineTo(tx, ty);
  }
  g.fill();
}

function messageColor(theme: Theme): string {
  return theme.dark ? MESSAGE.dark : MESSAGE.light;
}

function drawMessages(g: G, scene: Scene): void {
  const { theme, frame: f } = scene;
  const looks = gather(scene);
  const order = ['grey', 'stub', '', 'blue', 'green', 'orange', 'red'];
  const room = roomOf(scene);
  const thin = room < 3 || f.pitch < 6;
  for (const name of order) {
    const found = looks.get(name);
    if (!found) continue;
    const style: ColourStyle | undefined = COLOUR_STYLES[name as Colour];
    const color = name === 'grey' ? theme.dim : (style?.hex ?? messageColor(theme));
    g.strokeStyle = g.fillStyle = color;
    g.lineWidth = thin ? 0.7 : style ? 1.8 : 1.2;
    g.globalAlpha = name === 'grey' ? 0.3 : thin ? 0.55 : 0.9;
    g.setLineDash(name === 'stub' ? [3, 3] : thin ? [] : (style?.dash ?? []));
    found.strokes.draw(g);
    g.setLineDash([]);
    drawHeads(g, found.heads, Math.min(8, room * 0.7));
    g.globalAlpha = 1;
    if (style) drawSymbols(g, found.symbols, style.sign, theme);
  }
}

function drawSymbols(g: G, at: readonly [number, number][], symbol: string, theme: Theme): void {
  g.font = FONT;
  g.textAlign = 'center';
  g.textBaseline = 'middle';
  const color = g.fillStyle;
  for (const [x, y] of at) {
    g.fillStyle = theme.paper;
    g.fillRect(x - 6, y - 6, 12, 12);
    g.fillStyle = color;
    g.fillText(symbol, x, y + 0.5);
  }
}

// ---- collectives ----

function drawCollectives(g: G, scene: Scene): void {
  const { section, diagram: d, frame: f, theme } = scene;
  const room = roomOf(scene);
  const [low, high] = levelsSeen(f);
  const wide = Math.max(1, Math.min(5, room * 0.28));
  const [bars, pale] = [new Strokes(), new Strokes()];
  for (const c of section.collectives) {
    const parts = c.parts.filter((i) => d.seen[i] !== Seen.Hidden && d.lineOf[section.events.rank[i]!]! >= 0);
    if (parts.length === 0) continue;
    const line = (i: number) => d.lineOf[section.events.rank[i]!]!;
    parts.sort((a, b) => line(a) - line(b));
    for (let k = 1; k < parts.length; k++) {
      const [a, b] = [parts[k - 1]!, parts[k]!];
      if (Math.max(d.level[a]!, d.level[b]!) < low || Math.min(d.level[a]!, d.level[b]!) > high) continue;
      const isPale = d.seen[a] === Seen.Grey || d.seen[b] === Seen.Grey;
      const ends = [a, b].map((i) => point(f, alongOf(f, d.level[i]!), acrossOf(f, line(i))));
      (isPale ? pale : bars).add(...ends[0]!, ...ends[1]!);
    }
  }
  g.lineCap = 'round';
  g.lineWidth = wide;
  g.strokeStyle = theme.dim;
  g.globalAlpha = 0.25;
  pale.draw(g);
  g.strokeStyle = theme.dark ? COLLECTIVE.dark : COLLECTIVE.light;
  g.globalAlpha = room < 3 ? 0.6 : 1;
  bars.draw(g);
  g.globalAlpha = 1;
  g.lineCap = 'butt';
}

// ---- events ----

/** Returned is where numbers stand. */
function drawEvents(g: G, scene: Scene): Written[] {
  const { section, diagram: d, frame: f, theme } = scene;
  const room = roomOf(scene);
  if (room < DOT_STEP || f.pitch < 3) return [];
  const { events } = section;
  const [low, high] = levelsSeen(f);
  const [lowLine, highLine] = linesSeen(f);
  const radius = Math.max(1, Math.min(4.2, room * 0.3, f.pitch * 0.2));
  const [dots, hollow, pale]: [number, number][][] = [[], [], []];
  const texts: [number, number, number, number][] = [];
  const written = new Map<number, number>(); // by line and side
  const width = d.digits * DIGIT;
  const gap = f.pitch - 2 * radius - 6; // from an event to that of the next line
  const bothSides = !f.upright || gap >= 2 * width + 4; // else a number would meet that of the next line
  const next = f.upright ? TEXT_STEP : Math.max(TEXT_STEP, width + 4);
  for (let i = 0; i < events.count; i++) {
    const at = d.level[i]!;
    const line = d.lineOf[events.rank[i]!]!;
    if (d.seen[i] === Seen.Hidden || line < 0 || at < low || at > high || line < lowLine || line > highLine) continue;
    const spot = point(f, alongOf(f, at), acrossOf(f, line));
    (d.seen[i] === Seen.Grey ? pale : d.orphan[i] === 1 ? hollow : dots)!.push(spot);
    const away = sideOf(section, d, i);
    const side = away !== 0 && !bothSides ? 1 : away;
    const before = written.get(3 * line + side) ?? -Infinity;
    if (d.seen[i] !== Seen.Drawn || Math.abs(alongOf(f, at) - before) < next) continue; // no room beside the one before
    written.set(3 * line + side, alongOf(f, at));
    texts.push([...spot, events.number[i]!, side]);
  }
  circles(g, pale!, radius, theme.line, '');
  circles(g, dots!, radius, theme.text, '');
  circles(g, hollow!, radius, theme.paper, theme.text);
  const isSingle = d.lines === 0 || d.ranksOf.every((ranks) => ranks.length === 1);
  if (room < TEXT_STEP || f.pitch < TEXT_PITCH || !isSingle || (f.upright && gap < width)) return [];
  const numbers: Written[] = [];
  g.font = `10px ${FONT.slice(5)}`;
  g.fillStyle = theme.dim;
  g.textBaseline = 'middle';
  g.textAlign = 'center';
  for (const side of [-1, 1]) {
    if (f.upright) g.textAlign = side > 0 ? 'left' : 'right';
    const [dx, dy] = f.upright ? [side * (radius + 3), 0] : [0, side * (radius + 6)];
    for (const [x, y, n, to] of texts) {
      if (to !== side) continue;
      g.fillText(String(n), x + dx, y + dy);
      const wide = DIGIT * String(n).length;
      numbers.push({ x: x + dx - (f.upright ? (side > 0 ? 0 : wide) : wide / 2), y: y + dy, wide });
    }
  }
  g.textAlign = 'left'; // beside the bar of a collective
  const [dx, dy] = f.upright ? [radius + 1, -radius - 4] : [radius + 2, radius + 6];
  for (const [x, y, n, to] of texts) {
    if (to !== 0) continue;
    g.fillText(String(n), x + dx, y + dy);
    numbers.push({ x: x + dx, y: y + dy, wide: DIGIT * String(n).length });
  }
  return numbers;
}

/** The side of its line on which an event's message is not; 0: it has none. */
function sideOf(s: Section, d: Diagram, i: number): number {
  const { rank, role, thing } = s.events;
  if (role[i] === Role.Part) return 0;
  const { src, dst } = s.messages;
  const other = role[i] === Role.Send ? dst[thing[i]!]! : src[thing[i]!]!;
  return d.lineOf[other]! > d.lineOf[rank[i]!]! ? -1 : 1;
}

function circles(g: G, at: readonly [number, number][], radius: number, fill: string, line: string): void {
  g.fillStyle = fill;
  g.strokeStyle = line;
  g.lineWidth = 1.3;
  for (let i = 0; i < at.length;) {
    g.beginPath();
    for (const end = Math.min(at.length, i + STROKE_MAX); i < end; i++) {
      const [x, y] = at[i]!;
      if (radius < ROUND) g.rect(x - radius, y - radius, 2 * radius, 2 * radius);
      else {
        g.moveTo(x + radius, y);
        g.arc(x, y, radius, 0, 2 * Math.PI);
      }
    }
    g.fill();
    if (line !== '') g.stroke();
  }
}

/** Moments, where levels are spaced by time. */
function drawTimes(g: G, { diagram: d, frame: f, theme }: Scene): void {
  if (!d.clock) return;
  const { begin, end } = d.clock;
  const perLevel = (end - begin) / Math.max(1, d.levels - 1);
  const [low, high] = levelsSeen(f).map((level) => begin + Math.min(d.levels, Math.max(0, level)) * perLevel);
  const step = tickStep(perLevel / f.step, TICK);
  g.font = `10px ${FONT.slice(5)}`;
  g.textBaseline = f.upright ? 'middle' : 'bottom';
  g.textAlign = f.upright ? 'right' : 'center';
  for (const t of ticks(low!, high!, step)) {
    const along = alongOf(f, (t - begin) / perLevel);
    const text = moment(t, step);
    const across = f.upright ? f.width : f.height;
    g.fillStyle = theme.line;
    box(g, f, along, across - 8, 1, 8);
    const [x, y] = point(f, along, across - (f.upright ? 11 : 9));
    g.fillStyle = theme.paper;
    g.globalAlpha = 0.8;
    const wide = 6 * text.length;
    if (f.upright) g.fillRect(x - wide, y - 7, wide + 2, 14);
    else g.fillRect(x - wide / 2, y - 13, wide, 13);
    g.globalAlpha = 1;
    g.fillStyle = theme.dim;
    g.fillText(text, x, y);
  }
}

/** The event that is picked, and whom it is with. */
function drawPicked(g: G, { section, diagram: d, frame: f, theme, picked }: Scene): void {
  if (picked < 0 || d.seen[picked] === Seen.Hidden) return;
  const { events, messages, collectives } = section;
  const spot = (i: number) => point(f, alongOf(f, d.level[i]!), acrossOf(f, d.lineOf[events.rank[i]!]!));
  const isPart = events.role[picked] === Role.Part;
  const thing = events.thing[picked]!;
  const with_ = isPart ? collectives[thing]!.parts : [messages.send[thing]!, messages.receive[thing]!];
  const all = with_.filter((i) => i >= 0 && d.seen[i] !== Seen.Hidden && d.lineOf[events.rank[i]!]! >= 0);
  g.strokeStyle = theme.accent;
  g.lineWidth = 3;
  if (!isPart && all.length === 2) {
    g.beginPath();
    g.moveTo(...spot(all[0]!));
    g.lineTo(...spot(all[1]!));
    g.stroke();
  }
  g.lineWidth = 2;
  for (const i of all.slice(0, 4096)) {
    g.beginPath();
    g.arc(...spot(i), i === picked ? 8 : 5.5, 0, 2 * Math.PI);
    g.stroke();
  }
}

export function paintSpacetime(g: G, scene: Scene): void {
  const { frame: f } = scene;
  const clipped = (draw: () => void) => {
    g.save();
    g.beginPath();
    g.rect(f.left, f.top, f.width - f.left, f.height - f.top);
    g.clip();
    draw();
    g.restore();
  };
  clipped(() => drawBands(g, scene));
  drawLines(g, scene);
  let numbers: Written[] = [];
  clipped(() => {
    drawCollectives(g, scene);
    drawMessages(g, scene);
    numbers = drawEvents(g, scene);
    drawTimes(g, scene);
    drawPicked(g, scene);
  });
  drawBandLabels(g, scene, numbers);
}
