// matrix.ts - who sends how much to whom, or is waited for how long: a cell per pair of ranks or compute nodes, logarithmic, with sums
// of rows and columns. In: traffic, of the whole run or the interval shown.  Out: one 2D canvas.
import { FONT, h, paper } from '../draw/dom';
import { choice } from '../draw/tools';
import { css, rankColor, viridis } from '../layout/color';
import { bytes, count, duration, plural } from '../layout/format';
import { counted } from '../layout/unrecorded_words';
import { isFiltering } from '../model/filter';
import { joinPoints, rankPoints, ranksOf } from '../model/points';
import type { Points } from '../model/points';
import type { Cell, Sheet } from '../model/sheet';
import type { Traffic, TrafficKind } from '../model/traffic';
import type { App, View, ViewInstance } from './view';

type Measure = 'bytes' | 'messages';

interface MatrixState {
  [key: string]: string;
  kind: string; // TrafficKind
  measure: string;
}

const ID = 'matrix';

/** What can be shown, in words. */
export const KINDS: [TrafficKind, string][] = [
  ['whole', 'point to point, whole run'],
  ['p2p', 'point to point, interval shown'],
  ['collective', 'collectives, whole run'],
  ['rma', 'one-sided, whole run'],
  ['late', 'late time, interval shown'],
];

/** It is told by single calls, others by totals. */
export function isOfCalls({ kind }: Traffic): boolean {
  return kind === 'p2p' || kind === 'late';
}

/** What its numbers are of. */
const NOUNS = { p2p: 'message', whole: 'message', collective: 'operation', rma: 'operation', late: 'wait' };

export function amountInWords({ kind, exact }: Traffic, amount: number, n: number): string {
  const text = kind === 'late' ? duration(amount) : bytes(amount);
  return `${exact ? '' : '≈ '}${text} in ${plural(n, NOUNS[kind])}`;
}

const joined = (...notes: string[]) => notes.filter((x) => x !== '').join('; ');

/** What of the traffic is not there, in words. */
export function caveat(t: Traffic): string {
  const left =
    t.leftOut > 0 ? `${count(t.leftOut)} more ${t.kind === 'late' ? 'rows' : 'pairs'} are not in the analysis` : '';
  const whole = t.kind === 'late' && t.wholeRun ? 'of the whole run: whom each call site waited for longest' : '';
  const ends = !t.exact && t.kind !== 'late' ? 'approximate at the ends of the interval' : '';
  return joined(whole, ends, left);
}

/** Traffic as rows, most first. */
export function trafficSheet(t: Traffic | null, title: string, note: string): Sheet {
  const isLate = t?.kind === 'late';
  const amount = (v: Cell) => (isLate ? duration(Number(v)) : bytes(Number(v)));
  const columns = [
    { name: 'from', title: 'from' },
    { name: 'to', title: 'to' },
    { name: 'number', title: 'number' },
    { name: isLate ? 'late_ns' : 'bytes', title: isLate ? 'late time' : 'bytes', show: amount },
  ];
  const point = (n: number) => (t!.points.what === 'rank' ? n : t!.points.long[n]!);
  const pairs = t ? [...t.bytes].sort((a, b) => b[1] - a[1]) : [];
  const rows = pairs.map(([key, value]): Cell[] => {
    const [src, dst] = [Math.floor(key / t!.count), key % t!.count];
    return [point(src), point(dst), t!.messages.get(key) ?? 0, value];
  });
  return { title, note, columns, rows };
}

const CELLS_MAX = 512; // cells a side; more ranks share one

/** Sums per pair of points: ranks or compute nodes or, beyond CELLS_MAX, several of them in a row. */
interface Grid {
  n: number;
  points: Points;
  value: Float64Array;
  max: number;
  min: number; // smallest above 0
  rowSum: Float64Array;
  columnSum: Float64Array;
  note: string;
}

function emptyGrid(points: Points, note: string): Grid {
  const n = points.first.length;
  return {
    n,
    points,
    value: new Float64Array(n * n),
    max: 0,
    min: Infinity,
    rowSum: new Float64Array(n),
    columnSum: new Float64Array(n),
    note,
  };
}

function seal(g: Grid): Grid {
  g.value.forEach((v, i) => {
    if (v <= 0) return;
    g.max = Math.max(g.max, v);
    g.min = Math.min(g.min, v);
    g.rowSum[Math.floor(i / g.n)]! += v;
    g.columnSum[i % g.n]! += v;
  });
  return g;
}

class Matrix implements ViewInstance {
  private grid: Grid;
  private traffic: Traffic | null = null;
  private readonly controls: (() => void)[] = [];
  private shown = '';
  private size = { width: 100, height: 100 }; // that was drawn last
  private cell: { row: number; column: number } | null = null;
  private readonly canvas = h('canvas', {
    class: 'layer',
    tabindex: 0,
    role: 'application',
    'aria-label': 'Communication matrix: arrow keys move between cells',
  });
  private readonly stage = h('div', { class: 'stage' }, this.canvas);
  private readonly note = h('span', { class: 'note', role: 'status' });

  constructor(
    private readonly app: App,
    private readonly host: HTMLElement,
  ) {
    this.grid = emptyGrid(rankPoints(1, 1), '');
    host.append(this.tools(), this.stage);
    this.canvas.addEventListener('pointermove', (e) => this.hover(e));
    this.canvas.addEventListener('pointerleave', () => this.leave());
    this.canvas.addEventListener('click', () => this.select());
    this.canvas.addEventListener('keydown', (e) => this.key(e));
  }

  destroy(): void {
    this.app.session.giveUp(ID);
    this.host.replaceChildren();
  }

  private state(): MatrixState {
    return this.app.store.of<MatrixState>(ID);
  }

  private get kind(): TrafficKind {
    return this.state().kind as TrafficKind;
  }

  private get measure(): Measure {
    return this.state().measure as Measure;
  }

  private tools(): HTMLElement {
    const set = (change: Partial<MatrixState>) => this.app.store.setView(ID, change as MatrixState);
    const kind = choice('traffic', 'Traffic', KINDS, (value) => set({ kind: value }));
    const measures = [
      ['bytes', 'bytes, or time'],
      ['messages', 'number'],
    ] as const;
    const measure = choice('measure', 'Measure', measures, (value) => set({ measure: value }));
    this.controls.push(() => {
      kind.put(this.kind);
      measure.put(this.measure);
    });
    return h('div', { class: 'tools' }, kind.element, measure.element, this.note);
  }

  sheet(): Sheet {
    return trafficSheet(this.traffic, 'Communication matrix', this.note.textContent ?? '');
  }

  private take(t: Traffic): void {
    this.traffic = t;
    this.regrid();
    this.app.redraw();
  }

  private regrid(): void {
    const t = this.traffic;
    if (!t) return;
    const per = Math.ceil(t.count / CELLS_MAX);
    const of = t.points.what === 'node' ? 'between compute nodes' : '';
    const grid = emptyGrid(joinPoints(t.points, per), joined(of, caveat(t)));
    for (const [key, value] of this.measure === 'bytes' ? t.bytes : t.messages)
      grid.value[Math.floor(Math.floor(key / t.count) / per) * grid.n + Math.floor((key % t.count) / per)]! += value;
    this.grid = seal(grid);
    this.cell = null;
  }

  private refresh(): void {
    const { from, to, filter } = this.app.store.state;
    const { kind } = this;
    const inInterval = kind === 'p2p' || kind === 'late';
    const asks = JSON.stringify([kind, inInterval ? [from, to, filter] : 0]);
    const key = `${asks} ${this.measure}`;
    if (key === this.shown) return;
    const isSame = this.shown.startsWith(asks);
    this.shown = key;
    if (isSame) return this.regrid();
    this.app.session.ask(ID, 'traffic', { from, to, kind, filter }, (t) => this.take(t), this.app.fail);
  }

  private layout(): { left: number; top: number; size: number; sum: number } {
    const { width, height } = this.size;
    const sum = Math.min(90, width * 0.14);
    const size = Math.max(40, Math.min(width - 68 - sum - 104, height - 44 - sum));
    const left = Math.max(68, (width - size - sum - 130) / 2);
    return { left, top: 38, size, sum };
  }

  update(): void {
    this.refresh();
    for (const put of this.controls) put();
    this.draw();
  }

  private shade(v: number): number {
    const { min, max } = this.grid;
    return max > min ? 0.08 + 0.92 * (Math.log(v / min) / Math.log(max / min)) : 1;
  }

  private draw(): void {
    const { g, width, height } = paper(this.canvas);
    this.paint(g, width, height);
    this.updateNote();
  }

  paint(g: CanvasRenderingContext2D, width: number, height: number): void {
    this.size = { width, height };
    const { left, top, size, sum } = this.layout();
    const theme = this.app.theme();
    const { n, value } = this.grid;
    const cell = size / n;
    const gap = cell > 8 ? 1 : 0;
    g.fillStyle = theme.idle;
    g.globalAlpha = 0.35;
    g.fillRect(left, top, size, size);
    g.globalAlpha = 1;
    for (let r = 0; r < n; r++)
      for (let c = 0; c < n; c++) {
        const v = value[r * n + c]!;
        if (v <= 0) continue;
        g.fillStyle = css(viridis(this.shade(v)));
        g.fillRect(left + c * cell, top + r * cell, Math.max(1, cell - gap), Math.max(1, cell - gap));
      }
    this.drawLabels(g, left, top, cell);
    this.drawSums(g, left, top, size, sum, cell);
    this.drawScale(g, left + size + sum + 24, top, Math.min(180, size));
    if (this.cell) this.drawCursor(g, left, top, size, cell);
  }

  private drawLabels(g: CanvasRenderingContext2D, left: number, top: number, cell: number): void {
    const theme = this.app.theme();
    const label = (i: number) => this.grid.points.short[i]!.slice(0, 7);
    const stepOf = (room: number) => 2 ** Math.max(0, Math.ceil(Math.log2(room / cell)));
    g.font = FONT;
    g.fillStyle = theme.dim;
    g.textBaseline = 'middle';
    g.textAlign = 'right';
    const step = stepOf(22);
    for (let i = 0; i < this.grid.n; i += step) g.fillText(label(i), left - 8, top + (i + 0.5) * cell);
    g.textAlign = 'center';
    let widest = 0;
    for (let i = 0; i < this.grid.n; i += step) widest = Math.max(widest, g.measureText(label(i)).width);
    const across = Math.max(step, stepOf(widest + 10));
    for (let i = 0; i < this.grid.n; i += across) g.fillText(label(i), left + (i + 0.5) * cell, top - 10);
    g.textAlign = 'left';
    g.fillText('to →', left, top - 28);
    g.save();
    g.translate(left - 58, top);
    g.rotate(-Math.PI / 2);
    g.textAlign = 'right';
    g.fillText('← from', 0, 0);
    g.restore();
  }

  private drawSums(
    g: CanvasRenderingContext2D,
    left: number,
    top: number,
    size: number,
    sum: number,
    cell: number,
  ): void {
    const { rowSum, columnSum, n } = this.grid;
    const theme = this.app.theme();
    const most = Math.max(1e-9, ...rowSum, ...columnSum);
    const thick = Math.max(1, cell - (cell > 4 ? 1 : 0));
    for (let i = 0; i < n; i++) {
      g.fillStyle = n > 64 ? theme.dim : css(rankColor(this.hue(i), theme.dark), 0.85);
      g.fillRect(left + size + 8, top + i * cell, (rowSum[i]! / most) * (sum - 12), thick);
      g.fillRect(left + i * cell, top + size + 8, thick, (columnSum[i]! / most) * (sum - 12));
    }
    g.fillStyle = theme.dim;
    g.textAlign = 'left';
    g.fillText('sent', left + size + 8, top - 10);
    g.textAlign = 'right';
    g.fillText('received', left - 8, top + size + 16);
  }

  private drawScale(g: CanvasRenderingContext2D, x: number, y: number, height: number): void {
    const theme = this.app.theme();
    const { min, max } = this.grid;
    if (max <= 0) return;
    for (let i = 0; i < height; i++) {
      g.fillStyle = css(viridis(0.08 + 0.92 * (1 - i / height)));
      g.fillRect(x, y + i, 12, 1);
    }
    const text = (v: number) => this.text(v);
    g.fillStyle = theme.dim;
    g.textAlign = 'left';
    g.fillText(text(max), x + 18, y + 6);
    if (min < max) {
      g.fillText(text(Math.sqrt(min * max)), x + 18, y + height / 2);
      g.fillText(text(min), x + 18, y + height - 4);
    }
  }

  private drawCursor(g: CanvasRenderingContext2D, left: number, top: number, size: number, cell: number): void {
    const { row, column } = this.cell!;
    const theme = this.app.theme();
    g.fillStyle = theme.text;
    g.globalAlpha = 0.1;
    g.fillRect(left, top + row * cell, size, cell);
    g.fillRect(left + column * cell, top, cell, size);
    g.globalAlpha = 1;
    g.strokeStyle = theme.text;
    g.lineWidth = 1.5;
    g.strokeRect(left + column * cell - 0.5, top + row * cell - 0.5, Math.max(cell, 3), Math.max(cell, 3));
  }

  private text(v: number): string {
    if (this.measure !== 'bytes') return count(v);
    return this.kind === 'late' ? duration(v) : bytes(v);
  }

  private updateNote(): void {
    const total = this.grid.rowSum.reduce((a, b) => a + b, 0);
    const { filter, filterText } = this.app.store.state;
    const filtered = isFiltering(filter) && this.kind === 'p2p' ? `; only ${filterText}` : '';
    const notes = `${this.grid.note ? `; ${this.grid.note}` : ''}${filtered}`;
    const t = this.traffic;
    const sum = (of: Map<number, number>) => [...of.values()].reduce((a, b) => a + b, 0);
    const n = t ? sum(t.messages) : 0;
    const all =
      t && t.messages.size > 0 ? amountInWords(t, sum(t.bytes), n) + notes : `no traffic of this kind${filtered}`;
    const text = t && isOfCalls(t) ? counted(n, all, this.app.session, this.app.store.state) : all;
    if (this.note.textContent !== text) this.note.textContent = text;
    Object.assign(this.app.drawn, {
      matrixTotal: total,
      matrixSize: this.grid.n,
      matrixCells: this.grid.value.filter((v) => v > 0).length,
    });
  }

  /** As in circle.ts. */
  private hue(point: number): number {
    const { points } = this.grid;
    return points.what === 'node' ? point : points.first[point]!;
  }

  private who(point: number): string {
    return this.grid.points.long[point]!;
  }

  private describeCell(): { title: string; rows: [string, string][] } {
    const { row, column } = this.cell!;
    const text = (v: number) => this.text(v);
    return {
      title: `${this.who(row)} → ${this.who(column)}`,
      rows: [
        [
          this.measure === 'messages' ? `${NOUNS[this.kind]}s` : this.kind === 'late' ? 'waited for' : 'bytes',
          text(this.grid.value[row * this.grid.n + column]!),
        ],
        [`all from ${this.who(row)}`, text(this.grid.rowSum[row]!)],
        [`all to ${this.who(column)}`, text(this.grid.columnSum[column]!)],
      ],
    };
  }

  private hover(e: PointerEvent): void {
    const { left, top, size } = this.layout();
    const column = Math.floor(((e.offsetX - left) / size) * this.grid.n);
    const row = Math.floor(((e.offsetY - top) / size) * this.grid.n);
    const inside = row >= 0 && column >= 0 && row < this.grid.n && column < this.grid.n;
    this.cell = inside ? { row, column } : null;
    if (inside) this.app.tooltip.show(this.describeCell(), e.clientX, e.clientY);
    else this.app.tooltip.hide();
    this.draw();
  }

  private leave(): void {
    this.cell = null;
    this.app.tooltip.hide();
    this.draw();
  }

  private select(): void {
    if (!this.cell || this.grid.points.what === 'ranks') return;
    const ranks = [this.cell.row, this.cell.column].flatMap((point) => ranksOf(this.grid.points, point));
    this.app.store.set({ selected: new Set(ranks) });
  }

  private key(e: KeyboardEvent): void {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[e.key];
    if (e.key === 'Enter') this.select();
    if (!move) return;
    e.preventDefault();
    const last = this.grid.n - 1;
    const at = this.cell ?? { row: 0, column: -move[1]! };
    this.cell = {
      row: Math.min(last, Math.max(0, at.row + move[0]!)),
      column: Math.min(last, Math.max(0, at.column + move[1]!)),
    };
    const tip = this.describeCell();
    this.app.announce(`${tip.title}: ${tip.rows.map(([k, v]) => `${k} ${v}`).join(', ')}`);
    this.draw();
  }
}

export const matrix: View = {
  id: ID,
  title: 'Matrix',
  state: (): MatrixState => ({ kind: 'whole', measure: 'bytes' }),
  create: (app, host) => new Matrix(app, host),
};
