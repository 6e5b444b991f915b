// circle.ts - network load: ranks or compute nodes as points on a circle, a line's width is the traffic between two of
// them in the interval shown. In: traffic.ts.  Out: a 2D canvas, and a slider and a box that choose the interval.
import { FONT, h, paper } from '../draw/dom';
import { choice, widthSlider } from '../draw/tools';
import { css, rankColor } from '../layout/color';
import { bytes, count, duration, moment, plural } from '../layout/format';
import { asSentence, counted } from '../layout/unrecorded_words';
import { isFiltering } from '../model/filter';
import { ranksOf } from '../model/points';
import type { Sheet } from '../model/sheet';
import type { Traffic, TrafficKind } from '../model/traffic';
import { KINDS, amountInWords, caveat, isOfCalls, trafficSheet } from './matrix';
import type { App, View, ViewInstance } from './view';

const ID = 'circle';
const PLAY_MS = 120; // from one step to the next
const WIDTH_MAX = 22;
const LINES_MAX = 3000; // drawn, the largest; how many more there are is said

interface CircleState {
  [key: string]: string | number;
  kind: string; // TrafficKind
  bytesPerPixel: number; // 0: by the largest link
}

interface Link {
  src: number;
  dst: number;
  bytes: number;
  messages: number;
}

interface Point {
  x: number;
  y: number;
}

/** A cubic curve. */
type Curve = [Point, Point, Point, Point];

function links(t: Traffic): Link[] {
  const all: Link[] = [];
  for (const [key, value] of t.bytes)
    all.push({ src: Math.floor(key / t.count), dst: key % t.count, bytes: value, messages: t.messages.get(key) ?? 0 });
  return all.sort((a, b) => b.bytes - a.bytes);
}

function onCurve([a, c, d, b]: Curve, t: number): Point {
  const u = 1 - t;
  const at = (p: number, q: number, r: number, s: number) =>
    u * u * u * p + 3 * u * u * t * q + 3 * u * t * t * r + t * t * t * s;
  return { x: at(a.x, c.x, d.x, b.x), y: at(a.y, c.y, d.y, b.y) };
}

function between(a: Point, b: Point, share: number): Point {
  return { x: a.x + (b.x - a.x) * share, y: a.y + (b.y - a.y) * share };
}

const HELP =
  'Network load on a circle. Left and right move the interval, plus and minus change its length, Home shows all, Space plays, N and P go through the ' +
  'links, Enter selects both ends.';

class Circle implements ViewInstance {
  private traffic: Traffic | null = null;
  private links: Link[] = [];
  private shown = '';
  private drawnLinks: Link[] = []; // of all links the largest
  private autoWidth = 1;
  private size = { width: 100, height: 100 }; // that was drawn last
  private player: ReturnType<typeof setInterval> | undefined;
  private readonly controls: (() => void)[] = [];
  private hovered: Link | null = null;
  private readonly canvas = h('canvas', { class: 'layer', tabindex: 0, role: 'application', 'aria-label': HELP });
  private readonly stage = h('div', { class: 'stage' }, this.canvas);
  private readonly note = h('span', { class: 'note', role: 'status' });
  private readonly position = h('input', {
    type: 'range',
    class: 'wide',
    min: 0,
    max: 1000,
    step: 1,
    'aria-label': 'Start of the interval',
    oninput: () => this.slide(),
  });
  private readonly length = h('input', {
    type: 'number',
    min: 0,
    step: 'any',
    'aria-label': 'Length of the interval in milliseconds',
    onchange: () => this.resize(),
  });
  private readonly play = h('button', { type: 'button', onclick: () => this.togglePlay() }, 'Play');
  private readonly interval = h('span', { class: 'facts' });
  private readonly tools = h('div', { class: 'tools' });

  constructor(
    private readonly app: App,
    private readonly host: HTMLElement,
  ) {
    const set = (change: Partial<CircleState>) => app.store.setView(ID, change as CircleState);
    const kind = choice('traffic', 'Traffic of the circle', KINDS, (value) => set({ kind: value }));
    const width = widthSlider((bytesPerPixel) => set({ bytesPerPixel }));
    this.controls.push(() => {
      kind.put(this.state().kind);
      width.put(this.bytesPerPixel());
      width.element.hidden = this.state().kind === 'late'; // a slider of bytes
    });
    this.tools.append(kind.element, width.element, this.note);
    const row = h(
      'div',
      { class: 'tools bottom' },
      this.play,
      this.position,
      h('label', { class: 'tool' }, 'length', this.length, 'ms'),
      this.interval,
    );
    host.append(this.tools, this.stage, row);
    this.canvas.addEventListener('pointermove', (e) => this.hover(e));
    this.canvas.addEventListener('pointerleave', () => this.leave());
    this.canvas.addEventListener('click', (e) => this.click(e));
    this.canvas.addEventListener('keydown', (e) => this.key(e));
  }

  destroy(): void {
    clearInterval(this.player);
    this.app.session.giveUp(ID);
    this.host.replaceChildren();
  }

  private state(): CircleState {
    return this.app.store.of<CircleState>(ID);
  }

  private bytesPerPixel(): number {
    return this.state().bytesPerPixel || this.autoWidth;
  }

  /** On and on through the run, an interval a second, until the end. */
  private togglePlay(): void {
    const stop = () => {
      clearInterval(this.player);
      this.player = undefined;
      this.play.textContent = 'Play';
    };
    if (this.player !== undefined) return stop();
    this.play.textContent = 'Stop';
    this.player = setInterval(() => {
      const { from, to } = this.app.store.state;
      if (to >= this.app.session.meta.runtime || this.app.store.state.view !== ID) return stop();
      this.app.store.showInterval(from + (to - from) * (PLAY_MS / 1000), to + (to - from) * (PLAY_MS / 1000));
    }, PLAY_MS);
  }

  private slide(): void {
    const { store, session: trace } = this.app;
    const length = store.state.to - store.state.from;
    const from = (Number(this.position.value) / 1000) * Math.max(0, trace.meta.runtime - length);
    store.showInterval(from, from + length);
  }

  private resize(): void {
    const { store } = this.app;
    const length = Number(this.length.value) * 1e6;
    if (length > 0) store.showInterval(store.state.from, store.state.from + length);
  }

  update(): void {
    const { from, to } = this.app.store.state;
    const { runtime } = this.app.session.meta;
    const free = Math.max(1, runtime - (to - from));
    this.position.value = String(Math.round((Math.max(0, from) / free) * 1000));
    if (document.activeElement !== this.length) this.length.value = String(Number(((to - from) / 1e6).toPrecision(6)));
    const step = Math.max(1, (to - from) / 10000);
    const text = (ns: number) => moment(Math.min(runtime, Math.max(0, ns)), step, (to - from) / 10);
    this.interval.textContent = `${text(from)} to ${text(to)} of ${text(runtime)}`;
    const kind = this.state().kind as TrafficKind;
    const { filter } = this.app.store.state;
    const inInterval = kind === 'p2p' || kind === 'late';
    const key = JSON.stringify([kind, inInterval ? [from, to, filter] : 0]);
    if (key !== this.shown) {
      this.shown = key;
      this.app.session.ask(ID, 'traffic', { from, to, kind, filter }, (t) => this.take(t), this.app.fail);
    }
    for (const put of this.controls) put();
    this.draw();
  }

  private take(t: Traffic): void {
    this.traffic = t;
    this.links = links(t);
    this.drawnLinks = this.links.slice(0, LINES_MAX);
    const most = this.links[0]?.bytes ?? 0;
    if (most > 0) this.autoWidth = Math.max(1, most / (t.count > 24 ? 4 : 10));
    this.app.redraw();
  }

  private ring(): { centre: Point; radius: number; at: (node: number) => Point } {
    const { width, height } = this.size;
    const nodes = this.traffic?.count ?? 1;
    const radius = Math.max(40, Math.min(width, height) / 2 - 44);
    const centre = { x: width / 2, y: height / 2 };
    const angle = (node: number) => (node / nodes) * 2 * Math.PI - Math.PI / 2;
    return {
      centre,
      radius,
      at: (n) => ({ x: centre.x + radius * Math.cos(angle(n)), y: centre.y + radius * Math.sin(angle(n)) }),
    };
  }

  /** A link bends towards the centre, a little to the left as seen by the sender: both ways show. What stays at its
   * point is a loop there. */
  private curve(link: Link): Curve {
    const { centre, at } = this.ring();
    const [a, b] = [at(link.src), at(link.dst)];
    if (link.src === link.dst) {
      const count = this.traffic?.count ?? 1;
      const inner = between(a, centre, count < 8 ? 0.5 : 0.25);
      const wide = Math.min(0.7, 8 / count);
      const [dx, dy] = [(centre.y - a.y) * wide, (a.x - centre.x) * wide];
      return [a, { x: inner.x + dx, y: inner.y + dy }, { x: inner.x - dx, y: inner.y - dy }, b];
    }
    const middle = between(a, b, 0.5);
    const inner = between(middle, centre, 0.35);
    const c = { x: inner.x - (b.y - a.y) * 0.08, y: inner.y + (b.x - a.x) * 0.08 };
    return [a, between(a, c, 2 / 3), between(b, c, 2 / 3), b];
  }

  private draw(): void {
    if (this.traffic) this.updateNote(this.traffic); // may take a line more, and so room from the canvas
    const { g, width, height } = paper(this.canvas);
    this.paint(g, width, height);
  }

  paint(g: CanvasRenderingContext2D, width: number, height: number): void {
    this.size = { width, height };
    const theme = this.app.theme();
    const t = this.traffic;
    if (!t) return;
    const { radius, at } = this.ring();
    const { selected } = this.app.store.state;
    g.lineCap = 'round';
    for (let i = this.drawnLinks.length - 1; i >= 0; i--) {
      const link = this.drawnLinks[i]!;
      const related =
        selected.size === 0 || selected.has(t.points.first[link.src]!) || selected.has(t.points.first[link.dst]!);
      const strong = link === this.hovered;
      const px = link.bytes / Math.max(1e-9, this.bytesPerPixel());
      const [a, c, d, b] = this.curve(link);
      g.strokeStyle = css(
        rankColor(this.hue(t, link.src), theme.dark),
        strong ? 1 : related ? Math.min(0.75, 0.2 + px / 4) : 0.07,
      );
      g.lineWidth = Math.min(WIDTH_MAX, Math.max(0.75, px)) + (strong ? 1.5 : 0);
      g.beginPath();
      g.moveTo(a.x, a.y);
      g.bezierCurveTo(c.x, c.y, d.x, d.y, b.x, b.y);
      g.stroke();
    }
    this.drawPoints(g, t, radius, at);
    if (this.links.length === 0) {
      g.fillStyle = theme.dim;
      g.font = FONT;
      g.textAlign = 'center';
      g.fillText(this.emptyText(), width / 2, height / 2);
    }
  }

  sheet(): Sheet {
    return trafficSheet(this.traffic, 'Network load', this.note.textContent ?? '');
  }

  private drawPoints(g: CanvasRenderingContext2D, t: Traffic, radius: number, at: (n: number) => Point): void {
    const theme = this.app.theme();
    const { centre } = this.ring();
    const room = (2 * Math.PI * radius) / t.count;
    const size = Math.max(1.5, Math.min(9, room * 0.35));
    g.font = FONT;
    const wide = g.measureText(t.points.short[t.count - 1] ?? '').width + 6;
    const step = 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(24, wide) / room)));
    g.textAlign = 'center';
    g.textBaseline = 'middle';
    for (let n = 0; n < t.count; n++) {
      const p = at(n);
      g.fillStyle = css(rankColor(this.hue(t, n), theme.dark));
      g.beginPath();
      g.arc(p.x, p.y, size, 0, 2 * Math.PI);
      g.fill();
      g.strokeStyle = this.app.store.state.selected.has(t.points.first[n]!) ? theme.text : theme.paper;
      g.lineWidth = 1.5;
      g.stroke();
      if (n % step !== 0) continue;
      const side = (p.x - centre.x) / radius; // names stand beside points at the sides, above and below others
      g.textAlign = side > 0.4 ? 'left' : side < -0.4 ? 'right' : 'center';
      const out = 1 + (size + (Math.abs(side) > 0.4 ? 5 : 13)) / radius;
      g.fillStyle = theme.dim;
      g.fillText(t.points.short[n]!, centre.x + (p.x - centre.x) * out, centre.y + (p.y - centre.y) * out);
    }
  }

  private amount(n: number): string {
    return this.traffic?.kind === 'late' ? duration(n) : bytes(n);
  }

  private emptyText(): string {
    const kind = this.traffic?.kind;
    if (!this.traffic || !isOfCalls(this.traffic)) return 'There is no traffic of this kind.';
    const none =
      kind === 'late' ? 'no wait with a known causer in this interval' : 'no message starts in this interval';
    return asSentence(counted(0, none, this.app.session, this.app.store.state));
  }

  private updateNote(t: Traffic): void {
    const total = this.links.reduce((sum, l) => sum + l.bytes, 0);
    const messages = this.links.reduce((sum, l) => sum + l.messages, 0);
    const { what, each } = t.points;
    const grouped = { rank: '', ranks: `; a point is ${each} ranks`, node: '; a point is a compute node' }[what];
    const amount = amountInWords(t, total, messages);
    const hidden = this.links.length - this.drawnLinks.length;
    const drawn = hidden > 0 ? `, of which the ${count(this.drawnLinks.length)} largest are drawn` : '';
    const zoom = what === 'rank' || t.wholeRun ? '' : ', zoom in for single ranks';
    const { filter, filterText } = this.app.store.state;
    const filtered = isFiltering(filter) && t.kind === 'p2p' ? `; only ${filterText}` : '';
    const notes = caveat(t) === '' ? '' : `; ${caveat(t)}`;
    const all = `${amount} on ${plural(this.links.length, 'link')}${drawn}${grouped}${zoom}${notes}${filtered}`;
    const text = isOfCalls(t) ? counted(messages, all, this.app.session, this.app.store.state) : all;
    if (this.note.textContent !== text) this.note.textContent = text;
    Object.assign(this.app.drawn, {
      circleBytes: total,
      circleMessages: messages,
      circleExact: t.exact,
      circleLinks: this.links.length,
    });
  }

  private linkAt(x: number, y: number): Link | null {
    let best: Link | null = null;
    let reach = 6;
    for (const link of this.drawnLinks) {
      const curve = this.curve(link);
      for (let k = 1; k < 24; k++) {
        const p = onCurve(curve, k / 24);
        const distance = Math.hypot(p.x - x, p.y - y);
        if (distance < reach) {
          reach = distance;
          best = link;
        }
      }
    }
    return best;
  }

  /** Ranks lend points their colours; nodes are numbered, so that neighbours differ. */
  private hue(t: Traffic, point: number): number {
    return t.points.what === 'node' ? point : t.points.first[point]!;
  }

  private who(node: number): string {
    return this.traffic?.points.long[node] ?? String(node);
  }

  private hover(e: PointerEvent): void {
    this.hovered = this.linkAt(e.offsetX, e.offsetY);
    const l = this.hovered;
    if (l) {
      const back = this.links.find((x) => x.src === l.dst && x.dst === l.src);
      const rows: [string, string][] = [
        [this.traffic?.kind === 'late' ? 'late time' : 'bytes', this.amount(l.bytes)],
        ['number', count(l.messages)],
      ];
      if (back) rows.push(['the other way', this.amount(back.bytes)]);
      this.app.tooltip.show({ title: `${this.who(l.src)} → ${this.who(l.dst)}`, rows }, e.clientX, e.clientY);
    } else this.app.tooltip.hide();
    this.draw();
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const { store } = this.app;
    const middle = (store.state.from + store.state.to) / 2;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => store.pan(e.shiftKey ? -0.5 : -0.1),
      ArrowRight: () => store.pan(e.shiftKey ? 0.5 : 0.1),
      '+': () => store.zoom(0.6, middle),
      '-': () => store.zoom(1 / 0.6, middle),
      Home: () => store.showAll(),
      ' ': () => this.togglePlay(),
      n: () => this.stepLink(1),
      p: () => this.stepLink(-1),
      ']': () => this.stepLink(1),
      '[': () => this.stepLink(-1),
      Enter: () => this.selectLink(),
      Escape: () => store.set({ selected: new Set() }),
    };
    const action = actions[e.key];
    if (!action) return;
    e.preventDefault();
    action();
  }

  /** The next link by size, in words. */
  private stepLink(by: number): void {
    const all = this.drawnLinks;
    if (all.length === 0) return this.app.announce(this.emptyText());
    const now = this.hovered ? all.indexOf(this.hovered) : by > 0 ? -1 : 0;
    const n = (now + by + all.length) % all.length;
    const link = all[n]!;
    this.hovered = link;
    const words = `${this.who(link.src)} → ${this.who(link.dst)}: ${this.amount(link.bytes)}, number ${count(link.messages)}`;
    this.app.announce(`${words}, link ${count(n + 1)} of ${count(all.length)}`);
    this.draw();
  }

  /** Both ends of the link gone to. */
  private selectLink(): void {
    const t = this.traffic;
    if (!this.hovered || !t) return;
    const ends = [this.hovered.src, this.hovered.dst].flatMap((point) => ranksOf(t.points, point));
    this.app.store.set({ selected: new Set(ends) });
  }

  private leave(): void {
    this.hovered = null;
    this.app.tooltip.hide();
    this.draw();
  }

  private click(e: MouseEvent): void {
    const { at } = this.ring();
    const t = this.traffic;
    for (let n = 0; t && n < t.count; n++) {
      const p = at(n);
      if (Math.hypot(p.x - e.offsetX, p.y - e.offsetY) < 12) return this.app.store.toggleRanks(ranksOf(t.points, n));
    }
    this.app.store.set({ selected: new Set() });
  }
}

export const circle: View = {
  id: ID,
  title: 'Network',
  state: (): CircleState => ({ kind: 'p2p', bytesPerPixel: 0 }),
  create: (app, host) => new Circle(app, host),
};
