// phases.ts - what the analysis says of times of the run: what comes before the loop, the loop, what comes after it; and patterns of the
// traffic, with when they hold. Pure.
import { list, numbers, str } from './analysis';
import type { Json } from './analysis';

export interface Phase {
  name: string;
  from: number; // ns
  to: number;
}

function named(rows: Json[], key: string): Phase[] {
  return rows.flatMap((x) => {
    const [from, to] = numbers(x, 'window_s');
    const name = str(x, key).replaceAll('_', ' ');
    return from === undefined || to === undefined ? [] : [{ name, from: from * 1e9, to: to * 1e9 }];
  });
}

export function phasesOf(analysis: Json): Phase[] {
  return named(list(analysis, 'phases', 'parts'), 'phase');
}

export function patternsOf(analysis: Json): Phase[] {
  return named(list(analysis, 'patterns'), 'pattern');
}
