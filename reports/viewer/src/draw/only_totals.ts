// only_totals.ts - the sentence above views of a run of which single calls are missing, not recorded or not in this page: what is drawn, and
// what is not known.
import { unrecordedInWords } from '../layout/unrecorded_words';
import type { Session } from '../work/session';
import { h } from './dom';

/** Nothing where all single calls were recorded. */
export function onlyTotals({ analysis, meta }: Session): HTMLElement[] {
  const text = unrecordedInWords(analysis, meta.ranks, meta.events);
  return text === null ? [] : [h('p', { class: 'only-totals', title: text }, text)];
}

/** Above a view that goes through a run from its beginning. Nothing where all of the trace is here. */
export function needsAll({ isPart, name }: Session): HTMLElement[] {
  const text = `This view goes through all calls from the beginning of the run, of which this page has a part. All of it: mpitrace view ${name}`;
  return isPart ? [h('p', { class: 'only-totals', title: text }, text)] : [];
}
