// state_controls.ts - the controls about the states: step, play, run to, seek, containers, communicators; the legend.
import { fill, h, paper, theme } from '../draw/dom';
import { paintDoing } from '../draw/states';
import { button, choice } from '../draw/tools';
import { count, duration, moment, plural } from '../layout/format';
import { DOING, changeInWords } from '../layout/state_words';
import type { Names } from '../layout/state_words';
import type { Box } from '../model/containers';
import { recordedUntil } from '../model/open';
import { Doing } from '../model/snapshot';
import type { Snapshot } from '../model/snapshot';
import type { ViewState } from '../model/state';
import type { Session } from '../work/session';
import { membersOf, switchOf } from './state_facts';
import type { StatesState } from './state_facts';

export interface Actions {
  set(change: ViewState): void;
  step(by: number): void;
  play(): void;
  run(): void;
  seek(time: number): void;
  group(): void;
  rename(name: string): void;
  apart(): void;
  window(): void;
}

const SPEED_MAX = 3; // decades of states a second
const COMMS_MAX = 64; // listed
const BAR = 10000;

const STOPS: [string, string][] = [
  ['', 'stopped'],
  ['completes', 'a collective completes'],
  ['blocks', 'a rank has to wait'],
  ['error', 'the next error'],
];

function containerKinds(session: Session): [string, string][] {
  const kinds: [string, string][] = [
    ['auto', 'as many as need be'],
    ['none', 'none'],
  ];
  if (session.nodes.some((x) => x)) kinds.push(['node', 'by node']);
  if (session.nodes.some((_, rank) => switchOf(session)(rank) !== '')) kinds.push(['switch', 'by switch']);
  const some = [...session.comms].filter(([id]) => {
    const n = membersOf(session, id).length;
    return n > 1 && n < session.meta.ranks;
  });
  for (const [id, name] of some.slice(0, COMMS_MAX)) kinds.push([`comm ${id}`, `members of ${name}`]);
  return kinds;
}

/** The container that keys and buttons act on, and the one that has the stage for itself. */
interface Chosen {
  box: Box | null;
  window: string;
}

export class Controls {
  readonly top: HTMLElement;
  readonly bottom: HTMLElement;
  readonly legend = h('div', { class: 'legend state-legend' });
  readonly note = h('span', { class: 'note', role: 'status' });
  private readonly play: HTMLButtonElement;
  private readonly bar: HTMLInputElement;
  private readonly time: HTMLInputElement;
  private readonly number: HTMLInputElement;
  private readonly facts = h('span', { class: 'facts' });
  private readonly speed: HTMLInputElement;
  private readonly speedText = h('output', {});
  private readonly rank: HTMLInputElement;
  private readonly by;
  private readonly stop;
  private readonly rule;
  private readonly name: HTMLInputElement;
  private readonly nameTools: HTMLElement;
  private readonly window: HTMLButtonElement;
  private readonly comms = h('div', { class: 'state-comms' });
  private readonly commsTitle = h('summary', {});
  private readonly commsShown: HTMLDetailsElement;
  private listed = '';
  private legendOf = '';

  constructor(
    private readonly session: Session,
    private readonly act: Actions,
  ) {
    this.play = button('▶', 'Play (Space)', () => act.play());
    this.speed = h('input', {
      type: 'range',
      min: 0,
      max: SPEED_MAX,
      step: 0.05,
      'aria-label': 'States a second',
      oninput: () => act.set({ speed: Math.round(10 ** Number(this.speed.value)) }),
    });
    this.rank = h('input', {
      type: 'number',
      min: 0,
      max: session.meta.ranks - 1,
      'aria-label': 'Rank that has to wait',
      onchange: () => act.set({ rank: Math.min(session.meta.ranks - 1, Math.max(0, Number(this.rank.value) || 0)) }),
    });
    this.by = choice('containers', 'Containers', containerKinds(session), (by) => act.set({ by, open: [] }));
    this.stop = choice('until', 'What to run to', STOPS, (stop) => act.set({ stop }));
    this.rule = choice(
      'show',
      'Members of any or of all of the communicators chosen',
      [
        ['union', 'members of any'],
        ['intersection', 'members of all'],
      ],
      (rule) => act.set({ rule }),
    );
    this.name = h('input', {
      type: 'text',
      maxlength: 40,
      'aria-label': 'Name of the container',
      onchange: () => act.rename(this.name.value),
    });
    this.window = button('Own window', 'Give this container the stage for itself, or bring all back (W)', () =>
      act.window(),
    );
    this.nameTools = h(
      'span',
      { class: 'tool' },
      this.name,
      button('Take apart', 'Take it apart (U)', () => act.apart()),
    );
    this.commsShown = h('details', { class: 'state-groups' }, this.commsTitle, this.rule.element, this.comms);
    this.bar = h('input', {
      type: 'range',
      class: 'wide',
      min: 0,
      max: BAR,
      step: 1,
      'aria-label': 'Moment of the run',
      oninput: () => act.seek((Number(this.bar.value) / BAR) * session.meta.runtime),
    });
    this.time = this.box('Moment in milliseconds', (x) => act.seek(x * 1e6));
    this.time.classList.add('moment');
    this.number = this.box('Number of the state', (x) => act.set({ step: Math.max(0, Math.round(x)) }));
    this.top = this.topRow();
    this.bottom = h(
      'div',
      { class: 'tools bottom' },
      this.bar,
      h('label', { class: 'tool' }, 'at', this.time, 'ms'),
      h('label', { class: 'tool' }, 'state', this.number),
      this.facts,
    );
  }

  private box(label: string, put: (x: number) => void): HTMLInputElement {
    const take = () => input.value !== '' && Number.isFinite(Number(input.value)) && put(Number(input.value));
    const input = h('input', { type: 'number', min: 0, step: 'any', 'aria-label': label, onchange: take });
    return input;
  }

  private topRow(): HTMLElement {
    const { act } = this;
    return h(
      'div',
      { class: 'tools' },
      h(
        'span',
        { class: 'group' },
        button('|◀', 'To the beginning (Home)', () => act.set({ step: 0 })),
        button('◀', 'Step back (←)', () => act.step(-1)),
        this.play,
        button('▷', 'Step (→)', () => act.step(1)),
      ),
      h('label', { class: 'tool', title: 'States a second' }, this.speed, this.speedText),
      h(
        'span',
        { class: 'tool' },
        button('Run', 'Run to (R)', () => act.run()),
        this.stop.element,
        this.rank,
      ),
      this.by.element,
      button('Group', 'Put the selected processes in a container (G)', () => act.group()),
      this.nameTools,
      this.window,
      this.commsShown,
      this.note,
    );
  }

  playing(on: boolean): void {
    this.play.textContent = on ? '⏸' : '▶';
    this.play.title = on ? 'Stop (Space)' : 'Play (Space)';
    this.play.setAttribute('aria-label', this.play.title);
  }

  put(state: StatesState, s: Snapshot | null, sums: number[], counted: boolean, chosen: Chosen, names: Names): void {
    const put = (input: HTMLInputElement, value: string) => {
      if (document.activeElement !== input && input.value !== value) input.value = value;
    };
    this.by.put(state.by);
    this.stop.put(state.stop);
    this.rule.put(state.rule);
    this.rank.hidden = state.stop !== 'blocks';
    put(this.rank, String(state.rank));
    put(this.speed, String(Math.log10(Math.max(1, state.speed))));
    this.speedText.textContent = `${count(state.speed)} states/s`;
    const { box, window } = chosen;
    this.nameTools.hidden = !box?.own;
    put(this.name, box?.own ? box.name : '');
    this.window.hidden = box === null && window === '';
    this.window.textContent = box || window === '' ? 'Own window' : `← all (now ${window})`;
    if (!s) return;
    const { runtime } = this.session.meta;
    if (document.activeElement !== this.bar) this.bar.value = String(Math.round((s.time / Math.max(1, runtime)) * BAR));
    put(this.time, String(Number((s.time / 1e6).toFixed(6))));
    put(this.number, String(s.step));
    const all = counted ? count(s.steps) : `${count(s.steps)} so far`;
    this.facts.textContent = `of ${all}; ${moment(s.time, Math.max(1, runtime / 1e5), runtime / 10)} of ${duration(runtime)}`;
    this.putNote(s, sums, names);
    this.putComms(state, s, names);
    this.putLegend(sums);
  }

  private putNote(s: Snapshot, sums: number[], names: Names): void {
    const waits = sums[Doing.Waits]!;
    const waiting = `${count(waits)} of ${plural(s.doing.length, 'process')} wait${waits === 1 ? 's' : ''}`;
    const unknown = sums[Doing.Unknown]! > 0 ? `, of ${count(sums[Doing.Unknown]!)} it is not known` : '';
    const dead = sums[Doing.Dead]! > 0 ? `, ${count(sums[Doing.Dead]!)} dead` : '';
    const logical = s.logical > 0 ? `; ${count(s.logical)} changes stand in logical order, not by time` : '';
    const forced = s.forced > 0 ? `; ${count(s.forced)} without what they wait for: the trace is not whole` : '';
    const text = `State ${count(s.step)}: ${changeInWords(s.change, names)}; ${waiting}${unknown}${dead}${logical}${forced}`;
    if (this.note.textContent !== text) this.note.textContent = text;
  }

  /** Communicators alive in this state. */
  private putComms(state: StatesState, s: Snapshot, names: Names): void {
    const ids = s.alive.slice(0, COMMS_MAX);
    this.commsTitle.textContent = `${plural(s.alive.length, 'communicator')}${state.comms.length > 0 ? ', some shown' : ''}`;
    const key = JSON.stringify([ids, state.comms]);
    if (key === this.listed) return;
    this.listed = key;
    const boxes = ids.map((id) => {
      const n = membersOf(this.session, id).length;
      const toggle = () =>
        this.act.set({ comms: input.checked ? [...state.comms, id] : state.comms.filter((x) => x !== id) });
      const input = h('input', { type: 'checkbox', onchange: toggle });
      input.checked = state.comms.includes(id);
      return h('label', { class: 'tool' }, input, `${names.comm(id)} (${count(n)})`);
    });
    fill(this.comms, ...boxes);
  }

  private putLegend(sums: number[]): void {
    const colors = theme();
    const key = JSON.stringify([colors.dark, sums]);
    if (key === this.legendOf) return;
    this.legendOf = key;
    const { analysis, meta } = this.session;
    const isWhole = recordedUntil(analysis, meta.ranks, meta.events).every((ns) => ns === Infinity);
    const kinds = isWhole ? DOING.slice(0, Doing.Unknown) : DOING;
    const rows = kinds.map((name, k) => {
      const swatch = h('canvas', { class: 'state-swatch', 'aria-hidden': 'true' });
      const { g } = paper(swatch, { width: 16, height: 16 });
      paintDoing(g, k as Doing, { x: 8, y: 8 }, 6.2, colors);
      return h('span', { class: 'tool' }, swatch, `${name} ${count(sums[k]!)}`);
    });
    fill(
      this.legend,
      ...rows,
      h('span', { class: 'tool' }, 'head filled: does not wait; hollow: may wait; dashed: not sent yet'),
    );
  }
}
