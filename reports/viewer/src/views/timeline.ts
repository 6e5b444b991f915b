// timeline.ts - a bar per rank, coloured by class, and the messages between the bars.
// In: chunks as plan.ts asks for them.  Out: two canvases, WebGL for bars and messages, 2D for axis and outlines.
import type { Entry } from '../decode/layout';
import { NOWHERE, emptySignatures, segmentOf, sparse } from '../decode/records';
import type { EventChunk, EventRef, MessageChunk } from '../decode/records';
import type { SummaryTile } from '../decode/tiles';
import {
  AXIS,
  drawAxis,
  drawCause,
  drawCrosshair,
  drawOutlines,
  drawOutside,
  drawRanks,
  outlineEvent,
} from '../draw/axis';
import type { Frame } from '../draw/axis';
import { describe } from '../draw/describe';
import { h, paper } from '../draw/dom';
import { Painter } from '../draw/gl';
import { legend } from '../draw/legend';
import { Minimap } from '../draw/minimap';
import { timelineTools } from '../draw/tools';
import { CLASSES } from '../layout/color';
import type { Rgb } from '../layout/color';
import { count, duration, percent } from '../layout/format';
import { eventAt, messageAt, neighbourEvent } from '../layout/pick';
import type { Line } from '../layout/pick';
import { planBars, planMessages } from '../layout/plan';
import type { BarPlan, MessagePlan, Window } from '../layout/plan';
import { rankAt, rowsOf, visibleRanks, yOf } from '../layout/rows';
import type { Rows } from '../layout/rows';
import type { Picked } from '../model/state';
import { bytesCameTo, waitsOf } from '../model/waits';
import { Navigation } from './navigation';
import type { App, View, ViewInstance } from './view';

interface Scene {
  events: EventChunk[];
  tiles: { entry: Entry; tile: SummaryTile }[];
}

function parseRgb(color: string): Rgb {
  const n = parseInt(color.slice(1), 16);
  return [((n >> 16) & 255) / 255, ((n >> 8) & 255) / 255, (n & 255) / 255];
}

const CROWD_PARTS = 32;
/** A few lines are strong; of many each is faint, so that dense places still show. */
const lineAlpha = (crowd: number): number => Math.min(0.85, Math.max(0.1, 1.1 / (1 + 2.5 * crowd)));
/** How much of a bar all lines together may hide: below half where more than one message shares a pixel, more where
 * there are few. */
const layerStrength = (crowd: number): number => Math.max(0.45, 1 / (1 + crowd));

/** One call of class "outside" per rank over the whole run: the ground of every bar. */
function ground(ranks: number, runtime: number): EventChunk {
  const place = { thread: 0, carried: true, window: NOWHERE, index: 0, count: 1, numbers: [] };
  return {
    count: ranks,
    segments: Array.from({ length: ranks }, (_, rank) => ({ ...place, rank, lane: rank, first: rank })),
    start: new Float64Array(ranks),
    duration: new Float64Array(ranks).fill(runtime),
    signature: new Uint32Array(ranks),
    signatures: emptySignatures(1),
    calls: sparse(),
    bytes: sparse(),
    threads: null,
    wait: null,
  };
}

class Timeline implements ViewInstance {
  private readonly stage = h('div', { class: 'stage', tabindex: 0, role: 'application', 'aria-label': HELP });
  private readonly glCanvas = h('canvas', { class: 'layer' });
  private readonly ground2d = h('canvas', { class: 'layer' }); // under the bars: grid
  private readonly overlay = h('canvas', { class: 'layer' });
  private readonly note = h('span', { class: 'note', role: 'status' });
  private readonly minimap: Minimap;
  private painter: Painter | null = null;
  private scene: Scene = { events: [], tiles: [] };
  private messages: MessageChunk[] = [];
  private readonly ground: EventChunk;
  private pointer: { x: number; y: number } | null = null;
  private hovered: Picked | null = null;
  private followed: Picked | null = null;
  private wasDark: boolean;

  constructor(
    private readonly app: App,
    host: HTMLElement,
  ) {
    const { meta } = app.trace;
    this.minimap = new Minimap(app.trace, app.store, () => this.left());
    this.minimap.load().then(
      () => app.redraw(),
      (error: unknown) => app.fail(error),
    );
    this.ground = ground(meta.ranks, meta.runtime);
    this.wasDark = app.theme().dark;
    this.stage.append(this.ground2d, this.glCanvas, this.overlay);
    host.append(timelineTools(app.store, this.note), this.minimap.element, this.stage, legend(app.trace));
    if (meta.events === 0)
      this.stage.append(
        h(
          'div',
          { class: 'empty' },
          h('b', {}, 'No single calls are in this trace.'),
          h(
            'p',
            {},
            'Only totals were recorded. The panel beside and the matrix show them; trace with mode “on” to see calls.',
          ),
        ),
      );
    this.startPainter();
    new Navigation(app, this.stage, {
      plot: () => ({ left: this.left(), width: this.plotWidth(), height: this.plotHeight(), rows: this.rows() }),
      hover: (x, y) => this.hover(x, y),
      leave: () => this.leave(),
      click: (x, y) => this.click(x, y),
      step: (forward) => this.step(forward),
    });
  }

  private startPainter(): void {
    const threads = Math.min(4, Math.max(1, this.app.trace.meta.threads));
    try {
      this.painter = new Painter(this.glCanvas, threads);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.stage.append(
        h(
          'div',
          { class: 'empty' },
          h('b', {}, 'The timeline cannot be drawn.'),
          h(
            'p',
            {},
            `${why} Switch hardware acceleration on, or use another browser. Matrix and network load work without it.`,
          ),
        ),
      );
    }
    this.glCanvas.addEventListener('webglcontextlost', (e) => e.preventDefault());
    this.glCanvas.addEventListener('webglcontextrestored', () => this.startPainter());
  }

  private left(): number {
    return this.stage.clientWidth < 600 ? 44 : 76;
  }

  private plotWidth(): number {
    return Math.max(10, this.stage.clientWidth - this.left());
  }

  private plotHeight(): number {
    return Math.max(10, this.stage.clientHeight - AXIS);
  }

  private rows(): Rows {
    return rowsOf(this.app.store.state, this.app.trace.meta.ranks, this.plotHeight());
  }

  private window(rows: Rows): Window {
    const { from, to } = this.app.store.state;
    const { first, last } = visibleRanks(rows, this.plotHeight());
    return { from, to, width: this.plotWidth(), firstRank: first, lastRank: last, rowHeight: rows.height };
  }

  /** What of the entries is here; the rest is asked for unless much is under way already. */
  private gather<T>(
    entries: Entry[],
    load: (e: Entry) => Promise<T>,
  ): { ready: { entry: Entry; value: T }[]; complete: boolean } {
    const ready: { entry: Entry; value: T }[] = [];
    const missing: Entry[] = [];
    for (const entry of entries) {
      const value = this.app.trace.chunks.peek<T>(entry);
      if (value !== undefined) ready.push({ entry, value });
      else missing.push(entry);
    }
    if (missing.length > 0 && this.app.trace.chunks.busy < 8)
      Promise.all(missing.map(load)).then(
        () => this.app.redraw(),
        (error: unknown) => this.app.fail(error),
      );
    return { ready, complete: missing.length === 0 };
  }

  private gatherBars(plan: BarPlan): Scene {
    const { trace } = this.app;
    if (plan.detail === 'events') {
      const { ready, complete } = this.gather(plan.entries, (e) => trace.events(e));
      const scene = { events: ready.map((x) => x.value), tiles: [] };
      if (complete) this.scene = scene;
      return scene;
    }
    const { ready, complete } = this.gather(plan.entries, (e) => trace.summary(e));
    const scene = { events: [], tiles: ready.map((x) => ({ entry: x.entry, tile: x.value })) };
    if (complete) this.scene = scene;
    return scene;
  }

  update(): void {
    const rows = this.rows();
    const window = this.window(rows);
    const bars = planBars(this.app.trace, window);
    const messages = planMessages(this.app.trace, window);
    this.followPicked();
    const before = this.scene;
    const now = this.gatherBars(bars);
    const { showMessages } = this.app.store.state;
    const lines = this.gather(showMessages ? messages.entries : [], (e) => this.app.trace.messages(e));
    if (lines.complete) this.messages = lines.ready.map((x) => x.value);
    this.paint(rows, before === this.scene ? [before, now] : [now]);
    this.drawGround(rows);
    this.drawOverlay(rows);
    this.minimap.draw();
    this.updateNote(bars, messages, now);
  }

  private paint(rows: Rows, scenes: Scene[]): void {
    const { painter } = this;
    if (!painter) return;
    const { state } = this.app.store;
    const theme = this.app.theme();
    const idle = parseRgb(theme.idle);
    const width = this.plotWidth();
    const height = this.plotHeight();
    const shown = visibleRanks(rows, height);
    Object.assign(this.glCanvas.style, {
      left: `${this.left()}px`,
      top: `${AXIS}px`,
      width: `${width}px`,
      height: `${height}px`,
    });
    if (theme.dark !== this.wasDark) painter.end(0);
    this.wasDark = theme.dark;
    CLASSES[0]!.color = idle;
    painter.setClassColor(0, idle);
    painter.begin({
      from: state.from,
      to: state.to,
      width,
      height,
      rows,
      firstRank: shown.first,
      lastRank: shown.last,
      bytesPerPixel: state.bytesPerPixel,
    });
    painter.drawEvents(this.ground);
    for (const scene of scenes) {
      for (const { entry, tile } of scene.tiles) painter.drawTile(tile, this.placeOf(entry), idle);
      for (const chunk of scene.events) painter.drawEvents(chunk);
    }
    const crowd = this.crowd(shown);
    painter.drawMessages(
      state.showMessages ? this.messages : [],
      theme.dark,
      lineAlpha(crowd.mean),
      layerStrength(crowd.densest),
    );
    painter.end();
  }

  /** Messages in view a pixel of the plot: on the whole, and where they are densest. */
  private crowd(shown: { first: number; last: number }): { mean: number; densest: number } {
    const { from, to } = this.app.store.state;
    const inside = (rank: number) => rank >= shown.first && rank <= shown.last;
    const parts = new Uint32Array(CROWD_PARTS);
    let n = 0;
    for (const c of this.messages)
      for (let i = 0; i < c.count; i++)
        if (c.sendStart[i]! < to && c.recvEnd[i]! > from && (inside(c.src[i]!) || inside(c.dst[i]!))) {
          const share = ((c.sendStart[i]! + c.recvEnd[i]!) / 2 - from) / (to - from);
          parts[Math.max(0, Math.min(CROWD_PARTS - 1, Math.floor(share * CROWD_PARTS)))]!++;
          n++;
        }
    const width = Math.max(1, this.plotWidth());
    return { mean: n / width, densest: (Math.max(...parts) * CROWD_PARTS) / width };
  }

  private placeOf(entry: Entry): { start: number; end: number; firstRank: number; ranksPerRow: number } {
    const { runtime, rowFactor, rows } = this.app.trace.meta;
    const width = runtime / 2 ** entry.level;
    const ranksPerRow = rowFactor ** entry.rankLevel;
    return {
      start: entry.seq * width,
      end: (entry.seq + 1) * width,
      firstRank: entry.group * rows * ranksPerRow,
      ranksPerRow,
    };
  }

  private frame(canvas: HTMLCanvasElement, rows: Rows): Frame {
    return {
      g: paper(canvas).g,
      rows,
      left: this.left(),
      width: this.plotWidth(),
      height: this.plotHeight(),
      state: this.app.store.state,
      theme: this.app.theme(),
      runtime: this.app.trace.meta.runtime,
    };
  }

  private drawGround(rows: Rows): void {
    const f = this.frame(this.ground2d, rows);
    drawOutside(f);
    drawAxis(f);
  }

  private drawOverlay(rows: Rows): void {
    const f = this.frame(this.overlay, rows);
    const { g } = f;
    drawRanks(f, this.app.trace.nodes);
    g.save();
    g.beginPath();
    g.rect(f.left, 0, f.width, AXIS + f.height);
    g.clip();
    drawOutlines(f);
    for (const [picked, strong] of [
      [this.hovered, false],
      [f.state.picked, true],
    ] as const) {
      if (picked?.kind === 'event') {
        this.drawCauses(f, picked, strong);
      } else if (picked?.kind === 'message') this.highlight(f, picked.chunk, picked.index);
    }
    g.restore();
    if (this.pointer && this.pointer.x > f.left) drawCrosshair(f, this.pointer.x);
  }

  /** A call, and if it waited the calls that caused it. */
  private drawCauses(f: Frame, picked: Extract<Picked, { kind: 'event' }>, strong: boolean): void {
    const outline = ({ chunk, index: i }: EventRef, bold: boolean) =>
      outlineEvent(f, segmentOf(chunk, i).rank, chunk.start[i]!, chunk.duration[i]!, bold);
    outline(picked, strong);
    const rank = segmentOf(picked.chunk, picked.index).rank;
    const own = picked.chunk.start[picked.index]!;
    for (const { ns, part, causer } of picked.waits ?? []) {
      if (!causer || part || ns <= 0) continue;
      outline(causer, false);
      const start = causer.chunk.start[causer.index]!;
      const end = own + picked.chunk.duration[picked.index]!;
      drawCause(f, segmentOf(causer.chunk, causer.index).rank, start, rank, Math.min(end, Math.max(own, start)));
    }
  }

  private highlight(f: Frame, chunk: MessageChunk, i: number): void {
    const line = this.lineOf(chunk, i);
    if (!line) return;
    f.g.strokeStyle = f.theme.text;
    f.g.lineWidth = 2;
    f.g.beginPath();
    f.g.moveTo(line.x1, line.y1);
    f.g.lineTo(line.x2, line.y2);
    f.g.stroke();
    f.g.beginPath();
    f.g.arc(line.x2, line.y2, 3.5, 0, 2 * Math.PI);
    f.g.fillStyle = f.theme.text;
    f.g.fill();
    f.g.lineWidth = 1;
  }

  private updateNote(bars: BarPlan, messages: MessagePlan, scene: Scene): void {
    const { state } = this.app.store;
    const events = scene.events.reduce((n, c) => n + c.count, 0);
    const lines = state.showMessages ? this.messages.reduce((n, c) => n + c.count, 0) : 0;
    const what = bars.detail === 'events' ? 'single calls' : 'shares of time: zoom in for single calls';
    const largest =
      messages.detail === 'largest' && state.showMessages ? `; largest messages of ≈${count(messages.total)}` : '';
    const text = `${duration(state.to - state.from)} shown, ${what}${largest}`;
    if (this.note.textContent !== text) this.note.textContent = text;
    Object.assign(this.app.drawn, {
      detail: bars.detail,
      chunks: bars.entries.length,
      events,
      lines,
      tiles: scene.tiles.length,
      messageDetail: messages.detail,
    });
  }

  // ---- what is under the pointer ----

  private timeAt(x: number): number {
    const { from, to } = this.app.store.state;
    return from + ((x - this.left()) / this.plotWidth()) * (to - from);
  }

  private lineOf(chunk: MessageChunk, i: number): Line | null {
    const { from, to } = this.app.store.state;
    const rows = this.rows();
    const [src, dst] = [chunk.src[i]!, chunk.dst[i]!];
    const shown = visibleRanks(rows, this.plotHeight());
    const inside = (rank: number) => rank >= shown.first && rank <= shown.last;
    if (chunk.sendStart[i]! > to || chunk.recvEnd[i]! < from || !(inside(src) || inside(dst))) return null;
    const x = (ns: number) => this.left() + ((ns - from) / (to - from)) * this.plotWidth();
    const edge = (rank: number, low: boolean) => AXIS + yOf(rows, rank) + rows.pad + (low ? rows.bar : 0);
    return {
      x1: x(chunk.sendStart[i]!),
      y1: edge(src, dst > src),
      x2: x(chunk.recvEnd[i]!),
      y2: edge(dst, dst <= src),
    };
  }

  private pick(x: number, y: number): Picked | null {
    const rows = this.rows();
    const rank = rankAt(rows, y - AXIS);
    const nsPerPixel = (this.app.store.state.to - this.app.store.state.from) / this.plotWidth();
    const inRow = y - AXIS - (rank >= 0 ? yOf(rows, rank) : 0) - rows.pad;
    const onBar = rank >= 0 && (rows.height < 4 || (inRow >= -1 && inRow <= rows.bar + 1));
    const event = onBar ? eventAt(this.scene.events, rank, this.timeAt(x), 3 * nsPerPixel) : null;
    if (event) return { kind: 'event', ...event };
    if (!this.app.store.state.showMessages || onBar) return null;
    const message = messageAt(this.messages, (c, i) => this.lineOf(c, i), x, y, 5);
    return message && { kind: 'message', ...message };
  }

  private hover(x: number, y: number): void {
    this.pointer = { x, y };
    const picked = x > this.left() && y > AXIS ? this.pick(x, y) : null;
    const same = picked && this.hovered?.chunk === picked.chunk && this.hovered.index === picked.index;
    if (!same) {
      this.hovered = picked;
      void this.complete(picked, (whole) => {
        if (this.hovered !== picked || !this.pointer) return;
        this.hovered = whole;
        this.showTip(this.pointer.x, this.pointer.y);
      });
    }
    this.showTip(x, y);
    this.stage.style.cursor = picked || x < this.left() ? 'pointer' : '';
  }

  private showTip(x: number, y: number): void {
    const box = this.stage.getBoundingClientRect();
    const tip = this.hovered ? describe(this.app.trace, this.hovered) : this.shares(x, y);
    if (tip) this.app.tooltip.show(tip, box.left + x, box.top + y);
    else this.app.tooltip.hide();
    this.drawOverlay(this.rows());
  }

  /** What a call waited for, and what came to it, may have to be read. */
  private async complete(picked: Picked | null, then: (whole: Picked) => void): Promise<void> {
    if (!picked) return;
    try {
      if (picked.kind !== 'event') return then(picked);
      const waits = await waitsOf(this.app.trace, picked);
      then({ ...picked, waits, came: await bytesCameTo(this.app.trace, picked) });
    } catch (error) {
      this.app.fail(error);
    }
  }

  /** Over summary tiles: the shares of the bin. */
  private shares(x: number, y: number): { title: string; rows: [string, string][] } | null {
    const rank = rankAt(this.rows(), y - AXIS);
    const time = this.timeAt(x);
    const { meta } = this.app.trace;
    for (const { entry, tile } of this.scene.tiles) {
      const place = this.placeOf(entry);
      const row = Math.floor((rank - place.firstRank) / place.ranksPerRow);
      if (rank < 0 || x < this.left() || time < place.start || time >= place.end || row < 0 || row >= tile.rows)
        continue;
      const bin = Math.min(meta.bins - 1, Math.floor(((time - place.start) / (place.end - place.start)) * meta.bins));
      const part = (c: number) => tile.share[((c - 1) * tile.rows + row) * meta.bins + bin]! / 255;
      const rows = CLASSES.slice(1)
        .map((c, i): [string, string] => [c.name, percent(part(i + 1))])
        .filter((_, i) => part(i + 1) > 0.004);
      const first = place.firstRank + row * place.ranksPerRow;
      const last = Math.min(meta.ranks, first + place.ranksPerRow) - 1;
      const who = first === last ? `Rank ${first}` : `Ranks ${first}–${last}`;
      return {
        title: `${who}, ${duration((place.end - place.start) / meta.bins)}`,
        rows: rows.length ? rows : [['outside MPI', '100 %']],
      };
    }
    return null;
  }

  private leave(): void {
    this.pointer = null;
    this.hovered = null;
    this.app.tooltip.hide();
    this.drawOverlay(this.rows());
  }

  private click(x: number, y: number): void {
    const rank = rankAt(this.rows(), y - AXIS);
    if (x <= this.left()) {
      if (rank >= 0) this.app.store.toggleRank(rank);
      return;
    }
    this.choose(this.pick(x, y));
  }

  private choose(picked: Picked | null): void {
    this.app.store.set({ picked });
  }

  /** Whoever picked it: say what it is when all about it is here. */
  private followPicked(): void {
    const { picked } = this.app.store.state;
    if (picked === this.followed) return;
    this.followed = picked;
    void this.complete(picked, (whole) => {
      if (this.app.store.state.picked !== picked) return;
      this.followed = whole;
      this.app.store.set({ picked: whole });
      const tip = describe(this.app.trace, whole);
      this.app.announce(`${tip.title}, ${tip.rows.map(([k, v]) => `${k} ${v}`).join(', ')}`);
    });
  }

  /** The next or the previous call of the rank of the call picked, or of the first rank shown. */
  private step(forward: boolean): void {
    const { picked, from, to } = this.app.store.state;
    const rows = this.rows();
    const on = picked?.kind === 'event' ? picked : null;
    const rank = on ? segmentOf(on.chunk, on.index).rank : visibleRanks(rows, this.plotHeight()).first;
    const start = on ? on.chunk.start[on.index]! : forward ? from : to;
    const next = neighbourEvent(this.scene.events, rank, start, forward);
    if (!next) return this.app.announce('no further call here; zoom or pan');
    this.choose({ kind: 'event', ...next });
    const at = next.chunk.start[next.index]!;
    if (at < from || at > to) this.app.store.showInterval(at - (to - from) / 2, at + (to - from) / 2);
  }
}

const HELP =
  'Timeline. Left and right pan, plus and minus zoom, up and down scroll ranks, shift with up and down changes the ' +
  'height of rows, Home shows all, N and P step through calls, M toggles messages, Escape clears the selection.';

export const timeline: View = {
  id: 'timeline',
  title: 'Timeline',
  create: (app, host) => new Timeline(app, host),
};
