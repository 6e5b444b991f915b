// field.ts - the profile over time: one metric over two of ranks, events and samples, as a heat map or as lines. In: the field that the worker
// makes of the samples.  Out: a 2D canvas, a panel above and below.
import { h, paper } from '../draw/dom';
import { paintHeat, paintLines } from '../draw/field_picture';
import { cellBelow, frameOf, hasTime, inUnit, scaleOf } from '../layout/field';
import type { CellPlace, Frame } from '../layout/field';
import { count, exactMoment, plural } from '../layout/format';
import { CORNERS_LEAST } from '../layout/tube';
import { METRICS, NO_EVENT, fieldAt } from '../model/field';
import type { Field } from '../model/field';
import type { Sheet } from '../model/sheet';
import { Shows } from './field_shows';
import { SolidStage } from './field_solid';
import { FieldControls } from './field_controls';
import { fieldSheet } from './field_sheet';
import { FIRST_STATE, ID, cloudMetrics, fieldWords, givenOf, isInSpace } from './field_state';
import type { FieldState } from './field_state';
import type { SampledApp, View, ViewInstance } from './view';

const HELP =
  'Profile over time. Arrow keys move between cells, Enter selects the ranks of the row, Shift Enter shows the sample by events, comma and full stop ' +
  'go to the sample before and the next, Space plays.';
const NONE =
  'This trace has no samples: they are taken while a program runs, once a second (sample=SECONDS of --mpitrace, mpitrace run --sample), and are in ' +
  'traces that were analysed since.';

class FieldView implements ViewInstance {
  private readonly canvas = h('canvas', { class: 'layer', tabindex: 0, role: 'application', 'aria-label': HELP });
  private readonly empty = h('p', { class: 'empty', hidden: true });
  private readonly stage = h('div', { class: 'stage' }, this.canvas, this.empty);
  private readonly solid: SolidStage;
  private readonly shows: Shows;
  private readonly controls: FieldControls;
  private more: (Field | null)[] = []; // of a cloud: the other axes, the colour
  private samples: { start: number; end: number }[] = [];
  private field: Field | null = null;
  private asked = '';
  private frame: Frame | null = null;
  private cell: CellPlace | null = null;
  private drag: { x: number; from: number; to: number } | null = null;

  constructor(
    private readonly app: SampledApp,
    private readonly host: HTMLElement,
    none: string,
  ) {
    this.empty.textContent = none;
    this.controls = new FieldControls(
      app,
      () => this.state(),
      () => this.samples,
    );
    this.shows = new Shows(app);
    this.solid = new SolidStage(app, {
      state: () => this.state(),
      set: (change) => this.set(change),
      hover: (vertex, e) => this.point(this.field && this.shows.cellOf(this.state(), this.field, vertex), e),
      click: () => this.select(),
      leave: () => this.leave(),
      brushed: (isIn) => this.brushed(isIn),
      key: (e) => this.key(e),
    });
    host.append(this.controls.top, this.controls.note, this.stage, this.solid.element, this.controls.bottom);
    this.canvas.addEventListener('pointerdown', (e) => this.down(e));
    this.canvas.addEventListener('pointermove', (e) => this.move(e));
    this.canvas.addEventListener('pointerup', (e) => this.up(e));
    this.canvas.addEventListener('pointerleave', () => this.leave());
    this.canvas.addEventListener('dblclick', () => this.unroll());
    this.canvas.addEventListener('wheel', (e) => this.wheel(e), { passive: false });
    this.canvas.addEventListener('keydown', (e) => this.key(e));
    app.session.ask(`${ID} samples`, 'samples', null, (all) => this.takeSamples(all), app.fail);
  }

  destroy(): void {
    this.controls.stop();
    this.solid.destroy();
    for (const asker of [ID, `${ID} 1`, `${ID} 2`, `${ID} 3`]) this.app.session.giveUp(asker);
    this.app.session.giveUp(`${ID} samples`);
    this.host.replaceChildren();
  }

  private state(): FieldState {
    return this.app.store.of<FieldState>(ID);
  }

  private set(change: Partial<FieldState>): void {
    this.app.store.setView(ID, change as FieldState);
  }

  private takeSamples(all: { start: number; end: number }[]): void {
    this.samples = all;
    this.empty.hidden = all.length > 0;
    this.app.redraw();
  }

  update(): void {
    if (this.samples.length > 0) this.ask();
    const space = isInSpace(this.state()) && this.samples.length > 0;
    this.stage.hidden = space;
    this.solid.element.hidden = !space;
    this.controls.update();
    this.draw();
  }

  private ask(): void {
    const s = this.state();
    const given = givenOf(s, this.app.store.state, this.samples.length);
    const others = s.draw === 'cloud' ? cloudMetrics(s).slice(1) : [];
    const key = JSON.stringify([given, others, this.samples.length]);
    if (key === this.asked) return;
    this.asked = key;
    this.more = others.map(() => null);
    this.app.session.ask(ID, 'field', given, (f) => this.take(f), this.app.fail);
    others.forEach((metric, i) => {
      const other = givenOf(s, this.app.store.state, this.samples.length, metric);
      this.app.session.ask(`${ID} ${i + 1}`, 'field', other, (f) => this.takeMore(i, f), this.app.fail);
    });
  }

  private takeMore(i: number, f: Field): void {
    this.more[i] = f;
    this.app.redraw();
  }

  private take(f: Field): void {
    const isSame = this.field?.rows.length === f.rows.length && this.field.columns.length === f.columns.length;
    this.field = f;
    if (!isSame) this.cell = null;
    this.app.redraw();
  }

  private draw(): void {
    const s = this.state();
    if (isInSpace(s)) this.solid.show(this.show());
    else {
      const { g, width, height } = paper(this.canvas);
      this.paint(g, width, height);
    }
    this.app.drawn.fieldScene = isInSpace(s) ? this.solid.kind : '';
    this.say();
  }

  private show() {
    const all = [this.field, ...this.more];
    const fields = all.every((f) => f !== null) ? (all as Field[]) : null;
    return this.shows.show(this.state(), fields, this.cell);
  }

  /** Over time it is that of all views, or of all samples where these are fewer. */
  private span(): { from: number; to: number } {
    const { from, to } = this.app.store.state;
    return { from: Math.max(0, from), to: Math.min(to, this.app.session.meta.runtime) };
  }

  paint(g: CanvasRenderingContext2D, width: number, height: number): void {
    const f = this.field;
    if (!f || f.rows.length === 0 || f.columns.length === 0) return;
    const s = this.state();
    if (isInSpace(s)) return this.solid.paint(g, width, height);
    const looks = {
      frame: frameOf(f, { width, height }, this.span(), s.draw !== 'lines'),
      scale: scaleOf(f, s),
      theme: this.app.theme(),
      span: this.span(),
      selected: this.app.store.state.selected,
      cell: this.cell,
      sample: s.sample,
    };
    this.frame = looks.frame;
    if (s.draw === 'lines') paintLines(g, f, looks);
    else paintHeat(g, f, looks);
  }

  private say(): void {
    const f = this.field;
    const parts: string[] = [];
    if (f) {
      parts.push(fieldWords(f, this.state()));
      if (f.most >= f.least && (f.most > 0 || f.query.metric !== 'wait'))
        parts.push(`${inUnit(f.unit, f.least)} to ${inUnit(f.unit, f.most)}`);
      else parts.push(this.nothing(f));
      if (f.rows[0]?.event === NO_EVENT && f.threads > f.rows.length)
        parts.push(`${plural(f.threads, 'thread')} in ${plural(f.rows.length, 'row')}`);
      if (this.state().draw === 'tube' && f.rows.length < CORNERS_LEAST)
        parts.push(`a tube has ${CORNERS_LEAST} corners or more; lines show fewer`);
      if (f.left > 0) parts.push(`left out: ${plural(f.left, 'more event')}`);
      if (f.silent > 0) parts.push('hatched: no data, such as of a node without samples');
      if (f.read < f.of) parts.push(`reading, ${count(f.read)} of ${plural(f.of, 'sample')}`);
    } else if (this.samples.length === 0) parts.push('no samples');
    const text = parts.join('; ');
    if (this.controls.note.textContent !== text) this.controls.note.textContent = text;
    Object.assign(this.app.drawn, {
      fieldRows: f?.rows.length ?? 0,
      fieldColumns: f?.columns.length ?? 0,
      fieldMost: f?.most ?? null,
      fieldLeast: f?.least ?? null,
      fieldSamples: this.samples.length,
    });
  }

  private nothing(f: Field): string {
    if (f.query.metric === 'wait') return 'no rank waited, or the file does not say';
    return f.query.events.trim() !== '' && f.events.length === 0 ? 'no event has such a name' : 'nothing is known';
  }

  sheet(): Sheet {
    return fieldSheet(this.field, this.controls.note.textContent ?? '');
  }

  // ---- pointer and keyboard ----

  private words(): { title: string; rows: [string, string][] } | null {
    const { cell, field: f } = this;
    const [row, column] = [cell && f?.rows[cell.row], cell && f?.columns[cell.column]];
    if (!cell || !f || !row || !column) return null;
    const names = [...new Set(row.ranks.slice(0, 3).map((r) => this.app.session.nodes[r] ?? ''))].filter(
      (x) => x !== '',
    );
    const rows: [string, string][] = [
      [METRICS[f.query.metric].title, inUnit(f.unit, fieldAt(f, cell.row, cell.column))],
      [column.event === NO_EVENT ? 'in' : 'of', column.title],
    ];
    if (column.event === NO_EVENT) rows.push(['from', exactMoment(column.start)], ['until', exactMoment(column.end)]);
    this.more.forEach((other) => {
      if (other) rows.push([METRICS[other.query.metric].title, inUnit(other.unit, fieldAt(other, cell.row, 0))]);
    });
    if (names.length > 0) rows.push(['on', `${names.join(', ')}${row.ranks.length > 3 ? ' …' : ''}`]);
    return { title: row.title, rows };
  }

  private down(e: PointerEvent): void {
    if (!this.field || !hasTime(this.field)) return;
    const { from, to } = this.app.store.state;
    this.canvas.setPointerCapture(e.pointerId);
    this.drag = { x: e.offsetX, from, to };
  }

  private move(e: PointerEvent): void {
    if (!this.field || !this.frame) return;
    if (this.drag && Math.abs(e.offsetX - this.drag.x) > 4) {
      const by = ((this.drag.x - e.offsetX) / this.frame.width) * (this.drag.to - this.drag.from);
      this.app.store.showInterval(this.drag.from + by, this.drag.to + by);
      return;
    }
    this.point(cellBelow(this.frame, e.offsetX, e.offsetY), e);
  }

  private point(cell: CellPlace | null, e: PointerEvent): void {
    this.cell = cell;
    const words = this.words();
    if (words) this.app.tooltip.show(words, e.clientX, e.clientY);
    else this.app.tooltip.hide();
    this.draw();
  }

  private up(e: PointerEvent): void {
    const isClick = !this.drag || Math.abs(e.offsetX - this.drag.x) <= 4;
    this.drag = null;
    if (isClick) this.select();
  }

  private leave(): void {
    this.cell = null;
    this.app.tooltip.hide();
    this.draw();
  }

  private wheel(e: WheelEvent): void {
    const { field: f, frame } = this;
    if (!f || !frame || !hasTime(f) || e.ctrlKey) return;
    e.preventDefault();
    const { from, to } = this.app.store.state;
    const about = from + ((e.offsetX - frame.left) / frame.width) * (to - from);
    this.app.store.zoom(2 ** (e.deltaY / 400), about);
  }

  private select(): void {
    const row = this.cell && this.field?.rows[this.cell.row];
    if (row && row.ranks.length > 0) this.app.store.toggleRanks(row.ranks);
  }

  private brushed(isIn: (seen: { x: number; y: number; scale: number }) => boolean): void {
    const f = this.field;
    if (!f) return;
    const ranks = this.solid.seen().flatMap((p, i) => {
      const cell = isIn(p) ? this.shows.cellOf(this.state(), f, i) : null;
      return cell ? (f.rows[cell.row]?.ranks ?? []) : [];
    });
    this.app.store.set({ selected: new Set(ranks) });
  }

  /** The sample of the cell, by events. */
  private unroll(): void {
    const column = this.cell && this.field?.columns[this.cell.column];
    if (column && column.event === NO_EVENT)
      this.set({
        axes: 'rank-event',
        sample: column.last,
        since: column.first === column.last ? -1 : column.first - 1,
      });
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const act = {
      Enter: () => (e.shiftKey ? this.unroll() : this.select()),
      ',': () => this.controls.step(-1),
      '.': () => this.controls.step(1),
      ' ': () => this.controls.toggle(),
    }[e.key];
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[e.key];
    if (!act && !by) return;
    e.preventDefault();
    e.stopPropagation();
    act?.();
    if (by) this.moveCell(by[0]!, by[1]!);
  }

  private moveCell(rows: number, columns: number): void {
    const f = this.field;
    if (!f) return;
    const at = this.cell ?? { row: rows > 0 ? -1 : 0, column: columns > 0 ? -1 : 0 };
    this.cell = {
      row: Math.max(0, Math.min(f.rows.length - 1, at.row + rows)),
      column: Math.max(0, Math.min(f.columns.length - 1, at.column + columns)),
    };
    const words = this.words();
    if (words) this.app.announce(`${words.title}: ${words.rows.map(([k, v]) => `${k} ${v}`).join(', ')}`);
    this.draw();
  }
}

/** none: what stands there when there are no samples. */
export function createField(app: SampledApp, host: HTMLElement, none: string): ViewInstance {
  return new FieldView(app, host, none);
}

export const field: View = {
  id: ID,
  title: 'Profile',
  state: (): FieldState => ({ ...FIRST_STATE }),
  create: (app, host) => createField(app, host, NONE),
};
