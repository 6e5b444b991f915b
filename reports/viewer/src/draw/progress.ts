// progress.ts - says that a view waits for its answer, where that takes longer than a moment, and how much was read for it so far.
import { plural } from '../layout/format';
import { h } from './dom';

const SHOWN_AFTER_MS = 300;

/** What is asked: is a query of this view under way; how many chunks were read since the trace was opened. */
export interface Reading {
  isAsked(view: string): boolean;
  readonly chunksRead: number;
}

export class Progress {
  private readonly number = h('span', { 'aria-hidden': 'true' });
  readonly element = h('div', { class: 'progress', role: 'status', hidden: true }, 'loading …', this.number);
  private timer: ReturnType<typeof setTimeout> | undefined;
  private view = '';
  private before = 0; // chunks read when it was asked

  /** To be called when something was asked, answered or given up, when more was read, and when another view is shown. */
  look(view: string, sessions: readonly Reading[]): void {
    const read = sessions.reduce((sum, s) => sum + s.chunksRead, 0);
    if (!sessions.some((s) => s.isAsked(view))) return this.end();
    if (this.timer === undefined || view !== this.view) {
      this.end();
      this.view = view;
      this.before = read;
      this.timer = setTimeout(() => (this.element.hidden = false), SHOWN_AFTER_MS);
    }
    const text = read > this.before ? ` ${plural(read - this.before, 'chunk')}` : '';
    if (this.number.textContent !== text) this.number.textContent = text;
  }

  end(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.element.hidden = true;
  }
}
