// unrecorded_words.ts - the sentence above views of a run of which single calls are missing. Pure.
import type { Json } from '../model/analysis';
import { isTotals, opensOf, recordedUntil } from '../model/open';
import { duration, plural } from './format';

/** What is drawn of a run of which single calls are missing, and ranks hung; null: the calls themselves. */
export function unrecordedInWords(analysis: Json, ranks: number, events: number): string | null {
  if (isTotals(analysis, events))
    return opensOf(analysis).size === 0
      ? null
      : 'Only totals were recorded: drawn are the calls that ranks never came back from; before them nothing is known (hatched).';
  const known = recordedUntil(analysis, ranks, events).filter((ns) => ns < Infinity);
  if (known.length === 0) return null;
  const first = duration(known.reduce((a, b) => Math.min(a, b)));
  const of = known.length === ranks ? 'all ranks' : plural(known.length, 'rank');
  return `Of ${of} single calls are missing, the first from ${first} on: from then on nothing is known (hatched) but calls that were recorded or that ranks never came back from.`;
}
