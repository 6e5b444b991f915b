// distribution.ts - how often which lengths, waits or sizes occur in the interval shown, on a logarithmic scale. What is brushed here is a
// filter for all views. In: distributions that the worker counts.  Out: a 2D canvas.
import { FONT, h, paper } from '../draw/dom';
import { choice } from '../draw/tools';
import { css, hex } from '../layout/color';
import { bytes, count, duration, stillReading } from '../layout/format';
import { counted } from '../layout/unrecorded_words';
import { withLimits } from '../model/ask';
import type { LimitOf } from '../model/ask';
import type { Filter } from '../model/filter';
import type { Sheet } from '../model/sheet';
import { scopeOf } from '../model/state';
import { BINS, BINS_EACH, binStart } from '../work/distribution';
import type { Distribution, Metric } from '../work/distribution';
import type { App, View, ViewInstance } from './view';

const ID = 'distribution';
const LEFT = 84; // room for 100,000,000
const BOTTOM = 40;
const TOP = 14;

interface DistributionState {
  [key: string]: string;
  metric: string;
  measure: string; // number, sum
}

interface MetricRow {
  title: string;
  isTime: boolean;
  limit: LimitOf;
  of: string;
  limits(f: Filter): [number, number];
}

/** A new metric: a row here and one in work/distribution.ts. */
const METRICS: Record<Metric, MetricRow> = {
  duration: { title: 'length of calls', isTime: true, limit: '', of: 'calls', limits: (f) => [f.minNs, f.maxNs] },
  wait: {
    title: 'waiting in calls',
    isTime: true,
    limit: 'wait',
    of: 'calls',
    limits: (f) => [f.minWaitNs, f.maxWaitNs],
  },
  callBytes: {
    title: 'bytes of calls',
    isTime: false,
    limit: 'size',
    of: 'calls',
    limits: (f) => [f.minBytes, f.maxBytes],
  },
  messageBytes: {
    title: 'bytes of messages',
    isTime: false,
    limit: 'size',
    of: 'messages',
    limits: (f) => [f.minBytes, f.maxBytes],
  },
  transit: {
    title: 'time of messages under way',
    isTime: true,
    limit: 'transit',
    of: 'messages',
    limits: (f) => [f.minTransitNs, f.maxTransitNs],
  },
};

const HELP =
  'Distribution. Left and right move between columns, with Shift they brush a range, Enter filters all views by it, ' +
  'Escape removes that.';

class DistributionView implements ViewInstance {
  private readonly canvas = h('canvas', { class: 'layer', tabindex: 0, role: 'application', 'aria-label': HELP });
  private readonly stage = h('div', { class: 'stage' }, this.canvas);
  private readonly note = h('span', { class: 'note', role: 'status' });
  private readonly metric;
  private readonly measure;
  private data: Distribution | null = null;
  private asked = '';
  private bins: [number, number] = [0, 1]; // shown, the last one included
  private at = -1; // bin under the pointer, or of the keyboard
  private brush: [number, number] | null = null; // bins
  private isBrushing = false;

  constructor(
    private readonly app: App,
    private readonly host: HTMLElement,
  ) {
    const set = (change: Partial<DistributionState>) => app.store.setView(ID, change as DistributionState);
    const metrics = Object.entries(METRICS).map(([key, m]): [string, string] => [key, m.title]);
    this.metric = choice('metric', 'What is counted', metrics, (metric) => set({ metric }));
    const measures = [
      ['number', 'how many'],
      ['sum', 'how much in all'],
    ] as const;
    this.measure = choice('height', 'What the columns are high by', measures, (measure) => set({ measure }));
    host.append(h('div', { class: 'tools' }, this.metric.element, this.measure.element, this.note), this.stage);
    this.canvas.addEventListener('pointerdown', (e) => this.down(e));
    this.canvas.addEventListener('pointermove', (e) => this.move(e));
    this.canvas.addEventListener('pointerup', () => this.up());
    this.canvas.addEventListener('pointerleave', () => this.leave());
    this.canvas.addEventListener('keydown', (e) => this.key(e));
  }

  destroy(): void {
    this.app.session.giveUp(ID);
    this.host.replaceChildren();
  }

  private state(): DistributionState {
    return this.app.store.of<DistributionState>(ID);
  }

  private row(): MetricRow {
    return METRICS[this.state().metric as Metric] ?? METRICS.duration;
  }

  update(): void {
    const metric = (this.state().metric in METRICS ? this.state().metric : 'duration') as Metric;
    const query = { metric, ...scopeOf(this.app.store.state) };
    const key = JSON.stringify(query);
    if (key !== this.asked) {
      this.asked = key;
      this.app.session.ask(ID, 'distribution', query, (d) => this.take(d), this.app.fail);
    }
    this.metric.put(metric);
    this.measure.put(this.state().measure);
    this.draw();
  }

  private take(d: Distribution): void {
    this.data = d;
    const used = Array.from(d.count, (n, i) => (n > 0 && i > 0 ? i : -1)).filter((i) => i >= 0);
    this.bins = used.length > 0 ? [Math.max(1, used[0]! - 1), used[used.length - 1]! + 1] : [1, 8];
    this.app.redraw();
  }

  private text(value: number): string {
    return this.row().isTime ? duration(value) : bytes(value);
  }

  private heights(): Float64Array {
    const { data } = this;
    if (!data) return new Float64Array(BINS);
    return this.state().measure === 'sum' ? data.sum : data.count;
  }

  private place(width: number): { x(bin: number): number; binAt(x: number): number } {
    const [first, last] = this.bins;
    const each = (width - LEFT - 16) / (last - first + 1);
    return {
      x: (bin) => LEFT + (bin - first) * each,
      binAt: (x) => Math.max(first, Math.min(last, Math.floor((x - LEFT) / each) + first)),
    };
  }

  private draw(): void {
    this.say(); // may take a line more, and so room from the canvas
    const { g, width, height } = paper(this.canvas);
    this.paint(g, width, height);
  }

  paint(g: CanvasRenderingContext2D, width: number, height: number): void {
    const theme = this.app.theme();
    const { x } = this.place(width);
    const values = this.heights();
    const [first, last] = this.bins;
    const most = values.subarray(first, last + 1).reduce((a, b) => Math.max(a, b), 0);
    if (most === 0) return; // not read yet, or nothing is left: there is no scale
    const foot = height - BOTTOM;
    const tall = (v: number) => (v > 0 ? Math.max(2, (Math.log1p(v) / Math.log1p(most)) * (foot - TOP)) : 0);
    g.font = FONT;
    this.drawScale(g, width, most, (v) => foot - tall(v));
    const [least, limit] = this.row().limits(this.app.store.state.filter);
    for (let bin = first; bin <= last; bin++) {
      const [x1, x2] = [x(bin), x(bin + 1)];
      const isIn = binStart(bin + 1) > least && (limit === 0 || binStart(bin) < limit);
      g.fillStyle = isIn ? theme.accent : theme.dim;
      g.globalAlpha = isIn ? (bin === this.at ? 1 : 0.75) : 0.25;
      g.fillRect(x1 + 0.5, foot - tall(values[bin]!), Math.max(1, x2 - x1 - 1), tall(values[bin]!));
    }
    g.globalAlpha = 1;
    this.drawAxis(g, x, foot);
    if (this.brush) {
      const [a, b] = [Math.min(...this.brush), Math.max(...this.brush)];
      g.fillStyle = css(hex('#d55e00'), 0.12);
      g.fillRect(x(a), TOP, x(b + 1) - x(a), foot - TOP);
    }
  }

  private drawScale(g: CanvasRenderingContext2D, width: number, most: number, y: (v: number) => number): void {
    const theme = this.app.theme();
    g.textAlign = 'right';
    g.textBaseline = 'middle';
    let above = Infinity;
    for (let v = 1; v <= most; v *= 10) {
      if (above - y(v) < 18) continue;
      above = y(v);
      g.fillStyle = theme.line;
      g.fillRect(LEFT, Math.round(y(v)), width - LEFT - 16, 1);
      g.fillStyle = theme.dim;
      g.fillText(this.state().measure === 'sum' ? this.text(v) : count(v), LEFT - 8, y(v));
    }
  }

  private drawAxis(g: CanvasRenderingContext2D, x: (bin: number) => number, foot: number): void {
    const theme = this.app.theme();
    const [first, last] = this.bins;
    g.fillStyle = theme.dim;
    g.fillRect(LEFT, foot, x(last + 1) - LEFT, 1);
    g.textAlign = 'center';
    g.textBaseline = 'top';
    let right = -Infinity;
    const [least, most] = [Math.max(1, binStart(first)), binStart(last + 1)];
    for (let v = 1; v <= most; v *= this.row().isTime ? 10 : 4) {
      const at = x(1 + Math.log2(v) * BINS_EACH);
      const text = this.text(v).replace('.00', '');
      const half = g.measureText(text).width / 2;
      if (v < least || at - half < right + 10) continue;
      right = at + half;
      g.fillRect(Math.round(at), foot, 1, 5);
      g.fillText(text, at, foot + 9);
    }
  }

  private say(): void {
    const d = this.data;
    const { of } = this.row();
    const { filter, filterText } = this.app.store.state;
    const parts: string[] = [];
    if (d) {
      parts.push(
        `${count(d.total)} ${of}${d.open > 0 ? `, ${count(d.open)} of them open, to the end of their ranks` : ''}`,
      );
      if (d.count[0]! > 0 && d.total > 0) parts.push(`${count(d.count[0]!)} with none`);
      if (d.most > 0) parts.push(`${this.text(d.least)} to ${this.text(d.most)}`);
      const reading = stillReading(d.read, d.of);
      if (reading !== '') parts.push(reading);
    }
    const [least, most] = this.row().limits(filter);
    if (least > 0 || most > 0) parts.push('grey: filtered out');
    if (filterText !== '') parts.push(`only ${filterText}`);
    const all = parts.join('; ');
    const { session, store } = this.app;
    const text = d ? counted(d.total, all, session, store.state, store.state.selected) : all;
    if (this.note.textContent !== text) this.note.textContent = text;
    Object.assign(this.app.drawn, { distributionTotal: d?.total ?? 0, distributionMetric: d?.metric ?? '' });
  }

  // ---- pointer and keyboard ----

  private binOf(e: PointerEvent): number {
    return this.place(this.canvas.clientWidth).binAt(e.offsetX);
  }

  private words(bin: number): { title: string; rows: [string, string][] } {
    const d = this.data!;
    const title = `${this.text(binStart(bin))} to ${this.text(binStart(bin + 1))}`;
    return {
      title,
      rows: [
        [this.row().of, count(d.count[bin]!)],
        ['in all', this.text(d.sum[bin]!)],
      ],
    };
  }

  private down(e: PointerEvent): void {
    this.canvas.setPointerCapture(e.pointerId);
    const bin = this.binOf(e);
    this.isBrushing = true;
    this.brush = [bin, bin];
    this.app.redraw();
  }

  private move(e: PointerEvent): void {
    if (!this.data) return;
    this.at = this.binOf(e);
    if (this.isBrushing && this.brush) this.brush = [this.brush[0], this.at];
    const { title, rows } = this.words(this.at);
    this.app.tooltip.show({ title, rows }, e.clientX, e.clientY);
    this.draw();
  }

  private leave(): void {
    if (this.isBrushing) return;
    this.at = -1;
    this.app.tooltip.hide();
    this.draw();
  }

  private up(): void {
    if (!this.isBrushing) return;
    this.isBrushing = false;
    this.apply();
  }

  /** What is brushed is the limit of the filter; a single column brushed twice removes it. */
  private apply(): void {
    const { brush } = this;
    this.brush = null;
    if (!brush) return;
    const [a, b] = [Math.min(...brush), Math.max(...brush)];
    const [first, last] = this.bins;
    const isAll = a <= first && b >= last;
    this.limit(isAll ? 0 : binStart(a), isAll ? 0 : binStart(b + 1));
  }

  private limit(least: number, most: number): void {
    this.app.filterBy(withLimits(this.app.store.state.filterText, this.row().limit, least, most));
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey || !this.data) return;
    const [first, last] = this.bins;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (step !== undefined) {
      const before = this.at < 0 ? (step > 0 ? first - 1 : last + 1) : this.at;
      this.at = Math.max(first, Math.min(last, before + step));
      if (e.shiftKey) this.brush = [this.brush?.[0] ?? Math.max(first, Math.min(last, before)), this.at];
      const { title, rows } = this.words(this.at);
      this.app.announce(`${title}: ${rows.map(([k, v]) => `${k} ${v}`).join(', ')}`);
    } else if (e.key === 'Enter') {
      this.brush ??= this.at >= 0 ? [this.at, this.at] : null;
      this.apply();
    } else if (e.key === 'Escape') {
      this.brush = null;
      this.limit(0, 0);
    } else return;
    e.preventDefault();
    this.draw();
  }

  sheet(): Sheet {
    const { metric } = this.state();
    const unit = this.row().isTime ? 'ns' : 'bytes';
    const columns = [`from_${unit}`, `to_${unit}`, 'number', `sum_${unit}`].map((name, i) => ({
      name,
      title: ['from', 'to', 'number', 'in all'][i]!,
      ...(i === 2 ? {} : { show: (v: unknown) => this.text(Number(v)) }),
    }));
    const rows: number[][] = [];
    this.data?.count.forEach((n, bin) => {
      if (n > 0) rows.push([binStart(bin), bin === 0 ? 0 : binStart(bin + 1), n, this.data!.sum[bin]!]);
    });
    return { title: METRICS[metric as Metric]?.title ?? metric, note: this.note.textContent ?? '', columns, rows };
  }
}

export const distribution: View = {
  id: ID,
  title: 'Distribution',
  state: (): DistributionState => ({ metric: 'duration', measure: 'number' }),
  create: (app, host) => new DistributionView(app, host),
};
