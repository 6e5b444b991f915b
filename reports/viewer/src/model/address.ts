// address.ts - the state as the fragment of the page's address, and back. What is as it was at the beginning is left out; what cannot
// be understood is passed over. Pure.
import { NO_FILTER } from './filter';
import type { Filter } from './filter';
import type { State, ViewState } from './state';

type Value = ViewState[string];

/** 0,1,2,3,7 is 0-3,7. */
export function writeNumbers(list: readonly number[]): string {
  const sorted = [...new Set(list)].sort((a, b) => a - b);
  const runs: [number, number][] = [];
  for (const n of sorted) {
    const last = runs[runs.length - 1];
    if (last && n === last[1] + 1) last[1] = n;
    else runs.push([n, n]);
  }
  return runs.map(([a, b]) => (a === b ? String(a) : `${a}-${b}`)).join(',');
}

const NUMBERS_MAX = 1 << 20;

export function readNumbers(text: string): number[] {
  const list: number[] = [];
  for (const part of text.split(',')) {
    const run = /^(\d+)(?:-(\d+))?$/.exec(part.trim());
    if (!run) continue;
    const [first, last] = [Number(run[1]), Number(run[2] ?? run[1])];
    for (let n = first; n <= last && list.length < NUMBERS_MAX; n++) list.push(n);
  }
  return list;
}

const isNumbers = (value: Value): value is number[] =>
  Array.isArray(value) && value.length > 0 && typeof value[0] === 'number';

function writeValue(value: Value): string {
  if (isNumbers(value)) return writeNumbers(value);
  return Array.isArray(value) ? value.join(',') : String(value);
}

/** A value of the type that the beginning has; undefined: it is none. */
function readValue(text: string, like: Value, numbers: boolean): Value | undefined {
  if (Array.isArray(like)) return numbers ? readNumbers(text) : text.split(',').filter((x) => x !== '');
  if (typeof like === 'boolean') return text === 'true';
  if (typeof like === 'string') return text;
  const n = Number(text);
  return text !== '' && Number.isFinite(n) ? n : undefined;
}

const NUMBER_LISTS = new Set(['classes', 'sites', 'comms', 'ranks']);

function differing(prefix: string, now: object, begin: object): [string, string][] {
  const start = begin as Record<string, Value>;
  return Object.entries(now as Record<string, Value>)
    .filter(([key, value]) => key in start && writeValue(value) !== writeValue(start[key]!))
    .map(([key, value]) => [`${prefix}.${key}`, writeValue(value)]);
}

function readInto<T extends object>(prefix: string, parts: URLSearchParams, begin: T): T {
  const out = { ...begin } as Record<string, Value>;
  for (const [key, like] of Object.entries(begin)) {
    const text = parts.get(`${prefix}.${key}`);
    const value = text === null ? undefined : readValue(text, like as Value, NUMBER_LISTS.has(key));
    if (value !== undefined) out[key] = value;
  }
  return out as T;
}

export function writeAddress(state: State, begin: State): string {
  const parts: [string, string][] = [];
  const times = (a: number, b: number) => `${Math.round(a)}~${Math.round(b)}`;
  if (state.view !== begin.view) parts.push(['view', state.view]);
  if (state.from !== begin.from || state.to !== begin.to) parts.push(['t', times(state.from, state.to)]);
  if (state.markTo > state.markFrom) parts.push(['mark', times(state.markFrom, state.markTo)]);
  if (state.selected.size > 0) parts.push(['ranks', writeNumbers([...state.selected])]);
  if (state.picked !== '') parts.push(['pick', state.picked]);
  if (state.filterText !== '') parts.push(['find', state.filterText]);
  parts.push(...differing('filter', state.filter, NO_FILTER));
  for (const [id, view] of Object.entries(state.views)) parts.push(...differing(id, view, begin.views[id] ?? {}));
  return parts.map(([key, value]) => `${key}=${encodeURIComponent(value).replaceAll('%2C', ',')}`).join('&');
}

function readTimes(text: string | null): [number, number] | null {
  const [a, b] = (text ?? '').split('~').map(Number);
  return a !== undefined && b !== undefined && Number.isFinite(a) && Number.isFinite(b) && b > a ? [a, b] : null;
}

export function readAddress(fragment: string, begin: State): State {
  const parts = new URLSearchParams(fragment.replace(/^#/, ''));
  const state = { ...begin };
  const shown = readTimes(parts.get('t'));
  if (shown) [state.from, state.to] = shown;
  const marked = readTimes(parts.get('mark'));
  if (marked) [state.markFrom, state.markTo] = marked;
  state.selected = new Set(readNumbers(parts.get('ranks') ?? ''));
  state.picked = parts.get('pick') ?? '';
  state.filterText = parts.get('find') ?? '';
  state.filter = readInto<Filter>('filter', parts, NO_FILTER);
  const views: Record<string, ViewState> = {};
  for (const [id, view] of Object.entries(begin.views)) views[id] = readInto(id, parts, view);
  state.views = views;
  const view = parts.get('view');
  if (view !== null && view in begin.views) state.view = view;
  return state;
}
