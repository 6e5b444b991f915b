// machine.ts - the machine that the trace ran on, in three dimensions: switches, nodes, packages, cores, the ranks on them; the messages of
// an instant as arcs, played as slowly as one likes; what the analysis found as halos and links. In: model/machine.ts, work/instant.ts,
// model/overlays.ts.  Out: a WebGL canvas, which Three draws (without it a flat map), and a 2D canvas over it.
import { fill, h, paper } from '../draw/dom';
import { curveOf, paintArcs, paintKnots } from '../draw/machine_arcs';
import {
  paintHalos,
  paintLabels,
  paintLinks,
  paintMachine,
  paintMarks,
  paintScale,
  underPoint,
} from '../draw/machine_paint';
import type { Sight } from '../draw/machine_arcs';
import { makeMap } from '../draw/map';
import { loadScene } from '../draw/scene_port';
import type { Colors, Scene } from '../draw/scene_port';
import { button } from '../draw/tools';
import type { Tip } from '../draw/tooltip';
import { hex, rankColor, viridis } from '../layout/color';
import { bytes, duration, plural } from '../layout/format';
import { machineColors } from '../layout/machine_colors';
import { layOut } from '../layout/machine';
import type { Layout, LayoutName } from '../layout/machine';
import { LOOKS, projector } from '../layout/orbit';
import { at as member, issues } from '../model/analysis';
import type { Issue } from '../model/analysis';
import { isFiltering } from '../model/filter';
import { machineFromMap, machineOf } from '../model/machine';
import type { Machine } from '../model/machine';
import { overlaysOf, ranksOfIssue } from '../model/overlays';
import type { Overlays } from '../model/overlays';
import { ranksOfThing } from '../model/picked';
import type { Sheet } from '../model/sheet';
import { Camera } from './machine_camera';
import type { Box } from './machine_camera';
import { HELP, pressed } from './machine_keys';
import { Pace } from './machine_pace';
import { AnalyticsPanel } from './machine_panel';
import { OrbitPointer } from './machine_pointer';
import { FIRST_LOOK, FIRST_STATE, ID, layoutNamed, placeOfCamera } from './machine_state';
import type { MachineState, SavedCamera } from './machine_state';
import { Playback } from './machine_time';
import { MachineTools } from './machine_tools';
import { InstantTraffic } from './machine_traffic';
import { nodeTip, rankTip, rankValues, sizeOf } from './machine_words';
import type { App, View, ViewInstance } from './view';

class MachineView implements ViewInstance {
  private machine: Machine;
  private layout: Layout;
  private nboxes = 0;
  private laidOut = '';
  private scene: Scene | null = null;
  private flat = ''; // why there is no WebGL
  private painted = ''; // what the scene shows
  private colored = '';
  private colors: Colors = {};
  private overlays: Overlays = { halos: [], links: [], leftOut: 0 };
  private found = ''; // of which choice the overlays are
  private hovered = { rank: -1, node: -1 };
  private ended = false;
  private frameMs = 0;
  private mostBytes = 0; // of a rank, in and out
  private readonly ground = h('canvas', { class: 'layer', 'aria-hidden': 'true' });
  private readonly over = h('canvas', { class: 'layer', tabindex: 0, role: 'application', 'aria-label': HELP });
  private readonly banner = h('div', { class: 'banner', role: 'status', hidden: true });
  private readonly stage = h('div', { class: 'stage' }, this.ground, this.over, this.banner);
  private readonly note = h('p', { class: 'note', role: 'status' });
  private readonly traffic: InstantTraffic;
  private readonly camera: Camera;
  private readonly time: Playback;
  private readonly tools: MachineTools;
  private readonly panel: AnalyticsPanel;
  private readonly pace: Pace;

  constructor(
    private readonly app: App,
    private readonly host: HTMLElement,
  ) {
    const { analysis, meta, nodes } = app.session;
    this.machine = machineOf(member(analysis, 'topology'), meta.ranks, nodes);
    this.layout = layOut(this.machine, 'blueprint');
    const set = (change: Partial<MachineState>) => this.set(change);
    const state = () => this.state();
    this.traffic = new InstantTraffic(app);
    this.pace = new Pace(() => app.redraw());
    this.camera = new Camera({ state, set, layout: () => this.laidOutNow(), box: () => this.box() });
    this.tools = new MachineTools(
      {
        state,
        set,
        look: (name) => this.camera.look(name),
        camera: () => placeOfCamera(this.camera.orbit()),
        goTo: ({ name: _name, ...place }: SavedCamera) => set({ ...place, follow: false }),
        openMap: (file) => void this.openMap(file),
        search: (text) => this.search(text),
        fail: app.fail,
      },
      app.theme().dark,
    );
    this.panel = new AnalyticsPanel(app, () => this.machine, set);
    this.time = new Playback(app, state, set, this.tools.time);
    const body = h('div', { class: 'machine-body' }, this.stage, this.tools.legend, this.panel.element);
    host.append(this.tools.top, this.note, body, this.time.row);
    this.listen();
    void this.start();
  }

  private listen(): void {
    const { camera } = this;
    this.over.addEventListener('keydown', (e) =>
      pressed(e, {
        camera,
        time: this.time,
        height: () => this.box().height,
        layout: () => this.state().layout,
        setLayout: (name) => this.setLayout(name),
        showAll: () => this.set({ range: 0, follow: false }),
        stepRank: (by) => this.stepRank(by),
        toggleRank: () => this.hovered.rank >= 0 && this.app.store.toggleRank(this.hovered.rank),
        clear: () => this.clear(),
      }),
    );
    new OrbitPointer(this.over, {
      orbit: () => camera.orbit(),
      height: () => this.box().height,
      move: (o) => camera.move(o),
      zoom: (factor) => camera.zoom(factor),
      click: (e) => this.click(e),
      hover: (e) => this.hover(e),
      leave: () => this.leave(),
    });
  }

  destroy(): void {
    this.ended = true;
    this.time.stop();
    this.pace.stop();
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
      this.camera.look('top');
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

  private box(): Box {
    return { width: Math.max(1, this.stage.clientWidth), height: Math.max(1, this.stage.clientHeight) };
  }

  private sight(width: number, height: number): Sight {
    return {
      machine: this.machine,
      layout: this.layout,
      orbit: this.camera.orbit(),
      width,
      height,
      theme: this.app.theme(),
    };
  }

  private isolated(): Issue | null {
    const { isolated } = this.state();
    return isolated < 0 ? null : (issues(this.app.session.analysis)[isolated] ?? null);
  }

  update(): void {
    const s = this.state();
    this.layOutAgain(layoutNamed(s.layout));
    this.camera.follow(s, this.app.store.state.selected);
    this.findOverlays(s);
    this.colorAgain(s);
    this.traffic.ask(s, this.time.at(), this.time.halfLife());
    this.panel.update(); // it takes room from the stage
    const { width, height } = this.box();
    const sight = this.sight(width, height);
    this.drawScene(sight);
    const { g } = paper(this.over, { width, height });
    this.paintOver(g, sight);
    this.tools.put(this.time.speed(), this.time.halfLife());
    this.showBanner();
    this.time.show();
    this.showNote();
  }

  /** That of the state, also before it is drawn. */
  private laidOutNow(): Layout {
    this.layOutAgain(layoutNamed(this.state().layout));
    return this.layout;
  }

  private layOutAgain(name: LayoutName): void {
    if (this.laidOut === name) return;
    this.laidOut = name;
    this.layout = layOut(this.machine, name);
    this.nboxes = Object.values(this.layout.boxes).reduce((n, list) => n + list.length / 6, 0);
    this.scene?.boxes(
      this.layout.boxes,
      Uint32Array.from(this.machine.ranks, (rank) => Math.max(0, rank.node)),
    );
    this.colored = '';
  }

  private drawScene(s: Sight): void {
    const coarse = this.pace.next(s.orbit, this.nboxes, this.scene?.isSoftware ?? false);
    const key = JSON.stringify([s.orbit, s.width, s.height, this.colored, devicePixelRatio, coarse]);
    if (!this.scene || key === this.painted) return;
    this.painted = key;
    const begun = performance.now();
    this.scene.draw(s.orbit, s.width, s.height, coarse);
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
    const of = (rank: number) => {
      const share = values.share(rank);
      return s.color === 'node' ? hue(rank) : Number.isNaN(share) ? hex(theme.idle) : viridis(share);
    };
    this.colors = machineColors(this.machine, of, strong, theme.dark);
    this.app.drawn.machineDimmed = strong ? this.machine.ranks.length - strong.size : 0;
    this.scene?.colors(this.colors);
  }

  // ---- over the scene ----

  paint(g: CanvasRenderingContext2D, width: number, height: number): void {
    const sight = this.sight(width, height);
    paintMachine(g, sight, this.colors);
    this.paintOver(g, sight);
  }

  private paintOver(g: CanvasRenderingContext2D, s: Sight): void {
    const state = this.state();
    const arcs = this.isolated() ? [] : this.traffic.arcs(state, this.machine);
    const knots = this.isolated() ? [] : this.traffic.knots(state, this.machine);
    paintArcs(g, s, arcs);
    paintKnots(g, s, knots);
    paintLinks(g, s, this.overlays.links);
    paintHalos(g, s, this.overlays.halos);
    paintMarks(g, s, this.app.store.state.selected, false);
    const picked = this.app.picked();
    if (picked) paintMarks(g, s, ranksOfThing(picked).slice(0, 64), true);
    if (this.hovered.rank >= 0) paintMarks(g, s, [this.hovered.rank], true);
    const labels = paintLabels(g, s);
    const { color } = state;
    if (color === 'wait') paintScale(g, s, 'waiting', ['0 %', '100 %']);
    if (color === 'traffic') paintScale(g, s, 'bytes', ['0', bytes(this.mostBytes)]);
    const at = projector(s.orbit, s.width, s.height);
    const isSeen = (a: { src: number; dst: number }) => curveOf(s, at, a.src, a.dst) !== null;
    Object.assign(this.app.drawn, {
      machineArcs: arcs.length,
      machineKnots: knots.map((x) => x.text),
      machineHalos: this.overlays.halos.length,
      machineLinks: this.overlays.links.filter(isSeen).length,
      machineLabels: labels,
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

  // ---- search ----

  private search(text: string): void {
    const wanted = text.trim();
    if (wanted === '') return;
    const rank = /^\d+$/.test(wanted) ? Number(wanted) : -1;
    const ranks = this.machine.ranks.keys();
    const isOn = (i: number) => this.machine.nodes[this.machine.ranks[i]!.node]?.name === wanted;
    const found = rank >= 0 && rank < this.machine.ranks.length ? [rank] : [...ranks].filter(isOn);
    if (found.length === 0) return this.app.announce(`There is no rank or node ${wanted} with ranks.`);
    this.app.store.set({ selected: new Set(found) });
    this.camera.goToRanks(found);
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

  private setLayout(layout: LayoutName): void {
    this.set({ layout, range: 0, ...LOOKS[FIRST_LOOK[layout]] });
    this.app.announce(`layout ${layout}`);
  }

  private clear(): void {
    this.set({ isolated: -1 });
    this.app.store.set({ selected: new Set() });
  }

  // ---- words ----

  private showNote(): void {
    const t = this.traffic.instant;
    const { filter, filterText, selected } = this.app.store.state;
    const parts = [sizeOf(this.machine), ...this.traffic.words(this.state(), this.machine)];
    if (selected.size > 0) parts.push('traffic of the selected ranks only');
    if (isFiltering(filter)) parts.push(`only ${filterText}`);
    if (this.overlays.leftOut > 0) parts.push(`${plural(this.overlays.leftOut, 'mark')} beyond the limit`);
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
      machineCollectives: t?.collectives ?? -1,
      machineTransfers: t?.transfers ?? -1,
      machineScene: this.scene === null ? '' : this.flat === '' ? 'webgl' : 'map',
      machineCoarse: this.pace.coarse,
      machineFrameMs: this.frameMs,
      machineHalfLife: duration(this.time.halfLife()),
    });
  }

  /** The section of the panel, if that is open; else the flows of the instant. */
  sheet(): Sheet {
    if (this.state().panel) return this.panel.sheet();
    return this.traffic.sheet(this.machine, this.note.textContent ?? '', this.time.at());
  }
}

export const machine: View = {
  id: ID,
  title: 'Machine',
  state: (): MachineState => ({ ...FIRST_STATE }),
  create: (app, host) => new MachineView(app, host),
};
