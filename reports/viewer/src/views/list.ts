// list.ts - the views, in the order of their tabs. A new view is one file and one row here.
import { circle } from './circle';
import { distribution } from './distribution';
import { matrix } from './matrix';
import { tables } from './tables';
import { timeline } from './timeline';
import type { View } from './view';

export const VIEWS: View[] = [timeline, tables, distribution, matrix, circle];
