// lateness_key.ts - what colours of lateness mean, below the view of logical time and the timeline.
import { LEVELS, boundsOf, levelColor, unknownColor } from '../layout/logical';
import { css, hex } from '../layout/color';
import type { Rgb } from '../layout/color';
import { duration } from '../layout/format';
import { h } from './dom';
import type { Theme } from './dom';

function key(color: Rgb, text: string): HTMLElement {
  const swatch = h('span', { class: 'swatch', 'aria-hidden': 'true' });
  swatch.style.background = css(color);
  return h('span', { class: 'key' }, swatch, text);
}

/** most: the largest lateness, ns. */
export function latenessKey(most: number, theme: Theme): HTMLElement[] {
  const unknown = key(unknownColor(hex(theme.idle), hex(theme.text)), 'not known: nobody to compare with');
  if (most <= 0) return [key(levelColor(0), 'late by 0: nobody is late'), unknown];
  const levels = boundsOf(most).map((bound, i) => {
    const text = i === 0 ? `late by 0 to ${duration(bound)}` : `to ${duration(bound)}`;
    return key(levelColor(i), text);
  });
  return [...levels.slice(0, LEVELS), unknown];
}
