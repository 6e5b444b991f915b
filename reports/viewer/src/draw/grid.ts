// grid.ts - a table of any length, of which only the rows in sight are elements. Who owns it is asked for rows and told what is
// chosen. Arrow keys, Page Up and Down, Home and End move; Enter opens; a heading sorts.
import { fill, h } from './dom';

export const ROW_HEIGHT = 24;
const BEYOND = 12; // rows above and below those in sight

export interface GridColumn {
  key: string;
  title: string;
  isNumber?: boolean;
  width: number; // CSS pixels, at least
  sorts?: boolean;
}

export interface GridRows {
  total: number;
  first: number;
  rows: string[][];
  sort: string;
  descending: boolean;
  picked: number; // row; -1: none
}

export interface GridOwner {
  label: string;
  /** Rows that are in sight now. */
  want(first: number, count: number): void;
  sort?(key: string): void;
  /** A row is gone to. */
  pick(row: number): void;
  /** A row is meant: Enter, or a double click. */
  open(row: number): void;
}

let grids = 0;

export class Grid {
  readonly element: HTMLElement;
  private readonly head = h('div', { class: 'grid-row grid-head', role: 'row' });
  private readonly body = h('div', { class: 'grid-body', role: 'rowgroup' });
  private readonly id = `grid${++grids}`;
  private columns: GridColumn[] = [];
  private shown: GridRows = { total: 0, first: 0, rows: [], sort: '', descending: false, picked: -1 };
  private current = 0;
  private wanted = '';

  constructor(private readonly owner: GridOwner) {
    this.element = h(
      'div',
      { class: 'grid', role: 'grid', tabindex: 0, 'aria-label': owner.label },
      this.head,
      this.body,
    );
    this.element.addEventListener('scroll', () => this.look());
    this.element.addEventListener('keydown', (e) => this.key(e));
    // rows are made anew by a click: the second of a double click is known by its number
    this.body.addEventListener('click', (e) => this.click(e, e.detail === 2));
  }

  setColumns(columns: GridColumn[]): void {
    this.columns = columns;
    this.element.style.setProperty('--columns', columns.map((c) => `minmax(${c.width}px, ${c.width}fr)`).join(' '));
    this.element.style.setProperty('--least', `${columns.reduce((sum, c) => sum + c.width, 0)}px`);
    this.current = 0;
    this.wanted = '';
    this.element.scrollTop = 0;
  }

  put(rows: GridRows): void {
    const { picked: before } = this.shown;
    this.shown = rows;
    this.current = Math.max(0, Math.min(this.current, rows.total - 1));
    this.element.setAttribute('aria-rowcount', String(rows.total + 1));
    this.body.style.height = `${rows.total * ROW_HEIGHT}px`; // before it scrolls: no further than there are rows
    if (rows.picked >= 0 && rows.picked !== before) {
      this.current = rows.picked;
      this.reveal();
    }
    this.drawHead();
    this.drawRows();
  }

  /** Ask for what is in sight, if that is not what was asked for last. */
  look(): void {
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW_HEIGHT) - BEYOND);
    const count = Math.ceil(this.element.clientHeight / ROW_HEIGHT) + 2 * BEYOND;
    const key = `${first} ${count}`;
    if (key === this.wanted) return;
    this.wanted = key;
    this.owner.want(first, count);
  }

  private drawHead(): void {
    const { sort, descending } = this.shown;
    const key = `${sort} ${descending} ${this.columns.map((c) => c.key).join()}`;
    if (this.head.dataset.key === key) return;
    this.head.dataset.key = key;
    const cells = this.columns.map((c) => {
      const order = c.key !== sort ? 'none' : descending ? 'descending' : 'ascending';
      const mark = order === 'none' ? '' : descending ? ' ▾' : ' ▴';
      const text = `${c.title}${mark}`;
      const isButton = this.owner.sort !== undefined && c.sorts !== false;
      const act = { type: 'button', title: `Sort by ${c.title}`, onclick: () => this.owner.sort?.(c.key) };
      return h(
        'div',
        { role: 'columnheader', class: c.isNumber ? 'n' : '', 'aria-sort': order },
        isButton ? h('button', act, text) : text,
      );
    });
    fill(this.head, ...cells);
  }

  private drawRows(): void {
    const { first, rows, picked } = this.shown;
    const elements = rows.map((cells, k) => {
      const row = first + k;
      const element = h(
        'div',
        {
          class: `grid-row${row === this.current ? ' current' : ''}${row === picked ? ' picked' : ''}`,
          role: 'row',
          id: `${this.id}-${row}`,
          'aria-rowindex': row + 2,
          'aria-selected': String(row === picked),
        },
        ...cells.map((text, i) =>
          h('div', { role: 'gridcell', class: this.columns[i]?.isNumber ? 'n' : '', title: text }, text),
        ),
      );
      element.style.top = `${row * ROW_HEIGHT}px`;
      return element;
    });
    fill(this.body, ...elements);
    const isHere = this.current >= first && this.current < first + rows.length;
    if (isHere) this.element.setAttribute('aria-activedescendant', `${this.id}-${this.current}`);
    else this.element.removeAttribute('aria-activedescendant');
  }

  private reveal(): void {
    const { element } = this;
    const [top, bottom] = [this.current * ROW_HEIGHT, (this.current + 2) * ROW_HEIGHT]; // the head covers one
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight;
  }

  private go(row: number): void {
    if (this.shown.total === 0) return;
    this.current = Math.max(0, Math.min(this.shown.total - 1, row));
    this.reveal();
    this.drawRows();
    this.look();
    this.owner.pick(this.current);
  }

  private click(e: MouseEvent, opens: boolean): void {
    const row = (e.target as Element).closest('.grid-row');
    const n = row ? Number(row.id.slice(this.id.length + 1)) : NaN;
    if (!Number.isInteger(n)) return;
    if (opens) this.owner.open(n);
    else this.go(n);
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target !== this.element) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW_HEIGHT) - 2);
    const moves: Record<string, number> = {
      ArrowDown: this.current + 1,
      ArrowUp: this.current - 1,
      PageDown: this.current + page,
      PageUp: this.current - page,
      Home: 0,
      End: this.shown.total - 1,
    };
    const next = moves[e.key];
    if (next === undefined && e.key !== 'Enter') return;
    e.preventDefault();
    if (next !== undefined) this.go(next);
    else this.owner.open(this.current);
  }
}
