// only_totals.ts - the sentence above views of a run of which only totals were recorded: what is drawn, and what is not known.
import { totalsInWords } from '../model/open';
import type { Session } from '../work/session';
import { h } from './dom';

/** Nothing where single calls were recorded. */
export function onlyTotals({ analysis, meta }: Session): HTMLElement[] {
  const text = totalsInWords(analysis, meta.events);
  return text === null ? [] : [h('p', { class: 'only-totals', title: text }, text)];
}
