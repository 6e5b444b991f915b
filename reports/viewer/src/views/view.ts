// view.ts - what a view is, and what every view gets: the trace, the shared state, theme, tooltip, announcements.
// Views know only this; main.ts provides it.
import type { Theme } from '../draw/dom';
import type { Tooltip } from '../draw/tooltip';
import type { Thing } from '../model/picked';
import type { Sheet } from '../model/sheet';
import type { Store, ViewState } from '../model/state';
import type { Chain } from '../work/chain';
import type { LiveSession } from '../work/live_session';
import type { Session } from '../work/session';

export interface App {
  session: Session;
  store: Store;
  /** Further runs, to compare with: the first of them is the one that differences are told of. */
  others(): readonly Session[];
  openOther(file: File): void;
  closeOther(session: Session): void;
  theme(): Theme;
  tooltip: Tooltip;
  /** What is picked, as soon as it is known. */
  picked(): Thing | null;
  /** The collective operation that it is a part of, as soon as that is known. */
  collective(): Thing | null;
  /** How it came to what is picked, if that was asked for. */
  chain(): Chain | null;
  /** Say something to screen readers. */
  announce(text: string): void;
  /** Ask for update() of the view shown, before the next picture. */
  redraw(): void;
  /** Bring ranks into view in the timeline. */
  reveal(ranks: number[]): void;
  /** Make what is written, as in the field that finds, the filter of all views. */
  filterBy(text: string): void;
  /** Show a failure to the user. */
  fail(error: unknown): void;
  /** What the view draws now, for tests. */
  drawn: Record<string, unknown>;
}

/** What views of samples get: those of a trace, or of a step that still runs. */
export interface SampledApp extends Pick<
  App,
  'store' | 'theme' | 'tooltip' | 'announce' | 'redraw' | 'fail' | 'drawn'
> {
  session: Pick<LiveSession, 'meta' | 'nodes' | 'ask' | 'giveUp'>;
}

export interface ViewInstance {
  /** Draw; called when the view is shown, when the shared state, the size or the theme changes. */
  update(): void;
  /** What is shown as rows, for its table twin and for files. */
  sheet(): Sheet | Promise<Sheet>;
  /** Draw what is shown, size in CSS pixels; without it the sheet is drawn. */
  paint?(g: CanvasRenderingContext2D, width: number, height: number): void;
  /** Of that picture, where it is not that of the stage. */
  pictureSize?(): { width: number; height: number };
  /** Give up what was asked for and what was listened to; the host is removed. */
  destroy(): void;
}

export interface View {
  id: string;
  title: string;
  /** Its own state at the beginning; the address of the page and undo know it by this. */
  state(session: Session): ViewState;
  create(app: App, host: HTMLElement): ViewInstance;
}
