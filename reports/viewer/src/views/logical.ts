// logical.ts - logical time: calls by their step, a row a thread, coloured by how late they end there. After Ravel (Isaacs et al., IEEE TVCG 20,
// 2014). In: steps of the interval that all views show, by the worker.  Out: one canvas.
import { rankOfLane } from '../decode/meta';
import { AXIS, drawRanks, marginOf } from '../draw/axis';
import { FONT, h, paper } from '../draw/dom';
import type { Size } from '../draw/dom';
import { latenessKey } from '../draw/lateness_key';
import { LogicalCells, drawMessages, drawSteps, hasLines, messagesInView, outlineCall } from '../draw/logical';
import type { LogicalFrame } from '../draw/logical';
import { onlyTotals } from '../draw/only_totals';
import { button, checkBox } from '../draw/tools';
import type { Control } from '../draw/tools';
import { count, plural } from '../layout/format';
import { callAt, firstFrom, laneOf } from '../layout/logical';
import { callInWords, laneName, lateSites, logicalSheet, shownInWords } from '../layout/logical_words';
import { orderOf } from '../layout/order';
import type { Order } from '../layout/order';
import { FIT_MAX, ROW_MAX, rowAt, rowsOf, visibleRows } from '../layout/rows';
import type { Rows } from '../layout/rows';
import { asSentence, counted } from '../layout/unrecorded_words';
import { isFiltering } from '../model/filter';
import { LOGICAL_CALLS_MAX, placeOf } from '../model/logical';
import type { Logical } from '../model/logical';
import type { Thing } from '../model/picked';
import type { Sheet } from '../model/sheet';
import { FILE_ROWS } from './call_sheet';
import { LogicalPointer } from './logical_pointer';
import type { App, View, ViewInstance } from './view';

interface LogicalState {
  [key: string]: number | boolean;
  stepFrom: number; // shown, may be a fraction
  stepTo: number; // 0: all fit
  rowFirst: number; // may be a fraction
  rowHeight: number; // CSS pixels; 0: all fit
  messages: boolean;
}

const ID = 'logical';
const STEP_WIDTH_MAX = 64; // CSS pixels
const STEP_LEAST = 4; // steps shown

const HELP =
  'Calls by logical step and rank, coloured by lateness. Arrow keys move between calls, Enter selects one in all views, plus and minus zoom, ' +
  'A and D pan, M shows messages, Home shows all, L goes to the timeline.';

class LogicalView implements ViewInstance {
  private readonly canvas = h('canvas', { class: 'layer', tabindex: 0, role: 'application', 'aria-label': HELP });
  private readonly stage = h('div', { class: 'stage' }, this.canvas);
  private readonly note = h('span', { class: 'note', role: 'status' });
  private readonly key = h('div', { class: 'legend', 'aria-label': 'Colours' });
  private readonly empty = h('div', { class: 'empty', hidden: true });
  private readonly messages: Control<boolean>;
  private readonly observer = new ResizeObserver(() => this.app.redraw());
  private l: Logical | null = null;
  private asked = '';
  private problem = ''; // why there is nothing
  private keyOf = '';
  private readonly cells = new LogicalCells();
  private lanes: number[] = []; // by row
  private rowOf = new Int32Array(0); // by lane; -1: it has none
  private order = '';
  private size: Size = { width: 100, height: 100 };
  private cursor = -1; // the call that is looked at
  private followed = '';
  private lines = 0; // messages in view
  private hasLines = false;

  constructor(
    private readonly app: App,
    private readonly host: HTMLElement,
  ) {
    const { session } = app;
    this.messages = checkBox('messages', 'Show messages between steps (M)', (messages) => this.set({ messages }));
    const tools = h(
      'div',
      { class: 'tools' },
      h(
        'span',
        { class: 'group' },
        button('−', 'Zoom out (minus)', () => this.zoom(1 / 0.6)),
        button('+', 'Zoom in (plus)', () => this.zoom(0.6)),
        button('All', 'Show all steps of the interval and all ranks (Home)', () => this.showAll()),
      ),
      button('Timeline', 'The same interval in the timeline (L)', () => app.store.set({ view: 'timeline' })),
      this.messages.element,
      this.note,
    );
    this.stage.append(this.empty);
    host.append(tools, ...onlyTotals(session), this.stage, this.key);
    this.observer.observe(this.stage);
    new LogicalPointer(this.canvas, {
      plot: () => ({ left: this.left(), width: this.plotWidth(), rows: this.rows() }),
      zoom: (factor, x) => this.zoom(factor, x),
      pan: (steps, rows) => this.pan(steps, rows),
      stepsAPixel: () => this.span() / this.plotWidth(),
      rowHeight: (factor, y) => this.rowHeight(factor, y),
      hover: (x, y, at) => this.hover(x, y, at),
      leave: () => this.leave(),
      click: (x, y) => this.click(x, y),
    });
    this.canvas.addEventListener('keydown', (e) => this.press(e));
  }

  destroy(): void {
    this.app.session.giveUp(ID);
    this.observer.disconnect();
    this.host.replaceChildren();
  }

  private state(): LogicalState {
    return this.app.store.of<LogicalState>(ID);
  }

  private set(change: Partial<LogicalState>): void {
    this.app.store.setView(ID, change as LogicalState);
  }

  // ---- what is shown ----

  private ask(): void {
    const { from, to, filter } = this.app.store.state;
    const key = JSON.stringify([from, to, filter]);
    if (key === this.asked) return;
    this.asked = key;
    const fail = (error: Error) => {
      this.l = null;
      this.problem = error.message;
      this.app.redraw();
    };
    this.problem = '';
    this.app.session.ask(ID, 'logical', { from, to, filter }, (l) => this.take(l), fail);
  }

  private take(l: Logical): void {
    const isOther = this.l !== null && (this.l.from !== l.from || this.l.to !== l.to);
    this.l = l;
    this.order = '';
    this.followed = '';
    if (isOther) this.cursor = -1;
    if (isOther && this.state().stepTo > 0) this.set({ stepFrom: 0, stepTo: 0 }); // steps count anew
    this.app.redraw();
  }

  /** Threads with calls, in the timeline's order of ranks. */
  private arrange(l: Logical): void {
    const { session, store } = this.app;
    const order = { ...store.of('timeline'), fold: false } as unknown as Order;
    const bySelection = order.pin || order.group === 'selection';
    const { analysis, nodes, meta, alike } = session;
    const selected = bySelection ? [...store.state.selected] : '';
    const key = JSON.stringify([order.group, order.sort, order.pin, selected, alike !== null]);
    if (key === this.order) return;
    const { members } = orderOf(order, meta.ranks, { analysis, nodes, selected: store.state.selected, alike });
    this.order = key;
    this.lanes = [];
    this.rowOf = new Int32Array(l.laneFirst.length - 1).fill(-1);
    for (let n = 0; n < meta.ranks && l.tooMany === 0; n++) {
      const rank = members?.[n]?.[0] ?? n;
      for (let lane = meta.firstLane[rank]!; lane < meta.firstLane[rank + 1]!; lane++)
        if (l.laneFirst[lane + 1]! > l.laneFirst[lane]! || lane === meta.firstLane[rank])
          this.rowOf[lane] = this.lanes.push(lane) - 1;
    }
  }

  private rankOf(lane: number): number {
    return rankOfLane(this.app.session.meta, lane);
  }

  // ---- where ----

  private left(): number {
    const { nodes, meta } = this.app.session;
    return marginOf(this.size.width, nodes, meta.ranks);
  }

  private plotWidth(): number {
    return Math.max(10, this.size.width - this.left() - 8);
  }

  private plotHeight(): number {
    return Math.max(10, this.size.height - AXIS);
  }

  private rows(): Rows {
    return rowsOf(this.state(), Math.max(1, this.lanes.length), this.plotHeight());
  }

  /** Steps from the first to behind the last; few are not made as wide as the picture. */
  private all(): [number, number] {
    const steps = this.l?.steps ?? 1;
    return [1, 1 + Math.max(steps, STEP_LEAST, this.plotWidth() / STEP_WIDTH_MAX)];
  }

  private shown(): [number, number] {
    const { stepFrom, stepTo } = this.state();
    return stepTo > stepFrom ? [stepFrom, stepTo] : this.all();
  }

  private span(): number {
    const [from, to] = this.shown();
    return to - from;
  }

  private stepAt(x: number): number {
    const [from, to] = this.shown();
    return Math.floor(from + ((x - this.left()) / this.plotWidth()) * (to - from));
  }

  private show(from: number, to: number): void {
    const [first, end] = this.all();
    const length = Math.min(end - first, Math.max(STEP_LEAST, to - from));
    const start = Math.max(first, Math.min(from, end - length));
    this.set(length >= end - first ? { stepFrom: 0, stepTo: 0 } : { stepFrom: start, stepTo: start + length });
  }

  private zoom(factor: number, x = this.left() + this.plotWidth() / 2): void {
    const [from, to] = this.shown();
    const about = from + ((x - this.left()) / this.plotWidth()) * (to - from);
    this.show(about - (about - from) * factor, about + (to - about) * factor);
  }

  private pan(steps: number, rows: number): void {
    const [from, to] = this.shown();
    if (steps !== 0) this.show(from + steps, to + steps);
    if (rows === 0) return;
    const now = this.rows();
    const most = Math.max(0, now.count - this.plotHeight() / now.height);
    this.set({ rowFirst: Math.min(most, Math.max(0, now.first + rows)) });
  }

  private rowHeight(factor: number, y: number): void {
    const rows = this.rows();
    const fit = Math.min(FIT_MAX, this.plotHeight() / rows.count);
    const next = Math.min(ROW_MAX, Math.max(fit, rows.height * factor));
    const row = rows.first + (y - AXIS) / rows.height;
    this.set({ rowHeight: next <= fit ? 0 : next, rowFirst: Math.max(0, row - (y - AXIS) / next) });
  }

  private showAll(): void {
    this.set({ stepFrom: 0, stepTo: 0, rowFirst: 0, rowHeight: 0 });
  }

  /** Bring a call into view. */
  private reveal(call: number): void {
    const [from, to] = this.shown();
    const step = this.l!.step[call]!;
    if (step < from || step + 1 > to) this.show(step + 0.5 - (to - from) / 2, step + 0.5 + (to - from) / 2);
    const rows = this.rows();
    const row = this.rowOf[laneOf(this.l!, call)]!;
    const room = this.plotHeight() / rows.height;
    if (row < rows.first || row + 1 > rows.first + room)
      this.set({ rowFirst: Math.max(0, Math.min(rows.count - room, row + 0.5 - room / 2)) });
  }

  // ---- drawing ----

  update(): void {
    this.ask();
    this.messages.put(this.state().messages);
    if (this.l) this.arrange(this.l);
    this.size = { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
    this.follow();
    this.paint(paper(this.canvas, this.size, this.app.theme().paper).g, this.size.width, this.size.height);
    this.updateNote();
    this.updateKey();
  }

  paint(g: CanvasRenderingContext2D, width: number, height: number): void {
    this.size = { width, height };
    const { l } = this;
    this.lines = 0;
    if (!l || l.tooMany > 0) return;
    const f = this.frame(g, l);
    g.font = FONT;
    drawSteps(f);
    g.save();
    g.beginPath();
    g.rect(f.left, AXIS, f.width, f.height);
    g.clip();
    this.cells.draw(f, this.order);
    if (this.state().messages) this.drawLines(f);
    for (const call of this.marked()) outlineCall(f, call, 2);
    if (this.cursor >= 0) outlineCall(f, this.cursor, 1.25);
    g.restore();
    drawRanks(f, this.app.session.nodes);
  }

  private drawLines(f: LogicalFrame): void {
    const messages = messagesInView(f);
    this.lines = messages.length;
    this.hasLines = hasLines(f, messages.length);
    if (this.hasLines) drawMessages(f, messages);
  }

  private frame(g: CanvasRenderingContext2D, l: Logical): LogicalFrame {
    const { session, store } = this.app;
    const [from, to] = this.shown();
    return {
      ...{ g, l, from, to, rows: this.rows(), rowOf: this.rowOf },
      members: this.lanes.map((lane) => [this.rankOf(lane)]),
      labels: this.lanes.map((lane) => laneName(session.meta, lane)),
      ...{ left: this.left(), width: this.plotWidth(), height: this.plotHeight() },
      ...{ state: store.state, theme: this.app.theme(), runtime: session.meta.runtime },
    };
  }

  // ---- words ----

  private updateNote(): void {
    const { l } = this;
    const { store } = this.app;
    const { filter, filterText } = store.state;
    const { problem } = this;
    const text = l !== null ? this.words(l) : problem === '' ? 'working out the steps' : 'logical time is not known';
    if (this.note.textContent !== text) this.note.textContent = this.note.title = text;
    const isLong = l !== null && l.tooMany > 0;
    this.empty.hidden = !isLong && problem === '' && !(l !== null && l.steps === 0);
    const none = counted(0, 'no single call lies in this interval', this.app.session, store.state);
    const say = isLong
      ? `The interval has about ${plural(l.tooMany, 'call')}; logical time is worked out for at most ${count(LOGICAL_CALLS_MAX)}. Zoom in: in the timeline, or by the strip above it.`
      : problem || asSentence(none);
    if (!this.empty.hidden && this.empty.textContent !== say) this.empty.textContent = say;
    const isFilteredOut = l !== null && isFiltering(filter) && l.hidden.every((x) => x === 1);
    Object.assign(this.app.drawn, {
      logicalCalls: l?.step.length ?? 0,
      logicalSteps: l?.steps ?? 0,
      logicalMost: l?.most ?? 0,
      logicalLate: l?.sites.reduce((sum, x) => sum + x.totalNs, 0) ?? 0,
      logicalLines: this.hasLines ? this.lines : 0,
      logicalTooMany: l?.tooMany ?? 0,
      logicalMarked: new Set(this.marked()).size,
      logicalShown: this.shown(),
      logicalLeft: this.left(),
      logicalHidden: l?.hidden.reduce((sum, x) => sum + x, 0) ?? 0,
      logicalAllHidden: isFilteredOut ? filterText : '',
    });
  }

  private words(l: Logical): string {
    const { filter, filterText, picked } = this.app.store.state;
    const parts = shownInWords(l);
    if (l.tooMany === 0 && isFiltering(filter)) parts.push(`only ${filterText} in colour`);
    if (this.lines > 0 && !this.hasLines) parts.push('zoom in to see messages');
    if (l.tooMany === 0 && picked !== '' && this.app.picked() !== null && this.marked().length === 0)
      parts.push('what is selected is not in it');
    return counted(l.step.length, parts.join('; '), this.app.session, this.app.store.state);
  }

  private updateKey(): void {
    const { l } = this;
    const theme = this.app.theme();
    const key = JSON.stringify([
      l?.from,
      l?.to,
      l?.most,
      l?.tooMany,
      theme.dark,
      isFiltering(this.app.store.state.filter),
    ]);
    if (key === this.keyOf) return;
    this.keyOf = key;
    this.key.hidden = (l?.tooMany ?? 0) > 0; // nothing is drawn
    const words = l ? lateSites(l, this.app.session) : '';
    this.key.replaceChildren(
      ...latenessKey(l?.most ?? 0, theme),
      h('span', { class: 'key' }, h('span', { class: 'line-key' }), 'message, in its sender’s colour'),
      ...(words === '' ? [] : [h('span', { class: 'late-sites' }, `late in all: ${words}`)]),
    );
  }

  // ---- what is picked ----

  private placeOfRef(ref: string): number {
    const name = /^e(\d+)\.(\d+)\.(\d+)$/.exec(ref);
    return name && this.l ? placeOf(this.l, Number(name[2]), Number(name[1]), Number(name[3])) : -1;
  }

  /** Calls of what is picked. */
  private marked(): number[] {
    const { picked } = this.app.store.state;
    if (picked === '') return [];
    const thing = this.app.picked();
    const refs = thing?.ref === picked ? refsOf(thing) : [picked];
    return refs.map((ref) => this.placeOfRef(ref)).filter((call) => call >= 0);
  }

  /** What is picked anywhere is brought into view, once. */
  private follow(): void {
    const { picked } = this.app.store.state;
    if (picked === this.followed || !this.l || this.lanes.length === 0) return;
    const [call] = this.marked();
    if (call === undefined && picked !== '' && this.app.picked()?.ref !== picked) return; // not known yet
    this.followed = picked;
    if (call === undefined) return;
    this.cursor = call;
    this.reveal(call);
  }

  private pick(call: number): void {
    const l = this.l!;
    this.app.store.set({ picked: `e${l.window[call]}.${laneOf(l, call)}.${l.index[call]}` });
  }

  private callUnder(x: number, y: number): number {
    const row = rowAt(this.rows(), y - AXIS);
    const lane = this.lanes[row];
    if (!this.l || x < this.left() || y < AXIS || lane === undefined) return -1;
    const [step, last] = [this.stepAt(x), this.stepAt(x + 1)];
    const call = callAt(this.l, lane, step);
    if (call >= 0 || last - step < 1) return call;
    const next = firstFrom(this.l, lane, step); // several steps share a pixel
    return next < this.l.laneFirst[lane + 1]! && this.l.step[next]! <= last ? next : -1;
  }

  private hover(x: number, y: number, at: { x: number; y: number }): void {
    const call = this.callUnder(x, y);
    this.canvas.style.cursor = call >= 0 || x < this.left() ? 'pointer' : '';
    if (call >= 0) this.app.tooltip.show(callInWords(this.l!, call, this.app.session), at.x, at.y);
    else this.app.tooltip.hide();
    if (call === this.cursor) return;
    this.cursor = call;
    this.app.redraw();
  }

  private leave(): void {
    this.app.tooltip.hide();
    if (document.activeElement === this.canvas) return;
    this.cursor = -1;
    this.app.redraw();
  }

  private click(x: number, y: number): void {
    const lane = this.lanes[rowAt(this.rows(), y - AXIS)];
    if (x < this.left() && lane !== undefined) return this.app.store.toggleRank(this.rankOf(lane));
    const call = this.callUnder(x, y);
    if (call >= 0) this.pick(call);
    else this.app.store.set({ picked: '' });
  }

  // ---- keys ----

  private moveTo(call: number): void {
    this.cursor = call;
    this.reveal(call);
    const tip = callInWords(this.l!, call, this.app.session);
    this.app.announce(`${tip.title}: ${tip.rows.map(([k, v]) => `${k} ${v}`).join(', ')}`);
    this.app.redraw();
  }

  /** To the call before or behind of the thread, or to the row above or below at that step or the next one. */
  private move(across: number, down: number): void {
    const { l, lanes } = this;
    if (!l || lanes.length === 0 || l.step.length === 0) return;
    if (this.cursor < 0) {
      const first = lanes[visibleRows(this.rows(), this.plotHeight()).first]!;
      const call = firstFrom(l, first, this.shown()[0]);
      return this.moveTo(Math.min(call, l.step.length - 1));
    }
    const lane = laneOf(l, this.cursor);
    if (across !== 0) {
      const next = this.cursor + across;
      if (next >= l.laneFirst[lane]! && next < l.laneFirst[lane + 1]!) this.moveTo(next);
      else this.app.announce('no further call of this thread in the interval');
      return;
    }
    for (let row = this.rowOf[lane]! + down; row >= 0 && row < lanes.length; row += down) {
      const [first, end] = [l.laneFirst[lanes[row]!]!, l.laneFirst[lanes[row]! + 1]!];
      if (end > first) return this.moveTo(Math.min(end - 1, firstFrom(l, lanes[row]!, l.step[this.cursor]!)));
    }
    this.app.announce('no further rank');
  }

  private press(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.move(-1, 0),
      ArrowRight: () => this.move(1, 0),
      ArrowUp: () => (e.shiftKey ? this.rowHeight(1.25, AXIS) : this.move(0, -1)),
      ArrowDown: () => (e.shiftKey ? this.rowHeight(0.8, AXIS) : this.move(0, 1)),
      PageUp: () => this.pan(0, -this.plotHeight() / this.rows().height),
      PageDown: () => this.pan(0, this.plotHeight() / this.rows().height),
      Enter: () => this.cursor >= 0 && this.pick(this.cursor),
      '+': () => this.zoom(0.6),
      '=': () => this.zoom(0.6),
      '-': () => this.zoom(1 / 0.6),
      w: () => this.zoom(0.6),
      s: () => this.zoom(1 / 0.6),
      a: () => this.pan(-0.1 * this.span(), 0),
      d: () => this.pan(0.1 * this.span(), 0),
      m: () => this.set({ messages: !this.state().messages }),
      Home: () => this.showAll(),
      Escape: () => this.app.store.set({ picked: '', selected: new Set() }),
    };
    const action = actions[e.key];
    if (!action) return;
    e.preventDefault();
    this.app.tooltip.hide();
    action();
  }

  // ---- files ----

  sheet(): Sheet {
    const l = this.l && this.l.tooMany === 0 ? this.l : null;
    const [from, to] = this.shown();
    const seen = visibleRows(this.rows(), this.plotHeight());
    const calls: number[] = [];
    for (const lane of l ? this.lanes.slice(seen.first, seen.last + 1) : [])
      for (let i = firstFrom(l!, lane, Math.floor(from)); i < l!.laneFirst[lane + 1]! && l!.step[i]! < to; i++)
        if (l!.hidden[i] === 0) calls.push(i);
    return logicalSheet(l, calls, this.app.session, this.note.textContent ?? '', FILE_ROWS);
  }
}

/** Calls that a thing is made of. */
function refsOf(thing: Thing): string[] {
  if (thing.kind === 'event') return [thing.ref];
  if (thing.kind === 'collective') return thing.parts.map((x) => x.ref);
  return [thing.sendCall?.ref ?? '', thing.receiveCall?.ref ?? ''];
}

export const logical: View = {
  id: ID,
  title: 'Logical',
  state: (): LogicalState => ({ stepFrom: 0, stepTo: 0, rowFirst: 0, rowHeight: 0, messages: true }),
  create: (app, host) => new LogicalView(app, host),
};
