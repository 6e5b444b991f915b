// only_totals.ts - the sentence above views of a run of which single calls are missing: what is drawn, and what is not known.
import { unrecordedInWords } from '../layout/unrecorded_words';
import type { Session } from '../work/session';
import { h } from './dom';

/** Nothing where all single calls were recorded. */
export function onlyTotals({ analysis, meta }: Session): HTMLElement[] {
  const text = unrecordedInWords(analysis, meta.ranks, meta.events);
  return text === null ? [] : [h('p', { class: 'only-totals', title: text }, text)];
}
