// spacetime_shown.ts - how much of what was read is in the picture, as the space-time view opens on what can be read. Pure.
import type { Section } from '../model/section';
import { count, plural } from './format';
import { Seen } from './spacetime';
import type { Diagram } from './spacetime';
import { acrossOf, alongOf } from './spacetime_frame';
import type { Frame } from './spacetime_frame';

/** Events and lines within the plot, of all that filters leave. */
export interface Shown {
  events: number;
  lines: number;
  allEvents: number;
}

export function shownIn(s: Section, d: Diagram, f: Frame): Shown {
  const [top, left] = f.upright ? [f.top, f.left] : [f.left, f.top];
  const lines = Uint8Array.from({ length: d.lines }, (_, line) => {
    const at = acrossOf(f, line) - left;
    return Number(at >= 0 && at <= f.breadth);
  });
  let [events, allEvents] = [0, 0];
  for (let i = 0; i < s.events.count; i++) {
    if (d.seen[i] === Seen.Hidden) continue;
    allEvents++;
    const at = alongOf(f, d.level[i]!) - top;
    events += Number(lines[d.lineOf[s.events.rank[i]!]!] === 1 && at >= 0 && at <= f.length);
  }
  return { events, allEvents, lines: lines.reduce((n, x) => n + x, 0) };
}

/** Nothing where all of it is shown. */
export function shownInWords({ events, allEvents, lines }: Shown, d: Diagram): string {
  if (events === allEvents && lines === d.lines) return '';
  return `${count(events)} of ${plural(allEvents, 'event')}, ${count(lines)} of ${plural(d.lines, 'line')} in the picture`;
}
