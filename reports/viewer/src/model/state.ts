// state.ts - what all views share: the interval shown, the ranks selected, the thing looked at. Views subscribe.
import type { EventRef, MessageChunk } from '../decode/records';
import type { Wait } from './waits';

export type Picked =
  | ({ kind: 'event'; waits?: Wait[]; came?: number } & EventRef)
  | { kind: 'message'; chunk: MessageChunk; index: number };

export interface State {
  from: number; // ns
  to: number;
  rowFirst: number; // first rank shown, may be a fraction
  rowHeight: number; // CSS pixels; 0 = all ranks fit
  selected: ReadonlySet<number>;
  bytesPerPixel: number;
  showMessages: boolean;
  picked: Picked | null;
  view: string;
}

type Listener = (state: State, before: State) => void;

export class Store {
  private listeners: Listener[] = [];
  private last: State;
  private scheduled = false;

  constructor(
    private current: State,
    readonly runtime: number,
  ) {
    this.last = current;
  }

  get state(): State {
    return this.current;
  }

  /** Listeners are called once before the next picture, with the state now and the one they saw last. */
  set(change: Partial<State>): void {
    this.current = { ...this.current, ...change };
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => this.notify());
  }

  private notify(): void {
    this.scheduled = false;
    const before = this.last;
    this.last = this.current;
    for (const listener of this.listeners) listener(this.current, before);
  }

  subscribe(listener: Listener): void {
    this.listeners.push(listener);
  }

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
