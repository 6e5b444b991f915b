// live.ts - the page of a running step: it grows as samples come, follows, or stays where its reader went back to.
import { askTimeline, listen, liveNow, liveSample, liveSummary } from '../io/live';
import { count, plural, percent } from '../layout/format';
import { at, list, num, str } from '../model/analysis';
import type { Json } from '../model/analysis';
import { LiveRun, clock, nowSheet, sampleSheet, samplesSheet } from '../model/live';
import type { Cell, Sheet } from '../model/sheet';
import { shownIn } from '../model/sheet';
import { fill, h, paper } from '../draw/dom';
import { exporter } from '../draw/export';
import type { Shown } from '../draw/export';
import { Grid } from '../draw/grid';
import { paintLive, sampleBelow } from '../draw/live_picture';
import { LiveField } from './live_field';
import type { Around } from './live_field';

const KEYS: Record<string, (run: LiveRun) => void> = {
  ArrowLeft: (run) => run.step(-1),
  ArrowRight: (run) => run.step(1),
  PageUp: (run) => run.step(-20),
  PageDown: (run) => run.step(20),
  Home: (run) => run.step(-Infinity),
  End: (run) => run.follow(),
  ' ': (run) => (run.follows ? run.pause() : run.follow()),
};

function compare(a: Cell, b: Cell): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
}

class LivePage {
  private readonly run = new LiveRun();
  private now: Json = null; // as shown
  private latest: Json = null; // as the server has it
  private sheet: Sheet = nowSheet(null);
  private sort = { key: 'rank', descending: false };
  private asked = 0; // number of the sample whose ranks are in the table; 0: now
  private reading = false;
  private again = false;
  private tab = ''; // '': the overview, or 'field'
  private readonly panes: Record<string, HTMLElement>;
  private readonly tabs: Record<string, HTMLElement> = {};
  private readonly field: LiveField;
  private readonly title = h('h1', {}, 'Running job');
  private readonly facts = h('p', { class: 'hint' });
  private readonly state = h('span', { class: 'live-state', role: 'status' });
  private readonly trouble = h('div', { class: 'live-trouble', role: 'alert', hidden: true });
  private readonly words = h('p', { class: 'live-words', 'aria-live': 'polite' });
  private readonly canvas = h('canvas', { class: 'live-canvas' });
  private readonly stage = h(
    'div',
    {
      class: 'live-stage',
      role: 'application',
      tabindex: 0,
      'aria-label': 'Share of time in MPI, over time and ranks',
    },
    this.canvas,
  );
  private readonly followed = h('button', { type: 'button', onclick: () => this.do(KEYS[' ']!) }, 'Pause');
  private readonly timeline = h('button', { type: 'button', onclick: () => void this.askEvents() }, 'Events so far');
  private readonly caption = h('h2', {});
  private readonly grid = new Grid({
    label: 'Ranks',
    want: (first, number) => this.putRows(first, number),
    sort: (key) => this.sortBy(key),
    pick: () => undefined,
    open: () => undefined,
  });

  constructor(page: Element, around: Around) {
    const fail = (error: unknown) => this.say(error instanceof Error ? error.message : String(error));
    this.field = new LiveField(this.run, around, {
      changed: () => this.writeAddress(),
      chosen: () => this.update(),
      fail,
    });
    const exported = exporter(
      () => this.exported(),
      (text) => this.say(text),
      fail,
    );
    const overview = h(
      'section',
      { class: 'live-overview' },
      h(
        'p',
        { class: 'live-legend' },
        h('span', {}, h('span', { class: 'key mpi' }), 'in MPI, all ranks'),
        h('span', {}, h('span', { class: 'key ready' }), 'ready to run, without a core'),
        h('span', {}, h('span', { class: 'key ramp' }), 'each rank: 0 to 100 % in MPI'),
        h('span', {}, h('span', { class: 'key unknown' }), 'not known'),
      ),
      this.stage,
      this.words,
      this.caption,
      this.grid.element,
    );
    this.panes = { '': overview, field: this.field.element };
    fill(
      page,
      h(
        'main',
        { class: 'live' },
        h(
          'header',
          {},
          this.title,
          this.state,
          h('span', { class: 'spring' }),
          this.followed,
          this.timeline,
          exported.element,
        ),
        this.facts,
        this.trouble,
        this.tabBar(),
        overview,
        this.field.element,
      ),
    );
    this.stage.addEventListener('keydown', (e) => this.key(e));
    this.stage.addEventListener('click', (e) => this.click(e));
    addEventListener('keydown', (e) => {
      if (e.key === 't' && !e.ctrlKey && !(e.target instanceof HTMLSelectElement)) exported.twin();
    });
    new ResizeObserver(() => this.draw()).observe(this.stage);
    this.show(this.tab);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
    addEventListener('hashchange', () => this.readAddress());
    listen({
      sample: () => void this.read(fail),
      timeline: (said) => this.showEvents(said as Json),
      end: () => void this.read(fail),
      connected: (is) => this.connected(is),
    });
    Object.assign(globalThis, {
      mpitraceLive: { run: this.run, field: this.field.known, sheet: () => this.exported().sheet() },
    }); // for tests and the curious
  }

  private tabBar(): HTMLElement {
    const tab = (id: string, title: string) => {
      const act = { onclick: () => (this.show(id), this.writeAddress()) };
      const button = h('button', { type: 'button', role: 'tab', ...act }, title);
      this.tabs[id] = button;
      return button;
    };
    const tabs = [tab('', 'Overview'), tab('field', 'Profile')];
    const list = h('div', { class: 'tab-list', role: 'tablist', 'aria-label': 'Views' }, ...tabs);
    const bar = h('nav', { class: 'tabs', 'aria-label': 'Views' }, list);
    bar.addEventListener('keydown', (e) => {
      if (e.key !== 'ArrowLeft' && e.key !== 'ArrowRight') return;
      const other = this.tab === '' ? 'field' : '';
      this.show(other);
      this.writeAddress();
      this.tabs[other]!.focus();
    });
    return bar;
  }

  private show(tab: string): void {
    this.tab = tab;
    for (const [id, pane] of Object.entries(this.panes)) pane.hidden = id !== tab;
    for (const [id, button] of Object.entries(this.tabs)) {
      button.setAttribute('aria-selected', String(id === tab));
      button.tabIndex = id === tab ? 0 : -1;
    }
    this.field.show(tab === 'field');
    this.update();
  }

  private exported(): Shown {
    if (this.tab === 'field') return this.field.exported();
    return {
      name: `live-${this.run.newest}`,
      sheet: () => samplesSheet(this.run),
      paint: (g, width, height) => paintLive(g, this.run, width, height),
      size: { width: this.stage.clientWidth, height: this.stage.clientHeight },
      about: { view: 'live', sample: this.run.shown?.number ?? null },
    };
  }

  /** One at a time; what was said meanwhile is asked for afterwards. */
  private async read(fail: (error: unknown) => void): Promise<void> {
    this.again = this.reading;
    if (this.reading) return;
    this.reading = true;
    try {
      const summary = (await liveSummary(this.run.newest)) as Json;
      const isFirst = this.run.samples.length === 0;
      this.run.take(summary);
      if (isFirst) this.readAddress();
      this.run.over = at(summary, 'over') === true;
      this.field.wholeFrom = num(summary, 'whole_from') ?? 1;
      this.latest = ((await liveNow()) as Json) ?? this.latest;
      this.update();
    } catch (error) {
      fail(error);
    }
    this.reading = false;
    if (this.again) void this.read(fail);
  }

  private readAddress(): void {
    const asked = /(?:^#|&)sample=(\d+)/.exec(location.hash);
    if (asked) this.run.choose(Number(asked[1]));
    else this.run.follow();
    this.show(this.field.readAddress(location.hash) ? 'field' : '');
  }

  private writeAddress(): void {
    const { shown, follows } = this.run;
    const parts = [
      follows || !shown ? '' : `sample=${shown.number}`,
      this.tab === 'field' ? this.field.address() : '',
    ].filter((x) => x !== '');
    const plain = `${location.pathname}${location.search}`;
    history.replaceState(null, '', parts.length > 0 ? `#${parts.join('&')}` : plain);
  }

  private do(what: (run: LiveRun) => void): void {
    what(this.run);
    this.writeAddress();
    this.update();
  }

  private key(e: KeyboardEvent): void {
    const act = KEYS[e.key];
    if (!act || e.ctrlKey || e.altKey || e.metaKey) return;
    e.preventDefault();
    this.do(act);
  }

  private click(e: MouseEvent): void {
    const sample = sampleBelow(this.run, e.offsetX, this.stage.clientWidth);
    if (sample) this.do((run) => run.choose(sample.number));
  }

  private say(text: string): void {
    this.words.textContent = text;
  }

  private connected(is: boolean): void {
    this.state.dataset.lost = String(!is);
    this.update();
  }

  // ---- the events so far ----

  private async askEvents(): Promise<void> {
    this.timeline.disabled = true;
    this.timeline.textContent = 'Reading the events …';
    await askTimeline().catch(() => this.showEvents(null));
  }

  private showEvents(said: Json): void {
    const name = str(said, 'name');
    this.timeline.disabled = false;
    this.timeline.textContent = 'Events so far';
    if (/^trace-\d+\.mpix$/.test(name)) location.assign(`?src=${name}`);
    else this.say(`There is no timeline yet: ${str(said, 'error') || 'the server does not answer'}`);
  }

  // ---- what is shown ----

  private update(): void {
    if (!this.run.pauses) this.now = this.latest;
    this.head();
    this.describe();
    this.field.update();
    if (this.tab !== '') return;
    this.draw();
    void this.table();
  }

  private head(): void {
    const job = at(this.now, 'job');
    const id = str(job, 'job_id');
    const lost = this.state.dataset.lost === 'true';
    this.state.dataset.paused = String(this.run.pauses);
    const missing = list(this.now, 'nodes_missing');
    const unreadable = list(this.now, 'nodes').reduce<number>((sum, n) => sum + (num(n, 'samples_unreadable') ?? 0), 0);
    this.title.textContent = id && id !== '0' ? `Job ${id}.${str(job, 'step_id')}` : 'Running job';
    document.title = `${this.title.textContent} – mpitrace live`;
    this.state.textContent = this.run.pauses
      ? 'paused'
      : this.run.over
        ? 'over'
        : lost
          ? 'connection lost, trying again'
          : 'running';
    this.facts.textContent = [
      str(job, 'program'),
      plural(num(job, 'ranks') ?? 0, 'rank'),
      plural(num(job, 'nodes') ?? 0, 'node'),
      plural(this.run.samples.length, 'sample'),
      this.run.over && !this.run.pauses ? 'served until this page is closed' : '',
      unreadable > 0 ? `${plural(unreadable, 'sample')} could not be read` : '',
      missing.length > 0 ? `no trace of ${missing.map(String).join(', ')}` : '',
    ]
      .filter((x) => x !== '')
      .join(' · ');
    this.followed.textContent = this.run.follows ? 'Pause' : 'Follow';
    this.followed.setAttribute('aria-pressed', String(!this.run.follows));
    const why = list(this.now, 'deadlock').map((d) => str(d, 'why'));
    const stuck = at(this.now, 'stuck') === true;
    const text =
      why.length > 0
        ? `Deadlock: ${why.join(' ')}`
        : stuck
          ? 'Stuck: every rank has been inside one MPI call for a minute or more.'
          : '';
    if (this.trouble.textContent !== text) this.trouble.textContent = text;
    this.trouble.hidden = text === '';
  }

  private draw(): void {
    const { g, width, height } = paper(this.canvas);
    paintLive(g, this.run, width, height);
  }

  private describe(): void {
    const { shown, follows } = this.run;
    if (!shown) return this.say('No samples yet. The first is there a second after MPI_Init.');
    const known = (x: number | null) => (x === null ? 'not known' : percent(x));
    this.say(
      [
        `Sample ${count(shown.number)}${follows ? ', the newest' : ''}, ${clock(shown.time)}`,
        `in MPI ${known(shown.mpi)}`,
        `ready without a processor ${known(shown.offProcessor)}`,
        shown.silent > 0 ? `${plural(shown.silent, 'node')} without samples: shares are of the others` : '',
      ]
        .filter((x) => x !== '')
        .join(' · '),
    );
  }

  private async table(): Promise<void> {
    const isNow = this.run.follows || (this.run.pauses && this.run.shown === this.run.samples.at(-1));
    const number = isNow ? 0 : (this.run.shown?.number ?? 0);
    const isNew = number !== this.asked;
    if (number > 0 && !isNew) return;
    this.asked = number;
    const sample = number > 0 ? ((await liveSample(number)) as Json) : null;
    if (this.asked !== number) return; // somebody went on
    this.sheet = number === 0 ? nowSheet(this.now) : sampleSheet(sample);
    this.caption.textContent =
      number > 0 && sample === null ? `The ranks of sample ${number} are no longer kept` : this.sheet.title;
    if (isNew || this.grid.element.dataset.kind !== String(number > 0)) {
      this.grid.element.dataset.kind = String(number > 0);
      const isNumber = (i: number) => this.sheet.rows.some((row) => typeof row[i] === 'number');
      const wide = new Set(['callsite', 'op', 'most', 'in']);
      const narrow = new Set(['rank', 'thread', 'since_s', 'peer', 'tag', 'calls']);
      this.grid.setColumns(
        this.sheet.columns.map((c, i) => ({
          key: c.name,
          title: c.title,
          width: wide.has(c.name) ? 150 : Math.max(narrow.has(c.name) ? 60 : 96, 7 * c.title.length + 14), // no title is cut
          isNumber: isNumber(i),
        })),
      );
    }
    this.order();
  }

  private sortBy(key: string): void {
    this.sort = { key, descending: this.sort.key === key && !this.sort.descending };
    this.order();
  }

  private order(): void {
    const i = Math.max(
      0,
      this.sheet.columns.findIndex((c) => c.name === this.sort.key),
    );
    const sign = this.sort.descending ? -1 : 1;
    this.sheet.rows.sort((a, b) => sign * compare(a[i] ?? null, b[i] ?? null));
    this.putRows(Math.max(0, Math.floor(this.grid.element.scrollTop / 24) - 12), 80);
  }

  private putRows(first: number, number: number): void {
    const { rows, columns } = this.sheet;
    const begin = Math.min(first, rows.length);
    this.grid.put({
      total: rows.length,
      first: begin,
      rows: rows.slice(begin, begin + number).map((row) => columns.map((_, i) => shownIn(this.sheet, row, i))),
      sort: this.sort.key,
      descending: this.sort.descending,
      picked: -1,
    });
  }
}

export function showLive(page: Element, around: Around): void {
  new LivePage(page, around);
}
