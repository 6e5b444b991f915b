// spacetime_pick.ts - which event of the space-time diagram is at a point, and which is the next one. Pure.
import { Role } from '../model/section';
import type { Section } from '../model/section';
import { Seen } from './spacetime';
import type { Diagram } from './spacetime';
import { acrossOf, alongOf, placeAt } from './spacetime_frame';
import type { Frame } from './spacetime_frame';

const REACH = 9; // pixels
const NEAR_LINE = 6;

/** The nearest event within reach; else one end of the nearest message. */
export function eventAtPoint(s: Section, d: Diagram, f: Frame, x: number, y: number): number {
  const [along, across] = f.upright ? [y, x] : [x, y];
  const at = placeAt(f, x, y);
  let [best, distance] = [-1, REACH];
  const reachLines = REACH / f.pitch + 0.5;
  const reachLevels = REACH / f.step;
  for (let i = 0; i < s.events.count; i++) {
    const line = d.lineOf[s.events.rank[i]!]!;
    if (d.seen[i] === Seen.Hidden || line < 0) continue;
    if (Math.abs(line - at.line) > reachLines || Math.abs(d.level[i]! - at.level) > reachLevels) continue;
    const away = Math.hypot(alongOf(f, d.level[i]!) - along, acrossOf(f, line) - across);
    if (away < distance) [best, distance] = [i, away];
  }
  return best >= 0 ? best : endAtPoint(s, d, f, along, across);
}

function endAtPoint(s: Section, d: Diagram, f: Frame, along: number, across: number): number {
  const { messages: m } = s;
  let [best, distance] = [-1, NEAR_LINE];
  for (let k = 0; k < m.count; k++) {
    const [a, b] = [m.send[k]!, m.receive[k]!];
    if (a < 0 || b < 0 || d.seen[a] === Seen.Hidden || d.seen[b] === Seen.Hidden) continue;
    const [p, q] = [alongOf(f, d.level[a]!), alongOf(f, d.level[b]!)];
    if (along < Math.min(p, q) - NEAR_LINE || along > Math.max(p, q) + NEAR_LINE) continue;
    const [u, v] = [acrossOf(f, d.lineOf[m.src[k]!]!), acrossOf(f, d.lineOf[m.dst[k]!]!)];
    const away = fromSegment(along, across, p, u, q, v);
    const nearer = Math.hypot(along - p, across - u) <= Math.hypot(along - q, across - v) ? a : b;
    if (away < distance) [best, distance] = [nearer, away];
  }
  return best;
}

function fromSegment(x: number, y: number, x1: number, y1: number, x2: number, y2: number): number {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const t = Math.min(1, Math.max(0, ((x - x1) * dx + (y - y1) * dy) / Math.max(1e-9, dx * dx + dy * dy)));
  return Math.hypot(x - x1 - t * dx, y - y1 - t * dy);
}

/** Where a message came from or goes to; -1: it is not here. Of a part in a collective the next part. */
export function otherEnd(s: Section, i: number): number {
  const thing = s.events.thing[i]!;
  if (s.events.role[i] === Role.Part) {
    const { parts } = s.collectives[thing]!;
    return parts[(parts.indexOf(i) + 1) % parts.length]!;
  }
  return s.events.role[i] === Role.Send ? s.messages.receive[thing]! : s.messages.send[thing]!;
}

/** The next event along the line, or the nearest one on the next line that has any; -1: none. */
export function neighbourOf(s: Section, d: Diagram, from: number, along: number, across: number): number {
  const { count, rank } = s.events;
  const isSeen = (i: number) => d.seen[i] === Seen.Drawn && d.lineOf[rank[i]!]! >= 0;
  const line = (i: number) => d.lineOf[rank[i]!]!;
  let best = -1;
  const better = (i: number, score: (k: number) => number) => best < 0 || score(i) < score(best);
  for (let i = 0; i < count; i++) {
    if (!isSeen(i) || i === from) continue;
    if (from < 0) return i;
    const step = (d.level[i]! - d.level[from]!) * along || (i - from) * along * 1e-9;
    if (along !== 0 && line(i) === line(from) && step > 0) {
      if (better(i, (k) => Math.abs(d.level[k]! - d.level[from]!) + Math.abs(k - from) * 1e-9)) best = i;
    } else if (across !== 0 && (line(i) - line(from)) * across > 0) {
      if (better(i, (k) => Math.abs(line(k) - line(from)) * 1e9 + Math.abs(d.level[k]! - d.level[from]!))) best = i;
    }
  }
  return best;
}
