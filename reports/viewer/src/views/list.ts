// list.ts - the views, in the order of their tabs. A new view is one file and one row here.
import { analysis } from './analysis';
import { circle } from './circle';
import { compare } from './compare';
import { distribution } from './distribution';
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
];
