// app.ts - what every view gets: the trace, the shared state, the theme, the tooltip, the voice.
import type { Theme } from './draw/dom';
import type { Tooltip } from './draw/tooltip';
import type { Store } from './model/state';
import type { Trace } from './model/trace';

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
