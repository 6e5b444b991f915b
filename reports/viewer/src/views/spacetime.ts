// spacetime.ts - the space-time view: a line per rank, numbered events, messages, collectives, epochs. In: a section of the run from the
// worker, the shared interval and selection.  Out: a canvas, words about the event that is picked, super epochs.
import { h, paper } from '../draw/dom';
import { needsAll } from '../draw/only_totals';
import { Seen } from '../layout/spacetime';
import { zoomMax } from '../layout/spacetime_frame';
import type { Counts } from '../layout/spacetime_frame';
import { RUN_KEYS } from '../layout/run_keys';
import { neighbourOf, otherEnd } from '../layout/spacetime_pick';
import { shownIn, shownInWords } from '../layout/spacetime_shown';
import { SECTION_MAX } from '../model/section';
import type { SectionQuery } from '../model/section';
import type { Sheet } from '../model/sheet';
import { Adder, Beside, most, nameLine } from './spacetime_beside';
import type { Actions } from './spacetime_beside';
import { paintRuns } from './spacetime_picture';
import type { Picture } from './spacetime_picture';
import { Controls } from './spacetime_controls';
import { SpacePanel } from './spacetime_panel';
import { Pointer } from './spacetime_pointer';
import { Run } from './spacetime_run';
import { sheetOfRuns, spaceSheet } from './spacetime_sheet';
import { FIRST_STATE, ID } from './spacetime_state';
import type { SpaceState } from './spacetime_state';
import { Zooming } from './spacetime_zoom';
import type { App, View, ViewInstance } from './view';

const HELP =
  'Space-time diagram. Arrows go along a line and to the next one, Enter picks the event, G goes to the other end of its message, plus and ' +
  'minus zoom, Home shows the whole run, N what can be read, O turns the lines, L spaces by time or by order, square brackets go to earlier and later parts of the run.';

const ZOOM_STEP = 1.25;
const SPOTS_MAX = 500;

class SpaceTime implements ViewInstance {
  private followed = '';
  private readonly run: Run;
  private readonly zooming: Zooming;
  private readonly canvas = h('canvas', { class: 'layer', tabindex: 0, role: 'application', 'aria-label': HELP });
  private readonly shown = h('button', {
    type: 'button',
    class: 'space-shown',
    hidden: true,
    onclick: () => this.zooming.fit(),
  });
  private readonly stage = h('div', { class: 'stage' }, this.canvas, this.shown);
  private readonly title = h('p', { class: 'space-name', hidden: true });
  private readonly sides = h('div', { class: 'space-runs' });
  private readonly adder: Adder;
  private readonly act: Actions;
  private besides: Beside[] = [];
  private readonly controls: Controls;
  private readonly panel: SpacePanel;

  constructor(
    private readonly app: App,
    private readonly host: HTMLElement,
  ) {
    const { session, store } = app;
    this.run = new Run(app, session, ID, (counting) => this.came(counting));
    this.zooming = new Zooming(
      store,
      () => this.run.frame,
      () => this.counts(),
    );
    const { zooming } = this;
    const set = (change: Partial<SpaceState>) => store.setView(ID, change as SpaceState);
    this.controls = new Controls(session, {
      set,
      zoomTo: (zoom) => zooming.to(zoom),
      fit: () => zooming.fit(),
      read: () => zooming.read(),
      shift: (by) => store.pan(by),
    });
    this.panel = new SpacePanel({
      budget: (budget) => set({ budget }),
      goToEpoch: (run, epoch) => zooming.epoch(run.diagram, epoch),
      goToEvent: (run, event) => this.pick(run, event),
    });
    const follow = {
      move: (dx: number, dy: number) => zooming.pan(dx, dy),
      area: (x1: number, y1: number, x2: number, y2: number) => zooming.area(x1, y1, x2, y2),
      wheel: (x: number, y: number, factor: number, across: boolean) => zooming.wheel(x, y, factor, across),
    };
    this.adder = new Adder(app);
    this.act = {
      ...follow,
      hover: (run, canvas, x, y) => this.hover(run, canvas, x, y),
      pick: (run, event) => this.click(run, event),
      key: (run, e) => this.key(run, e),
    };
    this.sides.append(this.side(), this.adder.element);
    host.append(
      this.controls.element,
      ...needsAll(app.session),
      this.controls.note,
      h('div', { class: 'space-body' }, this.sides, this.panel.element),
    );
    new Pointer(this.canvas, this.stage, {
      hover: (x, y) => this.hover(this.run, this.canvas, x, y),
      leave: () => app.tooltip.hide(),
      click: (x, y) => this.click(this.run, this.run.at(x, y)),
      ...follow,
    });
    this.canvas.addEventListener('keydown', (e) => this.key(this.run, e));
  }

  /** Its name stands above it only where there are several. */
  private side(): HTMLElement {
    this.title.append(...nameLine(RUN_KEYS[0]!, this.app.session.name), this.adder.more);
    return h('div', { class: 'space-side' }, this.title, this.stage);
  }

  destroy(): void {
    for (const beside of this.besides) beside.destroy();
    this.run.giveUp();
    this.host.replaceChildren();
  }

  private state(): SpaceState {
    return this.app.store.of<SpaceState>(ID);
  }

  private query(): SectionQuery {
    const { from, to } = this.app.store.state;
    const { runtime } = this.app.session.meta;
    return { from: from <= 0 ? 0 : from, to: to >= runtime ? Infinity : to, most: SECTION_MAX };
  }

  private came(counting: string): void {
    if (counting !== '') {
      this.controls.note.textContent = counting;
      return;
    }
    this.followed = '';
    this.app.redraw();
  }

  // ---- drawing ----

  update(): void {
    const { run } = this;
    const s = this.state();
    run.ask(this.query());
    run.check();
    if (run.arrange(s)) this.app.announce(run.note);
    this.follow();
    this.keepBesides(s);
    this.title.hidden = !s.beside;
    // before the canvas is measured: it takes room
    if (run.diagram && this.controls.note.textContent !== run.note) this.controls.note.textContent = run.note;
    const { g, width, height } = paper(this.canvas);
    const begin = performance.now();
    if (this.run.paint(g, width, height, s, this.counts())) this.app.drawn.spacePaintMs = performance.now() - begin;
    const drawn = this.besides.map((beside) => beside.draw(s, this.counts()));
    Object.assign(this.app.drawn, drawn[0], { besides: drawn });
    this.tell();
  }

  /** One for each further run, in their order. */
  private keepBesides(s: SpaceState): void {
    const others = s.beside ? this.app.others() : [];
    for (const beside of this.besides) if (!others.includes(beside.run.session)) beside.destroy();
    const known = new Map(this.besides.map((beside) => [beside.run.session, beside]));
    this.besides = others.map((session) => known.get(session) ?? new Beside(this.app, session, this.act));
    for (const { element } of this.besides) if (!element.isConnected) this.adder.element.before(element);
    this.besides.forEach((beside, k) => beside.prepare(s, this.query(), k));
    this.adder.put(s);
  }

  private counts(): Counts {
    const none: Counts = { lines: 1, levels: 1, digits: 1 };
    return this.runs.reduce<Counts>((all, run) => most(all, run.diagram), none);
  }

  private get runs(): Run[] {
    return [this.run, ...this.besides.map((beside) => beside.run)];
  }

  private picture(): Picture {
    return { runs: this.runs, state: this.state(), counts: this.counts(), theme: this.app.theme() };
  }

  pictureSize(): { width: number; height: number } {
    const { clientWidth, clientHeight } = this.stage;
    return { width: clientWidth * this.runs.length, height: clientHeight };
  }

  /** For files; what is on the page is laid out anew behind it. */
  paint(g: CanvasRenderingContext2D, width: number, height: number): void {
    paintRuns(g, width, height, this.picture());
    this.app.redraw();
  }

  private tell(): void {
    const { section, diagram, frame, picked } = this.run;
    if (!section || !diagram || !frame) return;
    const s = this.state();
    this.controls.put(s, {
      zoom: frame.zoom,
      zoomMax: zoomMax(this.counts().levels, frame.length),
      isFiltered: diagram.isFiltered,
      nodes: this.run.nodes !== null,
      checked: this.run.isChecked,
    });
    const shown = shownIn(section, diagram, frame);
    const words = shownInWords(shown, diagram);
    this.shown.hidden = words === '';
    if (words !== '') this.shown.textContent = `${words} · whole run: Home`;
    this.panel.put(
      this.runs.filter((run) => run.section),
      s.budget,
    );
    Object.assign(this.app.drawn, {
      spaceEvents: diagram.drawn,
      spaceSeen: diagram.seen.reduce((n, x) => n + Number(x !== Seen.Hidden), 0),
      spaceMessages: section.messages.count,
      spaceEpochs: section.epochs.map((e) => e.number),
      spaceBands: diagram.bands.length,
      spaceLines: diagram.lines,
      spaceLevels: diagram.levels,
      spaceOrphans: diagram.orphans,
      spacePicked: this.run.nameOf(picked),
      spaceVerdicts: this.run.isChecked ? section.messages.count : 0,
      spaceSuper: this.run.merge(s.budget)?.runs.length ?? 0,
      spaceShown: shown.events,
      spaceStep: frame.step,
      spaceFrom: frame.from,
      spacePitch: frame.pitch,
      ...this.spots(),
    });
  }

  /** Where few events are and what is picked with them, by their names; for tests. */
  private spots(): Record<string, unknown> {
    const { section, diagram } = this.run;
    const spaceSpots: Record<string, unknown> = {};
    const spaceRefs: Record<string, string> = {};
    for (let i = 0; section && diagram && i < Math.min(SPOTS_MAX, section.events.count); i++) {
      const name = this.run.nameOf(i);
      spaceRefs[name] = this.run.refOf(i);
      if (diagram.seen[i] !== Seen.Hidden) spaceSpots[name] = this.run.spotOf(i);
    }
    return { spaceSpots, spaceRefs };
  }

  // ---- picking ----

  /** A call or a message that is picked elsewhere is the event here. */
  private follow(): void {
    const { run } = this;
    const { picked } = this.app.store.state;
    const { event } = this.state();
    const key = `${picked} ${event}`;
    if (!run.section || key === this.followed) return;
    this.followed = key;
    run.picked = run.find(event);
    if (picked !== '' && run.picked >= 0 && run.refOf(run.picked) === picked) return;
    const found = picked === '' ? -1 : run.findRef(picked);
    if (found >= 0) run.picked = found;
    else if (picked !== '') run.picked = -1;
  }

  /** One event of one of the runs. What other views pick is of the first. */
  private pick(run: Run, event: number): void {
    const { app } = this;
    if (!run.section) return;
    const name = run.nameOf(event);
    const isFirst = run === this.run;
    const besideRun = Math.max(
      0,
      this.besides.findIndex((beside) => beside.run === run),
    );
    app.store.setView(ID, { besideRun, event: isFirst ? name : '', besideEvent: isFirst ? '' : name });
    app.store.set({ picked: isFirst && event >= 0 ? run.refOf(event) : '' });
    if (!isFirst) this.run.picked = -1;
    run.picked = event;
    this.followed = `${app.store.state.picked} ${isFirst ? name : ''}`;
    if (event < 0) return;
    this.zooming.show(run, event);
    app.announce(`${isFirst ? '' : `${run.session.name}: `}${run.words(event)}`);
  }

  private hover(run: Run, canvas: HTMLCanvasElement, x: number, y: number): void {
    const event = run.at(x, y);
    if (event < 0) return this.app.tooltip.hide();
    const box = canvas.getBoundingClientRect();
    this.app.tooltip.show(run.tip(event), box.left + x, box.top + y);
  }

  private click(run: Run, event: number): void {
    this.app.tooltip.hide();
    this.pick(run, event);
  }

  // ---- keyboard ----

  private key(run: Run, e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const { zooming } = this;
    const { section, picked } = run;
    const { upright, mode } = this.state();
    const set = (change: Partial<SpaceState>) => this.app.store.setView(ID, change as SpaceState);
    const [next, before] = upright ? ['ArrowDown', 'ArrowUp'] : ['ArrowRight', 'ArrowLeft'];
    const [right, left] = upright ? ['ArrowRight', 'ArrowLeft'] : ['ArrowDown', 'ArrowUp'];
    const far = 0.4 * (run.frame?.length ?? 0);
    const scroll = (by: number) => (upright ? zooming.pan(0, by) : zooming.pan(by, 0));
    const actions: Record<string, () => void> = {
      [next]: () => this.go(run, 1, 0),
      [before]: () => this.go(run, -1, 0),
      [right]: () => this.go(run, 0, 1),
      [left]: () => this.go(run, 0, -1),
      PageDown: () => scroll(-far),
      PageUp: () => scroll(far),
      '+': () => zooming.by(ZOOM_STEP),
      '=': () => zooming.by(ZOOM_STEP),
      '-': () => zooming.by(1 / ZOOM_STEP),
      Home: () => zooming.fit(),
      n: () => zooming.read(),
      o: () => set({ upright: !upright }),
      l: () => set({ mode: mode === 'time' ? 'logical' : 'time', zoom: 0, along: 0 }),
      g: () => section && picked >= 0 && this.pick(run, otherEnd(section, picked)),
      e: () => section && picked >= 0 && zooming.epoch(run.diagram, section.events.epoch[picked]!),
      '[': () => this.app.store.pan(-1),
      ']': () => this.app.store.pan(1),
      Enter: () => picked >= 0 && this.app.store.toggleRank(section!.events.rank[picked]!),
      Escape: () => this.pick(run, -1),
    };
    const action = actions[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (!action) return;
    e.preventDefault();
    action();
  }

  /** To the next event of the line, or of the next line. */
  private go(run: Run, along: number, across: number): void {
    if (!run.section || !run.diagram) return;
    const found = neighbourOf(run.section, run.diagram, run.picked, along, across);
    if (found >= 0) this.pick(run, found);
    else this.app.announce('there is none');
  }

  sheet(): Sheet {
    const sheets = this.runs.map((run): [string, Sheet] => {
      const { section, diagram, names } = run;
      return [run.session.name, spaceSheet(section, diagram, names, (k) => run.judged(k), run.note)];
    });
    return sheetOfRuns(sheets);
  }
}

export const spacetime: View = {
  id: ID,
  title: 'Space-time',
  state: (): SpaceState => ({ ...FIRST_STATE }),
  create: (app, host) => new SpaceTime(app, host),
};
