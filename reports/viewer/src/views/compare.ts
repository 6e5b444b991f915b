// compare.ts - two runs below each other on a common axis, in time or iteration by iteration, with what differs between them. The second
// run is a session of its own. In: pictures, shares, iterations and statistics of both.  Out: a 2D canvas and a table.
import { drawAxis } from '../draw/axis';
import { describe } from '../draw/describe';
import { FONT, fill, h, paper } from '../draw/dom';
import { choice } from '../draw/tools';
import { byIteration, SAME_TIME, slicesOf } from '../layout/align';
import type { Alignment } from '../layout/align';
import { hex } from '../layout/color';
import { count, duration, plural } from '../layout/format';
import { rowOfRanks, rowsOf } from '../layout/rows';
import { num } from '../model/analysis';
import type { Cell, Sheet } from '../model/sheet';
import type { Camera, Picture } from '../work/camera';
import type { Session } from '../work/session';
import { anotherChooser, chooser, differences, differenceTable, loopSite, siteNames, sameSite } from './compare_parts';
import type { App, View, ViewInstance } from './view';

const ID = 'compare';
const LEFT = 76;
const AXIS = 26;
const STRIP = 64; // between the two
const GAP = 18;
const STRIP_BIN = 6; // pixels over which shares are means: tiles of both runs have other bins
const STALE_MS = 160;

interface CompareState {
  [key: string]: string | number;
  align: string; // time, iteration
  site: number; // of the first run; where an iteration begins
  other: string; // name of the second run: a page may not open a file again by itself
  otherBytes: number;
}

/** One of the two, as it is drawn. */
interface Side {
  session: Session;
  picture: Picture | null;
  surface: CanvasImageSource | null;
  wanted: string;
  askedAt: number;
  starts: Float64Array; // of iterations
  shares: Float32Array; // in MPI, by part of the axis
}

function sideOf(session: Session): Side {
  const none = { picture: null, surface: null, wanted: '', askedAt: 0 };
  return { session, ...none, starts: new Float64Array(0), shares: new Float32Array(0) };
}

const HELP =
  'Two runs below each other. Left and right or A and D pan, plus and minus or W and S zoom, Home shows all, ' +
  'the wheel zooms. Bars between them: where the second is longer in MPI, or its iterations are longer.';

class Compare implements ViewInstance {
  private readonly canvas = h('canvas', { class: 'layer', tabindex: 0, role: 'application', 'aria-label': HELP });
  private readonly stage = h('div', { class: 'stage' }, this.canvas);
  private readonly note = h('span', { class: 'note', role: 'status' });
  private readonly table = h('div', { class: 'differences' });
  private readonly align;
  private readonly site;
  private readonly tools;
  private sides: [Side, Side] | null = null;
  private alignment: Alignment = SAME_TIME;
  private asked = { iterations: '', shares: '' };
  private size = { width: 100, height: 100 };
  private drag: number | null = null;

  constructor(
    private readonly app: App,
    private readonly host: HTMLElement,
  ) {
    const set = (change: Partial<CompareState>) => app.store.setView(ID, change as CompareState);
    const aligns = [
      ['time', 'time'],
      ['iteration', 'iterations'],
    ] as const;
    this.align = choice('align by', 'What lies below each other', aligns, (align) => set({ align }));
    const sites = siteNames(app.session);
    this.site = choice('an iteration begins at', 'Call site', sites, (site) => set({ site: Number(site) }));
    this.tools = h('div', { class: 'tools' }, this.align.element, this.site.element, this.note);
    this.canvas.addEventListener('wheel', (e) => this.wheel(e), { passive: false });
    this.canvas.addEventListener('pointerdown', (e) => this.down(e));
    this.canvas.addEventListener('pointermove', (e) => this.move(e));
    this.canvas.addEventListener('pointerup', () => (this.drag = null));
    this.canvas.addEventListener('pointerleave', () => app.tooltip.hide());
    this.canvas.addEventListener('keydown', (e) => this.key(e));
    this.begin();
  }

  /** With another run than before, or none. */
  private begin(): void {
    const { session, others, openOther } = this.app;
    const second = others()[0];
    if (!second) {
      this.sides = null;
      fill(this.host, chooser(session.name, openOther, this.state()));
      return;
    }
    this.sides = [sideOf(session), sideOf(second)];
    this.asked = { iterations: '', shares: '' };
    this.alignment = SAME_TIME;
    fill(this.host, this.tools, this.stage, this.table);
    const rows = differences(session, second);
    fill(this.table, differenceTable(rows, session.name, second.name), anotherChooser(openOther));
  }

  destroy(): void {
    for (const side of this.sides ?? []) this.giveUp(side);
    this.host.replaceChildren();
  }

  private giveUp(side: Side): void {
    for (const asker of ['picture', 'iterations', 'shares', 'pick']) side.session.giveUp(`compare ${asker}`);
    side.picture?.image?.close();
  }

  private state(): CompareState {
    return this.app.store.of<CompareState>(ID);
  }

  private siteShown(): number {
    const { site } = this.state();
    return site >= 0 ? site : loopSite(this.app.session);
  }

  update(): void {
    if (this.app.others()[0] !== this.sides?.[1].session) this.begin();
    if (!this.sides) return;
    this.align.put(this.state().align);
    this.site.put(String(this.siteShown()));
    this.site.element.hidden = this.state().align !== 'iteration';
    this.size = { width: this.stage.clientWidth, height: this.stage.clientHeight };
    this.askIterations();
    this.askPictures();
    this.askShares();
    const { g, width, height } = paper(this.canvas);
    this.paint(g, width, height);
    this.say();
  }

  // ---- what is asked for ----

  private askIterations(): void {
    const [a, b] = this.sides!;
    const { align } = this.state();
    const site = this.siteShown();
    const key = `${align} ${site}`;
    if (key === this.asked.iterations) return;
    this.asked.iterations = key;
    [a.starts, b.starts, this.alignment] = [new Float64Array(0), new Float64Array(0), SAME_TIME];
    this.asked.shares = '';
    if (align !== 'iteration' || site < 0) return;
    const rank = num(a.session.analysis, 'phases', 'rank') ?? 0;
    const same = sameSite(a.session, b.session, site);
    const ask = (side: Side, id: number) => {
      const take = (starts: Float64Array) => {
        side.starts = starts;
        this.alignment = byIteration(a.starts, b.starts);
        this.asked.shares = '';
        this.app.redraw();
      };
      side.session.ask('compare iterations', 'iterations', { rank, site: id }, take, this.app.fail);
    };
    ask(a, site);
    if (same >= 0) ask(b, same);
  }

  private plot(): { width: number; each: number; top: [number, number]; strip: number } {
    const { width, height } = this.size;
    const each = Math.max(30, (height - AXIS - STRIP - 2 * GAP) / 2);
    return {
      width: Math.max(10, width - LEFT),
      each,
      top: [AXIS + GAP, AXIS + 2 * GAP + each + STRIP],
      strip: AXIS + GAP + each,
    };
  }

  private interval(n: number): [number, number] {
    const { from, to } = this.app.store.state;
    return n === 0 ? [from, to] : [this.alignment.toSecond(from), this.alignment.toSecond(to)];
  }

  private camera(n: number): Camera {
    const { session } = this.sides![n]!;
    const { width, each } = this.plot();
    const theme = this.app.theme();
    const [from, to] = this.interval(n);
    const rows = rowsOf({ rowFirst: 0, rowHeight: 0 }, session.meta.ranks, each, session.meta.threads);
    const colors = { dark: theme.dark, idle: hex(theme.idle), paper: hex(theme.paper), text: hex(theme.text) };
    const lines = {
      lateness: false,
      showMessages: session.meta.ranks <= 64,
      widthScale: 'log' as const,
      bytesPerPixel: 4096,
    };
    const ratio = Math.min(2, devicePixelRatio || 1);
    const { filter } = this.app.store.state;
    const own = { ...filter, sites: [], comms: [] }; // numbers of the first run only
    return {
      from,
      to,
      width,
      height: each,
      ratio,
      rows,
      members: null,
      ...colors,
      ...lines,
      filter: n === 0 ? filter : own,
    };
  }

  private askPictures(): void {
    this.sides!.forEach((side, n) => {
      const camera = this.camera(n);
      const key = JSON.stringify(camera);
      if (key === side.wanted || (side.askedAt > 0 && performance.now() - side.askedAt < STALE_MS)) return;
      [side.wanted, side.askedAt] = [key, performance.now()];
      const take = (picture: Picture, last: boolean) => {
        side.picture?.image?.close();
        side.picture = picture;
        side.surface = picture.image ?? null;
        if (last) side.askedAt = 0;
        this.app.redraw();
      };
      const refuse = (error: Error) => ((side.askedAt = 0), this.app.fail(error));
      side.session.ask('compare picture', 'picture', camera, take, refuse);
    });
  }

  private askShares(): void {
    const bins = Math.round(this.plot().width / STRIP_BIN);
    const key = JSON.stringify([this.interval(0), this.interval(1), bins]);
    if (key === this.asked.shares || this.state().align === 'iteration') return;
    this.asked.shares = key;
    this.sides!.forEach((side, n) => {
      const [from, to] = this.interval(n);
      const take = (shares: Float32Array) => ((side.shares = shares), this.app.redraw());
      side.session.ask('compare shares', 'shares', { from, to, bins }, take, this.app.fail);
    });
  }

  // ---- drawing ----

  paint(g: CanvasRenderingContext2D, width: number, height: number): void {
    if (!this.sides) return;
    this.size = { width, height };
    const { width: plot, each, top, strip } = this.plot();
    const theme = this.app.theme();
    const rowOf = rowOfRanks(null, 1);
    const { state } = this.app.store;
    const frame = {
      g,
      left: LEFT,
      width: plot,
      height: height - AXIS,
      state,
      members: null,
      labels: null,
      rowOf,
      theme,
    };
    drawAxis({ ...frame, rows: this.camera(0).rows, runtime: this.app.session.meta.runtime });
    this.sides.forEach((side, n) => this.drawSide(g, side, n, top[n]!, each));
    this.drawStrip(g, plot, strip);
  }

  private drawSide(g: CanvasRenderingContext2D, side: Side, n: number, top: number, height: number): void {
    const { width } = this.plot();
    const theme = this.app.theme();
    const { from, to } = this.app.store.state;
    g.font = FONT;
    g.textAlign = 'left';
    g.textBaseline = 'middle';
    g.fillStyle = theme.text;
    const { meta, name } = side.session;
    g.fillText(`${'AB'[n]}  ${name}: ${plural(meta.ranks, 'rank')}, ${duration(meta.runtime)}`, LEFT, top - GAP / 2);
    this.drawLabels(g, side, n, top);
    const p = side.picture;
    if (!p || !side.surface) return;
    g.save();
    g.beginPath();
    g.rect(LEFT, top, width, height);
    g.clip();
    g.imageSmoothingEnabled = false;
    const scale = p.width / (p.camera.to - p.camera.from); // device pixels a ns
    const slices = n === 0 ? [{ x: 0, width, from, to }] : slicesOf(this.alignment, from, to, width);
    for (const s of slices) this.drawSlice(g, side.surface, p, s, scale, top, height);
    g.restore();
  }

  /** A part of a picture in its place; what lies outside of the picture is left empty. */
  private drawSlice(
    g: CanvasRenderingContext2D,
    surface: CanvasImageSource,
    p: Picture,
    s: { x: number; width: number; from: number; to: number },
    scale: number,
    top: number,
    height: number,
  ): void {
    const [x1, x2] = [(s.from - p.camera.from) * scale, (s.to - p.camera.from) * scale];
    const [a, b] = [Math.max(0, x1), Math.min(p.width, x2)];
    if (!(b > a)) return;
    const place = (x: number) => LEFT + s.x + ((x - x1) / (x2 - x1)) * s.width;
    g.drawImage(surface, a, 0, b - a, p.height, place(a), top, Math.max(1, place(b) - place(a)), height);
  }

  private drawLabels(g: CanvasRenderingContext2D, side: Side, n: number, top: number): void {
    const { rows } = this.camera(n);
    const theme = this.app.theme();
    const step = 2 ** Math.max(0, Math.ceil(Math.log2(15 / rows.height)));
    g.textAlign = 'right';
    g.fillStyle = theme.dim;
    for (let rank = 0; rank < side.session.meta.ranks; rank += step)
      g.fillText(String(rank), LEFT - 8, top + Math.max(6, (rank + 0.5) * rows.height));
  }

  /** By pixel of the axis: by how much the second is more. Of iterations their length, else the share of time in MPI. */
  private difference(width: number): { at(x: number): number; scale: number; words: string } {
    const [a, b] = this.sides!;
    const { from, to } = this.app.store.state;
    if (this.state().align !== 'iteration') {
      const bin = (x: number) => Math.floor((x / width) * a.shares.length);
      const at = (x: number) => (b.shares[bin(x)] ?? NaN) - (a.shares[bin(x)] ?? NaN);
      return { at, scale: 1, words: 'share of time in MPI, B − A' };
    }
    const n = Math.min(a.starts.length, b.starts.length);
    const lengths = (s: Float64Array, k: number) => s[k + 1]! - s[k]!;
    let k = 0;
    let most = 0;
    for (let i = 0; i + 1 < n; i++)
      if (a.starts[i + 1]! > from && a.starts[i]! < to)
        most = Math.max(most, Math.abs(lengths(b.starts, i) - lengths(a.starts, i)));
    const at = (x: number) => {
      const ns = from + (x / width) * (to - from);
      while (k + 1 < n && a.starts[k + 1]! <= ns) k++;
      return k + 1 < n && a.starts[k]! <= ns ? lengths(b.starts, k) - lengths(a.starts, k) : NaN;
    };
    const words = most > 0 ? `up to ± ${duration(most)}` : 'all the same';
    return { at, scale: most, words: `length of an iteration, B − A: ${words}` };
  }

  private drawStrip(g: CanvasRenderingContext2D, width: number, top: number): void {
    const theme = this.app.theme();
    const { at, scale, words } = this.difference(width);
    const middle = top + 8 + (STRIP - 8) / 2;
    const half = (STRIP - 16) / 2;
    g.fillStyle = theme.line;
    g.fillRect(LEFT, middle, width, 1);
    for (let x = 0; x < width; x++) {
      const d = at(x);
      if (!(Math.abs(d) > 0) || scale <= 0) continue;
      const tall = (d / scale) * half;
      g.fillStyle = d > 0 ? '#b2182b' : '#2166ac';
      g.fillRect(LEFT + x, Math.min(middle, middle - tall), 1, Math.abs(tall));
    }
    g.fillStyle = theme.dim;
    g.textAlign = 'left';
    g.textBaseline = 'middle';
    g.fillText(words, LEFT + 4, top + 6);
    g.textAlign = 'right';
    g.fillText('B more ↑', LEFT - 6, middle - half + 4);
    g.fillText('A more ↓', LEFT - 6, middle + half - 2);
  }

  private say(): void {
    const [a, b] = this.sides!;
    const parts = [`${duration(this.app.store.state.to - this.app.store.state.from)} of A shown`];
    if (this.state().align === 'iteration') {
      const [na, nb] = [a.starts.length, b.starts.length];
      parts.push(nb === 0 && sameSite(a.session, b.session, this.siteShown()) < 0 ? 'B has no such call site' : '');
      parts.push(`${plural(na, 'iteration')} in A, ${count(nb)} in B`);
    }
    const text = parts.filter((t) => t !== '').join('; ');
    if (this.note.textContent !== text) this.note.textContent = text;
    const final = this.sides!.every((s) => s.askedAt === 0 && s.picture !== null);
    Object.assign(this.app.drawn, { compareFinal: final, iterations: [a.starts.length, b.starts.length] });
  }

  // ---- pointer and keyboard ----

  private time(x: number): number {
    const { from, to } = this.app.store.state;
    return from + ((x - LEFT) / this.plot().width) * (to - from);
  }

  private wheel(e: WheelEvent): void {
    e.preventDefault();
    if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) return this.app.store.pan(e.deltaX / this.plot().width);
    this.app.store.zoom(Math.exp(Math.max(-400, Math.min(400, e.deltaY)) / 300), this.time(e.offsetX));
  }

  private down(e: PointerEvent): void {
    this.canvas.setPointerCapture(e.pointerId);
    this.drag = e.offsetX;
  }

  private move(e: PointerEvent): void {
    if (!this.sides) return;
    if (this.drag !== null) {
      this.app.store.pan(-(e.offsetX - this.drag) / this.plot().width);
      this.drag = e.offsetX;
      return;
    }
    const { top, each, width } = this.plot();
    const n = top.findIndex((y) => e.offsetY >= y && e.offsetY < y + each);
    const side = this.sides[n];
    if (!side || e.offsetX < LEFT) return this.app.tooltip.hide();
    const [from, to] = this.interval(n);
    const ns = n === 0 ? this.time(e.offsetX) : this.alignment.toSecond(this.time(e.offsetX));
    const given = { camera: this.camera(n), x: ((ns - from) / (to - from)) * width, y: e.offsetY - top[n]! };
    const { clientX, clientY } = e;
    side.session.ask(
      'compare pick',
      'pick',
      given,
      (under) => {
        if (!under) return this.app.tooltip.hide();
        const tip = under.kind === 'shares' ? under : describe(side.session, under);
        this.app.tooltip.show({ ...tip, title: `${'AB'[n]}: ${tip.title}` }, clientX, clientY);
      },
      this.app.fail,
    );
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const { store } = this.app;
    const middle = (store.state.from + store.state.to) / 2;
    const pan = (share: number) => () => store.pan(e.shiftKey ? 5 * share : share);
    const zoom = (factor: number) => () => store.zoom(factor, middle);
    const actions: Record<string, () => void> = {
      ...{ ArrowLeft: pan(-0.1), ArrowRight: pan(0.1), a: pan(-0.1), d: pan(0.1) },
      ...{ '+': zoom(0.6), '=': zoom(0.6), w: zoom(0.6), '-': zoom(1 / 0.6), s: zoom(1 / 0.6) },
      Home: () => store.showAll(),
    };
    const action = actions[e.key];
    if (!action) return;
    e.preventDefault();
    action();
  }

  sheet(): Sheet {
    const { session, others } = this.app;
    const second = others()[0];
    const columns = ['what', 'name', 'a', 'b', 'b_less_a'].map((name) => ({ name, title: name.replaceAll('_', ' ') }));
    const rows: Cell[][] = [];
    for (const d of second ? differences(session, second) : [])
      rows.push([d.what, d.name, d.a, d.b, d.a === null || d.b === null ? null : d.b - d.a]);
    const [a, b] = this.sides ?? [];
    const n = Math.min(a?.starts.length ?? 0, b?.starts.length ?? 0);
    for (let k = 0; k + 1 < n; k++) {
      const [x, y] = [a!.starts[k + 1]! - a!.starts[k]!, b!.starts[k + 1]! - b!.starts[k]!].map((ns) => ns / 1e9) as [
        number,
        number,
      ];
      rows.push(['iteration, s', String(k), x, y, y - x]);
    }
    const names = second ? `A: ${session.name}, B: ${second.name}` : 'no second run is open';
    return { title: 'Two runs', note: names, columns, rows };
  }
}

export const compare: View = {
  id: ID,
  title: 'Two runs',
  state: (): CompareState => ({ align: 'time', site: -1, other: '', otherBytes: 0 }),
  create: (app, host) => new Compare(app, host),
};
