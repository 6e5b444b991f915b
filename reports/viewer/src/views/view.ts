// view.ts - what a view is, and what every view gets: the trace, the shared state, theme, tooltip, announcements.
// Views know only this; main.ts provides it.
import type { Theme } from '../draw/dom';
import type { Tooltip } from '../draw/tooltip';
import type { Store } from '../model/state';
import type { Trace } from '../model/trace';

export interface App {
  trace: Trace;
  store: Store;
  theme(): Theme;
  tooltip: Tooltip;
  /** Say something to screen readers. */
  announce(text: string): void;
  /** Ask for update() of the view shown, before the next picture. */
  redraw(): void;
  /** Show a failure to the user. */
  fail(error: unknown): void;
  /** What the view draws now, for tests. */
  drawn: Record<string, unknown>;
}

export interface ViewInstance {
  /** Draw; called when the view is shown, when the shared state, the size or the theme changes. */
  update(): void;
}

export interface View {
  id: string;
  title: string;
  create(app: App, host: HTMLElement): ViewInstance;
}
