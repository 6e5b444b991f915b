// wait_tree.ts - the tree of waiting, a strip for each row: ranks from left to right, the lighter the longer they waited. Rows open and
// close as in any tree; ranks of a strip are selected by a click, calls of a row are filtered by Enter.
import { css, viridis } from '../layout/color';
import { count, duration } from '../layout/format';
import type { WaitRow, WaitTree } from '../model/wait_tree';
import { fill, h, paper } from './dom';
import type { Tooltip } from './tooltip';

export interface TreeOwner {
  tooltip: Tooltip;
  announce(text: string): void;
  selectRanks(ranks: number[]): void;
  filter(row: WaitRow): void;
  ranks: number;
}

export class WaitTreeTable {
  readonly element: HTMLElement;
  private readonly open = new Set(['all']);
  private at = 0;
  private readonly strips: (() => void)[] = [];

  constructor(
    private readonly tree: WaitTree,
    private readonly owner: TreeOwner,
  ) {
    this.element = h('div', {
      class: 'wait-tree',
      role: 'treegrid',
      tabindex: 0,
      'aria-label':
        'Waiting by state and call site, across ranks. Left and right close and open, Enter filters by a row',
      onkeydown: (e: KeyboardEvent) => this.key(e),
    });
    this.draw();
  }

  /** The size has changed, or the theme. */
  update(): void {
    for (const strip of this.strips) strip();
  }

  private shown(): WaitRow[] {
    return this.tree.rows.filter((r) => r.parent === '' || (this.open.has(r.parent) && this.open.has('all')));
  }

  private ranksOf(column: number): number[] {
    const { each } = this.tree;
    const first = column * each;
    return Array.from({ length: Math.min(this.owner.ranks, first + each) - first }, (_, k) => first + k);
  }

  private draw(): void {
    this.strips.length = 0;
    const head = h(
      'div',
      { class: 'wait-row head', role: 'row' },
      ...['state, call site', 'time', 'times', `ranks 0 to ${this.owner.ranks - 1}`, 'worst'].map((text) =>
        h('div', { role: 'columnheader' }, text),
      ),
    );
    fill(this.element, head, ...this.shown().map((row, n) => this.row(row, n)));
    for (const strip of this.strips) requestAnimationFrame(strip);
  }

  private row(row: WaitRow, n: number): HTMLElement {
    const hasBelow = this.tree.rows.some((r) => r.parent === row.key);
    const isOpen = this.open.has(row.key);
    const mark = hasBelow ? (isOpen ? '▾ ' : '▸ ') : '';
    const strip = h('canvas', { 'aria-hidden': 'true' });
    this.strips.push(() => this.paint(strip, row));
    strip.addEventListener('pointermove', (e) => this.hover(e, strip, row));
    strip.addEventListener('pointerleave', () => this.owner.tooltip.hide());
    strip.addEventListener('click', (e) => this.owner.selectRanks(this.ranksOf(this.columnAt(e, strip))));
    const part = row.isPart ? ' (in no sum)' : '';
    return h(
      'div',
      {
        class: `wait-row level${row.level}${n === this.at ? ' current' : ''}`,
        role: 'row',
        'aria-level': row.level + 1,
        'aria-expanded': hasBelow ? String(isOpen) : undefined,
        onclick: (e: MouseEvent) => this.click(e, n, strip, hasBelow),
      },
      h('div', { role: 'gridcell', title: row.name + part }, `${mark}${row.name}${part}`),
      h('div', { role: 'gridcell', class: 'n' }, duration(row.seconds * 1e9)),
      h('div', { role: 'gridcell', class: 'n' }, count(row.count)),
      h('div', { role: 'gridcell', class: 'strip' }, strip),
      h(
        'div',
        { role: 'gridcell', class: 'n' },
        row.worst < 0 ? '' : `${row.worst}: ${duration(row.worstSeconds * 1e9)}`,
      ),
    );
  }

  private paint(canvas: HTMLCanvasElement, row: WaitRow): void {
    const { g, width, height } = paper(canvas);
    const most = row.byColumn.reduce((a, b) => Math.max(a, b), 0);
    const each = width / this.tree.columns;
    row.byColumn.forEach((seconds, i) => {
      if (!(seconds > 0)) return;
      g.fillStyle = css(viridis(0.06 + (0.94 * seconds) / most));
      const [x1, x2] = [Math.floor(i * each), Math.ceil((i + 1) * each)]; // no gaps of parts of pixels
      g.fillRect(x1, 0, x2 - x1 - (each > 6 ? 1 : 0), height);
    });
  }

  private columnAt(e: MouseEvent, strip: HTMLElement): number {
    const share = e.offsetX / Math.max(1, strip.clientWidth);
    return Math.max(0, Math.min(this.tree.columns - 1, Math.floor(share * this.tree.columns)));
  }

  private hover(e: PointerEvent, strip: HTMLElement, row: WaitRow): void {
    const column = this.columnAt(e, strip);
    const ranks = this.ranksOf(column);
    const who = ranks.length === 1 ? `Rank ${ranks[0]}` : `Ranks ${ranks[0]}–${ranks[ranks.length - 1]}`;
    const waited = duration(row.byColumn[column]! * 1e9);
    this.owner.tooltip.show({ title: who, rows: [[row.name, waited]] }, e.clientX, e.clientY);
  }

  /** Rows are made anew by a click: the second of a double click is known by its number. */
  private click(e: MouseEvent, n: number, strip: HTMLElement, toggles: boolean): void {
    if (e.target === strip) return;
    if (e.detail === 2) this.owner.filter(this.shown()[n]!);
    else this.go(n, toggles);
  }

  private go(n: number, toggles: boolean): void {
    this.at = n;
    const row = this.shown()[n];
    if (row && toggles) this.toggle(row, !this.open.has(row.key));
    this.draw();
  }

  private toggle(row: WaitRow, on: boolean): void {
    if (on) this.open.add(row.key);
    else this.open.delete(row.key);
  }

  private key(e: KeyboardEvent): void {
    const rows = this.shown();
    const row = rows[this.at];
    if (!row || e.ctrlKey || e.metaKey || e.altKey) return;
    const actions: Record<string, () => void> = {
      ArrowDown: () => (this.at = Math.min(rows.length - 1, this.at + 1)),
      ArrowUp: () => (this.at = Math.max(0, this.at - 1)),
      ArrowRight: () => this.toggle(row, true),
      ArrowLeft: () => this.toggle(row, false),
      Enter: () => this.owner.filter(row),
    };
    const action = actions[e.key];
    if (!action) return;
    e.preventDefault();
    action();
    this.draw();
    const now = this.shown()[this.at];
    if (now) this.owner.announce(`${now.name}, ${duration(now.seconds * 1e9)}, worst rank ${now.worst}`);
  }
}
