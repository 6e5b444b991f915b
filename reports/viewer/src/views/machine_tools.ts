// machine_tools.ts - the controls of the machine view: layout, camera, playback, overlays, saved cameras, maps. In: the view's state.
// Out: changes of it.
import { h } from '../draw/dom';
import { button, checkBox, choice, save } from '../draw/tools';
import type { Control } from '../draw/tools';
import { CLASS_STYLES, DISTANCE_STYLES } from '../draw/machine_arcs';
import { HALO_STYLES, LINK_STYLES } from '../draw/machine_paint';
import { LAYOUTS } from '../layout/machine';
import type { LayoutName } from '../layout/machine';
import { LOOKS } from '../layout/orbit';
import { css } from '../layout/color';
import { bytes, duration } from '../layout/format';
import { DISTANCES } from '../model/machine';
import { HALOS, LINKS } from '../model/overlays';
import { FLOW_KINDS } from '../model/instant';
import { FIRST_LOOK, camerasFrom, camerasJson, layoutNamed, readCamera, withCamera } from './machine_state';
import type { MachineState, SavedCamera } from './machine_state';

/** What the controls do to the view. */
export interface Machinist {
  state(): MachineState;
  set(change: Partial<MachineState>): void;
  look(name: string): void;
  camera(): Partial<MachineState>; // where it is now
  goTo(camera: SavedCamera): void;
  openMap(file: File): void;
  search(text: string): void;
  fail(error: unknown): void;
}

export const SPEED_MIN = -6; // powers of ten
export const SPEED_MAX = 3;

export function speedText(speed: number): string {
  return `${speed.toPrecision(2).replace(/\.?0+(e|$)/, '$1')} ×`;
}

/** A slider over powers; put(0): by itself. */
function powerSlider(
  label: string,
  title: string,
  [base, least, most]: [number, number, number],
  show: (value: number) => string,
  change: (value: number) => void,
): Control<number> {
  const text = h('output', {});
  const input = h('input', {
    type: 'range',
    min: least,
    max: most,
    step: 0.05,
    'aria-label': title,
    oninput: () => change(base ** Number(input.value)),
  });
  return {
    element: h('label', { class: 'tool', title }, label, input, text),
    put(value) {
      text.textContent = show(value);
      input.setAttribute('aria-valuetext', show(value));
      if (document.activeElement !== input) input.value = String(value > 0 ? Math.log(value) / Math.log(base) : least);
    },
  };
}

/** A dashed line of a colour, or a sign. */
function sample(color: string, dash: readonly number[]): HTMLElement {
  const canvas = h('canvas', { width: 44, height: 12, class: 'sample', 'aria-hidden': 'true' });
  const g = canvas.getContext('2d')!;
  g.strokeStyle = color;
  g.lineWidth = 4;
  g.setLineDash(dash.map((x) => 2 * x));
  g.beginPath();
  g.moveTo(0, 6);
  g.lineTo(44, 6);
  g.stroke();
  return canvas;
}

const SIGNS: Record<string, string> = { issue: '◎', pattern: '◌', root: '◇', top: '□' };

export class MachineTools {
  readonly top = h('div', { class: 'tools' });
  readonly legend = h('details', { class: 'machine-legend' });
  readonly time: HTMLElement[] = []; // of the row below
  private readonly puts: ((s: MachineState, speed: number, halfLife: number) => void)[] = [];

  constructor(
    private readonly m: Machinist,
    dark: boolean,
  ) {
    this.addTop();
    this.addTime();
    this.addLegend(dark);
  }

  put(speed: number, halfLife: number): void {
    const s = this.m.state();
    for (const put of this.puts) put(s, speed, halfLife);
  }

  private addTop(): void {
    const { m } = this;
    const layout = choice('layout', 'Layout of the machine', LAYOUTS, (name) => {
      m.set({ layout: name, range: 0 });
      m.look(FIRST_LOOK[name as LayoutName]);
    });
    const colors = [
      ['wait', 'waiting'],
      ['traffic', 'bytes in and out'],
      ['node', 'node'],
    ] as const;
    const color = choice('ranks by', 'Colour of ranks', colors, (name) => m.set({ color: name }));
    const looks = Object.keys(LOOKS).map((name) => button(name, `Look: ${name}`, () => m.look(name)));
    const reset = button('reset', 'All of it, as at the beginning (Home)', () => {
      m.set({ range: 0, follow: false });
      m.look(FIRST_LOOK[layoutNamed(m.state().layout)]);
    });
    const follow = checkBox('follow', 'The camera follows the selected ranks', (on) => m.set({ follow: on }));
    const find = h('input', {
      type: 'search',
      class: 'seek',
      placeholder: 'rank or node',
      'aria-label': 'Search a rank or a node',
      onchange: () => m.search(find.value),
    });
    const panel = checkBox('analytics', 'What the analysis says, in a panel', (on) => m.set({ panel: on }));
    const group = h('span', { class: 'group' }, ...looks, reset);
    this.top.append(layout.element, color.element, group, follow.element, this.saved(), find, panel.element);
    this.puts.push((s) => {
      layout.put(s.layout);
      color.put(s.color);
      follow.put(s.follow);
      panel.put(s.panel);
    });
  }

  /** Cameras with names, and files. */
  private saved(): HTMLElement {
    const { m } = this;
    const cameras = h('input', {
      type: 'file',
      accept: '.json',
      hidden: true,
      onchange: () => void this.read(cameras, 'cameras'),
    });
    const map = h('input', {
      type: 'file',
      accept: '.json',
      class: 'map-file',
      hidden: true,
      onchange: () => void this.read(map, 'map'),
    });
    const menu = h('select', { class: 'cameras', 'aria-label': 'Cameras and maps', onchange: () => act(menu.value) });
    const act = (what: string) => {
      menu.value = '';
      const s = m.state();
      if (what === 'save') this.save();
      if (what === 'export') save('cameras.json', new Blob([camerasJson(s.saved)], { type: 'application/json' }));
      if (what === 'import') cameras.click();
      if (what === 'map') map.click();
      if (what === 'forget') m.set({ saved: [] });
      const camera = what.startsWith('go ') ? readCamera(s.saved[Number(what.slice(3))] ?? '') : null;
      if (camera) m.goTo(camera);
    };
    let shown = '?';
    this.puts.push((s) => {
      if (shown === s.saved.join()) return;
      shown = s.saved.join();
      const names = s.saved.map((text, i) => [`go ${i}`, readCamera(text)?.name ?? '?'] as const);
      const rest = [
        ['save', 'save this camera…'],
        ['export', 'cameras to a file'],
        ['import', 'cameras from a file…'],
        ['forget', 'forget all cameras'],
        ['map', 'open a map of the machine…'],
      ] as const;
      menu.replaceChildren(
        ...[['', 'cameras'] as const, ...names, ...rest].map(([value, text]) => h('option', { value }, text)),
      );
    });
    return h('span', { class: 'group' }, menu, cameras, map);
  }

  private save(): void {
    const s = this.m.state();
    const name = prompt('Name of this camera', `camera ${s.saved.length + 1}`);
    if (!name) return;
    const { azimuth, elevation, range, x, y, z } = { ...s, ...this.m.camera() };
    this.m.set({
      saved: withCamera(s.saved, { name, layout: layoutNamed(s.layout), azimuth, elevation, range, x, y, z }),
    });
  }

  private async read(input: HTMLInputElement, what: 'cameras' | 'map'): Promise<void> {
    const file = input.files?.[0];
    input.value = '';
    if (!file) return;
    if (what === 'map') return this.m.openMap(file);
    try {
      const more = camerasFrom(await file.text());
      this.m.set({ saved: [...new Set([...this.m.state().saved, ...more])] });
    } catch (error) {
      this.m.fail(error);
    }
  }

  private addTime(): void {
    const { m } = this;
    const speed = powerSlider('speed', 'Speed of playback', [10, SPEED_MIN, SPEED_MAX], speedText, (x) =>
      m.set({ speed: x }),
    );
    const half = powerSlider('half-life', 'Half-life of traffic', [10, 1, 10], duration, (x) =>
      m.set({ halfLife: Math.round(x) }),
    );
    this.time.push(speed.element, half.element);
    this.puts.push((_, now, halfLife) => {
      speed.put(now);
      half.put(halfLife);
    });
  }

  private toggles(
    title: string,
    of: 'flows' | 'kinds' | 'halos' | 'links',
    rows: [string, HTMLElement, string][],
  ): HTMLElement {
    const boxes = rows.map(([kind, sign, name]) => {
      const flip = (on: boolean) => {
        const others = this.m.state()[of].filter((x) => x !== kind);
        this.m.set({ [of]: on ? [...others, kind] : others });
      };
      const box = checkBox('', name, flip);
      box.element.append(sign, name);
      this.puts.push((s) => box.put(s[of].includes(kind)));
      return box.element;
    });
    return h('fieldset', {}, h('legend', {}, title), ...boxes);
  }

  /** The legend is the switches. */
  private addLegend(dark: boolean): void {
    const tone = (style: { light: [number, number, number]; dark: [number, number, number] }) =>
      css(dark ? style.dark : style.light);
    const sign = (kind: string, color: string) => {
      const element = h('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[kind] ?? '');
      element.style.color = color;
      return element;
    };
    const severities = ['low', 'medium', 'high'].map((x) => [x, `${x} and above`] as const);
    const severity = choice('issues', 'Least severity of issues', severities, (x) => this.m.set({ severity: x }));
    const limits = ['5', '20', '100', '1000'].map((x) => [x, x] as const);
    const limit = choice('at most', 'How many of a kind', limits, (x) => this.m.set({ limit: Number(x) }));
    const sizes = [0, 1024, 65536, 1048576].map(
      (x) => [String(x), x === 0 ? 'any size' : `${bytes(x)} and more`] as const,
    );
    const least = choice('messages', 'Least size of messages', sizes, (x) => this.m.set({ least: Number(x) }));
    const arcs = [
      ['distance', 'distance'],
      ['class', 'class'],
    ] as const;
    const by = choice('arcs by', 'What the colours of arcs tell', arcs, (x) => this.m.set({ arcs: x }));
    this.legend.append(
      h('summary', {}, 'Overlays'),
      by.element,
      this.toggles(
        'traffic',
        'flows',
        DISTANCES.map((x) => [x, sample(tone(DISTANCE_STYLES[x]), DISTANCE_STYLES[x].dash), x]),
      ),
      this.toggles(
        'class',
        'kinds',
        FLOW_KINDS.map((x) => [x, sample(tone(CLASS_STYLES[x]), CLASS_STYLES[x].dash), CLASS_STYLES[x].name]),
      ),
      this.toggles(
        'halos',
        'halos',
        HALOS.map((x) => [x, sign(x, tone(HALO_STYLES[x])), HALO_STYLES[x].name]),
      ),
      this.toggles(
        'links',
        'links',
        LINKS.map((x) => [x, sample(tone(LINK_STYLES[x]), LINK_STYLES[x].dash), LINK_STYLES[x].name]),
      ),
      severity.element,
      limit.element,
      least.element,
    );
    this.puts.push((s) => {
      by.put(s.arcs);
      severity.put(s.severity);
      limit.put(String(s.limit));
      least.put(String(s.least));
    });
  }
}
