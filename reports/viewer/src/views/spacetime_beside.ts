// spacetime_beside.ts - the second run beside the first in the space-time view: its own events, epochs and lines, under the same filters, at the
// same scale and scrolled with it. In: the run that is open to compare with.  Out: a canvas with the name of the run above it.
import { fill, h, paper } from '../draw/dom';
import { marginsOf, paintSpacetime } from '../draw/spacetime';
import { percent } from '../layout/format';
import { diagramOf, levelsOf } from '../layout/spacetime';
import type { Diagram, Levels } from '../layout/spacetime';
import { frameOf } from '../layout/spacetime_frame';
import type { Counts, Frame } from '../layout/spacetime_frame';
import { eventAtPoint } from '../layout/spacetime_pick';
import { eventRows, eventTitle, noteOf } from '../layout/spacetime_words';
import type { SectionQuery, Section } from '../model/section';
import type { Session } from '../work/session';
import { choiceOf, nodeLines, zoomOf } from './spacetime_state';
import type { SpaceState } from './spacetime_state';
import { Pointer } from './spacetime_pointer';
import type { Actions as PointerActions } from './spacetime_pointer';
import type { App } from './view';

const ASKER = 'spacetime beside';
const HELP = 'Space-time diagram of the second run: it moves with the first one.';

/** What both runs need room for: at one scale a place in one is the same place in the other. */
export function most(a: Counts, b: Counts | null): Counts {
  return b
    ? { lines: Math.max(a.lines, b.lines), levels: Math.max(a.levels, b.levels), digits: Math.max(a.digits, b.digits) }
    : a;
}

export class Beside {
  readonly element = h('div', { class: 'space-side', hidden: true });
  private readonly canvas = h('canvas', { class: 'layer', role: 'img', 'aria-label': HELP });
  private readonly stage = h('div', { class: 'stage' }, this.canvas);
  private readonly title = h('b', {});
  private readonly note = h('span', { class: 'note', role: 'status' });
  private session: Session | null = null;
  private section: Section | null = null;
  private levels: Levels | null = null;
  private diagram: Diagram | null = null;
  private frame: Frame | null = null;
  private nodes: ReturnType<typeof nodeLines> = null;
  private asked = '';
  private arranged = '';
  private shown = ''; // what the element holds
  private picked = -1;

  constructor(
    private readonly app: App,
    follow: Pick<PointerActions, 'move' | 'wheel' | 'area'>,
  ) {
    new Pointer(this.canvas, this.stage, {
      ...follow,
      hover: (x, y) => this.hover(x, y),
      leave: () => app.tooltip.hide(),
      click: (x, y) => this.pick(x, y),
    });
  }

  destroy(): void {
    this.session?.giveUp(ASKER);
  }

  /** Null: nothing is drawn beside the first. */
  get counts(): Counts | null {
    return this.element.hidden || !this.diagram ? null : this.diagram;
  }

  /** Ask for it and arrange it; what it shows is said in the page's `drawn`. */
  prepare(s: SpaceState, query: SectionQuery): void {
    this.element.hidden = !s.beside;
    const other = s.beside ? this.app.other() : null;
    if (other !== this.session) this.begin(other);
    this.fillIn(s.beside);
    if (!other) return;
    const key = `${query.from} ${query.to}`;
    if (key !== this.asked) {
      this.asked = key;
      other.ask(ASKER, 'section', query, (x) => this.take(x), this.app.fail);
    }
    this.arrange(s, other);
  }

  private begin(other: Session | null): void {
    this.session?.giveUp(ASKER);
    this.session = other;
    [this.section, this.levels, this.diagram, this.frame] = [null, null, null, null];
    [this.asked, this.arranged, this.picked] = ['', '', -1];
    this.nodes = other ? nodeLines(other) : null;
  }

  private fillIn(isOn: boolean): void {
    const key = !isOn ? '' : (this.session?.name ?? 'none');
    if (key === this.shown) return;
    this.shown = key;
    this.title.textContent = this.session?.name ?? '';
    if (this.session) fill(this.element, h('p', { class: 'space-name' }, this.title, ' ', this.note), this.stage);
    else if (isOn) fill(this.element, this.chooser());
    else fill(this.element);
  }

  private chooser(): HTMLElement {
    const before = String(this.app.store.of('compare').other ?? '');
    const words =
      before === '' ? 'Drop a second .mpix here, or' : `It was beside ${before}: drop that one here again, or`;
    const input = h('input', {
      type: 'file',
      accept: '.mpix',
      'aria-label': 'Second run',
      onchange: () => input.files?.[0] && this.app.openOther(input.files[0]),
    });
    return h(
      'div',
      { class: 'empty' },
      h('p', {}, words),
      h('label', { class: 'choose' }, 'choose the second run', input),
    );
  }

  private take(s: Section): void {
    if (!s.whole) {
      this.note.textContent = `Counting events from the beginning: ${percent(s.counted)} of the run`;
      return;
    }
    this.section = s;
    this.levels = levelsOf(s);
    [this.arranged, this.picked] = ['', -1];
    this.app.redraw();
  }

  private arrange(s: SpaceState, other: Session): void {
    const { section, levels } = this;
    if (!section || !levels) return;
    const { selected } = this.app.store.state;
    const { zoom: _z, spread: _s, along: _a, across: _c, event: _e, ...looks } = s;
    const key = JSON.stringify([looks, [...selected]]);
    if (key === this.arranged) return;
    this.arranged = key;
    const choice = choiceOf(s, other, selected, s.by === 'node' ? (this.nodes?.of ?? null) : null, null);
    this.diagram = diagramOf(section, levels, other.meta.ranks, choice, s.mode === 'time');
    this.note.textContent = noteOf(section, this.diagram, other.meta.runtime);
  }

  /** counts: what both need room for. */
  draw(s: SpaceState, counts: Counts): void {
    if (this.element.hidden || !this.session) return;
    const { g, width, height } = paper(this.canvas);
    if (!this.section || !this.diagram) return;
    const margins = marginsOf(s.upright, s.budget > 0);
    const frame = frameOf({ width, height }, margins, s.upright, counts, zoomOf(s));
    this.frame = frame;
    const { section, diagram, nodes } = this;
    const isNode = s.by === 'node' && nodes !== null;
    const label = (ranks: number[]) => (isNode ? nodes.names[nodes.of[ranks[0]!]!]! : `P${ranks[0]}`);
    const { selected } = this.app.store.state;
    paintSpacetime(g, {
      section,
      diagram,
      frame,
      theme: this.app.theme(),
      labels: diagram.ranksOf.map(label),
      marked: new Set([...selected].map((rank) => diagram.lineOf[rank] ?? -1)),
      picked: this.picked,
      runOf: null,
      runNames: [],
      verdictOf: () => null,
    });
    Object.assign(this.app.drawn, {
      besideEvents: diagram.drawn,
      besideEpochs: section.epochs.map((e) => e.number),
      besideLines: diagram.lines,
      besideStep: frame.step,
      besideFrom: frame.from,
    });
  }

  private at(x: number, y: number): number {
    const { section, diagram, frame } = this;
    return section && diagram && frame ? eventAtPoint(section, diagram, frame, x, y) : -1;
  }

  private rows(event: number): [string, string][] {
    const { session } = this;
    const names = {
      comm: (id: number) => session?.comms.get(id) ?? `communicator ${id}`,
      site: (id: number) => session?.callSites.get(id)?.place ?? '',
    };
    return eventRows(this.section!, event, names).filter(([, value]) => value !== '');
  }

  private hover(x: number, y: number): void {
    const event = this.at(x, y);
    if (event < 0) return this.app.tooltip.hide();
    const box = this.canvas.getBoundingClientRect();
    const tip = { title: eventTitle(this.section!, event), rows: this.rows(event) };
    this.app.tooltip.show(tip, box.left + x, box.top + y);
  }

  private pick(x: number, y: number): void {
    this.picked = this.at(x, y);
    if (this.picked >= 0) {
      const words = this.rows(this.picked).map(([k, v]) => `${k} ${v}`);
      this.app.announce(`${this.session!.name}: ${eventTitle(this.section!, this.picked)}, ${words.join(', ')}`);
    }
    this.app.redraw();
  }
}
