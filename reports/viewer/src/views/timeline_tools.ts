// timeline_tools.ts - the timeline's own state, and the buttons, sliders and choices that change it.
import { h } from '../draw/dom';
import { button, checkBox, choice, widthSlider } from '../draw/tools';
import { SORTS, switchesOf } from '../layout/order';
import { list, num } from '../model/analysis';
import type { Session } from '../work/session';
import type { App } from './view';

export interface TimelineState {
  [key: string]: number | string | boolean;
  rowFirst: number; // first row shown, may be a fraction
  rowHeight: number; // CSS pixels; 0 = all fit
  messages: boolean;
  widths: string; // log, linear
  bytesPerPixel: number;
  group: string;
  sort: string;
  fold: boolean;
  pin: boolean;
  path: boolean;
  color: string; // class, lateness
}

export const ID = 'timeline';

export interface Tools {
  element: HTMLElement;
  /** Show what is. */
  put(state: TimelineState): void;
}

/** A width that makes the mean message of the largest pair a few pixels wide. */
function startWidth(trace: Session): number {
  let most = 0;
  for (const x of list(trace.analysis, 'matrix', 'p2p')) {
    const n = num(x, 'messages') ?? 0;
    if (n > 0) most = Math.max(most, (num(x, 'bytes') ?? 0) / n);
  }
  return Math.max(1, most > 0 ? Math.round(most / 3) : 4096);
}

export function timelineState(session: Session): TimelineState {
  return {
    rowFirst: 0,
    rowHeight: 0,
    messages: true,
    widths: 'log',
    bytesPerPixel: startWidth(session),
    group: '',
    sort: '',
    fold: false,
    pin: false,
    path: false,
    color: 'class',
  };
}

export function timelineTools(app: App, note: HTMLElement, act: { all(): void }): Tools {
  const { store, session } = app;
  const middle = () => (store.state.from + store.state.to) / 2;
  const set = (change: Partial<TimelineState>) => store.setView(ID, change as TimelineState);
  const messages = checkBox('messages', 'Show messages (M)', (on) => set({ messages: on }));
  const width = widthSlider((bytesPerPixel) => set({ bytesPerPixel }));
  const scale = [
    ['log', 'log'],
    ['linear', 'bytes/px'],
  ] as const;
  const widths = choice(
    '',
    'How wide messages are: by the logarithm of their bytes, or in proportion',
    scale,
    (widths) => set({ widths }),
  );
  const sort = choice('sort', 'Order of the ranks', SORTS, (sort) => set({ sort, rowFirst: 0 }));
  const groups: [string, string][] = [
    ['', 'none'],
    ['node', 'node'],
    ...(switchesOf(session.analysis).size > 0 ? [['switch', 'switch'] as [string, string]] : []),
    ['alike', 'alike'],
    ['selection', 'selected ranks'],
    ...[...session.comms].slice(0, 40).map(([id, name]): [string, string] => [`comm:${id}`, name]),
  ];
  const group = choice('group', 'Groups of ranks', groups, (group) =>
    set({ group, rowFirst: 0, ...(group === 'alike' ? { fold: true, rowHeight: 0 } : {}) }),
  );
  const fold = checkBox('fold', 'Show each group as one row: the mean of its ranks', (fold) =>
    set({ fold, rowFirst: 0 }),
  );
  const colors = [
    ['class', 'class'],
    ['lateness', 'lateness'],
  ] as const;
  const color = choice('colour', 'What the colours of calls are: their class, or how late they end', colors, (to) =>
    set({ color: to }),
  );
  const pin = checkBox('pin', 'Selected ranks first', (pin) => set({ pin, rowFirst: 0 }));
  const path = checkBox('path', 'Show the critical path', (on) => set({ path: on }));
  color.element.classList.add('color');
  color.element.hidden = session.version === 1;
  path.element.hidden = list(session.analysis, 'critical_path', 'segments').length === 0;
  for (const x of [widths.element, pin.element, path.element, color.element]) x.classList.add('rare');

  const put = (s: TimelineState) => {
    messages.put(s.messages);
    width.put(s.bytesPerPixel);
    widths.put(s.widths);
    sort.put(s.sort);
    group.put(s.group);
    fold.put(s.fold);
    fold.element.classList.toggle('off', s.group === '');
    fold.element.querySelector('input')!.disabled = s.group === '';
    pin.put(s.pin);
    path.put(s.path);
    color.put(s.color);
  };
  const element = h(
    'div',
    { class: 'tools' },
    h(
      'span',
      { class: 'group' },
      button('−', 'Zoom out (minus)', () => store.zoom(1 / 0.6, middle())),
      button('+', 'Zoom in (plus)', () => store.zoom(0.6, middle())),
      button('All', 'Show the whole run and all ranks (Home)', act.all),
    ),
    messages.element,
    width.element,
    widths.element,
    sort.element,
    group.element,
    fold.element,
    pin.element,
    color.element,
    path.element,
    note,
  );
  return { element, put };
}
