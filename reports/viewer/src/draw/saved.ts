// saved.ts - views that were kept: addresses by name, in this browser, for this trace; in a report that carries it, by the
// report. Where the browser keeps nothing there is no list.
import { carried, isCarried } from '../io/carrier';
import { duration } from '../layout/format';
import type { Session } from '../work/session';
import { h } from './dom';

const MOST = 40;

export interface Saved {
  address: string;
  name: string;
}

function keyOf(trace: Session): string {
  const { ranks, events, messages, runtime } = trace.meta;
  return `mpitrace views ${[trace.name, ranks, events, messages, runtime].join(' ')}`;
}

function read(key: string): Saved[] {
  try {
    const list: unknown = JSON.parse(isCarried() ? carried.get() : (localStorage.getItem(key) ?? '[]'));
    if (!Array.isArray(list)) return [];
    const isSaved = (x: unknown): x is Saved =>
      typeof (x as Saved)?.address === 'string' && typeof (x as Saved).name === 'string';
    return list.filter(isSaved).slice(-MOST);
  } catch {
    return [];
  }
}

/** A menu: save what is shown, go to what was saved, forget it. */
export function savedViews(
  trace: Session,
  now: () => { address: string; from: number; to: number; view: string },
  go: (address: string) => void,
): HTMLElement {
  const key = keyOf(trace);
  const menu = h('select', { class: 'saved', 'aria-label': 'Saved views', onchange: () => choose(menu.value) });
  const draw = () => {
    const list = read(key);
    const option = (value: string, text: string) => h('option', { value }, text);
    menu.replaceChildren(
      option('', 'Saved views'),
      option('save', 'Save what is shown'),
      ...list.map((x, i) => option(`go ${i}`, x.name)),
      ...(list.length > 0 ? [option('forget', 'Forget all')] : []),
    );
    menu.value = '';
  };
  const write = (list: Saved[]) => {
    try {
      const text = JSON.stringify(list.slice(-MOST));
      if (isCarried()) carried.put(text);
      else localStorage.setItem(key, text);
    } catch {
      // the browser keeps nothing: the address still can be
    }
  };
  const choose = (what: string) => {
    const list = read(key);
    const { address, from, to, view } = now();
    const at = Math.round(Math.max(0, from));
    if (what === 'save') write([...list, { address, name: `${view}, ${duration(to - from)} from ${duration(at)}` }]);
    else if (what === 'forget') write([]);
    else if (what.startsWith('go ')) go(list[Number(what.slice(3))]?.address ?? '');
    draw();
  };
  draw();
  return menu;
}
