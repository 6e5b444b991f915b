// list.ts - the views, in the order of their tabs. A new view is one file and one row here.
import type { App } from '../app';
import { circle } from './circle';
import { matrix } from './matrix';
import { timeline } from './timeline';

export interface ViewInstance {
  /** Draw; called when the view is shown, when the shared state, the size or the theme changes. */
  update(): void;
}

export interface View {
  id: string;
  title: string;
  create(app: App, host: HTMLElement): ViewInstance;
}

export const VIEWS: View[] = [timeline, matrix, circle];
