// field_state.ts - what the profile over time keeps for itself: plain values, which the page's address holds; what is asked of the worker by them.
import { HOME } from '../layout/orbit';
import { METRICS } from '../model/field';
import { SPOKES_MAX } from '../layout/tube';
import type { Axes, Field, FieldQuery, Metric } from '../model/field';
import type { EventBy } from '../model/profile';
import type { State } from '../model/state';
import type { FieldGiven, ThreadOrder } from '../work/field';

export const ID = 'field';

export interface FieldState {
  [key: string]: string | number | boolean;
  draw: string; // one of DRAWS
  axes: string; // Axes
  metric: string; // Metric
  by: string; // EventBy
  events: string; // pattern
  order: string; // rank, node, switch
  byValue: boolean;
  only: boolean; // the selected ranks
  cumulative: boolean;
  log: boolean;
  cut: number; // percent of the cells at each end that the scale lets go
  columns: number; // at most
  rows: number;
  sample: number; // place of the one looked at, from 1; 0: none, all of the interval
  up: string; // Metric of a cloud: its second axis, the third, the colour
  deep: string;
  tint: string;
  clusters: number; // of a cloud; 0: none
  brush: boolean; // dragging selects
  flags: number; // on the largest values of a terrain, at most
  flagLeast: number; // percent of the largest, below which there is none
  azimuth: number; // the camera, as of the machine
  elevation: number;
  range: number; // 0: so that all is seen
  x: number;
  y: number;
  z: number;
  since: number; // what came after this sample until the one looked at; -1: only that one
}

export const FIRST_STATE: FieldState = {
  draw: 'heat',
  axes: 'rank-time',
  metric: 'share',
  by: 'op',
  events: '',
  order: 'rank',
  byValue: false,
  only: false,
  cumulative: false,
  log: false,
  cut: 0,
  columns: 512,
  rows: 512,
  sample: 0,
  since: -1,
  up: 'wait',
  deep: 'ready',
  tint: 'resident',
  clusters: 0,
  brush: false,
  flags: 5,
  flagLeast: 50,
  ...HOME,
};

export const DRAWS = [
  ['heat', 'heat map'],
  ['lines', 'lines'],
  ['terrain', 'terrain'],
  ['tube', 'Kiviat tube'],
  ['cloud', 'point cloud'],
] as const;

const IN_SPACE = ['terrain', 'tube', 'cloud'];

export function isInSpace(s: FieldState): boolean {
  return IN_SPACE.includes(s.draw);
}

export const AXES: readonly (readonly [Axes, string])[] = [
  ['rank-time', 'ranks over time'],
  ['event-time', 'events over time'],
  ['rank-event', 'ranks by events'],
];

export const BYS: readonly (readonly [EventBy, string])[] = [
  ['op', 'operations'],
  ['site', 'call sites'],
];

export const ORDERS: readonly (readonly [ThreadOrder, string])[] = [
  ['rank', 'rank'],
  ['node', 'compute node'],
  ['switch', 'switch'],
];

export const CUTS: readonly (readonly [string, string])[] = [
  ['0', 'everything'],
  ['1', 'without 1 % at each end'],
  ['5', 'without 5 % at each end'],
  ['10', 'without 10 % at each end'],
];

const oneOf = <T extends string>(value: string, of: readonly (readonly [T, string])[]): T =>
  (of.some(([x]) => x === value) ? value : of[0]![0]) as T;

/** A tube's length is the samples; a cloud has points for threads. */
export function axesOf(s: FieldState): Axes {
  const axes = oneOf(s.axes, AXES);
  if (s.draw === 'cloud') return 'rank-time';
  return s.draw === 'tube' && axes === 'rank-event' ? 'event-time' : axes;
}

/** Metrics that the axes have; what the kernel counts is of threads, not of events. */
export function metricsOf(axes: Axes): [Metric, string][] {
  return (Object.keys(METRICS) as Metric[])
    .filter((m) => axes === 'rank-time' || METRICS[m].ofEvents)
    .map((m) => [m, METRICS[m].title]);
}

export function metricOf(s: FieldState): Metric {
  return oneOf(s.metric, metricsOf(axesOf(s)));
}

const whole = (x: number, least: number, most: number) => Math.max(least, Math.min(most, Math.round(x) || least));

export const SIDE_MAX = 2048; // rows or columns
const SPACE_MAX = 256; // in space
const POINTS_MAX = 16384;

/** At most so many rows and columns. */
function sides(s: FieldState): { rows: number; columns: number } {
  const rows = whole(s.rows, 1, SIDE_MAX);
  const columns = whole(s.columns, 1, SIDE_MAX);
  if (s.draw === 'cloud') return { rows: POINTS_MAX, columns: 1 };
  if (s.draw === 'tube') return { rows: Math.min(rows, SPOKES_MAX), columns: Math.min(columns, SPACE_MAX) };
  return s.draw === 'terrain'
    ? { rows: Math.min(rows, SPACE_MAX), columns: Math.min(columns, SPACE_MAX) }
    : { rows, columns };
}

/** What a cloud's axes and colour are. */
export function cloudMetrics(s: FieldState): Metric[] {
  const known = metricsOf('rank-time');
  return [metricOf(s), oneOf(s.up as Metric, known), oneOf(s.deep as Metric, known), oneOf(s.tint as Metric, known)];
}

export function givenOf(s: FieldState, shared: State, samples: number, metric = metricOf(s)): FieldGiven {
  const axes = axesOf(s);
  const isCloud = s.draw === 'cloud';
  const query: FieldQuery = {
    axes,
    by: oneOf(s.by, BYS),
    events: s.events,
    metric,
    cumulative: s.cumulative && !isCloud,
    order: s.byValue && !isCloud ? 'value' : 'rank',
    ...sides(s),
  };
  // Over time one sample alone is a mark; by events it is what is shown.
  const sample = axes === 'rank-event' || isCloud ? whole(Math.min(s.sample, samples), 0, samples) : 0;
  const since = sample > 0 ? Math.max(-1, Math.min(Math.round(s.since), sample - 1)) : -1;
  const ranks = s.only ? [...shared.selected].sort((a, b) => a - b) : [];
  return { from: shared.from, to: shared.to, sample, since, ranks, threads: oneOf(s.order, ORDERS), query };
}

/** What the field is of, in words. */
export function fieldWords(f: Field, s: FieldState): string {
  const { metric, cumulative, events } = f.query;
  const of = events.trim() === '' || !METRICS[metric].ofEvents ? '' : ` in ${f.events.length} events like “${events}”`;
  const until = cumulative && METRICS[metric].adds ? ', since the beginning' : '';
  const mean = f.query.axes === 'event-time' && f.threads > 1 ? `, of ${f.threads} threads the mean` : '';
  const one = (f.query.axes === 'rank-event' || s.draw === 'cloud') && s.sample > 0;
  const when = !one
    ? ''
    : s.since >= 0 && s.since < s.sample - 1
      ? `, samples ${s.since + 1} to ${s.sample}`
      : `, sample ${s.sample}`;
  return `${METRICS[metric].title}${of}${mean}${until}${when}`;
}
