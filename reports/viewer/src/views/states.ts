// states.ts - consistent global states, one after the other: what each process does, in whom it waits, which collectives are under way. In:
// snapshots of the worker.  Out: a canvas of icons; step, play, seek, containers.
import { CensusStrip, PIXELS_A_MOMENT } from '../draw/census';
import { h, paper } from '../draw/dom';
import { needsAll, onlyTotals } from '../draw/only_totals';
import { paintStates } from '../draw/states';
import type { Scene } from '../draw/states';
import { placeItems, placedAt } from '../layout/boxes';
import type { Placed } from '../layout/boxes';
import { count, duration, exactMoment, plural, shortPlace } from '../layout/format';
import { DOING, activeInWords, changeInWords, processInWords, tally } from '../layout/state_words';
import type { Names } from '../layout/state_words';
import { isRunning } from '../model/open';
import { hiddenBy } from '../model/containers';
import type { Box, Item, Kinds } from '../model/containers';
import { extentOf } from '../model/picked';
import type { Sheet } from '../model/sheet';
import { Doing } from '../model/snapshot';
import type { Snapshot, StatesQuery } from '../model/snapshot';
import { Boxes } from './state_boxes';
import { Controls } from './state_controls';
import { ID, deadlockIn, deadlockInWords, firstDead, membersOf, switchOf } from './state_facts';
import type { StatesState } from './state_facts';
import { stateSheet } from './state_sheet';
import type { Census } from '../work/census';
import type { App, View, ViewInstance } from './view';

const NOT_CHOSEN = -1; // ns
const WORDS_MAX = 3;
const DRAG_MIN = 5;

const HELP =
  'Consistent global states. Left and right step, with Shift by 100; Space plays, R runs to what is chosen, N and P go through icons, ' +
  'Enter opens a container or selects a process, G puts the selected processes in a container, U takes it apart, ' +
  'W gives it the stage for itself.';

class States implements ViewInstance {
  private snapshot: Snapshot | null = null;
  private counted = false;
  private readonly observer = new ResizeObserver(() => this.app.redraw()); // words that follow the state take room from it
  private isStale = false; // what is shown is asked once more, but no step or run is given up for that
  private items: Item[] = [];
  private placed: Placed[] = [];
  private arranged = '';
  private focused: Placed | null = null;
  private dragged: { item: Item; x: number; y: number; moving: boolean } | null = null;
  private player: ReturnType<typeof setInterval> | undefined;
  private moving = false; // a step is asked for
  private followed: string;
  private interval = '';
  private readonly canvas = h('canvas', { class: 'layer', tabindex: 0, role: 'application', 'aria-label': HELP });
  private readonly stage = h('div', { class: 'stage' }, this.canvas);
  private readonly census = new CensusStrip();
  private censusOf = ''; // interval and width that it was asked for
  private readonly words = h('ul', { class: 'state-words', 'aria-label': 'What processes wait for' });
  private readonly controls: Controls;
  private readonly names: Names;
  private readonly kinds: Kinds;
  private readonly boxes: Boxes;

  constructor(
    private readonly app: App,
    private readonly host: HTMLElement,
  ) {
    const { session } = app;
    this.boxes = new Boxes(app);
    this.names = {
      running: isRunning(session.analysis),
      comm: (id) => session.comms.get(id) ?? `communicator ${id}`,
      site: (id) => shortPlace(session.callSites.get(id)?.place ?? ''),
    };
    this.kinds = {
      ranks: session.meta.ranks,
      nodeOf: (rank) => session.nodes[rank] ?? '',
      switchOf: switchOf(session),
      members: (comm) => membersOf(session, comm),
    };
    this.followed = this.state().step >= 0 ? app.store.state.picked : '';
    this.controls = new Controls(session, {
      set: (change) => app.store.setView(ID, change),
      step: (by) => this.step(by),
      play: () => this.togglePlay(),
      run: () => this.run(),
      seek: (time) => this.seek(time),
      group: () => this.boxes.group(),
      rename: (name) => this.boxes.rename(this.focusedBox(), name),
      apart: () => this.boxes.takeApart(this.focusedBox()),
      window: () => this.boxes.toggleWindow(this.focusedBox()),
    });
    host.append(
      this.controls.top,
      ...onlyTotals(session),
      ...needsAll(session),
      this.stage,
      this.census.element,
      this.words,
      this.controls.legend,
      this.controls.bottom,
    );
    this.observer.observe(this.stage);
    this.canvas.addEventListener('pointermove', (e) => this.move(e));
    this.canvas.addEventListener('pointerleave', () => app.tooltip.hide());
    this.canvas.addEventListener('pointerdown', (e) => this.press(e));
    this.canvas.addEventListener('pointerup', (e) => this.release(e));
    this.canvas.addEventListener('keydown', (e) => this.key(e));
    this.census.element.addEventListener('pointermove', (e) => {
      const tip = this.census.tip(e.offsetX);
      if (tip) app.tooltip.show(tip, e.clientX, e.clientY);
      else app.tooltip.hide();
    });
    this.census.element.addEventListener('pointerleave', () => app.tooltip.hide());
    this.census.element.addEventListener('click', (e) => {
      const time = this.census.timeAt(e.offsetX);
      if (time !== null) this.seek(time);
    });
    const take = (x: { whole: boolean }) => {
      this.isStale ||= x.whole && !this.counted; // who has ended is known only now
      this.counted = x.whole;
      app.redraw();
    };
    session.ask(`count ${ID}`, 'countStates', null, take, app.fail);
  }

  destroy(): void {
    clearInterval(this.player);
    this.observer.disconnect();
    this.app.session.giveUp(ID);
    this.app.session.giveUp(`count ${ID}`);
    this.app.session.giveUp(`${ID} census`);
    this.host.replaceChildren();
  }

  private state(): StatesState {
    return this.app.store.of<StatesState>(ID);
  }

  private focusedBox(): Box | null {
    const item = this.focused?.item;
    return typeof item === 'object' ? item : null;
  }

  // ---- asking ----

  private ask(given: Partial<StatesQuery>, moved: boolean): void {
    const hidden = hiddenBy(this.items, this.boxes.isOpen, this.app.session.meta.ranks);
    const closed = hidden.some((x) => x > 0) ? hidden : null;
    const query: StatesQuery = { by: 0, hidden: closed, stop: '', halt: '', rank: this.state().rank, ...given };
    this.moving = true;
    const fail = (error: unknown) => {
      this.moving = false;
      this.stopPlay();
      this.app.fail(error);
    };
    this.app.session.ask(ID, 'states', query, (s) => this.take(s, moved), fail);
  }

  private take(s: Snapshot, moved: boolean): void {
    this.moving = false;
    this.snapshot = s;
    const { step, moment } = this.state();
    if (step !== s.step || (moved && moment !== s.time)) this.app.store.setView(ID, { step: s.step, moment: s.time });
    if (moved) this.bringTime(s.time);
    if (!s.found) {
      this.stopPlay();
      this.app.announce('this state no longer exists');
    } else if (moved && this.player === undefined) this.app.announce(changeInWords(s.change, this.names));
    if (this.player !== undefined && s.halted) this.stopPlay();
    this.app.redraw();
  }

  /** The time shown in all views has the snapshot in it. */
  private bringTime(time: number): void {
    const { from, to } = this.app.store.state;
    if (time >= from && time <= to) return;
    const length = to - from;
    this.app.store.showInterval(time - length / 10, time + length * 0.9);
    const { state } = this.app.store;
    this.interval = `${state.from} ${state.to}`;
  }

  private step(by: number, halt: StatesQuery['stop'] = ''): void {
    if (this.snapshot && !this.moving) this.ask({ step: this.snapshot.step, by, halt }, true);
  }

  private seek(time: number): void {
    this.app.store.setView(ID, { step: -1, moment: Math.max(0, time) });
  }

  private run(): void {
    const stop = this.state().stop as StatesQuery['stop'];
    if (this.snapshot) this.ask({ step: this.snapshot.step, by: 1, stop: stop || 'completes' }, true);
  }

  private togglePlay(): void {
    if (this.player !== undefined) return this.stopPlay();
    const { speed, stop } = this.state();
    const every = Math.max(33, 1000 / speed);
    const each = Math.max(1, Math.round((speed * every) / 1000));
    const halt = stop as StatesQuery['stop'];
    this.player = setInterval(() => {
      if (this.app.store.state.view !== ID) this.stopPlay();
      else this.step(each, halt);
    }, every);
    this.controls.playing(true);
  }

  private stopPlay(): void {
    clearInterval(this.player);
    this.player = undefined;
    this.controls.playing(false);
  }

  // ---- drawing ----

  update(): void {
    this.arrange();
    this.followOthers();
    const { step } = this.state();
    const s = this.snapshot;
    const place = step >= 0 ? { step } : { time: this.moment() };
    if (this.isStale && !this.moving) {
      this.isStale = false;
      this.ask(place, false);
    } else if (!s || (step >= 0 ? s.step !== step : true)) {
      if (!s || step >= 0 || !this.moving) this.ask(place, false);
    }
    const { g, width, height } = paper(this.canvas);
    this.paint(g, width, height);
    this.takeCensus();
    this.census.draw(s?.time ?? null);
    this.tell();
  }

  /** Who has ended is known once all is counted: then anew. */
  private takeCensus(): void {
    const { from, to } = this.app.store.state;
    const moments = Math.max(1, Math.floor(this.census.element.clientWidth / PIXELS_A_MOMENT));
    const of = `${from} ${to} ${moments}`;
    if (!this.counted || of === this.censusOf) return;
    this.censusOf = of;
    const take = (census: Census) => {
      this.census.take(census);
      this.app.drawn.statesCensus = census;
      this.app.redraw();
    };
    this.app.session.ask(`${ID} census`, 'census', { from, to, moments }, take, this.app.fail);
  }

  /** As long as nobody chose one the middle of what is shown: at the begin of a run all are in MPI_Init. */
  private moment(): number {
    const { moment } = this.state();
    const { from, to } = this.app.store.state;
    return moment === NOT_CHOSEN ? (from + to) / 2 : moment;
  }

  /** The snapshot goes where others look: to a call that is picked, into the interval shown. */
  private followOthers(): void {
    const thing = this.app.picked();
    const { from, to } = this.app.store.state;
    const moment = this.moment();
    const shown = `${from} ${to}`;
    if (thing && thing.ref !== this.followed) {
      this.followed = thing.ref;
      this.seek(extentOf(thing)[0]);
    } else if (this.interval !== '' && shown !== this.interval && (moment < from || moment > to)) this.seek(from);
    this.interval = shown;
  }

  private arrange(): void {
    const { by, own, window } = this.state();
    const key = JSON.stringify([by, own, window]);
    if (key === this.arranged) return;
    this.arranged = key;
    this.items = this.boxes.arrange(this.kinds);
    this.focused = null;
  }

  paint(g: CanvasRenderingContext2D, width: number, height: number): void {
    this.placed = placeItems(this.items, this.boxes.isOpen, width, height);
    const scene = this.scene();
    if (scene) paintStates(g, scene, width, height);
  }

  private scene(): Scene | null {
    const s = this.snapshot;
    if (!s) return null;
    const { selected } = this.app.store.state;
    const shown = this.shownRanks(s);
    const { placed, focused } = this;
    const pale = (rank: number) => shown !== null && !shown.has(rank);
    const waits = deadlockIn(this.app.session, s)?.waits ?? [];
    return { snapshot: s, placed, theme: this.app.theme(), pale, selected, focused, waits };
  }

  /** Members of the communicators chosen: of any, or of all; null: all ranks. */
  private shownRanks(s: Snapshot): Set<number> | null {
    const { comms, rule } = this.state();
    const lists = comms.filter((id) => s.alive.includes(id)).map((id) => this.kinds.members(id));
    if (lists.length === 0) return null;
    if (rule !== 'intersection') return new Set(lists.flat());
    const sets = lists.map((x) => new Set(x));
    return new Set(lists[0]!.filter((rank) => sets.every((x) => x.has(rank))));
  }

  private tell(): void {
    const s = this.snapshot;
    const box = this.focusedBox();
    const sums = s ? tally(s, [...s.doing.keys()]) : [];
    this.controls.put(this.state(), s, sums, this.counted, { box, window: this.boxes.window() }, this.names);
    if (!s) return;
    const lines = this.lines(s);
    const deadlock = deadlockIn(this.app.session, s);
    this.words.replaceChildren(...lines.map((text) => h('li', {}, text)));
    Object.assign(this.app.drawn, {
      statesStep: s.step,
      statesTotal: s.steps,
      statesWhole: s.whole,
      statesTime: s.time,
      statesDoing: sums,
      statesArrows: s.arrows.length,
      statesCollectives: s.collectives.length,
      statesActive: s.collectives.map((c) => `${c.op} ${c.root}`),
      statesWords: lines,
      statesChange: changeInWords(s.change, this.names),
      statesIcons: this.placed.map((p) => ({
        name: typeof p.item === 'number' ? p.item : p.item.name,
        x: p.x,
        y: p.y,
        open: p.open,
      })),
      statesCycle: deadlock?.isCycle ? deadlock.ranks : [],
      statesDeadlock: deadlock?.waits ?? [],
    });
  }

  /** Of those selected, else of who waits longest; then what collectives wait for. */
  private lines(s: Snapshot): string[] {
    const { selected } = this.app.store.state;
    const waiting = [...s.doing.keys()].filter((rank) => s.doing[rank] === Doing.Waits);
    const died = firstDead(this.app.session);
    const dead = [...s.doing.keys()].filter((rank) => s.doing[rank] === Doing.Dead);
    dead.sort((a, b) => Number(died.has(b)) - Number(died.has(a)));
    const ranks = selected.size > 0 ? [...selected] : [...dead, ...waiting.sort((a, b) => s.since[a]! - s.since[b]!)];
    const texts = deadlockInWords(deadlockIn(this.app.session, s));
    for (const c of s.collectives.slice(0, 1)) if (selected.size === 0) texts.push(activeInWords(c, this.names));
    texts.push(...ranks.slice(0, WORDS_MAX).map((rank) => processInWords(s, rank, this.names)));
    if (ranks.length > WORDS_MAX) texts.push(`and ${count(ranks.length - WORDS_MAX)} more: T shows all`);
    return texts;
  }

  sheet(): Sheet {
    return stateSheet(this.snapshot, this.names, this.controls.note.textContent ?? '');
  }

  // ---- pointer ----

  private move(e: PointerEvent): void {
    const d = this.dragged;
    if (d && (d.moving || Math.hypot(e.offsetX - d.x, e.offsetY - d.y) > DRAG_MIN)) {
      d.moving = true;
      this.stage.classList.add('dragging');
      this.focused = placedAt(this.placed, e.offsetX, e.offsetY);
      return this.app.redraw();
    }
    const p = placedAt(this.placed, e.offsetX, e.offsetY);
    if (!p || !this.snapshot) return this.app.tooltip.hide();
    this.app.tooltip.show(this.tip(p.item, this.snapshot), e.clientX, e.clientY);
  }

  private tip(item: Item, s: Snapshot): { title: string; rows: [string, string][] } {
    if (typeof item !== 'number') {
      const sums = tally(s, item.ranks);
      const rows = DOING.map((name, k): [string, string] => [name, count(sums[k]!)]).filter(([, n]) => n !== '0');
      return { title: `${item.name}: ${plural(item.ranks.length, 'process')}`, rows };
    }
    const rows: [string, string][] = [['', processInWords(s, item, this.names)]];
    const node = this.kinds.nodeOf(item);
    if (node) rows.push(['node', node]);
    if (s.doing[item]! >= Doing.NonBlocking && s.doing[item]! <= Doing.Waits)
      rows.push(['since', exactMoment(s.since[item]!)], ['lasts', duration(s.until[item]! - s.since[item]!)]);
    return { title: `rank ${item}`, rows };
  }

  private press(e: PointerEvent): void {
    const p = placedAt(this.placed, e.offsetX, e.offsetY);
    this.dragged = p ? { item: p.item, x: e.offsetX, y: e.offsetY, moving: false } : null;
    this.canvas.setPointerCapture(e.pointerId);
    this.app.tooltip.hide();
  }

  private release(e: PointerEvent): void {
    const d = this.dragged;
    this.dragged = null;
    this.stage.classList.remove('dragging');
    const p = placedAt(this.placed, e.offsetX, e.offsetY);
    if (d?.moving) {
      this.focused = null;
      return this.boxes.drop(d.item, p?.item ?? null);
    }
    this.focused = p;
    if (!p) this.app.store.set({ selected: new Set() });
    else this.boxes.enter(p.item);
  }

  // ---- keyboard ----

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const far = e.shiftKey ? 100 : 1;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.step(-far),
      ArrowRight: () => this.step(far),
      Home: () => this.app.store.setView(ID, { step: 0 }),
      End: () => this.seek(this.app.session.meta.runtime),
      ' ': () => this.togglePlay(),
      r: () => this.run(),
      n: () => this.focus(1),
      p: () => this.focus(-1),
      Enter: () => this.focused && this.boxes.enter(this.focused.item),
      g: () => this.boxes.group(),
      u: () => this.boxes.takeApart(this.focusedBox()),
      w: () => this.boxes.toggleWindow(this.focusedBox()),
      Escape: () => this.app.store.set({ selected: new Set() }),
    };
    const action = actions[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (!action) return;
    e.preventDefault();
    action();
  }

  private focus(by: number): void {
    if (this.placed.length === 0) return;
    const now = this.placed.findIndex((p) => p.item === this.focused?.item);
    const next = now < 0 ? (by > 0 ? 0 : this.placed.length - 1) : now + by;
    this.focused = this.placed[(next + this.placed.length) % this.placed.length]!;
    const { item } = this.focused;
    const s = this.snapshot;
    if (s && typeof item === 'number') this.app.announce(processInWords(s, item, this.names));
    else if (typeof item !== 'number') this.app.announce(`${item.name}, ${plural(item.ranks.length, 'process')}`);
    this.app.redraw();
  }
}

export const states: View = {
  id: ID,
  title: 'States',
  state: (): StatesState => ({
    by: 'auto',
    own: [],
    open: [],
    window: '',
    step: -1,
    moment: NOT_CHOSEN,
    speed: 10,
    stop: '',
    rank: 0,
    comms: [],
    rule: 'union',
  }),
  create: (app, host) => new States(app, host),
};
