// census.ts - a strip below the states: how many processes are in which state over the interval shown, and where in it this state is.
import { count, exactMoment, plural } from '../layout/format';
import { DOING } from '../layout/state_words';
import { DOING_KINDS } from '../model/snapshot';
import type { Census } from '../work/census';
import { h, paper, theme } from './dom';
import { STATE_ORDER, fillOf, hatch } from './states';
import type { Tip } from './tooltip';

/** One moment in this many pixels. */
export const PIXELS_A_MOMENT = 6;

export class CensusStrip {
  readonly element = h('canvas', { class: 'census', 'aria-hidden': 'true' }); // the table of states has its numbers
  private census: Census | null = null;

  take(census: Census): void {
    this.census = census;
  }

  private momentAt(x: number): number {
    const c = this.census!;
    return Math.min(c.moments - 1, Math.max(0, Math.floor((x / this.element.clientWidth) * c.moments)));
  }

  /** ns; null: nothing is drawn there. */
  timeAt(x: number): number | null {
    const c = this.census;
    if (!c || this.momentAt(x) >= c.counted) return null;
    return c.from + ((this.momentAt(x) + 0.5) / c.moments) * (c.to - c.from);
  }

  tip(x: number): Tip | null {
    const time = this.timeAt(x);
    if (time === null) return null;
    const counts = this.countsAt(this.momentAt(x));
    const all = counts.reduce((a, b) => a + b, 0);
    const rows = STATE_ORDER.filter((k) => counts[k]! > 0).map((k): [string, string] => [DOING[k]!, count(counts[k]!)]);
    return { title: `${exactMoment(time)}: ${plural(all, 'process')}`, rows };
  }

  private countsAt(moment: number): number[] {
    return [...this.census!.counts.subarray(moment * DOING_KINDS, (moment + 1) * DOING_KINDS)];
  }

  /** time: of the state that is shown. */
  draw(time: number | null): void {
    const { g, width, height } = paper(this.element);
    const colors = theme();
    const c = this.census;
    g.fillStyle = colors.paper;
    g.fillRect(0, 0, width, height);
    if (!c) return;
    const step = width / c.moments;
    for (let i = 0; i < c.counted; i++) {
      const counts = this.countsAt(i);
      const all = Math.max(
        1,
        counts.reduce((a, b) => a + b, 0),
      );
      let y = height;
      for (const kind of STATE_ORDER) {
        const high = (height * counts[kind]!) / all;
        if (high <= 0) continue;
        y -= high;
        g.fillStyle = fillOf(g, kind, colors);
        g.fillRect(i * step, y, step + 0.5, high);
        if (kind === STATE_ORDER[0]) hatch(g, i * step, y, step + 0.5, high, colors);
      }
    }
    if (time === null || time < c.from || time > c.to) return;
    g.fillStyle = colors.accent;
    g.fillRect(Math.round(((time - c.from) / (c.to - c.from)) * width) - 1, 0, 2, height);
  }
}
