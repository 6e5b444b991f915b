// alike.ts - the timeline's groups of ranks that do the same: asked for once, when somebody wants them, and what is said of them.
import { plural } from '../layout/format';
import type { App } from './view';

const THIN = 1; // CSS pixels of a row

export class AlikeRanks {
  private asked = false;
  private unknown = false;

  constructor(private readonly app: App) {}

  ask(group: string): void {
    const { session, redraw, fail } = this.app;
    if (group !== 'alike' || this.asked || session.alike) return;
    this.asked = true;
    session.ask(
      'alike',
      'alike',
      null,
      (alike) => {
        session.alike = alike;
        this.unknown = alike === null;
        redraw();
      },
      (error) => {
        this.unknown = true;
        fail(error);
      },
    );
  }

  /** Which ranks are in the rows; where rows cannot be told apart, that there are such groups. */
  inWords(group: string, rowHeight: number): string[] {
    const { alike, isPart, name, meta } = this.app.session;
    if (group !== 'alike')
      return rowHeight < THIN ? ['rows are thinner than a pixel: group “alike” has those that do the same in one'] : [];
    if (!alike && !this.unknown) return ['ranks are compared'];
    if (!alike && isPart) return [`who is alike is not known: single ranks are in ${name}, not in the page`];
    if (!alike) return ['who is alike is not known'];
    const threads = meta.threads > 1 ? ', in their first threads' : '';
    return [`${plural(alike.kinds, 'kind')} of ranks, by what they do when in the whole run${threads}`];
  }
}
