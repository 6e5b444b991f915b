// list.ts - the views, in the order of their tabs. A new view is one file and one row here.
import { analysis } from './analysis';
import { circle } from './circle';
import { compare } from './compare';
import { distribution } from './distribution';
import { field } from './field';
import { logical } from './logical';
import { machine } from './machine';
import { matrix } from './matrix';
import { protocol } from './protocol';
import { spacetime } from './spacetime';
import { states } from './states';
import { tables } from './tables';
import { timeline } from './timeline';
import type { View } from './view';

export const VIEWS: View[] = [
  timeline,
  analysis,
  tables,
  distribution,
  matrix,
  circle,
  states,
  spacetime,
  machine,
  compare,
  protocol,
  field,
  logical,
];

/** By which key the i-th view is opened, as people read it: a digit or, past the tenth, one with Shift. */
export function keyOfView(i: number): string {
  return i < 10 ? String((i + 1) % 10) : `Shift ${(i + 1) % 10}`;
}

/** The view of a key, if it is one. Where digits are typed with Shift, the other views are those without. */
export function viewOfKey(e: { key: string; code: string }): View | undefined {
  if (/^\d$/.test(e.key)) return VIEWS[(Number(e.key) + 9) % 10];
  const digit = /^Digit(\d)$/.exec(e.code);
  return digit ? VIEWS[10 + ((Number(digit[1]) + 9) % 10)] : undefined;
}
