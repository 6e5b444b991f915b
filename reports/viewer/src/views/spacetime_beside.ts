// spacetime_beside.ts - the second run beside the first in the space-time view: its own events, epochs, verdicts and lines, under the same filters, at
// the same scale and scrolled with it. In: the run that is open to compare with.  Out: a canvas with the name of the run above it.
import { fill, h, paper } from '../draw/dom';
import type { Counts } from '../layout/spacetime_frame';
import type { SectionQuery } from '../model/section';
import type { Session } from '../work/session';
import { Run } from './spacetime_run';
import type { SpaceState } from './spacetime_state';
import { Pointer } from './spacetime_pointer';
import type { Actions as PointerActions } from './spacetime_pointer';
import type { App } from './view';

const ASKER = 'spacetime beside';
const HELP = 'Space-time diagram of the second run: it moves with the first one, and has the same keys.';

/** What both runs need room for: at one scale a place in one is the same place in the other. */
export function most(a: Counts, b: Counts | null): Counts {
  return b
    ? { lines: Math.max(a.lines, b.lines), levels: Math.max(a.levels, b.levels), digits: Math.max(a.digits, b.digits) }
    : a;
}

export interface Actions extends Pick<PointerActions, 'move' | 'wheel' | 'area'> {
  hover(run: Run, canvas: HTMLCanvasElement, x: number, y: number): void;
  pick(run: Run, event: number): void;
  key(run: Run, e: KeyboardEvent): void;
}

export class Beside {
  readonly element = h('div', { class: 'space-side', hidden: true });
  private readonly canvas = h('canvas', { class: 'layer', tabindex: 0, role: 'application', 'aria-label': HELP });
  private readonly stage = h('div', { class: 'stage' }, this.canvas);
  private readonly title = h('b', {});
  private readonly note = h('span', { class: 'note', role: 'status' });
  private shown = ''; // what the element holds
  private own: Run | null = null;

  constructor(
    private readonly app: App,
    act: Actions,
  ) {
    const { move, wheel, area } = act;
    new Pointer(this.canvas, this.stage, {
      move,
      wheel,
      area,
      hover: (x, y) => this.own && act.hover(this.own, this.canvas, x, y),
      leave: () => app.tooltip.hide(),
      click: (x, y) => this.own && act.pick(this.own, this.own.at(x, y)),
    });
    this.canvas.addEventListener('keydown', (e) => this.own && act.key(this.own, e));
  }

  destroy(): void {
    this.own?.giveUp();
  }

  /** Null: nothing is drawn beside the first. */
  get run(): Run | null {
    return this.element.hidden ? null : this.own;
  }

  get counts(): Counts | null {
    return this.run?.diagram ?? null;
  }

  /** Ask for it and arrange it. */
  prepare(s: SpaceState, query: SectionQuery): void {
    this.element.hidden = !s.beside;
    const other = s.beside ? this.app.other() : null;
    if (other !== (this.own?.session ?? null)) this.begin(other);
    this.fillIn(s.beside);
    const { own } = this;
    if (!own) return;
    own.ask(query);
    own.check();
    own.arrange(s);
    if (own.section) own.picked = own.find(s.besideEvent);
    if (own.diagram && this.note.textContent !== own.note) this.note.textContent = own.note;
  }

  private begin(other: Session | null): void {
    this.own?.giveUp();
    this.own = other && new Run(this.app, other, ASKER, (counting) => this.came(counting));
  }

  private came(counting: string): void {
    if (counting !== '') this.note.textContent = counting;
    else this.app.redraw();
  }

  private fillIn(isOn: boolean): void {
    const name = this.own?.session.name;
    const key = !isOn ? '' : (name ?? 'none');
    if (key === this.shown) return;
    this.shown = key;
    this.title.textContent = name ?? '';
    if (this.own) fill(this.element, h('p', { class: 'space-name' }, this.title, ' ', this.note), this.stage);
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

  /** counts: what both need room for. What is drawn is said in the page's `drawn`. */
  draw(s: SpaceState, counts: Counts): void {
    const { run } = this;
    if (!run) return;
    const { g, width, height } = paper(this.canvas);
    if (!run.paint(g, width, height, s, counts)) return;
    const { section, diagram, frame } = run;
    Object.assign(this.app.drawn, {
      besideEvents: diagram!.drawn,
      besideEpochs: section!.epochs.map((e) => e.number),
      besideLines: diagram!.lines,
      besideStep: frame!.step,
      besideFrom: frame!.from,
      besidePicked: run.nameOf(run.picked),
      besideVerdicts: run.isChecked ? section!.messages.count : 0,
      besideSuper: run.merge(s.budget)?.runs.length ?? 0,
      besideSpot: run.spotOf(section!.messages.send[0] ?? -1),
    });
  }
}
