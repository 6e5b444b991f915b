// timeline.ts - a bar per rank, coloured by class, and the messages between the bars.
// In: pictures that the worker makes.  Out: one canvas; while the next picture is made the last one is shown where it belongs now.
import {
  AXIS,
  drawAxis,
  drawCause,
  drawChain,
  drawCollective,
  drawCrosshair,
  drawMarked,
  drawOutlines,
  drawOutside,
  drawPath,
  drawRanks,
  marginOf,
  outlineEvent,
  xOf,
} from '../draw/axis';
import type { Frame } from '../draw/axis';
import { describe } from '../draw/describe';
import { h, paper, unknownPattern } from '../draw/dom';
import type { Size } from '../draw/dom';
import { latenessKey } from '../draw/lateness_key';
import { legend } from '../draw/legend';
import { Minimap } from '../draw/minimap';
import { onlyTotals } from '../draw/only_totals';
import { hex } from '../layout/color';
import { count, duration, plural } from '../layout/format';
import { UNRECORDED, opensInWords } from '../layout/unrecorded_words';
import { orderOf } from '../layout/order';
import type { Ordered } from '../layout/order';
import { rowAt, rowOfRanks, rowsOf, visibleRows, yOf } from '../layout/rows';
import type { Rows } from '../layout/rows';
import type { WidthScale } from '../layout/lines';
import { list, num } from '../model/analysis';
import { isFiltering } from '../model/filter';
import { LOGICAL_CALLS_MAX } from '../model/logical';
import { isTotals, opensOf } from '../model/open';
import type { EventThing, MessageFact } from '../model/picked';
import type { Sheet } from '../model/sheet';
import type { Camera, Picture } from '../work/camera';
import type { Under } from '../work/pick';
import { AlikeRanks } from './alike';
import { callSheet } from './call_sheet';
import { Navigation } from './navigation';
import { ID, timelineState, timelineTools } from './timeline_tools';
import type { TimelineState, Tools } from './timeline_tools';
import type { App, View, ViewInstance } from './view';

const STALE_MS = 160; // after which a picture that is under way is given up for another

interface Path {
  rank: number;
  from: number;
  to: number;
}

class Timeline implements ViewInstance {
  private readonly stage = h('div', { class: 'stage', tabindex: 0, role: 'application', 'aria-label': HELP });
  private readonly bars = h('canvas', { class: 'layer bars' });
  private readonly note = h('span', { class: 'note', role: 'status' });
  private readonly minimap: Minimap;
  private readonly navigation: Navigation;
  private readonly tools: Tools;
  private readonly path: Path[];
  private readonly isTotals: boolean; // of single calls only those that nobody came back from
  private readonly hasOpens: boolean;
  private picture: Picture | null = null;
  private surface: CanvasImageSource | null = null;
  private wanted = ''; // key of the camera that is asked for
  private shown = ''; // of the picture
  private askedAt = 0;
  private pointer: { x: number; y: number } | null = null;
  private under: Under = null;
  private complete: EventThing | null = null; // what is under the pointer, with its waits
  private readonly alike: AlikeRanks;
  private orderKey = '';
  private ordered: Ordered = { members: null, labels: null };
  private rowOf: Int32Array;
  private size: Size = { width: 100, height: 100 }; // of the stage
  private margin = { of: 0, left: 0 }; // beside the bars, for which width
  private readonly observer = new ResizeObserver(() => this.measure());
  private readonly classKey: HTMLElement;
  private readonly lateKey = h('div', { class: 'legend', 'aria-label': 'Colours', hidden: true });
  private lateKeyOf = '';
  private readonly scrollBar = h('div', { class: 'scroll-bar', hidden: true }, h('div', {}));

  constructor(
    private readonly app: App,
    private readonly host: HTMLElement,
  ) {
    const { session, store } = app;
    this.rowOf = rowOfRanks(null, session.meta.ranks);
    this.alike = new AlikeRanks(app);
    this.minimap = new Minimap(session, store, () => this.left());
    session.ask('overview', 'overview', null, (shares) => (this.minimap.take(shares), app.redraw()), app.fail);
    this.path = list(session.analysis, 'critical_path', 'segments').map((x) => ({
      rank: num(x, 'rank') ?? -1,
      from: (num(x, 'from_s') ?? 0) * 1e9,
      to: (num(x, 'to_s') ?? 0) * 1e9,
    }));
    this.tools = timelineTools(app, this.note, {
      all: () => this.navigation.showAll(),
    });
    this.stage.append(this.bars, this.scrollBar);
    this.isTotals = isTotals(session.analysis, session.meta.events);
    this.hasOpens = opensOf(session.analysis).size > 0;
    this.classKey = legend(session, store);
    const keys = [this.classKey, this.lateKey];
    host.append(this.tools.element, this.minimap.element, ...onlyTotals(session), this.stage, ...keys);
    if (session.meta.events === 0 && !this.hasOpens) this.stage.append(NO_CALLS());
    this.navigation = new Navigation(app, this.stage, {
      plot: () => ({ left: this.left(), width: this.plotWidth(), height: this.plotHeight(), rows: this.rows() }),
      setRows: (change) => store.setView(ID, change as Partial<TimelineState> as TimelineState),
      hover: (x, y) => this.hover(x, y),
      leave: () => this.leave(),
      click: (x, y) => this.click(x, y),
      step: (forward) => this.step(forward),
      toggleMessages: () => store.setView(ID, { messages: !this.state().messages }),
    });
    this.observer.observe(this.stage);
    this.measure();
    this.scrollBar.addEventListener('pointerdown', (e) => this.dragScroll(e));
    this.scrollBar.addEventListener('pointermove', (e) => e.buttons > 0 && this.dragScroll(e));
  }

  destroy(): void {
    for (const asker of ['timeline', 'alike', 'pick', 'step', 'overview', 'hovered']) this.app.session.giveUp(asker);
    this.observer.disconnect();
    this.picture?.image?.close();
    this.host.replaceChildren();
  }

  private measure(): void {
    this.size = { width: this.stage.clientWidth, height: this.stage.clientHeight };
    this.app.redraw();
  }

  private state(): TimelineState {
    return this.app.store.of<TimelineState>(ID);
  }

  paint(g: CanvasRenderingContext2D): void {
    const f = this.frame(g);
    this.drawBelow(f);
    this.drawAbove(f);
  }

  sheet(): Promise<Sheet> {
    const { members } = this.order();
    const { first, last } = visibleRows(this.rows(), this.plotHeight());
    const rows = Array.from({ length: last - first + 1 }, (_, k) => members?.[first + k] ?? [first + k]);
    return callSheet(this.app, rows.flat(), 'Timeline');
  }

  private left(): number {
    if (this.margin.of !== this.size.width) {
      const { nodes, meta } = this.app.session;
      this.margin = { of: this.size.width, left: marginOf(this.size.width, nodes, meta.ranks) };
    }
    return this.margin.left;
  }

  private plotWidth(): number {
    return Math.max(10, this.size.width - this.left());
  }

  private plotHeight(): number {
    return Math.max(10, this.size.height - AXIS);
  }

  private order(): Ordered {
    const { session, store } = this.app;
    const s = this.state();
    const bySelection = s.pin || s.group === 'selection';
    const { analysis, nodes, alike } = session;
    const selected = bySelection ? [...store.state.selected] : '';
    const key = JSON.stringify([s.group, s.sort, s.fold, s.pin, selected, s.group === 'alike' && alike !== null]);
    if (key !== this.orderKey) {
      this.ordered = orderOf(s, session.meta.ranks, { analysis, nodes, selected: store.state.selected, alike });
      this.rowOf = rowOfRanks(this.ordered.members, session.meta.ranks);
      this.orderKey = key;
    }
    return this.ordered;
  }

  private rows(): Rows {
    const { members } = this.order();
    const { ranks, threads } = this.app.session.meta;
    return rowsOf(this.state(), members?.length ?? ranks, this.plotHeight(), threads);
  }

  private camera(): Camera {
    const { state } = this.app.store;
    const s = this.state();
    const theme = this.app.theme();
    return {
      from: state.from,
      to: state.to,
      width: this.plotWidth(),
      height: this.plotHeight(),
      ratio: Math.min(2, devicePixelRatio || 1),
      rows: this.rows(),
      members: this.order().members,
      dark: theme.dark,
      idle: hex(theme.idle),
      paper: hex(theme.paper),
      text: hex(theme.text),
      showMessages: s.messages,
      widthScale: s.widths as WidthScale,
      bytesPerPixel: s.bytesPerPixel,
      filter: state.filter,
      lateness: this.isLateness(),
    };
  }

  update(): void {
    this.alike.ask(this.state().group);
    const camera = this.camera();
    const key = `${this.orderKey} ${JSON.stringify({ ...camera, members: null })}`;
    if (key !== this.wanted && (this.askedAt === 0 || performance.now() - this.askedAt > STALE_MS))
      this.ask(camera, key);
    this.draw();
    this.tools.put(this.state());
    this.updateScrollBar();
    this.updateNote();
    this.updateKey();
  }

  private ask(camera: Camera, key: string): void {
    this.wanted = key;
    this.askedAt = performance.now();
    const take = (picture: Picture, last: boolean) => this.take(picture, last, key);
    const refuse = (error: Error) => {
      this.askedAt = 0;
      this.app.fail(error);
    };
    this.app.session.ask('timeline', 'picture', camera, take, refuse);
  }

  private take(picture: Picture, last: boolean, key: string): void {
    this.picture?.image?.close();
    this.picture = picture;
    this.surface = picture.image ?? onCanvas(picture);
    this.shown = key;
    if (last) {
      this.askedAt = 0;
      if (picture.damaged.length > 0) this.app.fail(picture.damaged.join(' '));
    }
    this.app.redraw();
  }

  // ---- drawing ----

  private frame(g: CanvasRenderingContext2D): Frame {
    const { members, labels } = this.order();
    return {
      g,
      rows: this.rows(),
      members,
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

  private draw(): void {
    this.paint(paper(this.bars, this.size, this.app.theme().paper).g);
    this.minimap.draw(this.size.width);
  }

  private drawBelow(f: Frame): void {
    drawOutside(f);
    drawAxis(f);
    this.drawPicture(f);
  }

  /** The last picture, moved and stretched to where it belongs; what it does not cover is not loaded. */
  private drawPicture(f: Frame): void {
    const { g } = f;
    const p = this.picture;
    g.save();
    g.beginPath();
    g.rect(f.left, AXIS, f.width, f.height);
    g.clip();
    const isSame = p !== null && this.shown === this.wanted;
    if (!isSame) this.drawUnknown(f, p);
    if (p && this.surface) {
      const { camera: c } = p;
      const [x1, x2] = [xOf(f, c.from), xOf(f, c.to)];
      const scale = f.rows.height / c.rows.height;
      const y = AXIS + (c.rows.first - f.rows.first) * f.rows.height;
      g.imageSmoothingEnabled = false;
      if (isSame) g.drawImage(this.surface, f.left, AXIS, f.width, f.height);
      else g.drawImage(this.surface, x1, y, x2 - x1, c.height * scale);
    }
    g.restore();
  }

  private drawUnknown(f: Frame, p: Picture | null): void {
    const { g, rows } = f;
    const [begin, end] = [Math.max(f.left, xOf(f, 0)), Math.min(f.left + f.width, xOf(f, f.runtime))];
    const covered = p ? [xOf(f, p.camera.from), xOf(f, p.camera.to)] : [end, end];
    g.fillStyle = unknownPattern(g, f.theme.line);
    const { first, last } = visibleRows(rows, f.height);
    const put = (x1: number, x2: number) => {
      if (x2 <= x1) return;
      if (rows.height < 8) return g.fillRect(x1, AXIS, x2 - x1, Math.min(f.height, yOf(rows, rows.count)));
      for (let row = first; row <= last; row++) g.fillRect(x1, AXIS + yOf(rows, row) + rows.pad, x2 - x1, rows.bar);
    };
    put(begin, Math.min(end, covered[0]!));
    put(Math.max(begin, covered[1]!), end);
    if (!p) put(begin, end);
  }

  private drawAbove(f: Frame): void {
    const { g } = f;
    drawRanks(f, this.app.session.nodes);
    g.save();
    g.beginPath();
    g.rect(f.left, 0, f.width, AXIS + f.height);
    g.clip();
    drawOutlines(f);
    drawMarked(f);
    const [collective, picked] = [this.app.collective(), this.app.picked()];
    if (collective?.kind === 'collective' && f.state.picked !== '') drawCollective(f, collective.parts);
    if (this.state().path) drawPath(f, this.path);
    drawChain(f, this.app.chain()?.steps ?? []);
    const hovered = this.complete ?? this.under;
    if (hovered?.kind === 'event') this.drawCall(f, hovered, false);
    if (hovered?.kind === 'message') this.highlight(f, hovered);
    if (f.state.picked !== '' && picked?.kind === 'event') this.drawCall(f, picked, true);
    if (f.state.picked !== '' && picked?.kind === 'message') this.highlight(f, picked);
    g.restore();
    if (this.pointer && this.pointer.x > f.left) drawCrosshair(f, this.pointer.x);
  }

  /** A call, its messages, and if it waited the calls that caused it. */
  private drawCall(f: Frame, call: EventThing, strong: boolean): void {
    outlineEvent(f, call.rank, call.start, call.duration, strong);
    if (strong) for (const m of call.messages ?? []) this.highlight(f, m);
    const end = call.start + call.duration;
    for (const { ns, part, causer } of call.waits ?? []) {
      if (!causer || part || ns <= 0) continue;
      outlineEvent(f, causer.rank, causer.start, causer.duration, false);
      drawCause(f, causer.rank, causer.start, call.rank, Math.min(end, Math.max(call.start, causer.start)));
    }
  }

  private highlight(f: Frame, m: MessageFact): void {
    const [a, b] = [this.rowOf[m.src]!, this.rowOf[m.dst]!];
    if (a < 0 || b < 0) return;
    const { g, rows, theme } = f;
    const edge = (row: number, low: boolean) => AXIS + yOf(rows, row) + rows.pad + (low ? rows.bar : 0);
    const [x2, y2] = [xOf(f, m.recvEnd), edge(b, b <= a)];
    g.strokeStyle = theme.text;
    g.fillStyle = theme.text;
    g.lineWidth = 2;
    g.beginPath();
    g.moveTo(xOf(f, m.sendStart), edge(a, b > a));
    g.lineTo(x2, y2);
    g.stroke();
    g.beginPath();
    g.arc(x2, y2, 3.5, 0, 2 * Math.PI);
    g.fill();
    g.lineWidth = 1;
  }

  /** Files of version 1 do not say what belongs together. */
  private isLateness(): boolean {
    return this.state().color === 'lateness' && this.app.session.version > 1;
  }

  private updateKey(): void {
    const late = this.isLateness() ? (this.picture?.late ?? null) : null;
    this.classKey.hidden = late !== null;
    this.lateKey.hidden = late === null;
    const theme = this.app.theme();
    const key = JSON.stringify([late, theme.dark]);
    if (late === null || key === this.lateKeyOf) return;
    this.lateKeyOf = key;
    this.lateKey.replaceChildren(...latenessKey(late.most, theme));
  }

  /** What colours of lateness are of, or why there are none. */
  private latenessInWords(p: Picture): string {
    if (p.detail === 'summary') return 'colours are classes: lateness is known of single calls';
    if (!p.late) return 'lateness is not known yet';
    if (p.late.tooMany > 0)
      return `lateness is not known: about ${plural(p.late.tooMany, 'call')}, at most ${count(LOGICAL_CALLS_MAX)} are compared; zoom in`;
    return 'colours are lateness at logical steps, counted from the beginning of the interval';
  }

  private updateNote(): void {
    const { state } = this.app.store;
    const p = this.picture;
    const { threads } = this.app.session.meta;
    const alike = this.alike.inWords(this.state().group, this.rows().height);
    const parts = [duration(state.to - state.from) + ' shown', ...alike];
    if (p?.detail === 'events')
      parts.push(
        !this.isTotals ? 'single calls' : this.hasOpens ? opensInWords(this.app.session.analysis) : UNRECORDED,
      );
    if (p?.detail === 'summary') {
      const name = this.app.session.name;
      parts.push(
        p.absent
          ? `shares of time: single calls of this interval are in ${name}, not in the page`
          : 'shares of time: zoom in for single calls and waiting',
      );
      if (threads > 1) parts.push('of the first thread');
      if (isFiltering(state.filter)) parts.push('the filter holds for messages only');
    }
    if (this.order().members?.some((ranks) => ranks.length > 1)) {
      parts.push(`rows of several ranks: above their mean, below who ${p?.spans ? 'waits' : 'is in MPI'} most`);
      if (this.state().messages) parts.push('messages between ranks of a row are left out');
    }
    if (p && p.lines > 0 && p.lines < p.messages * 0.999)
      parts.push(
        `the ${count(p.lines)} largest of ${p.messageDetail === 'largest' ? '≈ ' : ''}${plural(p.messages, 'message')}`,
      );
    if (p && this.isLateness()) parts.push(this.latenessInWords(p));
    const text = parts.join(', ');
    if (this.note.textContent !== text) {
      this.note.textContent = text;
      this.note.title = text;
    }
    if (!p) return;
    const { detail, chunks, events, lines, messageDetail, missing, spans } = p;
    const final = this.shown === this.wanted && this.askedAt === 0;
    const sight = this.shown === this.wanted && (p.rough || missing === 0); // bars of all that is shown, if not the last word
    Object.assign(this.app.drawn, { detail, chunks, events, lines, messageDetail, missing, spans, final, sight });
    this.app.drawn.left = this.left();
  }

  private updateScrollBar(): void {
    const rows = this.rows();
    const all = rows.count * rows.height;
    const height = this.plotHeight();
    this.scrollBar.hidden = all <= height + 1;
    if (this.scrollBar.hidden) return;
    const knob = this.scrollBar.firstElementChild as HTMLElement;
    knob.style.top = `${(rows.first / rows.count) * 100}%`;
    knob.style.height = `${Math.max(4, (height / all) * 100)}%`;
  }

  private dragScroll(e: PointerEvent): void {
    e.stopPropagation();
    const rows = this.rows();
    const box = this.scrollBar.getBoundingClientRect();
    const shown = this.plotHeight() / rows.height;
    const rowFirst = ((e.clientY - box.top) / box.height) * rows.count - shown / 2;
    this.app.store.setView(ID, { rowFirst: Math.max(0, Math.min(rows.count - shown, rowFirst)) });
  }

  // ---- what is under the pointer ----

  private hover(x: number, y: number): void {
    this.pointer = { x, y };
    if (x <= this.left() || y <= AXIS) return this.takeUnder(null, x, y);
    const given = { camera: this.camera(), x: x - this.left(), y: y - AXIS };
    this.app.session.ask('pick', 'pick', given, (under) => this.takeUnder(under, x, y), this.app.fail);
    this.app.redraw();
  }

  private takeUnder(under: Under, x: number, y: number): void {
    if (!this.pointer) return;
    const isSame = refOf(under) !== '' && refOf(under) === refOf(this.under);
    this.under = under;
    if (!isSame) {
      this.complete = null;
      if (under?.kind === 'event') this.askWhole(under);
      else this.app.session.giveUp('hovered');
    }
    this.stage.style.cursor = refOf(under) !== '' || x < this.left() ? 'pointer' : '';
    this.showTip(x, y);
  }

  private askWhole(under: EventThing): void {
    this.app.session.ask(
      'hovered',
      'thing',
      under.ref,
      (whole) => {
        if (whole?.kind !== 'event' || !this.pointer || refOf(this.under) !== whole.ref) return;
        this.complete = whole;
        this.showTip(this.pointer.x, this.pointer.y);
      },
      this.app.fail,
    );
  }

  private showTip(x: number, y: number): void {
    const box = this.stage.getBoundingClientRect();
    const thing = this.complete ?? this.under;
    const tip = thing && (thing.kind === 'shares' ? thing : describe(this.app.session, thing));
    if (tip) this.app.tooltip.show(tip, box.left + x, box.top + y);
    else this.app.tooltip.hide();
    this.app.redraw();
  }

  private leave(): void {
    this.pointer = null;
    this.under = null;
    this.complete = null;
    this.app.session.giveUp('pick');
    this.app.session.giveUp('hovered');
    this.app.tooltip.hide();
    this.app.redraw();
  }

  private click(x: number, y: number): void {
    const row = rowAt(this.rows(), y - AXIS);
    const { store, session } = this.app;
    if (x <= this.left()) {
      if (row >= 0) store.toggleRanks(this.order().members?.[row] ?? [row]);
      return;
    }
    const given = { camera: this.camera(), x: x - this.left(), y: y - AXIS };
    session.ask('click', 'pick', given, (under) => store.set({ picked: refOf(under) }), this.app.fail);
  }

  /** The next or the previous call of the thread of the call picked, or of the first rank shown. */
  private step(forward: boolean): void {
    const { store, session } = this.app;
    const { from, to } = store.state;
    const picked = store.state.picked === '' ? null : this.app.picked();
    const rows = this.rows();
    const row = visibleRows(rows, this.plotHeight()).first;
    const rank = this.order().members?.[row]?.[0] ?? row;
    const of = picked?.kind === 'event' ? picked : { rank, thread: 0, start: forward ? from : to };
    const take = (next: Under) => {
      if (next?.kind !== 'event') return this.app.announce('no further call here; zoom or pan');
      store.set({ picked: next.ref });
      if (next.start < from || next.start > to)
        store.showInterval(next.start - (to - from) / 2, next.start + (to - from) / 2);
    };
    session.ask('step', 'step', { camera: this.camera(), of, forward }, take, this.app.fail);
  }
}

function refOf(under: Under): string {
  return under?.ref ?? '';
}

function onCanvas(p: Picture): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [p.width, p.height];
  const data = new ImageData(new Uint8ClampedArray(p.pixels.buffer as ArrayBuffer), p.width, p.height);
  canvas.getContext('2d')!.putImageData(data, 0, 0);
  return canvas;
}

const NO_CALLS = () =>
  h(
    'div',
    { class: 'empty' },
    h('b', {}, 'No single calls are in this trace.'),
    h(
      'p',
      {},
      'Only totals were recorded. The panel beside and the matrix show them; trace with mode “on” to see calls.',
    ),
  );

const HELP =
  'Timeline. Left and right pan, plus and minus zoom, up and down scroll ranks, shift with up and down changes the ' +
  'height of rows, Home shows all, N and P step through calls, M toggles messages, X marks what is shown for statistics, ' +
  'Escape clears the selection.';

export const timeline: View = {
  id: ID,
  title: 'Timeline',
  state: timelineState,
  create: (app, host) => new Timeline(app, host),
};
