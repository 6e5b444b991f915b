// spacetime.ts - the space-time view: a line per rank, numbered events, messages, collectives, epochs. In: a section of the run from the
// worker, the shared interval and selection.  Out: a canvas, words about the event that is picked, super epochs.
import { h, paper } from '../draw/dom';
import { marginsOf, paintSpacetime } from '../draw/spacetime';
import type { Scene } from '../draw/spacetime_scene';
import { percent } from '../layout/format';
import { Seen, diagramOf, isFiltered, levelsOf } from '../layout/spacetime';
import type { Diagram, Levels } from '../layout/spacetime';
import {
  acrossOf,
  alongOf,
  frameOf,
  moved,
  spreadAbout,
  zoomAbout,
  zoomInto,
  zoomMax,
} from '../layout/spacetime_frame';
import type { Counts, Frame, Zoom } from '../layout/spacetime_frame';
import { shownIn, shownInWords } from '../layout/spacetime_shown';
import { eventRows, eventTitle, noteOf } from '../layout/spacetime_words';
import type { Names } from '../layout/spacetime_words';
import { eventAtPoint, neighbourOf, otherEnd } from '../layout/spacetime_pick';
import { Role, SECTION_MAX } from '../model/section';
import type { Section, SectionQuery } from '../model/section';
import type { Sheet } from '../model/sheet';
import { mergeEpochs, needsOf } from '../model/super_epochs';
import type { EpochNeed, SuperEpochs } from '../model/super_epochs';
import { tryParse, verdictOf } from '../model/protocol';
import type { Ends, Judged } from '../model/protocol';
import { Beside, most } from './spacetime_beside';
import { Controls } from './spacetime_controls';
import { SpacePanel } from './spacetime_panel';
import { spaceSheet } from './spacetime_sheet';
import { FIRST_STATE, ID, choiceOf, nodeLines, zoomOf } from './spacetime_state';
import type { SpaceState } from './spacetime_state';
import { Pointer } from './spacetime_pointer';
import type { App, View, ViewInstance } from './view';

const HELP =
  'Space-time diagram. Arrows go along a line and to the next one, Enter picks the event, G goes to the other end of its message, plus and ' +
  'minus zoom, Home shows the whole run, N what can be read, O turns the lines, L spaces by time or by order, square brackets go to earlier and later parts of the run.';

const ZOOM_STEP = 1.25;
const SPOTS_MAX = 500;

class SpaceTime implements ViewInstance {
  private section: Section | null = null;
  private levels: Levels | null = null;
  private diagram: Diagram | null = null;
  private frame: Frame | null = null;
  private needs: EpochNeed[] = [];
  private merged: { budget: number; of: SuperEpochs } | null = null;
  private asked = '';
  private arranged = '';
  private verdicts: (Judged | null)[] | null = null;
  private checker: ((m: Ends) => Judged) | null = null;
  private checked = '';
  private picked = -1; // event
  private followed = '';
  private readonly lines; // of source, by call site
  private readonly nodes;
  private readonly canvas = h('canvas', { class: 'layer', tabindex: 0, role: 'application', 'aria-label': HELP });
  private readonly shown = h('button', { type: 'button', class: 'space-shown', onclick: () => this.fit() });
  private readonly stage = h('div', { class: 'stage' }, this.canvas, this.shown);
  private readonly title = h('p', { class: 'space-name', hidden: true });
  private readonly beside: Beside;
  private readonly controls: Controls;
  private readonly panel: SpacePanel;
  private readonly names: Names;

  constructor(
    private readonly app: App,
    private readonly host: HTMLElement,
  ) {
    const { session, store } = app;
    this.nodes = nodeLines(session);
    this.names = {
      comm: (id) => session.comms.get(id) ?? `communicator ${id}`,
      site: (id) => session.callSites.get(id)?.place ?? '',
    };
    this.lines = (site: number) => Number(/:(\d+)$/.exec(this.names.site(site))?.[1] ?? -1);
    const set = (change: Partial<SpaceState>) => store.setView(ID, change as SpaceState);
    this.controls = new Controls(session, {
      set,
      zoomTo: (zoom) => this.zoomTo(zoom),
      fit: () => this.fit(),
      read: () => this.read(),
      shift: (by) => store.pan(by),
    });
    this.panel = new SpacePanel(this.names, {
      budget: (budget) => set({ budget }),
      goToEpoch: (epoch) => this.goToEpoch(epoch),
      goToEvent: (event) => this.pick(event),
    });
    const follow = {
      move: (dx: number, dy: number) => this.pan(dx, dy),
      area: (x1: number, y1: number, x2: number, y2: number) => this.zoomArea(x1, y1, x2, y2),
      wheel: (x: number, y: number, factor: number, across: boolean) => this.wheel(x, y, factor, across),
    };
    this.beside = new Beside(app, follow);
    host.append(
      this.controls.element,
      this.controls.note,
      h('div', { class: 'space-body' }, this.side(), this.beside.element, this.panel.element),
    );
    new Pointer(this.canvas, this.stage, {
      hover: (x, y) => this.hover(x, y),
      leave: () => app.tooltip.hide(),
      click: (x, y) => this.click(x, y),
      ...follow,
    });
    this.canvas.addEventListener('keydown', (e) => this.key(e));
  }

  /** Its name stands above it only where there are two. */
  private side(): HTMLElement {
    this.title.textContent = this.app.session.name;
    return h('div', { class: 'space-side' }, this.title, this.stage);
  }

  destroy(): void {
    this.beside.destroy();
    this.app.session.giveUp(ID);
    this.host.replaceChildren();
  }

  private state(): SpaceState {
    return this.app.store.of<SpaceState>(ID);
  }

  // ---- the check of a protocol ----

  /** What the protocol view has applied judges the messages here. */
  private check(): void {
    const { text, level, name } = this.app.store.of('protocol');
    const key = JSON.stringify([text, level]);
    if (key === this.checked) return;
    this.checked = key;
    const parsed = text === '' ? null : tryParse(String(name), String(text));
    const spec = parsed && 'spec' in parsed ? parsed.spec : null;
    const { ranks } = this.app.session.meta;
    this.checker = spec ? (m) => verdictOf(m, spec, Number(level), ranks) : null;
    [this.verdicts, this.arranged] = [null, ''];
  }

  private ends(k: number): Ends {
    const { messages: m } = this.section!;
    return {
      sender: m.src[k]!,
      receiver: m.dst[k]!,
      senderLine: this.lines(m.sendSite[k]!),
      receiverLine: this.lines(m.receiveSite[k]!),
    };
  }

  private judgedAs(k: number): Judged | null {
    if (!this.checker) return null;
    this.verdicts ??= [];
    const known = this.verdicts[k];
    if (known !== undefined) return known;
    try {
      return (this.verdicts[k] = this.checker(this.ends(k)));
    } catch {
      return (this.verdicts[k] = null); // no number comes out of a rule; the protocol view says which
    }
  }

  // ---- asking and arranging ----

  private query(): SectionQuery {
    const { from, to } = this.app.store.state;
    const { runtime } = this.app.session.meta;
    return { from: from <= 0 ? 0 : from, to: to >= runtime ? Infinity : to, most: SECTION_MAX };
  }

  private ask(): void {
    const query = this.query();
    const key = `${query.from} ${query.to}`;
    if (key === this.asked) return;
    this.asked = key;
    this.app.session.ask(ID, 'section', query, (s) => this.take(s), this.app.fail);
  }

  private take(s: Section): void {
    if (!s.whole) {
      this.controls.note.textContent = `Counting events from the beginning: ${percent(s.counted)} of the run`;
      return;
    }
    this.section = s;
    this.levels = levelsOf(s);
    this.needs = needsOf(s);
    [this.merged, this.verdicts, this.arranged, this.followed] = [null, null, '', ''];
    this.picked = this.findEvent(this.state().event);
    this.app.redraw();
  }

  private arrange(): void {
    const { section, levels } = this;
    if (!section || !levels) return;
    const s = this.state();
    const { selected } = this.app.store.state;
    const own = [s.mode, s.by, s.first, s.last, s.ranks, s.comm, s.selection, s.others, s.orphans, s.empty];
    const more = [s.epochFirst, s.epochLast, s.eventFirst, s.eventLast, s.verdicts, s.selection ? [...selected] : 0];
    const key = JSON.stringify([own, more]);
    if (key === this.arranged) return;
    this.arranged = key;
    const groupOf = s.by === 'node' ? (this.nodes?.of ?? null) : null;
    const byVerdict = this.checker && s.verdicts.length > 0;
    const passes = byVerdict ? (k: number) => s.verdicts.includes(this.judgedAs(k)?.colour ?? '') : null;
    const choice = choiceOf(s, this.app.session, selected, groupOf, passes);
    this.diagram = diagramOf(section, levels, this.app.session.meta.ranks, choice, s.mode === 'time');
    if (isFiltered(choice)) this.app.announce(noteOf(section, this.diagram, this.app.session.meta.runtime));
  }

  private merge(): SuperEpochs | null {
    const { budget } = this.state();
    if (budget <= 0 || !this.section) return null;
    if (this.merged?.budget !== budget) this.merged = { budget, of: mergeEpochs(this.section, this.needs, budget) };
    return this.merged.of;
  }

  // ---- drawing ----

  update(): void {
    this.ask();
    this.check();
    this.arrange();
    this.follow();
    this.beside.prepare(this.state(), this.query());
    this.title.hidden = !this.state().beside;
    this.note(); // before the canvas is measured: it takes room
    const { g, width, height } = paper(this.canvas);
    this.paint(g, width, height);
    this.beside.draw(this.state(), this.counts());
    this.tell();
  }

  private note(): void {
    if (!this.section || !this.diagram) return;
    const note = noteOf(this.section, this.diagram, this.app.session.meta.runtime);
    if (this.controls.note.textContent !== note) this.controls.note.textContent = note;
  }

  private counts(): Counts {
    return most(this.diagram ?? { lines: 1, levels: 1, digits: 1 }, this.beside.counts);
  }

  paint(g: CanvasRenderingContext2D, width: number, height: number): void {
    const { section, diagram } = this;
    if (!section || !diagram) return;
    const s = this.state();
    const margins = marginsOf(s.upright, s.budget > 0);
    const frame = frameOf({ width, height }, margins, s.upright, this.counts(), zoomOf(s));
    this.frame = frame;
    const begin = performance.now();
    paintSpacetime(g, this.scene(section, diagram, frame));
    this.app.drawn.spacePaintMs = performance.now() - begin;
  }

  private scene(section: Section, diagram: Diagram, frame: Frame): Scene {
    const { selected } = this.app.store.state;
    const isNode = this.state().by === 'node' && this.nodes !== null;
    const label = (ranks: number[]) => (isNode ? this.nodes!.names[this.nodes!.of[ranks[0]!]!]! : `P${ranks[0]}`);
    const merged = this.merge();
    let runOf: Int32Array | null = null;
    if (merged) {
      runOf = new Int32Array(section.epochs.length);
      merged.runs.forEach((run, k) => runOf!.fill(k, run.first, run.last + 1));
    }
    return {
      section,
      diagram,
      frame,
      theme: this.app.theme(),
      labels: diagram.ranksOf.map(label),
      marked: new Set([...selected].map((rank) => diagram.lineOf[rank]!)),
      picked: this.picked,
      runOf,
      runNames: (merged?.runs ?? []).map((run, k) => this.runName(section, run, k)),
      verdictOf: (k) => this.judgedAs(k),
    };
  }

  private runName(s: Section, run: { first: number; last: number; need: number }, k: number): string {
    const [a, b] = [s.epochs[run.first]!.number, s.epochs[run.last]!.number];
    return `S${k + 1}: ${a === b ? `E${a}` : `E${a}–E${b}`}, ${run.need}`;
  }

  private tell(): void {
    const { section, diagram, frame } = this;
    if (!section || !diagram || !frame) return;
    const s = this.state();
    this.controls.put(s, {
      zoom: frame.zoom,
      zoomMax: zoomMax(this.counts().levels, frame.length),
      isFiltered: diagram.isFiltered,
      nodes: this.nodes !== null,
      checked: this.checker !== null,
    });
    const shown = shownIn(section, diagram, frame);
    const words = shownInWords(shown, diagram);
    this.shown.hidden = words === '';
    if (words !== '') this.shown.textContent = `${words} · whole run: Home`;
    const { picked } = this;
    const isMessage = picked >= 0 && section.events.role[picked] !== Role.Part;
    this.panel.putEvent(section, picked, isMessage ? this.judgedAs(section.events.thing[picked]!) : null);
    this.panel.putCheck(section, this.checker ? (k) => this.judgedAs(k) : null);
    const epoch = picked >= 0 ? section.events.epoch[picked]! : -1;
    this.panel.putSuper(section, this.needs, this.merge(), s.budget, epoch);
    Object.assign(this.app.drawn, {
      spaceEvents: diagram.drawn,
      spaceSeen: diagram.seen.reduce((n, x) => n + Number(x !== Seen.Hidden), 0),
      spaceMessages: section.messages.count,
      spaceEpochs: section.epochs.map((e) => e.number),
      spaceBands: diagram.bands.length,
      spaceLines: diagram.lines,
      spaceLevels: diagram.levels,
      spaceOrphans: diagram.orphans,
      spacePicked: picked < 0 ? '' : `${section.events.rank[picked]}.${section.events.number[picked]}`,
      spaceVerdicts: this.checker ? section.messages.count : 0,
      spaceSuper: this.merge()?.runs.length ?? 0,
      spaceShown: shown.events,
      spaceStep: frame.step,
      spaceFrom: frame.from,
      spacePitch: frame.pitch,
      ...this.spots(),
    });
  }

  /** Where few events are and what is picked with them, by their names; for tests. */
  private spots(): Record<string, unknown> {
    const { section, diagram } = this;
    const spaceSpots: Record<string, unknown> = {};
    const spaceRefs: Record<string, string> = {};
    for (let i = 0; section && diagram && i < Math.min(SPOTS_MAX, section.events.count); i++) {
      const name = `${section.events.rank[i]}.${section.events.number[i]}`;
      spaceRefs[name] = this.refOf(i);
      if (diagram.seen[i] !== Seen.Hidden) spaceSpots[name] = this.spotOf(i);
    }
    return { spaceSpots, spaceRefs };
  }

  /** Where an event is, in pixels of the canvas. */
  spotOf(event: number): { x: number; y: number } | null {
    const { section, diagram, frame: f } = this;
    if (!section || !diagram || !f || event < 0) return null;
    const along = alongOf(f, diagram.level[event]!);
    const across = acrossOf(f, diagram.lineOf[section.events.rank[event]!]!);
    return f.upright ? { x: across, y: along } : { x: along, y: across };
  }

  // ---- picking ----

  private findEvent(name: string): number {
    const [rank, number] = name.split('.').map(Number);
    if (name === '' || !this.section) return -1;
    const { events } = this.section;
    for (let i = 0; i < events.count; i++) if (events.rank[i] === rank && events.number[i] === number) return i;
    return -1;
  }

  /** A call or a message that is picked elsewhere is the event here. */
  private follow(): void {
    const { picked } = this.app.store.state;
    const { event } = this.state();
    const key = `${picked} ${event}`;
    if (!this.section || key === this.followed) return;
    this.followed = key;
    this.picked = this.findEvent(event);
    if (picked !== '' && this.picked >= 0 && this.refOf(this.picked) === picked) return;
    const found = picked === '' ? -1 : this.findRef(picked);
    if (found >= 0) this.picked = found;
    else if (picked !== '') this.picked = -1;
  }

  private refOf(i: number): string {
    const { events, messages } = this.section!;
    const thing = events.thing[i]!;
    if (events.role[i] !== Role.Part) return `m${messages.chunk[thing]}.${messages.place[thing]}`;
    return `e${events.window[i]}.${events.lane[i]}.${events.index[i]}`;
  }

  private findRef(ref: string): number {
    const { events, messages } = this.section!;
    const [a, b, c] = ref.slice(1).split('.').map(Number);
    if (ref[0] === 'm') {
      const k = messages.chunk.findIndex((chunk, i) => chunk === a && messages.place[i] === b);
      return k < 0 ? -1 : Math.max(messages.send[k]!, messages.send[k]! < 0 ? messages.receive[k]! : -1);
    }
    for (let i = 0; i < events.count && ref[0] === 'e'; i++)
      if (events.window[i] === a && events.lane[i] === b && events.index[i] === c) return i;
    return -1;
  }

  private pick(event: number): void {
    const { section, app } = this;
    if (!section) return;
    const name = event < 0 ? '' : `${section.events.rank[event]}.${section.events.number[event]}`;
    app.store.setView(ID, { event: name });
    app.store.set({ picked: event < 0 ? '' : this.refOf(event) });
    this.picked = event;
    this.followed = `${app.store.state.picked} ${name}`;
    if (event >= 0) {
      this.show(event);
      const words = eventRows(section, event, this.names).map(([k, v]) => `${k} ${v}`);
      app.announce(`${eventTitle(section, event)}, ${words.join(', ')}`);
    }
  }

  /** Bring an event into the picture. */
  private show(event: number): void {
    const { diagram, frame, section } = this;
    const at = this.spotOf(event);
    if (!at || !frame || !diagram || !section) return;
    const isIn = at.x >= frame.left && at.x <= frame.width && at.y >= frame.top && at.y <= frame.height;
    if (isIn) return;
    const { lines, levels } = this.counts();
    const along = (diagram.level[event]! + 0.5) / levels;
    const across = (diagram.lineOf[section.events.rank[event]!]! + 0.5) / lines;
    this.app.store.setView(ID, { along, across });
  }

  private at(x: number, y: number): number {
    const { section, diagram, frame } = this;
    return section && diagram && frame ? eventAtPoint(section, diagram, frame, x, y) : -1;
  }

  private hover(x: number, y: number): void {
    const event = this.at(x, y);
    const { section, app } = this;
    if (event < 0 || !section) return app.tooltip.hide();
    const box = this.canvas.getBoundingClientRect();
    const rows = eventRows(section, event, this.names).filter(([, value]) => value !== '');
    app.tooltip.show({ title: eventTitle(section, event), rows }, box.left + x, box.top + y);
  }

  private click(x: number, y: number): void {
    this.app.tooltip.hide();
    this.pick(this.at(x, y));
  }

  // ---- zoom ----

  /** That of the state; where that is what can be read, as much as it came to. */
  private zoomNow(f: Frame): Zoom {
    const z = zoomOf(this.state());
    return { ...z, zoom: z.zoom || f.zoom, spread: z.spread || f.spread };
  }

  private setZoom(z: Zoom): void {
    this.app.store.setView(ID, { ...z });
  }

  private wheel(x: number, y: number, factor: number, across: boolean): void {
    const { frame: f, diagram } = this;
    if (!f || !diagram) return;
    const along = f.upright ? y - f.top : x - f.left;
    const side = f.upright ? x - f.left : y - f.top;
    const level = (along - f.from) / f.step - 0.5;
    const line = (side - f.side) / f.pitch - 0.5;
    const z = this.zoomNow(f);
    if (across) this.setZoom(spreadAbout(f, z, this.counts().lines, line, factor));
    else this.setZoom(zoomAbout(f, z, this.counts().levels, level, factor));
  }

  private zoomTo(zoom: number): void {
    const { frame: f, diagram } = this;
    if (!f || !diagram) return;
    const z = this.zoomNow(f);
    const middle = (f.length / 2 - f.from) / f.step - 0.5;
    this.setZoom(zoomAbout(f, z, this.counts().levels, middle, zoom / Math.max(1, z.zoom)));
  }

  private fit(): void {
    this.setZoom({ zoom: 1, spread: 1, along: 0, across: 0 });
  }

  private read(): void {
    this.setZoom({ ...zoomOf(this.state()), zoom: 0, spread: 0 });
  }

  private pan(dx: number, dy: number): void {
    if (this.frame) this.setZoom(moved(this.frame, this.zoomNow(this.frame), this.counts(), dx, dy));
  }

  private zoomArea(x1: number, y1: number, x2: number, y2: number): void {
    const { frame: f } = this;
    if (!f) return;
    const place = (x: number, y: number) => {
      const [along, side] = f.upright ? [y - f.top, x - f.left] : [x - f.left, y - f.top];
      return { level: (along - f.from) / f.step - 0.5, line: (side - f.side) / f.pitch - 0.5 };
    };
    this.setZoom(zoomInto(f, this.zoomNow(f), this.counts(), place(x1, y1), place(x2, y2)));
  }

  private goToEpoch(epoch: number): void {
    const { frame: f, diagram } = this;
    const band = diagram?.bands.find((b) => b.epoch === epoch);
    if (!f || !diagram || !band) return;
    const lines = band.runs.flatMap((r) => [r.line, r.lastLine]);
    const a = { level: band.first - 1, line: Math.min(...lines) - 0.7 };
    const b = { level: band.last + 1, line: Math.max(...lines) + 0.7 };
    this.setZoom(zoomInto(f, this.zoomNow(f), this.counts(), a, b));
  }

  // ---- keyboard ----

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const { upright, mode } = this.state();
    const set = (change: Partial<SpaceState>) => this.app.store.setView(ID, change as SpaceState);
    const [next, before] = upright ? ['ArrowDown', 'ArrowUp'] : ['ArrowRight', 'ArrowLeft'];
    const [right, left] = upright ? ['ArrowRight', 'ArrowLeft'] : ['ArrowDown', 'ArrowUp'];
    const far = 0.4 * (this.frame?.length ?? 0);
    const scroll = (by: number) => (upright ? this.pan(0, by) : this.pan(by, 0));
    const actions: Record<string, () => void> = {
      [next]: () => this.go(1, 0),
      [before]: () => this.go(-1, 0),
      [right]: () => this.go(0, 1),
      [left]: () => this.go(0, -1),
      PageDown: () => scroll(-far),
      PageUp: () => scroll(far),
      '+': () => this.zoomTo((this.frame?.zoom ?? 1) * ZOOM_STEP),
      '=': () => this.zoomTo((this.frame?.zoom ?? 1) * ZOOM_STEP),
      '-': () => this.zoomTo((this.frame?.zoom ?? 1) / ZOOM_STEP),
      Home: () => this.fit(),
      n: () => this.read(),
      o: () => set({ upright: !upright }),
      l: () => set({ mode: mode === 'time' ? 'logical' : 'time', zoom: 0, along: 0 }),
      g: () => this.section && this.picked >= 0 && this.pick(otherEnd(this.section, this.picked)),
      e: () => this.section && this.picked >= 0 && this.goToEpoch(this.section.events.epoch[this.picked]!),
      '[': () => this.app.store.pan(-1),
      ']': () => this.app.store.pan(1),
      Enter: () => this.picked >= 0 && this.app.store.toggleRank(this.section!.events.rank[this.picked]!),
      Escape: () => this.pick(-1),
    };
    const action = actions[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (!action) return;
    e.preventDefault();
    action();
  }

  /** To the next event of the line, or of the next line. */
  private go(along: number, across: number): void {
    if (!this.section || !this.diagram) return;
    const found = neighbourOf(this.section, this.diagram, this.picked, along, across);
    if (found >= 0) this.pick(found);
    else this.app.announce('there is none');
  }

  sheet(): Sheet {
    const verdict = (k: number) => this.judgedAs(k);
    return spaceSheet(this.section, this.diagram, this.names, verdict, this.controls.note.textContent ?? '');
  }
}

export const spacetime: View = {
  id: ID,
  title: 'Space-time',
  state: (): SpaceState => ({ ...FIRST_STATE }),
  create: (app, host) => new SpaceTime(app, host),
};
