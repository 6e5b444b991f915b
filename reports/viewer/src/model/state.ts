// state.ts - what all views share, and beside it a state for each view. Plain values only: the address of the page holds all of it, and
// what was is remembered, to be undone. Views subscribe.
import { NO_FILTER } from './filter';
import type { Filter } from './filter';

/** What a view keeps for itself: plain values and lists of them. */
export type ViewState = Record<string, number | string | boolean | number[] | string[]>;

export interface State {
  from: number; // ns, shown
  to: number;
  markFrom: number; // ns, the interval that statistics are of; markTo 0: none
  markTo: number;
  selected: ReadonlySet<number>; // ranks
  picked: string; // ref of a thing; '': none
  filter: Filter;
  filterText: string; // as it was written
  view: string;
  views: Readonly<Record<string, ViewState>>;
}

export function initialState(to: number, view: string, views: Record<string, ViewState>): State {
  return {
    from: 0,
    to,
    markFrom: 0,
    markTo: 0,
    selected: new Set(),
    picked: '',
    filter: NO_FILTER,
    filterText: '',
    view,
    views,
  };
}

/** What is asked about: the interval shown, the ranks selected (none: all), the filter. */
export interface Scope {
  from: number;
  to: number;
  ranks: number[];
  filter: Filter;
}

export function scopeOf({ from, to, selected, filter }: State): Scope {
  return { from, to, ranks: [...selected].sort((a, b) => a - b), filter };
}

type Listener = (state: State, before: State) => void;

const SETTLED_MS = 350; // without a change: a step that can be undone
const STEPS_MAX = 200;

export class Store {
  private readonly listeners: Listener[] = [];
  private last: State;
  private scheduled = false;
  private past: State[] = [];
  private future: State[] = [];
  private settled: State;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private ended = false;

  constructor(
    private current: State,
    private length: number,
  ) {
    this.last = current;
    this.settled = current;
  }

  /** Of the run, ns. */
  get runtime(): number {
    return this.length;
  }

  /** The run has become longer. Who sees its end still does: all of it, or as much as before. */
  grow(runtime: number): void {
    const { from, to } = this.current;
    const [by, isAtEnd] = [runtime - this.length, to >= this.length];
    this.length = runtime;
    if (by > 0 && isAtEnd) this.set({ from: from <= 0 ? from : from + by, to: to + by });
  }

  get state(): State {
    return this.current;
  }

  /** Listeners are called once before the next picture, with the state now and the one they saw last. */
  set(change: Partial<State>): void {
    this.put({ ...this.current, ...change });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.settle(), SETTLED_MS);
  }

  private put(state: State): void {
    this.current = state;
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => this.notify());
  }

  private notify(): void {
    if (this.ended) return;
    this.scheduled = false;
    const before = this.last;
    this.last = this.current;
    for (const listener of this.listeners) listener(this.current, before);
  }

  subscribe(listener: Listener): void {
    this.listeners.push(listener);
  }

  /** No listener is called any more. */
  end(): void {
    this.ended = true;
    clearTimeout(this.timer);
  }

  // ---- state of a view ----

  of<T extends ViewState>(view: string): T {
    return this.current.views[view] as T;
  }

  setView(view: string, change: ViewState): void {
    this.set({ views: { ...this.current.views, [view]: { ...this.current.views[view], ...change } } });
  }

  // ---- undo ----

  /** What came since the last step is a step. */
  settle(): void {
    clearTimeout(this.timer);
    if (this.settled === this.current) return;
    this.past.push(this.settled);
    if (this.past.length > STEPS_MAX) this.past.shift();
    this.future = [];
    this.settled = this.current;
  }

  undo(): boolean {
    this.settle();
    return this.step(this.past, this.future);
  }

  redo(): boolean {
    this.settle();
    return this.step(this.future, this.past);
  }

  private step(from: State[], to: State[]): boolean {
    const state = from.pop();
    if (!state) return false;
    to.push(this.settled);
    this.settled = state;
    this.put(state);
    return true;
  }

  // ---- interval ----

  /** Show [from, to), kept inside the run with a little air, never shorter than 20 ns. */
  showInterval(from: number, to: number): void {
    const air = this.runtime * 0.02;
    const length = Math.min(Math.max(to - from, 20), this.runtime + 2 * air);
    const start = Math.min(Math.max(from, -air), this.runtime + air - length);
    this.set({ from: start, to: start + length });
  }

  zoom(factor: number, about: number): void {
    const { from, to } = this.current;
    const length = Math.min(Math.max((to - from) * factor, 20), this.runtime * 1.04);
    const share = (about - from) / (to - from);
    this.showInterval(about - share * length, about + (1 - share) * length);
  }

  pan(share: number): void {
    const { from, to } = this.current;
    const shift = (to - from) * share;
    this.showInterval(from + shift, to + shift);
  }

  showAll(): void {
    this.showInterval(0, this.runtime);
  }

  // ---- ranks ----

  toggleRank(rank: number): void {
    this.toggleRanks([rank]);
  }

  /** All of them, or if the first is selected none. */
  toggleRanks(ranks: number[]): void {
    const selected = new Set(this.current.selected);
    const off = selected.has(ranks[0]!);
    for (const rank of ranks) {
      if (off) selected.delete(rank);
      else selected.add(rank);
    }
    this.set({ selected });
  }
}
