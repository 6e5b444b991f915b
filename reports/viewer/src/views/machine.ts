// machine.ts - the machine that the trace ran on, in three dimensions: switches, nodes, packages, cores, the ranks on them; the messages of
// an instant as arcs, played as slowly as one likes; what the analysis found as halos and links. In: model/machine.ts, work/instant.ts,
// model/overlays.ts.  Out: a WebGL canvas, which Three draws (without it a flat map), and a 2D canvas over it.
import { fill, h, paper } from '../draw/dom';
import {
  curveOf,
  headOf,
  paintArcs,
  paintHalos,
  paintLabels,
  paintLinks,
  paintMachine,
  paintMarks,
  paintScale,
  underPoint,
} from '../draw/machine_paint';
import type { Arc, Sight } from '../draw/machine_paint';
import { makeMap } from '../draw/map';
import { loadScene } from '../draw/scene_port';
import type { Colors, Scene } from '../draw/scene_port';
import { button } from '../draw/tools';
import type { Tip } from '../draw/tooltip';
import { rankColor, viridis } from '../layout/color';
import { bytes, count, duration, exactMoment, plural } from '../layout/format';
import { machineColors } from '../layout/machine_colors';
import { LAYOUTS, layOut } from '../layout/machine';
import type { Layout, LayoutName, Vec } from '../layout/machine';
import { LOOKS, fit, projector, shiftedBy, turned } from '../layout/orbit';
import type { Orbit } from '../layout/orbit';
import { at as member, issues } from '../model/analysis';
import type { Issue } from '../model/analysis';
import { isFiltering } from '../model/filter';
import { distanceOf, machineFromMap, machineOf } from '../model/machine';
import type { Machine } from '../model/machine';
import { overlaysOf, ranksOfIssue } from '../model/overlays';
import type { Overlays } from '../model/overlays';
import { ranksOfThing } from '../model/picked';
import type { Sheet } from '../model/sheet';
import type { Instant } from '../work/instant';
import { OrbitPointer } from './machine_pointer';
import { nodeTip, rankTip, rankValues, sizeOf } from './machine_words';
import { AnalyticsPanel } from './machine_panel';
import { FIRST_LOOK, FIRST_STATE, ID, layoutNamed, placeOfCamera } from './machine_state';
import type { MachineState, SavedCamera } from './machine_state';
import { MachineTools, SPEED_MAX, SPEED_MIN } from './machine_tools';
import type { App, View, ViewInstance } from './view';

const FLOWS_MAX = 1500; // drawn
const ARC_PX = 12;
const PLAY_SECONDS = 12; // that the interval lasts, where no speed is chosen
const CALM_MS = 500; // between two pictures, for whoever wants little motion

const HELP =
  'The machine. Arrows turn it, with Shift they move it, plus and minus change the distance, Home shows all. Space plays, comma and period ' +
  'step. L changes the layout, N and P go through the ranks, Enter selects, Escape clears.';

class MachineView implements ViewInstance {
  private machine: Machine;
  private layout: Layout;
  private laidOut = '';
  private scene: Scene | null = null;
  private flat = ''; // why there is no WebGL
  private painted = ''; // what the scene shows
  private colored = '';
  private colors: Colors = {};
  private instant: Instant | null = null;
  private asked = ''; // the instant that was asked for last
  private asking = false;
  private overlays: Overlays = { halos: [], links: [], leftOut: 0 };
  private found = ''; // of which choice the overlays are
  private hovered = { rank: -1, node: -1 };
  private playing = 0; // of requestAnimationFrame
  private followed = '';
  private ended = false;
  private frameMs = 0;
  private mostBytes = 0; // of a rank, in and out
  private readonly ground = h('canvas', { class: 'layer', 'aria-hidden': 'true' });
  private readonly over = h('canvas', { class: 'layer', tabindex: 0, role: 'application', 'aria-label': HELP });
  private readonly banner = h('div', { class: 'banner', role: 'status', hidden: true });
  private readonly stage = h('div', { class: 'stage' }, this.ground, this.over, this.banner);
  private readonly note = h('p', { class: 'note', role: 'status' });
  private readonly play = h('button', { type: 'button', onclick: () => this.togglePlay() }, 'Play');
  private readonly clock = h('output', { class: 'facts' });
  private readonly slider = h('input', {
    type: 'range',
    class: 'wide',
    min: 0,
    max: 1000,
    step: 0.5,
    'aria-label': 'Instant',
    oninput: () => this.seek(Number(this.slider.value) / 1000),
  });
  private readonly tools: MachineTools;
  private readonly panel: AnalyticsPanel;

  constructor(
    private readonly app: App,
    private readonly host: HTMLElement,
  ) {
    const { analysis, meta, nodes } = app.session;
    this.machine = machineOf(member(analysis, 'topology'), meta.ranks, nodes);
    this.layout = layOut(this.machine, 'blueprint');
    const set = (change: Partial<MachineState>) => this.set(change);
    this.tools = new MachineTools(
      {
        state: () => this.state(),
        set,
        look: (name) => this.look(name),
        camera: () => placeOfCamera(this.orbit()),
        goTo: ({ name: _name, ...place }: SavedCamera) => set({ ...place, follow: false }),
        openMap: (file) => void this.openMap(file),
        search: (text) => this.search(text),
        fail: app.fail,
      },
      app.theme().dark,
    );
    this.panel = new AnalyticsPanel(app, () => this.machine, set);
    const row = h(
      'div',
      { class: 'tools bottom' },
      this.play,
      button('◂', 'Step back (,)', () => this.step(-1)),
      button('▸', 'Step (.)', () => this.step(1)),
      this.slider,
      this.clock,
      ...this.tools.time,
    );
    const body = h('div', { class: 'machine-body' }, this.stage, this.tools.legend, this.panel.element);
    host.append(this.tools.top, this.note, body, row);
    this.over.addEventListener('keydown', (e) => this.key(e));
    new OrbitPointer(this.over, {
      orbit: () => this.orbit(),
      height: () => this.box().height,
      move: (o) => this.move(o),
      zoom: (factor) => this.zoom(factor),
      click: (e) => this.click(e),
      hover: (e) => this.hover(e),
      leave: () => this.leave(),
    });
    void this.start();
  }

  destroy(): void {
    this.ended = true;
    cancelAnimationFrame(this.playing);
    this.app.session.giveUp(ID);
    this.scene?.destroy();
    this.host.replaceChildren();
  }

  private state(): MachineState {
    return this.app.store.of<MachineState>(ID);
  }

  private set(change: Partial<MachineState>): void {
    this.app.store.setView(ID, change as MachineState);
  }

  // ---- the scene ----

  private async start(): Promise<void> {
    try {
      if (!document.createElement('canvas').getContext('webgl2')) throw new Error('WebGL is switched off or missing');
      const make = await loadScene();
      if (!this.ended) this.scene = make(this.ground);
    } catch (error) {
      this.flat = error instanceof Error ? error.message : String(error);
      const canvas = h('canvas', { class: 'layer', 'aria-hidden': 'true' }); // the other one may have been taken
      this.ground.replaceWith(canvas);
      this.scene = makeMap(canvas, () => ({ machine: this.machine, layout: this.layout }));
      this.look('top');
    }
    this.laidOut = '';
    this.app.redraw();
  }

  private async openMap(file: File): Promise<void> {
    try {
      this.machine = machineFromMap(await file.text(), this.app.session.meta.ranks);
      this.laidOut = '';
      this.colored = '';
      this.set({ range: 0 });
      this.app.announce(`${file.name}: ${sizeOf(this.machine)}`);
    } catch (error) {
      this.app.fail(error);
    }
  }

  private orbit(): Orbit {
    const s = this.state();
    const { width, height } = this.box();
    if (!(s.range > 0)) return fit(this.layout, s.azimuth, s.elevation, width, height);
    return { target: [s.x, s.y, s.z], distance: s.range, azimuth: s.azimuth, elevation: s.elevation };
  }

  private box(): { width: number; height: number } {
    return { width: Math.max(1, this.stage.clientWidth), height: Math.max(1, this.stage.clientHeight) };
  }

  private sight(width: number, height: number): Sight {
    return { machine: this.machine, layout: this.layout, orbit: this.orbit(), width, height, theme: this.app.theme() };
  }

  private isolated(): Issue | null {
    const { isolated } = this.state();
    return isolated < 0 ? null : (issues(this.app.session.analysis)[isolated] ?? null);
  }

  update(): void {
    const s = this.state();
    this.layOutAgain(layoutNamed(s.layout));
    this.followSelection(s);
    this.findOverlays(s);
    this.colorAgain(s);
    this.askInstant(s);
    const { width, height } = this.box();
    const sight = this.sight(width, height);
    this.drawScene(sight);
    const { g } = paper(this.over, { width, height });
    this.paintOver(g, sight);
    this.tools.put(this.speed(), this.halfLife());
    this.panel.update();
    this.showBanner();
    this.showTime();
    this.showNote();
  }

  private layOutAgain(name: LayoutName): void {
    if (this.laidOut === name) return;
    this.laidOut = name;
    this.layout = layOut(this.machine, name);
    this.scene?.boxes(this.layout.boxes);
    this.colored = '';
  }

  private drawScene(s: Sight): void {
    const key = JSON.stringify([s.orbit, s.width, s.height, this.colored, devicePixelRatio]);
    if (!this.scene || key === this.painted) return;
    this.painted = key;
    const begun = performance.now();
    this.scene.draw(s.orbit, s.width, s.height);
    this.frameMs = performance.now() - begun;
  }

  private colorAgain(s: MachineState): void {
    const { selected } = this.app.store.state;
    const theme = this.app.theme();
    const key = JSON.stringify([this.laidOut, s.color, s.isolated, [...selected], theme.dark, this.scene !== null]);
    if (key === this.colored) return;
    this.colored = key;
    const isolated = this.isolated();
    const strong = isolated ? new Set(ranksOfIssue(isolated)) : selected.size > 0 ? selected : null;
    const values = rankValues(this.app.session.analysis, this.machine.ranks.length, s.color);
    this.mostBytes = values.most;
    const hue = (rank: number) => rankColor(this.machine.ranks[rank]!.node, theme.dark);
    const of = (rank: number) => (s.color === 'node' ? hue(rank) : viridis(values.share(rank)));
    this.colors = machineColors(this.machine, of, strong, theme.dark);
    this.scene?.colors(this.colors);
  }

  // ---- over the scene ----

  paint(g: CanvasRenderingContext2D, width: number, height: number): void {
    const sight = this.sight(width, height);
    paintMachine(g, sight, this.colors);
    this.paintOver(g, sight);
  }

  private paintOver(g: CanvasRenderingContext2D, s: Sight): void {
    const arcs = this.arcs();
    paintArcs(g, s, arcs);
    paintLinks(g, s, this.overlays.links);
    paintHalos(g, s, this.overlays.halos);
    paintMarks(g, s, this.app.store.state.selected, false);
    const picked = this.app.picked();
    if (picked) paintMarks(g, s, ranksOfThing(picked).slice(0, 64), true);
    if (this.hovered.rank >= 0) paintMarks(g, s, [this.hovered.rank], true);
    const labels = paintLabels(g, s);
    const { color } = this.state();
    if (color === 'wait') paintScale(g, s, 'waiting', ['0 %', '100 %']);
    if (color === 'traffic') paintScale(g, s, 'bytes', ['0', bytes(this.mostBytes)]);
    const at = projector(s.orbit, s.width, s.height);
    const isSeen = (a: { src: number; dst: number }) => curveOf(s, at, a.src, a.dst) !== null;
    Object.assign(this.app.drawn, {
      machineArcs: arcs.length,
      machineHalos: this.overlays.halos.length,
      machineLinks: this.overlays.links.filter(isSeen).length,
      machineLabels: labels,
    });
  }

  private arcs(): Arc[] {
    const t = this.instant;
    const { flows } = this.state();
    if (!t || this.isolated()) return [];
    const most = t.flows.reduce((n, f) => Math.max(n, f.bytes), 1);
    return t.flows.flatMap((f) => {
      const distance = distanceOf(this.machine, f.src, f.dst);
      if (!flows.includes(distance)) return [];
      const px = Math.max(1, ARC_PX * Math.sqrt(f.bytes / most) * Math.min(1, 40 / Math.sqrt(t.flows.length)));
      return [{ src: f.src, dst: f.dst, px, alpha: 0.12 + 0.75 * f.weight, distance }];
    });
  }

  private findOverlays(s: MachineState): void {
    const key = JSON.stringify([s.halos, s.links, s.severity, s.limit, s.isolated]);
    if (key === this.found) return;
    this.found = key;
    const { halos, links, severity, limit } = s;
    const choice = { halos, links, severity, limit, isolated: this.isolated() };
    this.overlays = overlaysOf(this.app.session.analysis, this.machine.ranks.length, choice);
  }

  private showBanner(): void {
    const issue = this.isolated();
    const key = issue ? issue.title : this.flat;
    if (this.banner.dataset.of === key) return;
    this.banner.dataset.of = key;
    this.banner.hidden = key === '';
    const clear = button('Clear', 'Show everything again (Escape)', () => this.set({ isolated: -1 }));
    if (issue) fill(this.banner, `Only: ${issue.title}. Everything else is dimmed.`, clear);
    else fill(this.banner, `This browser draws no 3-D (${this.flat}): here is a flat map of the machine instead.`);
  }

  // ---- time ----

  private halfLife(): number {
    const { from, to } = this.app.store.state;
    return this.state().halfLife || Math.max(1, (to - from) / 100);
  }

  private speed(): number {
    const { from, to } = this.app.store.state;
    const own = (to - from) / 1e9 / PLAY_SECONDS;
    return Math.min(10 ** SPEED_MAX, Math.max(10 ** SPEED_MIN, this.state().speed || own));
  }

  /** The instant shown, within the interval. */
  private at(): number {
    const { from, to } = this.app.store.state;
    const { runtime } = this.app.session.meta;
    const { at } = this.state();
    return Math.round(
      at < 0 ? (Math.max(0, from) + Math.min(to, runtime)) / 2 : Math.min(Math.max(at, from, 0), to, runtime),
    );
  }

  private askInstant(s: MachineState): void {
    const { filter, selected } = this.app.store.state;
    const only = selected.size > 0 ? [...selected] : null;
    const given = { at: this.at(), halfLife: this.halfLife(), filter, least: s.least, flows: FLOWS_MAX, only };
    const key = JSON.stringify(given);
    if (key === this.asked || this.asking) return;
    this.asked = key;
    this.asking = true;
    const done = () => {
      this.asking = false;
      this.app.redraw();
    };
    const take = (instant: Instant) => {
      this.instant = instant;
      done();
    };
    const refuse = (error: Error) => {
      done();
      this.app.fail(error);
    };
    this.app.session.ask(ID, 'instant', given, take, refuse);
  }

  private seek(share: number): void {
    const { from, to } = this.app.store.state;
    this.set({ at: Math.round(Math.max(0, from + share * (to - from))) });
  }

  private step(by: number): void {
    this.set({ at: Math.max(0, this.at() + Math.round(by * this.halfLife())) });
  }

  private stop(): void {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.play.textContent = 'Play';
  }

  private togglePlay(): void {
    if (this.playing !== 0) return this.stop();
    this.play.textContent = 'Pause';
    const { to } = this.app.store.state;
    const end = Math.min(to, this.app.session.meta.runtime);
    let at = this.at() >= end ? Math.max(0, this.app.store.state.from) : this.at();
    let last = performance.now();
    const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const frame = (now: number) => {
      if (this.ended || this.app.store.state.view !== ID) return this.stop();
      this.playing = requestAnimationFrame(frame);
      if (now - last < (isCalm ? CALM_MS : 0)) return;
      at += Math.max(0, now - last) * 1e6 * this.speed();
      last = now;
      this.set({ at: Math.round(Math.min(at, end)) });
      if (at >= end) this.stop();
    };
    this.playing = requestAnimationFrame(frame);
  }

  private showTime(): void {
    const { from, to } = this.app.store.state;
    const now = this.at();
    if (document.activeElement !== this.slider)
      this.slider.value = String(((now - from) / Math.max(1, to - from)) * 1000);
    this.slider.setAttribute('aria-valuetext', exactMoment(now));
    this.clock.textContent = exactMoment(now);
  }

  // ---- camera ----

  private look(name: string): void {
    const look = LOOKS[name];
    if (look) this.set({ ...look });
  }

  private move(o: Orbit): void {
    this.set({ ...placeOfCamera(o), follow: false });
  }

  private zoom(factor: number): void {
    const o = this.orbit();
    this.move({ ...o, distance: Math.min(1e6, Math.max(2, o.distance * factor)) });
  }

  private goToRanks(ranks: number[]): void {
    const heads = ranks.map((rank) => headOf(this.layout, rank)).filter((p) => p !== null);
    if (heads.length === 0) return;
    const middle = [0, 1, 2].map((k) => heads.reduce((sum, p) => sum + p[k]!, 0) / heads.length) as Vec;
    const reach = heads.reduce((far, p) => Math.max(far, Math.hypot(...p.map((x, k) => x - middle[k]!))), 4);
    this.set(placeOfCamera({ ...this.orbit(), target: middle, distance: reach * 4 + 8 }));
  }

  private followSelection(s: MachineState): void {
    const { selected } = this.app.store.state;
    const key = s.follow ? `${s.layout} ${[...selected].join()}` : '';
    if (key === this.followed) return;
    this.followed = key;
    if (s.follow && selected.size > 0) this.goToRanks([...selected]);
  }

  private search(text: string): void {
    const wanted = text.trim();
    if (wanted === '') return;
    const rank = /^\d+$/.test(wanted) ? Number(wanted) : -1;
    const ranks = this.machine.ranks.keys();
    const isOn = (i: number) => this.machine.nodes[this.machine.ranks[i]!.node]?.name === wanted;
    const found = rank >= 0 && rank < this.machine.ranks.length ? [rank] : [...ranks].filter(isOn);
    if (found.length === 0) return this.app.announce(`There is no rank or node ${wanted} with ranks.`);
    this.app.store.set({ selected: new Set(found) });
    this.goToRanks(found);
    this.app.announce(`${wanted}: ${plural(found.length, 'rank')}`);
  }

  // ---- pointer and keyboard ----

  private under(e: PointerEvent): { rank: number; node: number } {
    const { width, height } = this.box();
    return underPoint(this.sight(width, height), e.offsetX, e.offsetY);
  }

  private ranksOf(node: number): number[] {
    return [...this.machine.ranks.keys()].filter((rank) => this.machine.ranks[rank]!.node === node);
  }

  private click(e: PointerEvent): void {
    const { rank, node } = this.under(e);
    if (rank >= 0) this.app.store.toggleRank(rank);
    else if (node >= 0 && this.ranksOf(node).length > 0) this.app.store.toggleRanks(this.ranksOf(node));
    else this.app.store.set({ selected: new Set() });
  }

  private tip(rank: number, node: number): Tip {
    return rank < 0 ? nodeTip(this.machine, node) : rankTip(this.machine, rank, this.app.session, this.overlays.halos);
  }

  private hover(e: PointerEvent): void {
    const { rank, node } = this.under(e);
    if (rank >= 0 || node >= 0) this.app.tooltip.show(this.tip(rank, node), e.clientX, e.clientY);
    else this.app.tooltip.hide();
    if (rank !== this.hovered.rank) this.app.redraw();
    this.hovered = { rank, node };
  }

  private leave(): void {
    this.app.tooltip.hide();
    if (this.hovered.rank >= 0) this.app.redraw();
    this.hovered = { rank: -1, node: -1 };
  }

  private stepRank(by: number): void {
    const ranks = this.machine.ranks.length;
    const rank = this.hovered.rank < 0 ? (by > 0 ? 0 : ranks - 1) : (this.hovered.rank + by + ranks) % ranks;
    this.hovered = { rank, node: this.machine.ranks[rank]!.node };
    const { title, rows } = this.tip(rank, -1);
    this.app.announce(`${title}, ${rows.map(([k, v]) => `${k} ${v}`).join(', ')}`);
    this.app.redraw();
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const { height } = this.box();
    const turn = (dx: number, dy: number) =>
      this.move(e.shiftKey ? shiftedBy(this.orbit(), dx, dy, height) : turned(this.orbit(), dx, dy));
    const names = LAYOUTS.map(([name]) => name);
    const nextLayout = () => {
      const layout = names[(names.indexOf(layoutNamed(this.state().layout)) + 1) % names.length]!;
      this.set({ layout, range: 0, ...LOOKS[FIRST_LOOK[layout]] });
      this.app.announce(`layout ${layout}`);
    };
    const actions: Record<string, () => void> = {
      ArrowLeft: () => turn(-25, 0),
      ArrowRight: () => turn(25, 0),
      ArrowUp: () => turn(0, -25),
      ArrowDown: () => turn(0, 25),
      '+': () => this.zoom(0.8),
      '-': () => this.zoom(1.25),
      Home: () => this.set({ range: 0, follow: false }),
      ' ': () => this.togglePlay(),
      ',': () => this.step(-1),
      '.': () => this.step(1),
      l: nextLayout,
      n: () => this.stepRank(1),
      p: () => this.stepRank(-1),
      Enter: () => this.hovered.rank >= 0 && this.app.store.toggleRank(this.hovered.rank),
      Escape: () => {
        this.set({ isolated: -1 });
        this.app.store.set({ selected: new Set() });
      },
    };
    const act = actions[e.key];
    if (!act) return;
    e.preventDefault();
    e.stopPropagation();
    act();
  }

  // ---- words ----

  private showNote(): void {
    const t = this.instant;
    const { filter, filterText, selected } = this.app.store.state;
    const parts = [sizeOf(this.machine)];
    if (t) {
      const left =
        t.all > t.flows.length ? `, the largest ${count(t.flows.length)} of ${count(t.all)} flows drawn` : '';
      const about = t.exact ? `, ${count(t.underWay)} under way` : ', sums of the while before';
      parts.push(
        `${plural(t.ranks, t.exact ? 'live rank' : 'live point')}, ${plural(t.messages, 'message')}, ${bytes(t.bytes)}${about}${left}`,
      );
    }
    if (selected.size > 0) parts.push('traffic of the selected ranks only');
    if (isFiltering(filter)) parts.push(`only ${filterText}`);
    if (this.overlays.leftOut > 0) parts.push(`${count(this.overlays.leftOut)} marks beyond the limit`);
    const text = parts.join('; ');
    if (this.note.textContent !== text) this.note.textContent = text;
    Object.assign(this.app.drawn, {
      machineNodes: this.machine.nodes.length,
      machineFrom: this.machine.from,
      machineMessages: t?.messages ?? -1,
      machineBytes: t?.bytes ?? -1,
      machineAt: t?.at ?? -1,
      machineExact: t?.exact ?? null,
      machineLive: t?.ranks ?? -1,
      machineScene: this.scene === null ? '' : this.flat === '' ? 'webgl' : 'map',
      machineFrameMs: this.frameMs,
      machineHalfLife: duration(this.halfLife()),
    });
  }

  /** The section of the panel, if that is open; else the flows of the instant. */
  sheet(): Sheet {
    if (this.state().panel) return this.panel.sheet();
    const columns = ['src', 'dst', 'messages', 'bytes', 'weight', 'distance', 'src_node', 'dst_node'];
    const name = (rank: number) => this.machine.nodes[this.machine.ranks[rank]?.node ?? -1]?.name ?? '';
    const rows = (this.instant?.flows ?? []).map((f) => {
      const where = [distanceOf(this.machine, f.src, f.dst), name(f.src), name(f.dst)];
      return [f.src, f.dst, f.messages, f.bytes, f.weight, ...where];
    });
    const note = `${this.note.textContent ?? ''}; at ${exactMoment(this.at())}`;
    return {
      title: 'Machine: traffic of an instant',
      note,
      columns: columns.map((x) => ({ name: x, title: x.replace('_', ' ') })),
      rows,
    };
  }
}

export const machine: View = {
  id: ID,
  title: 'Machine',
  state: (): MachineState => ({ ...FIRST_STATE }),
  create: (app, host) => new MachineView(app, host),
};
