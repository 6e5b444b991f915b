// live_field.ts - the profile view on the page of a running step: fetches merged samples as they come, hands them to the same view that finished
// traces have, and keeps its sample and the page's the same.
import type { Theme } from '../draw/dom';
import { h, onceAPicture } from '../draw/dom';
import type { Shown } from '../draw/export';
import type { Tooltip } from '../draw/tooltip';
import { liveSample } from '../io/live';
import { plural } from '../layout/format';
import { readAddress, writeAddress } from '../model/address';
import type { Json } from '../model/analysis';
import type { LiveRun } from '../model/live';
import { LiveProfile } from '../model/live_profile';
import { Store, initialState } from '../model/state';
import type { State } from '../model/state';
import { LiveSession } from '../work/live_session';
import { createField } from './field';
import { FIRST_STATE, ID } from './field_state';
import type { FieldState } from './field_state';
import type { SampledApp, ViewInstance } from './view';

/** What the page around has. */
export interface Around {
  tooltip: Tooltip;
  theme(): Theme;
  announce(text: string): void;
}

export interface LiveFieldOwner {
  changed(): void; // what the address tells is another
  chosen(): void; // another sample is looked at
  fail(error: unknown): void;
}

const FIRST = 20; // ns: a length before there is one
const NONE = 'No samples yet. The first is there a second after MPI_Init.';

export class LiveField {
  private readonly host = h('div', { class: `view ${ID}`, role: 'tabpanel', 'aria-label': 'Profile' });
  private readonly reading = h('p', { class: 'hint', role: 'status' });
  readonly element = h(
    'section',
    { class: 'live-field', hidden: true },
    this.reading,
    h('div', { class: 'views' }, this.host),
  );
  readonly known = new LiveProfile();
  wholeFrom = 1; // number of the first sample that can be had
  private readonly begin: State = initialState(FIRST, ID, { [ID]: { ...FIRST_STATE } });
  private readonly store = new Store(this.begin, FIRST);
  private readonly session = new LiveSession(this.known);
  private readonly app: SampledApp;
  private view: ViewInstance | null = null;
  private isShown = false;
  private isFetching = false;
  private isFrozen = false;
  private until = 0; // number of the last sample that is shown, while it is
  private readonly redraw = onceAPicture(() => {
    if (this.isShown) this.view?.update();
  });

  constructor(
    private readonly run: LiveRun,
    around: Around,
    private readonly owner: LiveFieldOwner,
  ) {
    const { store, session } = this;
    this.app = { store, session, drawn: {}, redraw: () => this.redraw(), fail: (e) => owner.fail(e), ...around };
    store.subscribe(() => this.stateChanged());
    new ResizeObserver(() => this.redraw()).observe(this.host);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw());
    Object.assign(globalThis, { mpitrace: { store, drawn: this.app.drawn, busy: () => session.busy } }); // as of a trace
  }

  show(is: boolean): void {
    this.isShown = is;
    if (!is) return this.app.tooltip.hide();
    this.view ??= createField(this.app, this.host, NONE);
    this.hold();
    this.redraw();
    void this.fetch();
  }

  /** There may be new samples, or another one is looked at. */
  update(): void {
    if (!this.isShown) return;
    this.hold();
    void this.fetch();
  }

  // ---- the samples ----

  /** One after the other, those that there are room for at the server. */
  private async fetch(): Promise<void> {
    if (this.isFetching || !this.isShown) return;
    this.isFetching = true;
    try {
      while (this.isShown && this.known.newest < this.run.newest) {
        const number = Math.max(this.known.newest + 1, this.wholeFrom);
        const sample = (await liveSample(number)) as Json;
        if (!sample)
          this.wholeFrom = Math.max(this.wholeFrom, number) + 1; // gone meanwhile
        else this.known.take(sample);
        if (this.wholeFrom > this.run.newest) break;
        if (number % 50 === 0) this.grown();
      }
    } finally {
      this.isFetching = false;
    }
    this.grown();
  }

  private grown(): void {
    this.store.grow(Math.max(FIRST, this.session.meta.runtime));
    this.session.grown();
    this.hold();
    this.redraw();
  }

  /** Following, all that is there is shown; else what was there when somebody paused or looked back, and that sample. */
  private hold(): void {
    const { follows, pauses, samples, shown } = this.run;
    if (follows && this.isFrozen) {
      this.isFrozen = false;
      this.session.freeze(Infinity);
      this.store.grow(Math.max(FIRST, this.known.runtime));
      this.session.grown();
    } else if (
      pauses ||
      (!follows && !this.isFrozen && this.known.newest > 0 && this.known.newest >= this.run.newest)
    ) {
      const until = pauses ? (samples.at(-1)?.number ?? 0) : this.known.newest;
      if (!this.isFrozen || until !== this.until) {
        this.isFrozen = true;
        this.until = until;
        this.session.freeze(until);
        this.session.grown();
      }
    }
    const sample = follows || !shown ? 0 : this.known.placeOf(shown.number);
    if (this.state().sample !== sample) this.store.setView(ID, { ...this.state(), sample, since: -1 });
    this.tell();
  }

  private tell(): void {
    const behind = (this.isFrozen ? this.until : this.run.newest) - this.known.newest;
    if (this.isFrozen && behind <= 0 && this.reading.dataset.until === String(this.until)) return; // it holds still
    this.reading.dataset.until = this.isFrozen && behind <= 0 ? String(this.until) : '';
    const said = [
      behind > 0 && this.wholeFrom <= this.run.newest ? `reading, ${plural(behind, 'sample')} more` : '',
      this.wholeFrom > 1 ? `samples before ${this.wholeFrom} are not kept whole any more` : '',
      this.isFrozen && behind <= 0 ? `until sample ${this.until}; Follow continues` : '',
    ];
    this.reading.textContent = said.filter((x) => x !== '').join('; ');
  }

  private state(): FieldState {
    return this.store.of<FieldState>(ID);
  }

  /** Somebody chose a sample in the view: then the page looks at that one. */
  private stateChanged(): void {
    const { sample } = this.state();
    const { follows, shown } = this.run;
    const was = follows || !shown ? 0 : this.known.placeOf(shown.number);
    if (this.isShown && sample !== was) {
      const asked = this.known.samples[sample - 1];
      if (asked) this.run.choose(asked.number);
      else this.run.follow();
      this.hold();
      this.owner.chosen();
    }
    this.owner.changed();
    this.redraw();
  }

  // ---- the page ----

  /** Without its sample, which is the page's. */
  address(): string {
    const { state } = this.store;
    const view = { ...this.state(), sample: 0, since: -1 };
    const begin = { ...this.begin, to: this.store.runtime, view: '' };
    return writeAddress({ ...state, views: { [ID]: view } }, begin);
  }

  /** Does an address ask for this view? Then it looks as that says. */
  readAddress(fragment: string): boolean {
    if (!/(?:^#|&)view=field(?:&|$)/.test(fragment)) return false;
    const asked = readAddress(fragment, { ...this.begin, to: this.store.runtime });
    this.store.set({ ...asked, view: ID });
    return true;
  }

  exported(): Shown {
    const stage = this.host.querySelector('.stage:not([hidden])') ?? this.host;
    const { view } = this;
    return {
      name: `live-${this.known.newest}-profile`,
      sheet: () => view!.sheet(),
      paint: (g, width, height) => view!.paint?.(g, width, height),
      size: { width: stage.clientWidth, height: stage.clientHeight },
      about: { view: ID, sample: this.run.shown?.number ?? null },
    };
  }
}
