// finder.ts - a field that finds calls and filters views: what is written is read by model/ask.ts.
import { CLASSES } from '../layout/color';
import { count } from '../layout/format';
import { counted } from '../layout/unrecorded_words';
import { readWanted } from '../model/ask';
import type { Wanted } from '../model/ask';
import { NO_FILTER, isFiltering } from '../model/filter';
import type { Store } from '../model/state';
import type { Found } from '../work/search';
import type { Session } from '../work/session';
import { h } from './dom';
import { button } from './tools';

export class Finder {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly answer = h('span', { class: 'answer', role: 'status' });
  /** What the filter is; stands elsewhere, where there is room for it. */
  readonly chip = h('span', { class: 'chip', hidden: true });
  private at = { text: '', start: -Infinity, rank: -1 };

  constructor(
    private readonly trace: Session,
    private readonly store: Store,
    private readonly fail: (error: unknown) => void,
  ) {
    this.input = h('input', {
      type: 'search',
      class: 'find',
      placeholder: 'find: allreduce',
      'aria-label': 'Find calls',
      title: 'Enter: next, Shift Enter: previous, Ctrl Enter: filter (/)',
      onkeydown: (e: KeyboardEvent) => this.key(e),
    });
    const filter = button('Filter', 'Show only what is found, in all views (Ctrl Enter)', () => this.filter());
    this.element = h('span', { class: 'finder' }, this.input, this.answer, filter);
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  update(): void {
    const { filter, filterText } = this.store.state;
    const on = isFiltering(filter);
    if (this.chip.hidden !== on && this.chip.title === filterText) return;
    this.chip.hidden = !on;
    this.chip.title = filterText;
    this.chip.replaceChildren(
      h('span', {}, `only ${filterText}`),
      h('button', { type: 'button', 'aria-label': 'Remove the filter', onclick: () => this.clear() }, '×'),
    );
  }

  private clear(): void {
    this.store.set({ filter: NO_FILTER, filterText: '' });
  }

  private key(e: KeyboardEvent): void {
    if (e.key === 'Escape') this.input.blur();
    if (e.key !== 'Enter') return;
    e.preventDefault();
    if (e.ctrlKey || e.metaKey) this.filter();
    else this.find(!e.shiftKey);
  }

  private wanted(): Wanted | null {
    const { meta, callSites: sites, comms, nodes } = this.trace;
    const all = Array.from({ length: meta.ranks }, (_, rank) => nodes[rank] ?? '');
    const names = { ops: meta.ops, classes: CLASSES.map((c) => c.name), comms, sites, nodes: all };
    const wanted = readWanted(this.input.value, names);
    this.answer.classList.toggle('problem', wanted.problem !== '');
    if (wanted.problem === '') return wanted;
    this.answer.textContent = wanted.problem;
    return null;
  }

  /** As if it had been written here. */
  filterBy(text: string): void {
    this.input.value = text;
    this.filter();
  }

  private filter(): void {
    const wanted = this.wanted();
    if (!wanted) return;
    this.answer.textContent = '';
    this.store.set({ filter: wanted.filter, filterText: isFiltering(wanted.filter) ? this.input.value.trim() : '' });
  }

  private find(forward: boolean): void {
    const wanted = this.wanted();
    if (!wanted) return;
    if (this.at.text !== this.input.value)
      this.at = { text: this.input.value, start: forward ? -Infinity : Infinity, rank: -1 };
    this.answer.textContent = '…';
    const { start, rank } = this.at;
    const query = { filter: wanted.filter, from: { start, rank }, forward };
    this.trace.ask('search', 'search', query, (f, last) => this.take(f, last, forward), this.fail);
  }

  private take(f: Found, last: boolean, forward: boolean): void {
    if (!f.thing) {
      this.answer.textContent =
        f.total > 0
          ? `none ${forward ? 'after' : 'before'} this of ${count(f.total)}`
          : counted(0, 'not found', this.trace);
      if (f.total > 0) this.at.text = ''; // from the other end next time
      return;
    }
    const known = last ? count(f.total) : '…';
    const own = { start: this.at.start, rank: this.at.rank };
    const moved = own.start !== f.thing.start || own.rank !== f.thing.rank;
    const first = own.start === -Infinity || own.start === Infinity;
    const place = forward ? f.before + (first ? 1 : 2) : f.before;
    this.answer.textContent = last ? `${count(place)} / ${known}` : '…';
    if (last) this.at = { text: this.input.value, start: f.thing.start, rank: f.thing.rank };
    if (moved) this.show(f.thing);
  }

  private show(thing: { ref: string; start: number; duration: number }): void {
    const { store } = this;
    store.set({ picked: thing.ref, view: 'timeline' });
    const { from, to } = store.state;
    const end = thing.start + thing.duration;
    if (thing.start >= from && end <= to && thing.duration > (to - from) / 200) return;
    const air = Math.max(1000, thing.duration * 3);
    store.showInterval(thing.start - air, end + air);
  }
}
