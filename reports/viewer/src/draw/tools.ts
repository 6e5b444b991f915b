// tools.ts - buttons and sliders above the views.
import { bytes } from '../layout/format';
import type { Store } from '../model/state';
import { h } from './dom';

export function button(label: string, title: string, act: () => void): HTMLButtonElement {
  return h('button', { type: 'button', title, 'aria-label': title, onclick: act }, label);
}

/** A slider over powers of two of bytes per pixel of line width. */
export function widthSlider(value: number, change: (bytesPerPixel: number) => void): HTMLElement {
  const text = h('output', {}, `${bytes(value)}/px`);
  const input = h('input', {
    type: 'range',
    min: 0,
    max: 40,
    step: 0.25,
    value: Math.log2(Math.max(1, value)),
    'aria-label': 'Bytes per pixel of line width',
    oninput: () => {
      const next = 2 ** Number(input.value);
      text.textContent = `${bytes(next)}/px`;
      change(next);
    },
  });
  return h('label', { class: 'tool', title: 'How many bytes make a line one pixel wider' }, 'line width', input, text);
}

export function timelineTools(store: Store, note: HTMLElement): HTMLElement {
  const middle = () => (store.state.from + store.state.to) / 2;
  const box = h('input', {
    type: 'checkbox',
    checked: store.state.showMessages,
    onchange: () => store.set({ showMessages: box.checked }),
  });
  store.subscribe((state) => (box.checked = state.showMessages));
  return h(
    'div',
    { class: 'tools' },
    h(
      'span',
      { class: 'group' },
      button('−', 'Zoom out (minus)', () => store.zoom(1 / 0.6, middle())),
      button('+', 'Zoom in (plus)', () => store.zoom(0.6, middle())),
      button('All', 'Show the whole run (Home)', () => store.showAll()),
    ),
    h('label', { class: 'tool', title: 'Show messages (M)' }, box, 'messages'),
    widthSlider(store.state.bytesPerPixel, (bytesPerPixel) => store.set({ bytesPerPixel })),
    note,
  );
}
