// windows.ts - the run in the equal parts that the analysis made of it: time of all ranks by class, waiting hatched apart, and the
// phases below. A click or Enter shows a part in all views.
import { CLASSES, WAITING_STYLE, css } from '../layout/color';
import { bytes, count, duration, percent } from '../layout/format';
import { list, num } from '../model/analysis';
import type { Json } from '../model/analysis';
import type { Phase } from '../model/phases';
import { FONT, h, paper } from './dom';
import type { Theme } from './dom';
import type { Tooltip } from './tooltip';

export interface Part {
  from: number; // ns
  to: number;
  useful: number; // seconds of all ranks
  classes: number[]; // by class of call
  wait: number;
  numbers: [string, string][];
}

const CLASS_KEYS = ['', 'p2p', 'wait', 'collective', 'sync', 'rma', 'io', 'other'];

export function timeParts(analysis: Json): Part[] {
  return list(analysis, 'time_windows').map((x) => {
    const n = (key: string) => num(x, key) ?? 0;
    return {
      from: n('start_s') * 1e9,
      to: n('end_s') * 1e9,
      useful: n('useful_s'),
      classes: CLASS_KEYS.map((key) => (key === '' ? 0 : (num(x, 'classes_s', key) ?? 0))),
      wait: n('wait_s'),
      numbers: [
        ['calls', count(n('events'))],
        ['messages', `${count(n('transfers'))} (${bytes(n('bytes'))})`],
        ['collectives', count(n('collectives') + n('barriers'))],
      ],
    };
  });
}

export interface ChartOwner {
  tooltip: Tooltip;
  theme(): Theme;
  announce(text: string): void;
  show(from: number, to: number): void;
}

const FOOT = 18;

export class WindowsChart {
  readonly element: HTMLCanvasElement;
  private at = -1;

  constructor(
    private readonly parts: Part[],
    private readonly phases: Phase[],
    private readonly owner: ChartOwner,
  ) {
    this.element = h('canvas', {
      class: 'windows',
      tabindex: 0,
      role: 'application',
      'aria-label': 'Time of all ranks by class of call, in parts of the run. Left and right move, Enter shows a part',
    });
    this.element.addEventListener('pointermove', (e) => this.hover(e));
    this.element.addEventListener('pointerleave', () => ((this.at = -1), owner.tooltip.hide(), this.update()));
    this.element.addEventListener('click', () => this.open());
    this.element.addEventListener('keydown', (e) => this.key(e));
  }

  update(): void {
    const { g, width, height } = paper(this.element);
    const theme = this.owner.theme();
    const foot = height - (this.phases.length > 0 ? FOOT : 0);
    const step = width / Math.max(1, this.parts.length);
    this.parts.forEach((part, i) => {
      const all = part.useful + part.classes.reduce((a, b) => a + b, 0) || 1;
      let y = foot;
      const put = (seconds: number, color: string) => {
        const tall = (seconds / all) * foot;
        g.fillStyle = color;
        g.fillRect(i * step, y - tall, Math.max(1, step - 0.5), tall);
        y -= tall;
      };
      for (let c = CLASSES.length - 1; c >= 1; c--) put(part.classes[c]!, css(CLASSES[c]!.color));
      put(part.useful, theme.idle);
      const mpi = part.classes.reduce((a, b) => a + b, 0);
      g.fillStyle = css(WAITING_STYLE.color);
      const tall = (Math.min(part.wait, mpi) / all) * foot;
      g.fillRect(i * step, foot - tall, Math.max(1, step / 3), tall);
      if (i === this.at) {
        g.strokeStyle = theme.text;
        g.lineWidth = 1.5;
        g.strokeRect(i * step, 1, step, foot - 2);
      }
    });
    this.drawPhases(g, width, foot);
  }

  private drawPhases(g: CanvasRenderingContext2D, width: number, foot: number): void {
    const theme = this.owner.theme();
    const end = Math.max(...this.parts.map((p) => p.to), ...this.phases.map((p) => p.to));
    g.font = FONT;
    g.textBaseline = 'middle';
    g.textAlign = 'left';
    this.phases.forEach(({ name, from, to }, i) => {
      const [x1, x2] = [(from / end) * width, (to / end) * width];
      g.fillStyle = i % 2 === 0 ? theme.idle : theme.line;
      g.fillRect(x1, foot + 2, x2 - x1, FOOT - 2);
      g.fillStyle = theme.text;
      if (g.measureText(name).width < x2 - x1 - 8) g.fillText(name, x1 + 4, foot + FOOT / 2 + 1);
    });
  }

  private words(part: Part): { title: string; rows: [string, string][] } {
    const mpi = part.classes.reduce((a, b) => a + b, 0);
    const all = part.useful + mpi || 1;
    const classes = part.classes.flatMap((s, c): [string, string][] =>
      s > 0 ? [[CLASSES[c]!.name, percent(s / all)]] : [],
    );
    return {
      title: `${duration(part.from)} to ${duration(part.to)}`,
      rows: [
        ['outside MPI', percent(part.useful / all)],
        ...classes,
        ['waiting', percent(part.wait / all)],
        ...part.numbers,
      ],
    };
  }

  private hover(e: PointerEvent): void {
    this.at = Math.min(this.parts.length - 1, Math.floor((e.offsetX / this.element.clientWidth) * this.parts.length));
    const part = this.parts[this.at];
    if (part) this.owner.tooltip.show(this.words(part), e.clientX, e.clientY);
    this.update();
  }

  private open(): void {
    const part = this.parts[this.at];
    if (part) this.owner.show(part.from, part.to);
  }

  private key(e: KeyboardEvent): void {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (e.ctrlKey || e.metaKey || e.altKey || (step === undefined && e.key !== 'Enter')) return;
    e.preventDefault();
    if (step === undefined) return this.open();
    this.at = Math.max(0, Math.min(this.parts.length - 1, this.at + step));
    const part = this.parts[this.at];
    const words = part && this.words(part);
    if (words) this.owner.announce(`${words.title}: ${words.rows.map(([k, v]) => `${k} ${v}`).join(', ')}`);
    this.update();
  }
}
