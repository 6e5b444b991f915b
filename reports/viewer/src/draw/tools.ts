// tools.ts - buttons, sliders, choices above the views.
import { bytes } from '../layout/format';
import { h } from './dom';

export function button(label: string, title: string, act: () => void): HTMLButtonElement {
  return h('button', { type: 'button', title, 'aria-label': title, onclick: act }, label);
}

/** A control that follows the state: put(value) shows what is. */
export interface Control<T> {
  element: HTMLElement;
  put(value: T): void;
}

/** A slider over powers of two of bytes per pixel of line width. */
export function widthSlider(change: (bytesPerPixel: number) => void): Control<number> {
  const text = h('output', {});
  const input = h('input', {
    type: 'range',
    min: 0,
    max: 40,
    step: 0.25,
    'aria-label': 'Bytes per pixel of line width',
    oninput: () => {
      const next = 2 ** Number(input.value);
      text.textContent = `${bytes(next)}/px`;
      change(next);
    },
  });
  const element = h(
    'label',
    { class: 'tool', title: 'How many bytes make a line one pixel wider' },
    'width',
    input,
    text,
  );
  return {
    element,
    put(value) {
      text.textContent = `${bytes(value)}/px`;
      if (document.activeElement !== input) input.value = String(Math.log2(Math.max(1, value)));
    },
  };
}

export function checkBox(label: string, title: string, change: (on: boolean) => void): Control<boolean> {
  const box = h('input', { type: 'checkbox', onchange: () => change(box.checked) });
  return { element: h('label', { class: 'tool', title }, box, label), put: (on) => (box.checked = on) };
}

/** One of some values, each with its words. */
export function choice(
  label: string,
  name: string,
  options: readonly (readonly [string, string])[],
  change: (value: string) => void,
): Control<string> {
  const select = h(
    'select',
    { 'aria-label': name, onchange: () => change(select.value) },
    ...options.map(([value, text]) => h('option', { value }, text)),
  );
  return {
    element: h('label', { class: 'tool', title: name }, label, select),
    put: (value) => {
      if (select.value !== value) select.value = value;
    },
  };
}

/** A file for the user to keep. */
export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = h('a', { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
