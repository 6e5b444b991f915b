// unrecorded_words.ts - what is said of a run of which single calls are missing: above views, and instead of 0. Pure.
import type { Json } from '../model/analysis';
import { isRunning, isTotals, knownIn, opensOf, recordedUntil } from '../model/open';
import type { RecordedLanes } from '../model/open';
import { duration, plural } from './format';

export const STILL_OPEN = 'still open when this was read';

export function opensInWords(analysis: Json): string {
  return isRunning(analysis) ? `calls that were ${STILL_OPEN}` : 'calls that ranks never came back from';
}

/** How long such a call is. */
export function openLength(analysis: Json, ns: number): string {
  return `${duration(ns)}, ${isRunning(analysis) ? STILL_OPEN : 'to the end of the rank: it never came back'}`;
}

/** What is drawn of a run of which single calls are missing, and ranks hung; null: the calls themselves. */
export function unrecordedInWords(analysis: Json, ranks: number, events: number): string | null {
  if (isTotals(analysis, events))
    return opensOf(analysis).size === 0
      ? 'Only totals were recorded: when ranks made which call is not known (hatched).'
      : `Only totals were recorded: drawn are the ${opensInWords(analysis)}; before them nothing is known (hatched).`;
  const known = recordedUntil(analysis, ranks, events).filter((ns) => ns < Infinity);
  if (known.length === 0) return null;
  const first = duration(known.reduce((a, b) => Math.min(a, b)));
  const of = known.length === ranks ? 'all ranks' : plural(known.length, 'rank');
  return `Of ${of} single calls are missing, the first from ${first} on: from then on nothing is known (hatched) but calls that were recorded, and ${opensInWords(analysis)}.`;
}

export const UNRECORDED = 'not known: single calls were not recorded';

/** What single calls of an interval (else of the whole run) and of some ranks (none: of all) tell: so many of something, in words. */
export function counted(
  n: number,
  text: string,
  of: RecordedLanes,
  { from, to } = { from: 0, to: Infinity },
  ranks: ReadonlySet<number> = new Set(),
): string {
  const known = knownIn(of, from, to, ranks);
  if (known === 'all') return text;
  return known === 'none' && n === 0 ? UNRECORDED : `${text}, as far as single calls were recorded`;
}

export function asSentence(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}.`;
}
