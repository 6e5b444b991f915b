// logical.ts - logical time: calls by their step, a row a thread, coloured by how late they end there. After Ravel (Isaacs et al., IEEE TVCG 20,
// 2014). In: steps of the interval that all views show, by the worker.  Out: one canvas.
import { AXIS, drawRanks, marginOf } from '../draw/axis';
import type { Frame } from '../draw/axis';
import { FONT, h, paper } from '../draw/dom';
import type { Size } from '../draw/dom';
import { latenessKey } from '../draw/lateness_key';
import { onlyTotals } from '../draw/only_totals';
import { button, checkBox } from '../draw/tools';
import type { Control } from '../draw/tools';
import { css, hex, rankColor } from '../layout/color';
import { count, duration, exactMoment, plural, shortPlace } from '../layout/format';
import { Code, LEVELS, callAt, cellsOf, codeOf, firstFrom, laneOf, levelColor, unknownColor } from '../layout/logical';
import type { Cells } from '../layout/logical';
import { orderOf } from '../layout/order';
import type { Order } from '../layout/order';
import { packed } from '../layout/raster';
import { FIT_MAX, ROW_MAX, rowAt, rowsOf, visibleRows, yOf } from '../layout/rows';
import type { Rows } from '../layout/rows';
import { tickStep, ticks } from '../layout/ticks';
import { isFiltering } from '../model/filter';
import { LOGICAL_CALLS_MAX, UNKNOWN, placeOf } from '../model/logical';
import type { Logical } from '../model/logical';
import type { Thing } from '../model/picked';
import type { Cell, Sheet } from '../model/sheet';
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
const LINES_MAX = 2000; // messages drawn
const LINES_FROM = 6; // CSS pixels of a cell: in narrower ones lines would hide the colours
const STEP_WIDTH_MAX = 64; // CSS pixels
const STEP_LEAST = 4; // steps shown
const GAP_FROM = 7; // CSS pixels of a cell that has a gap beside it
const SITES_SHOWN = 3;

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
  private picture: { key: string; cells: Cells; image: HTMLCanvasElement } | null = null;
  private lanes: number[] = []; // by row
  private rowOf = new Int32Array(0); // by lane; -1: it has none
  private order = '';
  private size: Size = { width: 100, height: 100 };
  private cursor = -1; // the call that is looked at
  private followed = '';
  private lines = 0;

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
    this.picture = null;
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
    const key = JSON.stringify([order.group, order.sort, order.pin, bySelection ? [...store.state.selected] : '']);
    if (key === this.order) return;
    const { analysis, nodes, meta } = session;
    const { members } = orderOf(order, meta.ranks, { analysis, nodes, selected: store.state.selected });
    this.order = key;
    this.lanes = [];
    this.rowOf = new Int32Array(l.laneFirst.length - 1).fill(-1);
    for (let n = 0; n < meta.ranks && l.tooMany === 0; n++) {
      const rank = members?.[n]?.[0] ?? n;
      for (let lane = meta.firstLane[rank]!; lane < meta.firstLane[rank + 1]!; lane++)
        if (l.laneFirst[lane + 1]! > l.laneFirst[lane]! || lane === meta.firstLane[rank])
          this.rowOf[lane] = this.lanes.push(lane) - 1;
    }
    this.picture = null;
  }

  private rankOf(lane: number): number {
    const { firstLane } = this.app.session.meta;
    let [low, high] = [0, firstLane.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (firstLane[middle]! <= lane) low = middle;
      else high = middle;
    }
    return low;
  }

  private threadOf(lane: number): number {
    return lane - this.app.session.meta.firstLane[this.rankOf(lane)]!;
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

  private x(step: number): number {
    const [from, to] = this.shown();
    return this.left() + ((step - from) / (to - from)) * this.plotWidth();
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
    g.font = FONT;
    this.drawAxis(g);
    g.save();
    g.beginPath();
    g.rect(this.left(), AXIS, this.plotWidth(), this.plotHeight());
    g.clip();
    this.drawCells(g, l);
    if (this.state().messages) this.drawMessages(g, l);
    for (const call of this.marked()) this.outline(g, call, 2);
    if (this.cursor >= 0) this.outline(g, this.cursor, 1.25);
    g.restore();
    drawRanks(this.frame(g), this.app.session.nodes);
  }

  private frame(g: CanvasRenderingContext2D): Frame {
    const labels = this.lanes.map((lane) => {
      const thread = this.threadOf(lane);
      return thread === 0 ? String(this.rankOf(lane)) : `${this.rankOf(lane)}.${thread}`;
    });
    return {
      g,
      rows: this.rows(),
      members: this.lanes.map((lane) => [this.rankOf(lane)]),
      labels,
      rowOf: this.rowOf,
      left: this.left(),
      width: this.plotWidth(),
      height: this.plotHeight(),
      state: this.app.store.state,
      theme: this.app.theme(),
      runtime: this.app.session.meta.runtime,
    };
  }

  private drawAxis(g: CanvasRenderingContext2D): void {
    const theme = this.app.theme();
    const [from, to] = this.shown();
    const each = tickStep(this.span() / this.plotWidth(), 64);
    const cell = this.plotWidth() / this.span();
    g.textBaseline = 'middle';
    g.textAlign = 'right';
    g.fillStyle = theme.dim;
    g.fillText('step', this.left() - 12, AXIS / 2);
    for (const step of ticks(from, to, each)) {
      if (step < 1 || step > (this.l?.steps ?? 0)) continue;
      const x = this.x(step) + Math.min(cell / 2, 4);
      g.strokeStyle = theme.line;
      g.beginPath();
      g.moveTo(Math.round(x) + 0.5, AXIS - 7);
      g.lineTo(Math.round(x) + 0.5, AXIS);
      g.stroke();
      g.textAlign = 'left';
      if (x >= this.left() - 1 && x + 36 < this.left() + this.plotWidth()) g.fillText(count(step), x + 5, AXIS / 2);
    }
    g.strokeStyle = theme.line;
    g.beginPath();
    g.moveTo(0, AXIS - 0.5);
    g.lineTo(this.left() + this.plotWidth(), AXIS - 0.5);
    g.stroke();
  }

  private drawCells(g: CanvasRenderingContext2D, l: Logical): void {
    const theme = this.app.theme();
    const rows = this.rows();
    const [from, to] = this.shown();
    const ratio = Math.min(2, devicePixelRatio || 1);
    const seen = visibleRows(rows, this.plotHeight());
    const key = JSON.stringify([from, to, rows, this.size, theme.dark, this.order]);
    if (this.picture?.key !== key) {
      const cells = cellsOf(l, this.rowOf, {
        from,
        to,
        rowFrom: Math.max(0, seen.first),
        rowTo: seen.last + 1,
        columnsMax: Math.round(this.plotWidth() * ratio),
        linesMax: Math.round(this.plotHeight() * ratio),
      });
      this.picture = { key, cells, image: this.imageOf(cells) };
    }
    const c = this.picture.cells;
    const top = (row: number) => AXIS + yOf(rows, row);
    const [x1, x2] = [this.x(c.from), this.x(c.to)];
    g.imageSmoothingEnabled = false;
    g.drawImage(this.picture.image, x1, top(c.rowFrom), x2 - x1, top(c.rowTo) - top(c.rowFrom));
    g.imageSmoothingEnabled = true;
    g.fillStyle = theme.paper;
    const cell = this.plotWidth() / this.span();
    if (cell >= GAP_FROM)
      for (let step = Math.floor(from); step <= to; step++)
        g.fillRect(this.x(step + 1) - 1, AXIS, 1, this.plotHeight());
    if (rows.height < GAP_FROM) return;
    const gap = (from: number, to: number) => g.fillRect(this.left(), from, this.plotWidth(), to - from);
    gap(AXIS, top(seen.first) + rows.pad);
    for (let row = seen.first; row <= seen.last; row++) gap(top(row) + rows.pad + rows.bar, top(row + 1) + rows.pad);
  }

  private imageOf({ code, columns, lines }: Cells): HTMLCanvasElement {
    const theme = this.app.theme();
    const [idle, text] = [hex(theme.idle), hex(theme.text)];
    const faint = idle.map((v, k) => v + (text[k]! - v) * 0.06) as typeof idle;
    const colors = [0, packed(faint), packed(unknownColor(idle, text))];
    for (let level = 0; level < LEVELS; level++) colors.push(packed(levelColor(level)));
    const pixels = Uint32Array.from(code, (x) => colors[x]!);
    const image = document.createElement('canvas');
    [image.width, image.height] = [columns, lines];
    const data = new ImageData(new Uint8ClampedArray(pixels.buffer), columns, lines);
    image.getContext('2d')!.putImageData(data, 0, 0);
    return image;
  }

  /** Of which an end is in view. */
  private messagesInView(l: Logical): number[] {
    const [from, to] = this.shown();
    const rows = visibleRows(this.rows(), this.plotHeight());
    const inRows = (call: number) => {
      const row = this.rowOf[laneOf(l, call)]!;
      return row >= rows.first && row <= rows.last;
    };
    const found: number[] = [];
    for (let i = 0; i < l.messageFrom.length && found.length <= LINES_MAX; i++) {
      const [a, b] = [l.messageFrom[i]!, l.messageTo[i]!];
      if (l.step[b]! + 1 < from || l.step[a]! > to || (l.hidden[a] === 1 && l.hidden[b] === 1)) continue;
      if (inRows(a) || inRows(b)) found.push(i);
    }
    return found;
  }

  /** Whether messages in view are few enough to be seen beside the cells. */
  private hasLines(): boolean {
    return this.lines <= LINES_MAX && this.plotWidth() / this.span() >= LINES_FROM;
  }

  private drawMessages(g: CanvasRenderingContext2D, l: Logical): void {
    const found = this.messagesInView(l);
    this.lines = found.length;
    if (!this.hasLines()) return;
    const { dark, paper: ground } = this.app.theme();
    for (const i of found) {
      const [a, b] = [this.middle(l.messageFrom[i]!), this.middle(l.messageTo[i]!)];
      const rank = this.rankOf(laneOf(l, l.messageFrom[i]!));
      for (const [width, color] of [
        [3, ground],
        [1.25, css(rankColor(rank, dark))],
      ] as const) {
        g.lineWidth = width;
        g.strokeStyle = color;
        g.beginPath();
        g.moveTo(a.x, a.y);
        g.lineTo(b.x, b.y);
        g.stroke();
      }
      g.fillStyle = css(rankColor(rank, dark));
      g.beginPath();
      g.arc(b.x, b.y, 2.5, 0, 2 * Math.PI);
      g.fill();
    }
    g.lineWidth = 1;
  }

  private middle(call: number): { x: number; y: number } {
    const rows = this.rows();
    const y = AXIS + yOf(rows, this.rowOf[laneOf(this.l!, call)]!) + rows.height / 2;
    return { x: this.x(this.l!.step[call]! + 0.5), y };
  }

  private outline(g: CanvasRenderingContext2D, call: number, width: number): void {
    const rows = this.rows();
    const theme = this.app.theme();
    const step = this.l!.step[call]!;
    const [x1, x2] = [this.x(step), this.x(step + 1)];
    const y = AXIS + yOf(rows, this.rowOf[laneOf(this.l!, call)]!) + (rows.height >= GAP_FROM ? rows.pad : 0);
    const tall = Math.max(4, rows.height >= GAP_FROM ? rows.bar : rows.height);
    for (const [wide, color] of [
      [width + 2, theme.paper],
      [width, theme.text],
    ] as const) {
      g.lineWidth = wide;
      g.strokeStyle = color;
      g.strokeRect(x1 - 1, y - 1, Math.max(4, x2 - x1) + 1, tall + 2);
    }
    g.lineWidth = 1;
  }

  // ---- words ----

  private updateNote(): void {
    const { l } = this;
    const { filter, filterText } = this.app.store.state;
    const { problem } = this;
    const text = l !== null ? this.words(l) : problem === '' ? 'working out the steps' : 'logical time is not known';
    if (this.note.textContent !== text) this.note.textContent = this.note.title = text;
    const isLong = l !== null && l.tooMany > 0;
    this.empty.hidden = !isLong && problem === '' && !(l !== null && l.steps === 0);
    const say = isLong
      ? `The interval has about ${plural(l.tooMany, 'call')}; logical time is worked out for at most ${count(LOGICAL_CALLS_MAX)}. Zoom in: in the timeline, or by the strip above it.`
      : problem || 'No single call lies in this interval.';
    if (!this.empty.hidden && this.empty.textContent !== say) this.empty.textContent = say;
    const isFilteredOut = l !== null && isFiltering(filter) && l.hidden.every((x) => x === 1);
    Object.assign(this.app.drawn, {
      logicalCalls: l?.step.length ?? 0,
      logicalSteps: l?.steps ?? 0,
      logicalMost: l?.most ?? 0,
      logicalLate: l?.sites.reduce((sum, x) => sum + x.totalNs, 0) ?? 0,
      logicalLines: this.hasLines() ? this.lines : 0,
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
    if (l.tooMany > 0) return `about ${plural(l.tooMany, 'call')}: too many for logical time`;
    const compared = l.sites.reduce((sum, x) => sum + x.calls, 0);
    const total = l.sites.reduce((sum, x) => sum + x.totalNs, 0);
    const parts = [
      `${plural(l.step.length, 'call')} at ${plural(l.steps, 'step')}, counted from the beginning of the interval`,
      compared === 0
        ? 'no call could be compared with another'
        : l.most === 0
          ? `${count(compared)} compared, nobody is late`
          : `${count(compared)} compared: ${duration(total)} late in all, at most ${duration(l.most)}`,
    ];
    if (isFiltering(filter)) parts.push(`only ${filterText} in colour`);
    if (this.lines > 0 && !this.hasLines()) parts.push('zoom in to see messages');
    if (l.outside > 0) parts.push(`${plural(l.outside, 'wait')} left out: for calls outside of the interval`);
    if (l.leftOut > 0) parts.push(`${plural(l.leftOut, 'wait')} left out: clocks or records contradict`);
    if (picked !== '' && this.app.picked() !== null && this.marked().length === 0)
      parts.push('what is selected is not in it');
    return parts.join('; ');
  }

  private updateKey(): void {
    const { l } = this;
    const theme = this.app.theme();
    const { sites } = l ?? { sites: [] };
    const key = JSON.stringify([l?.from, l?.to, l?.most, theme.dark, isFiltering(this.app.store.state.filter)]);
    if (key === this.keyOf) return;
    this.keyOf = key;
    const late = sites.filter((x) => x.totalNs > 0).slice(0, SITES_SHOWN);
    const words = late.map((x) => `${this.siteName(x.site)} ${duration(x.totalNs)}`).join(', ');
    this.key.replaceChildren(
      ...latenessKey(l?.most ?? 0, theme),
      h('span', { class: 'key' }, h('span', { class: 'line-key' }), 'message, in its sender’s colour'),
      ...(words === '' ? [] : [h('span', { class: 'late-sites' }, `late in all: ${words}`)]),
    );
  }

  private siteName(site: number): string {
    const s = this.app.session.callSites.get(site);
    return s ? `${s.op}${s.place ? ` ${shortPlace(s.place)}` : ''}` : 'unknown call site';
  }

  private lateInWords(call: number): string {
    const late = this.l!.late[call]!;
    const op = this.app.session.meta.ops[this.l!.op[call]!] ?? '';
    if (/^MPI_(Init|Finalize)/.test(op)) return 'not known: starting up and shutting down are no part of the run';
    if (late === UNKNOWN) return 'not known: no other call of its site at this step';
    return late === 0 ? '0: the earliest of its site at this step' : `${duration(late)} after the earliest of its site`;
  }

  private describe(call: number): { title: string; rows: [string, string][] } {
    const l = this.l!;
    const lane = laneOf(l, call);
    const rank = this.rankOf(lane);
    const node = this.app.session.nodes[rank];
    const s = this.app.session.callSites.get(l.site[call]!);
    const rows: [string, string][] = [
      ['rank', node ? `${rank} on ${node}` : String(rank)],
      ['thread', this.app.session.meta.threads > 1 ? String(this.threadOf(lane)) : ''],
      ['step', count(l.step[call]!)],
      ['late by', this.lateInWords(call)],
      ['start', exactMoment(l.start[call]!)],
      ['duration', duration(l.end[call]! - l.start[call]!)],
      ['call site', s?.place ?? ''],
      ['', codeOf(l, call) === Code.Hidden ? 'hidden by the filter' : ''],
    ];
    const title = this.app.session.meta.ops[l.op[call]!] ?? '?';
    return { title, rows: rows.filter(([, value]) => value !== '') };
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
    if (call >= 0) this.app.tooltip.show(this.describe(call), at.x, at.y);
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
    const tip = this.describe(call);
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
    const { l } = this;
    const { session } = this.app;
    const columns = [
      { name: 'step', title: 'step' },
      { name: 'rank', title: 'rank' },
      { name: 'thread', title: 'thread' },
      { name: 'operation', title: 'operation' },
      { name: 'call_site', title: 'call site' },
      { name: 'late_ns', title: 'late by', show: (v: Cell) => (v === null ? 'not known' : duration(Number(v))) },
      { name: 'start_ns', title: 'start', show: (v: Cell) => exactMoment(Number(v)) },
      { name: 'duration_ns', title: 'duration', show: (v: Cell) => duration(Number(v)) },
    ];
    if (!l || l.tooMany > 0) return { title: 'Logical time', note: this.note.textContent ?? '', columns, rows: [] };
    const [from, to] = this.shown();
    const seen = visibleRows(this.rows(), this.plotHeight());
    const calls: number[] = [];
    for (const lane of this.lanes.slice(seen.first, seen.last + 1))
      for (let call = firstFrom(l, lane, Math.floor(from)); call < l.laneFirst[lane + 1]! && l.step[call]! < to; call++)
        if (l.hidden[call] === 0) calls.push(call);
    calls.sort((a, b) => l.step[a]! - l.step[b]! || a - b);
    const rows = calls.slice(0, FILE_ROWS).map((call): Cell[] => {
      const lane = laneOf(l, call);
      const late = l.late[call]!;
      return [
        l.step[call]!,
        this.rankOf(lane),
        this.threadOf(lane),
        session.meta.ops[l.op[call]!] ?? '?',
        session.callSites.get(l.site[call]!)?.place ?? '',
        late === UNKNOWN ? null : late,
        l.start[call]!,
        l.end[call]! - l.start[call]!,
      ];
    });
    const some =
      calls.length > rows.length ? `; the first ${count(rows.length)} of ${plural(calls.length, 'call')}` : '';
    return { title: 'Logical time', note: `${this.words(l)}${some}`, columns, rows };
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
