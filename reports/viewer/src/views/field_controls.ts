// field_controls.ts - the panel of the field: what it is of, how it is drawn, and which sample is looked at, one after the other if it plays.
import { h } from '../draw/dom';
import { button, checkBox, choice } from '../draw/tools';
import type { Control } from '../draw/tools';
import { exactMoment } from '../layout/format';
import { METRICS } from '../model/field';
import { AXES, BYS, CUTS, DRAWS, ID, ORDERS, SIDE_MAX, axesOf, metricOf, metricsOf } from './field_state';
import type { FieldState } from './field_state';
import type { SampledApp } from './view';

const PLAY_MS = 250; // from one sample to the next
const CALM_MS = 1000; // for whoever wants little motion

function numberBox(label: string, title: string, change: (value: number) => void): Control<number> {
  const input = h('input', {
    type: 'number',
    min: 0,
    max: SIDE_MAX,
    'aria-label': title,
    class: 'short',
    onchange: () => change(Number(input.value)),
  });
  return {
    element: h('label', { class: 'tool', title }, label, input),
    put: (value) => {
      if (document.activeElement !== input) input.value = String(value);
    },
  };
}

export class FieldControls {
  readonly top: HTMLElement;
  readonly bottom: HTMLElement;
  readonly note = h('p', { class: 'note', role: 'status' });
  private readonly puts: ((s: FieldState) => void)[] = [];
  private readonly metric = h('select', {
    'aria-label': 'Metric',
    onchange: () => this.set({ metric: this.metric.value }),
  });
  private readonly pattern = h('input', {
    type: 'search',
    class: 'pattern',
    placeholder: 'all events',
    'aria-label': 'Events: parts of names divided by commas, * for anything, - leaves out',
    oninput: () => this.set({ events: this.pattern.value }),
  });
  private readonly play = h('button', { type: 'button', onclick: () => this.toggle() }, 'Play');
  private readonly clock = h('output', { class: 'facts' });
  private readonly slider = h('input', {
    type: 'range',
    class: 'wide',
    min: 0,
    max: 1,
    step: 1,
    'aria-label': 'Sample',
    oninput: () => this.set({ sample: Number(this.slider.value) }),
  });
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly app: SampledApp,
    private readonly state: () => FieldState,
    private readonly samples: () => readonly { start: number; end: number }[],
  ) {
    const pick = <K extends keyof FieldState>(
      label: string,
      name: string,
      options: readonly (readonly [string, string])[],
      key: K,
    ) => {
      const control = choice(label, name, options, (value) =>
        this.set({ [key]: key === 'cut' ? Number(value) : value }),
      );
      this.puts.push((s) => control.put(String(s[key])));
      return control.element;
    };
    const tick = (label: string, title: string, key: keyof FieldState) => {
      const control = checkBox(label, title, (on) => this.set({ [key]: on }));
      this.puts.push((s) => control.put(s[key] === true));
      return control.element;
    };
    const many = (label: string, title: string, key: keyof FieldState) => {
      const control = numberBox(label, title, (value) => this.set({ [key]: value }));
      this.puts.push((s) => control.put(Number(s[key])));
      return control.element;
    };
    this.top = h(
      'div',
      { class: 'tools' },
      pick('picture', 'Picture', DRAWS, 'draw'),
      this.not('cloud', pick('of', 'Rows and columns', AXES, 'axes')),
      h('label', { class: 'tool', title: 'Metric' }, 'metric', this.metric),
      pick('events', 'What events are', BYS, 'by'),
      this.pattern,
      this.not('cloud', pick('in order of', 'Order of ranks', ORDERS, 'order')),
      ...this.ofSpace(pick, tick, many),
      this.not('cloud', tick('largest first', 'Ranks in order of what is shown', 'byValue')),
      tick('only selected', 'Only the ranks that are selected', 'only'),
    );
    const back = button('◂', 'Sample before (,)', () => this.step(-1));
    const on = button('▸', 'Next sample (.)', () => this.step(1));
    this.bottom = h(
      'div',
      { class: 'tools bottom' },
      this.play,
      back,
      on,
      this.slider,
      this.clock,
      this.not(
        'cloud',
        tick('since the beginning', 'Totals up to each sample, instead of each sample alone', 'cumulative'),
      ),
      tick('logarithmic', 'Logarithmic scale', 'log'),
      this.not('cloud', pick('scale', 'What the scale shows', CUTS, 'cut')),
      this.not('cloud', many('rows', 'Rows at most', 'rows')),
      this.not('cloud', many('columns', 'Columns at most', 'columns')),
    );
  }

  /** What one picture has not. */
  private not(draw: string, element: HTMLElement): HTMLElement {
    this.puts.push((s) => (element.hidden = s.draw === draw));
    return element;
  }

  /** What only some pictures have. */
  private ofSpace(
    pick: (
      label: string,
      name: string,
      options: readonly (readonly [string, string])[],
      key: keyof FieldState,
    ) => HTMLElement,
    tick: (label: string, title: string, key: keyof FieldState) => HTMLElement,
    many: (label: string, title: string, key: keyof FieldState) => HTMLElement,
  ): HTMLElement[] {
    const metrics = metricsOf('rank-time');
    const of: [string, HTMLElement][] = [
      ['cloud', pick('up', 'Metric of the second axis', metrics, 'up')],
      ['cloud', pick('deep', 'Metric of the third axis', metrics, 'deep')],
      ['cloud', pick('colour', 'Metric of the colour', metrics, 'tint')],
      ['cloud', many('clusters', 'Clusters by k-means, 0 for none', 'clusters')],
      ['terrain', many('flags', 'Flags on the largest values, at most', 'flags')],
      ['terrain', many('from %', 'Percent of the largest value, below which there is no flag', 'flagLeast')],
      ['cloud terrain tube', tick('brush', 'Dragging selects the ranks in a box instead of turning', 'brush')],
    ];
    this.puts.push((s) => {
      for (const [draws, element] of of) element.hidden = !draws.split(' ').includes(s.draw);
    });
    return of.map(([, element]) => element);
  }

  private set(change: Partial<FieldState>): void {
    this.app.store.setView(ID, change as FieldState);
  }

  step(by: number): void {
    const n = this.samples().length;
    const at = this.state().sample;
    this.set({ sample: at === 0 && by < 0 ? n : Math.max(0, Math.min(n, at + by)) });
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.play.textContent = 'Play';
  }

  toggle(): void {
    if (this.timer !== undefined) return this.stop();
    const last = this.samples().length;
    if (last === 0) return;
    if (this.state().sample >= last) this.set({ sample: 0 });
    this.play.textContent = 'Pause';
    const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.timer = setInterval(
      () => {
        const over = this.app.store.state.view !== ID || this.state().sample >= last;
        if (over) this.stop();
        else this.step(1);
      },
      isCalm ? CALM_MS : PLAY_MS,
    );
  }

  update(): void {
    const s = this.state();
    const axes = axesOf(s);
    const metrics = metricsOf(axes);
    if (this.metric.dataset.of !== axes) {
      this.metric.dataset.of = axes;
      this.metric.replaceChildren(...metrics.map(([value, title]) => h('option', { value }, title)));
    }
    this.metric.value = metricOf(s);
    if (document.activeElement !== this.pattern) this.pattern.value = s.events;
    this.pattern.disabled = !METRICS[metricOf(s)].ofEvents;
    for (const put of this.puts) put(s);
    const samples = this.samples();
    this.slider.max = String(samples.length);
    if (document.activeElement !== this.slider) this.slider.value = String(s.sample);
    const one = samples[s.sample - 1];
    this.clock.textContent = one
      ? `${s.sample} of ${samples.length}, until ${exactMoment(one.end)}`
      : `${samples.length} samples`;
    this.slider.setAttribute('aria-valuetext', this.clock.textContent);
  }
}
