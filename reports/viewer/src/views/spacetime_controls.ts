// spacetime_controls.ts - what stands above the space-time diagram: how it is drawn, zoom, filters.
import { h } from '../draw/dom';
import { button, checkBox, choice } from '../draw/tools';
import type { Control } from '../draw/tools';
import { COLOUR_STYLES } from '../layout/protocol_colors';
import { readNumbers, writeNumbers } from '../model/address';
import type { Session } from '../work/session';
import { NO_CHOICE } from './spacetime_state';
import type { SpaceState } from './spacetime_state';

export interface Actions {
  set(change: Partial<SpaceState>): void;
  zoomTo(zoom: number): void;
  fit(): void;
  read(): void;
  shift(by: number): void;
}

/** What the controls say of what is drawn. */
export interface Shown {
  zoom: number;
  zoomMax: number;
  isFiltered: boolean;
  nodes: boolean; // ranks have nodes
  checked: boolean; // messages have verdicts
}

const COMMS_MAX = 200; // listed

type Put = (state: SpaceState, shown: Shown) => void;

/** A number, or nothing for `none`. */
function numberBox(label: string, none: number, take: (x: number) => void): Control<number> {
  const input = h('input', {
    type: 'number',
    min: 0,
    step: 1,
    class: 'short',
    'aria-label': label,
    onchange: () => take(input.value === '' ? none : Math.max(0, Math.round(Number(input.value)) || 0)),
  });
  const put = (x: number) => {
    const text = x === none ? '' : String(x);
    if (document.activeElement !== input && input.value !== text) input.value = text;
  };
  return { element: input, put };
}

export class Controls {
  readonly element: HTMLElement;
  readonly note = h('span', { class: 'note', role: 'status' });
  private readonly puts: Put[] = [];

  constructor(
    private readonly session: Session,
    private readonly act: Actions,
  ) {
    this.element = h('div', { class: 'tools' }, ...this.looks(), this.zoom(), this.moves(), this.filters(), this.note);
  }

  put(state: SpaceState, shown: Shown): void {
    for (const put of this.puts) put(state, shown);
  }

  private looks(): HTMLElement[] {
    const { act } = this;
    const mode = choice(
      'by',
      'What the lines are spaced by',
      [
        ['logical', 'logical order'],
        ['time', 'time'],
      ],
      (value) => act.set({ mode: value, zoom: 0, along: 0 }),
    );
    const by = choice(
      'lines',
      'What has a line',
      [
        ['rank', 'ranks'],
        ['node', 'nodes'],
      ],
      (value) => act.set({ by: value, spread: 0, across: 0 }),
    );
    const turn = button('⤢', 'Lines down or across (O)', () => act.set({ upright: !this.upright }));
    this.puts.push((s, shown) => {
      mode.put(s.mode);
      by.put(s.by);
      by.element.hidden = !shown.nodes;
      this.upright = s.upright;
      turn.textContent = s.upright ? '⇩' : '⇨';
    });
    const beside = checkBox('more runs', 'Further runs beside this one', (on) => act.set({ beside: on }));
    this.puts.push((s) => beside.put(s.beside));
    return [mode.element, by.element, turn, beside.element];
  }

  private upright = true;

  private zoom(): HTMLElement {
    const { act } = this;
    let most = 1;
    const slider = h('input', {
      type: 'range',
      min: 0,
      max: 1,
      step: 0.005,
      'aria-label': 'Zoom along the lines',
      oninput: () => act.zoomTo(most ** Number(slider.value)),
    });
    const box = h('input', {
      type: 'number',
      min: 100,
      step: 'any',
      class: 'short',
      'aria-label': 'Zoom in percent',
      onchange: () => act.zoomTo(Math.max(1, Number(box.value) / 100 || 1)),
    });
    this.puts.push((_, shown) => {
      most = Math.max(1.0001, shown.zoomMax);
      const zoom = Math.min(most, shown.zoom);
      if (document.activeElement !== slider) slider.value = String(Math.log(zoom) / Math.log(most));
      if (document.activeElement !== box) box.value = String(Math.round(zoom * 100));
    });
    return h(
      'span',
      { class: 'tool', title: 'Zoom: the wheel about the pointer, Shift drag an area' },
      'zoom',
      slider,
      box,
      '%',
      button('All', 'The whole run, or of it what is read (Home)', () => act.fit()),
      button('Readable', 'As much as can be read (N)', () => act.read()),
    );
  }

  private moves(): HTMLElement {
    return h(
      'span',
      { class: 'group' },
      button('⇤', 'Earlier part of the run ([)', () => this.act.shift(-1)),
      button('⇥', 'Later part of the run (])', () => this.act.shift(1)),
    );
  }

  // ---- filters ----

  private filters(): HTMLElement {
    const { act } = this;
    const title = h('summary', { title: 'Filters of this view' }, 'filters');
    const reset = button('Reset', 'No filter', () => act.set(NO_CHOICE));
    this.puts.push((_, shown) => (title.textContent = shown.isFiltered ? 'filters ●' : 'filters'));
    const rows = h(
      'div',
      { class: 'space-filters' },
      this.range('ranks', 'first', 'last', -1),
      this.pickup(),
      this.members(),
      this.box('selected', 'Only ranks that are selected in any view', 'selection', false),
      this.range('epochs', 'epochFirst', 'epochLast', 0),
      this.range('events', 'eventFirst', 'eventLast', -1),
      this.verdicts(),
      this.box('others grey', 'What is filtered out is drawn in grey', 'others', true),
      this.box('hide orphans', 'Hide events whose partner is filtered out', 'orphans', true),
      this.box('hide empty epochs', 'Hide epochs without any event that is left', 'empty', true),
      reset,
    );
    return h('details', { class: 'space-filter' }, title, rows);
  }

  private range(name: string, first: keyof SpaceState, last: keyof SpaceState, none: number): HTMLElement {
    const take = (key: keyof SpaceState) => (x: number) => this.act.set({ [key]: x });
    const a = numberBox(`First of ${name}`, none, take(first));
    const b = numberBox(`Last of ${name}`, none, take(last));
    this.puts.push((s) => {
      a.put(s[first] as number);
      b.put(s[last] as number);
    });
    return h('span', { class: 'tool' }, name, a.element, '–', b.element);
  }

  private pickup(): HTMLElement {
    const input = h('input', {
      type: 'text',
      placeholder: '0-3, 8',
      'aria-label': 'Ranks that are picked up, as 0-3, 8',
      onchange: () => this.act.set({ ranks: readNumbers(input.value) }),
    });
    this.puts.push((s) => {
      if (document.activeElement !== input) input.value = writeNumbers(s.ranks);
    });
    return h('label', { class: 'tool' }, 'pick up', input);
  }

  private members(): HTMLElement {
    const comms = [...this.session.comms].slice(0, COMMS_MAX).map(([id, name]) => [String(id), name] as const);
    const comm = choice('members of', 'Members of a communicator', [['-1', 'any'], ...comms], (value) =>
      this.act.set({ comm: Number(value) }),
    );
    this.puts.push((s) => comm.put(String(s.comm)));
    return comm.element;
  }

  private verdicts(): HTMLElement {
    const kinds = Object.entries(COLOUR_STYLES).map(([key, x]) => [key, `${x.sign} ${key}`] as const);
    const result = choice('check', 'Verdict of the check on a message', [['', 'any'], ...kinds], (value) =>
      this.act.set({ verdicts: value === '' ? [] : [value] }),
    );
    this.puts.push((s, shown) => {
      result.put(s.verdicts[0] ?? '');
      result.element.hidden = !shown.checked;
    });
    return result.element;
  }

  /** needsFilter: it means something only where something is filtered. */
  private box(label: string, title: string, key: keyof SpaceState, needsFilter: boolean): HTMLElement {
    const control = checkBox(label, title, (on) => this.act.set({ [key]: on }));
    const input = control.element.querySelector('input')!;
    this.puts.push((s, shown) => {
      control.put(s[key] === true);
      input.disabled = needsFilter && !shown.isFiltered;
    });
    return control.element;
  }
}
