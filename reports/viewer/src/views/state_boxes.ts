// state_boxes.ts - containers of the states view: made, named, nested, opened, taken apart, given the stage for themselves. They are in the page's
// address, so they come back with it.
import { plural } from '../layout/format';
import {
  OUTSIDE,
  arrange,
  freeName,
  moveTo,
  putIn,
  ranksOfItem,
  readOwn,
  takeOut,
  windowOn,
  writeOwn,
} from '../model/containers';
import type { Box, Item, Kinds, Own } from '../model/containers';
import { ID } from './state_facts';
import type { StatesState } from './state_facts';
import type { App } from './view';

function decodeOr(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

export class Boxes {
  constructor(private readonly app: App) {}

  private state(): StatesState {
    return this.app.store.of<StatesState>(ID);
  }

  private own(): Own[] {
    return this.state().own.flatMap((text) => readOwn(text) ?? []);
  }

  private putOwn(own: Own[]): void {
    this.app.store.setView(ID, { own: own.map(writeOwn) });
  }

  readonly isOpen = (box: Box) => this.state().open.includes(encodeURIComponent(box.id));

  /** What stands on the stage. */
  arrange(kinds: Kinds): Item[] {
    const { by, window } = this.state();
    return windowOn(arrange(by, this.own(), kinds), decodeOr(window));
  }

  /** The name of the container that has the stage for itself. */
  window(): string {
    return decodeOr(this.state().window).split('/').pop()!;
  }

  /** target: null when it is dropped where nothing is. */
  drop(item: Item, target: Item | null): void {
    if (target === item) return this.app.redraw();
    const ranks = ranksOfItem(item);
    const own = this.own();
    if (target === null) return this.putOwn(takeOut(own, ranks));
    if (typeof target !== 'number' && target.own && typeof item !== 'number' && item.own)
      return this.putOwn(moveTo(own, item.id, `${target.id}/${item.name}`));
    const path = typeof target !== 'number' && target.own ? target.id : freeName(own);
    const isNew = typeof target === 'number' || !target.own;
    this.putOwn(putIn(own, isNew ? [...ranksOfItem(target), ...ranks] : ranks, path));
    this.app.announce(`${plural(ranks.length, 'process')} put in ${path}`);
  }

  /** The container chosen gets the stage for itself; without one all processes come back. */
  toggleWindow(box: Box | null): void {
    const id = box && box.id !== OUTSIDE ? encodeURIComponent(box.id) : '';
    if (id === '' && this.state().window === '') return this.app.announce('choose a container first: N, or a click');
    this.app.store.setView(ID, { window: id });
    this.app.announce(id === '' ? 'all processes' : `only ${box!.name}; all others are one icon`);
  }

  /** A click or Enter: a process is selected, a container opened or closed. */
  enter(item: Item): void {
    if (typeof item === 'number') return this.app.store.toggleRank(item);
    if (item.id === OUTSIDE) return this.app.store.setView(ID, { window: '' });
    const id = encodeURIComponent(item.id);
    const { open } = this.state();
    this.app.store.setView(ID, { open: open.includes(id) ? open.filter((x) => x !== id) : [...open, id] });
    this.app.announce(`${item.name} ${open.includes(id) ? 'closed: what happens within is skipped' : 'open'}`);
  }

  /** The selected processes in a new one. */
  group(): void {
    const ranks = [...this.app.store.state.selected];
    const own = this.own();
    if (ranks.length === 0) return this.app.announce('select processes first: click them, or N and Enter');
    this.putOwn(putIn(own, ranks, freeName(own)));
    this.app.store.set({ selected: new Set() });
  }

  rename(box: Box | null, name: string): void {
    const wanted = name.trim().replaceAll('/', '∕');
    if (!box?.own || wanted === '') return;
    this.putOwn(moveTo(this.own(), box.id, [...box.id.split('/').slice(0, -1), wanted].join('/')));
  }

  takeApart(box: Box | null): void {
    if (!box?.own) return this.app.announce('choose a container of your own first');
    this.putOwn(takeOut(this.own(), box.ranks));
  }
}
