// spacetime_beside.ts - a further run beside the first in the space-time view: its own events, epochs, verdicts and lines, under the same filters, at
// the same scale and scrolled with it. In: a run that is open to compare with.  Out: a canvas with key and name of the run above it.
import { fill, h, paper } from '../draw/dom';
import { button } from '../draw/tools';
import { RUNS_MAX, RUN_KEYS } from '../layout/run_keys';
import type { RunKey } from '../layout/run_keys';
import type { Counts } from '../layout/spacetime_frame';
import type { SectionQuery } from '../model/section';
import type { Session } from '../work/session';
import { Run } from './spacetime_run';
import type { SpaceState } from './spacetime_state';
import { Pointer } from './spacetime_pointer';
import type { Actions as PointerActions } from './spacetime_pointer';
import type { App } from './view';

const HELP = 'Space-time diagram of a further run: it moves with the first one, and has the same keys.';

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

/** Its key and its name, as they stand above a run. */
export function nameLine(key: RunKey, name: string): HTMLElement[] {
  const letter = h('span', { class: 'space-key' }, key.letter);
  letter.style.border = `3px ${key.line} ${key.color}`;
  return [letter, h('b', {}, name)];
}

/** Opens a run more. */
export class Adder {
  readonly element = h('div', { class: 'space-side', hidden: true });
  readonly more = h('label', { class: 'choose', hidden: true }, 'add a run', this.input());
  private readonly words = h('p', {});

  constructor(private readonly app: App) {
    fill(
      this.element,
      h('div', { class: 'empty' }, this.words, h('label', { class: 'choose' }, 'choose the second run', this.input())),
    );
  }

  private input(): HTMLInputElement {
    const input: HTMLInputElement = h('input', {
      type: 'file',
      accept: '.mpix',
      'aria-label': 'Second run',
      onchange: () => input.files?.[0] && this.app.openOther(input.files[0]),
    });
    return input;
  }

  put(s: SpaceState): void {
    const n = this.app.others().length;
    this.element.hidden = !s.beside || n > 0;
    this.more.hidden = !s.beside || n === 0 || n >= RUNS_MAX - 1;
    const before = s.runs.join(', ');
    this.words.textContent =
      before === ''
        ? 'Drop a second .mpix here, or'
        : `It was beside ${before}: drop ${s.runs.length > 1 ? 'those' : 'that one'} here again, or`;
  }
}

export class Beside {
  readonly element: HTMLElement;
  readonly run: Run;
  private readonly canvas = h('canvas', { class: 'layer', tabindex: 0, role: 'application', 'aria-label': HELP });
  private readonly stage = h('div', { class: 'stage' }, this.canvas);
  private readonly title = h('span', {});
  private readonly note = h('span', { class: 'note', role: 'status' });
  private named = -1;

  constructor(
    private readonly app: App,
    session: Session,
    act: Actions,
  ) {
    const { move, wheel, area } = act;
    this.run = new Run(app, session, 'spacetime beside', (counting) => this.came(counting));
    const { run, canvas } = this;
    const close = button('×', `Close ${session.name}`, () => app.closeOther(session));
    this.element = h(
      'div',
      { class: 'space-side' },
      h('p', { class: 'space-name' }, this.title, ' ', this.note, close),
      this.stage,
    );
    new Pointer(canvas, this.stage, {
      move,
      wheel,
      area,
      hover: (x, y) => act.hover(run, canvas, x, y),
      leave: () => app.tooltip.hide(),
      click: (x, y) => act.pick(run, run.at(x, y)),
    });
    canvas.addEventListener('keydown', (e) => act.key(run, e));
  }

  destroy(): void {
    this.run.giveUp();
    this.element.remove();
  }

  private came(counting: string): void {
    if (counting !== '') this.note.textContent = counting;
    else this.app.redraw();
  }

  /** Ask for it and arrange it; k: which of the further runs. */
  prepare(s: SpaceState, query: SectionQuery, k: number): void {
    const { run } = this;
    if (this.named !== k) fill(this.title, ...nameLine(RUN_KEYS[k + 1]!, run.session.name));
    this.named = k;
    run.ask(query);
    run.check();
    run.arrange(s);
    if (run.section) run.picked = k === s.besideRun ? run.find(s.besideEvent) : -1;
    if (run.diagram && this.note.textContent !== run.note) this.note.textContent = run.note;
  }

  /** counts: what all need room for. What is drawn is returned, for the page's `drawn`. */
  draw(s: SpaceState, counts: Counts): Record<string, unknown> {
    const { run } = this;
    const { g, width, height } = paper(this.canvas);
    if (!run.paint(g, width, height, s, counts)) return {};
    const { section, diagram, frame } = run;
    return {
      besideEvents: diagram!.drawn,
      besideEpochs: section!.epochs.map((e) => e.number),
      besideLines: diagram!.lines,
      besideStep: frame!.step,
      besideFrom: frame!.from,
      besidePicked: run.nameOf(run.picked),
      besideVerdicts: run.isChecked ? section!.messages.count : 0,
      besideSuper: run.merge(s.budget)?.runs.length ?? 0,
      besideSpot: run.spotOf(section!.messages.send[0] ?? -1),
    };
  }
}
