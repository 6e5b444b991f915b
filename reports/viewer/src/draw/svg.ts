// svg.ts - draws on a sheet of SVG what views draw on a canvas: it has those members of CanvasRenderingContext2D that views use. Text
// stays text, lines stay lines; pictures (the bars of the timeline, patterns) become images in it.

interface State {
  fillStyle: string | CanvasPattern | CanvasGradient;
  strokeStyle: string | CanvasPattern | CanvasGradient;
  lineWidth: number;
  lineCap: CanvasLineCap;
  lineJoin: CanvasLineJoin;
  globalAlpha: number;
  font: string;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
  dash: number[];
  clip: string;
  transform: string;
}

const FIRST: State = {
  fillStyle: '#000',
  strokeStyle: '#000',
  lineWidth: 1,
  lineCap: 'butt',
  lineJoin: 'miter',
  globalAlpha: 1,
  font: '10px sans-serif',
  textAlign: 'start',
  textBaseline: 'alphabetic',
  dash: [],
  clip: '',
  transform: '',
};

const n = (x: number) => String(Math.round(x * 100) / 100);

function escaped(text: string): string {
  // eslint-disable-next-line no-control-regex
  const clean = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd');
  return clean.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]!);
}

const ANCHORS: Record<string, string> = { center: 'middle', right: 'end', end: 'end' };
const BASES: Record<string, string> = { middle: 'central', top: 'text-before-edge', bottom: 'text-after-edge' };

export class SvgSheet {
  fillStyle!: State['fillStyle'];
  strokeStyle!: State['strokeStyle'];
  lineWidth!: number;
  lineCap!: CanvasLineCap;
  lineJoin!: CanvasLineJoin;
  globalAlpha!: number;
  font!: string;
  textAlign!: CanvasTextAlign;
  textBaseline!: CanvasTextBaseline;
  imageSmoothingEnabled = true;
  private dash: number[] = [];
  private clipName = '';
  private transform = '';
  private path = '';
  private readonly parts: string[] = [];
  private readonly states: State[] = [];
  private clips = 0;
  private readonly measure = document.createElement('canvas').getContext('2d')!;

  constructor(
    readonly width: number,
    readonly height: number,
    paper: string,
  ) {
    this.take(FIRST);
    this.fillStyle = paper;
    this.fillRect(0, 0, width, height);
  }

  text(): string {
    const { width, height } = this;
    const box = `width="${n(width)}" height="${n(height)}" viewBox="0 0 ${n(width)} ${n(height)}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${box}>\n${this.parts.join('\n')}\n</svg>\n`;
  }

  // ---- state ----

  save(): void {
    const { fillStyle, strokeStyle, lineWidth, lineCap, lineJoin, globalAlpha } = this;
    const { font, textAlign, textBaseline, dash, clipName, transform } = this;
    const lines = { fillStyle, strokeStyle, lineWidth, lineCap, lineJoin, globalAlpha };
    this.states.push({ ...lines, font, textAlign, textBaseline, dash, clip: clipName, transform });
  }

  restore(): void {
    const state = this.states.pop();
    if (state) this.take(state);
  }

  private take({ dash, clip, transform, ...rest }: State): void {
    Object.assign(this, rest);
    [this.dash, this.clipName, this.transform] = [dash, clip, transform];
  }

  translate(x: number, y: number): void {
    this.transform += `translate(${n(x)} ${n(y)}) `;
  }

  rotate(angle: number): void {
    this.transform += `rotate(${n((angle * 180) / Math.PI)}) `;
  }

  setLineDash(dash: number[]): void {
    this.dash = dash;
  }

  clip(): void {
    const name = `c${++this.clips}`;
    const outer = this.clipName ? ` clip-path="url(#${this.clipName})"` : '';
    this.parts.push(`<clipPath id="${name}"><path d="${this.path}"${outer}/></clipPath>`);
    this.clipName = name;
  }

  // ---- paths ----

  beginPath(): void {
    this.path = '';
  }

  moveTo(x: number, y: number): void {
    this.path += `M${n(x)} ${n(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.path += `${this.path === '' ? 'M' : 'L'}${n(x)} ${n(y)}`;
  }

  bezierCurveTo(x1: number, y1: number, x2: number, y2: number, x: number, y: number): void {
    this.path += `C${[x1, y1, x2, y2, x, y].map(n).join(' ')}`;
  }

  closePath(): void {
    this.path += 'Z';
  }

  /** Whole circles only. */
  arc(x: number, y: number, r: number, _from: number, _to: number): void {
    this.path += `M${n(x - r)} ${n(y)}a${n(r)} ${n(r)} 0 1 0 ${n(2 * r)} 0a${n(r)} ${n(r)} 0 1 0 ${n(-2 * r)} 0Z`;
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.path += `M${n(x)} ${n(y)}h${n(width)}v${n(height)}h${n(-width)}Z`;
  }

  roundRect(x: number, y: number, width: number, height: number): void {
    this.rect(x, y, width, height);
  }

  fill(): void {
    this.put(`<path d="${this.path}"`, this.paintOf('fill', this.fillStyle));
  }

  stroke(): void {
    this.put(`<path d="${this.path}" fill="none"`, this.paintOf('stroke', this.strokeStyle) + this.lines());
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.put(this.box(x, y, width, height), this.paintOf('fill', this.fillStyle));
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.put(`${this.box(x, y, width, height)} fill="none"`, this.paintOf('stroke', this.strokeStyle) + this.lines());
  }

  // ---- text and pictures ----

  measureText(text: string): TextMetrics {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  fillText(text: string, x: number, y: number): void {
    this.putText(text, x, y, this.paintOf('fill', this.fillStyle));
  }

  strokeText(text: string, x: number, y: number): void {
    this.putText(text, x, y, ` fill="none"${this.paintOf('stroke', this.strokeStyle)}${this.lines()}`);
  }

  private putText(text: string, x: number, y: number, paint: string): void {
    const anchor = ANCHORS[this.textAlign] ?? 'start';
    const base = BASES[this.textBaseline] ?? 'auto';
    const place = `x="${n(x)}" y="${n(y)}" text-anchor="${anchor}" dominant-baseline="${base}"`;
    const [, size, family] = /^(?:\w+ )?([\d.]+)px (.*)$/.exec(this.font) ?? ['', '12', 'sans-serif'];
    const font = `font-size="${size}" font-family="${escaped(family!)}"`;
    this.put(`<text ${place} ${font}${paint}`, '', `>${escaped(text)}</text>`);
  }

  /** (image, x, y), (image, x, y, width, height), or first a part of the image. */
  drawImage(image: CanvasImageSource, ...at: number[]): void {
    const { width: w, height: hh } = image as { width: number; height: number };
    const [sx, sy, sw, sh] = at.length === 8 ? at.slice(0, 4) : [0, 0, w, hh];
    const [x, y, width, height] = at.length === 8 ? at.slice(4) : at;
    const sheet = document.createElement('canvas');
    [sheet.width, sheet.height] = [Math.max(1, Math.round(sw!)), Math.max(1, Math.round(sh!))];
    sheet.getContext('2d')!.drawImage(image, sx!, sy!, sw!, sh!, 0, 0, sheet.width, sheet.height);
    const head = `<image href="${sheet.toDataURL('image/png')}" preserveAspectRatio="none"`;
    const place = `x="${n(x!)}" y="${n(y!)}" width="${n(width ?? w)}" height="${n(height ?? hh)}"`;
    this.put(`${head} ${place} image-rendering="optimizeSpeed"`, '');
  }

  /** What is not loaded is plain grey here. */
  createPattern(): string {
    return 'rgb(128 128 128 / 0.3)';
  }

  private box(x: number, y: number, width: number, height: number): string {
    const [left, top] = [Math.min(x, x + width), Math.min(y, y + height)];
    return `<rect x="${n(left)}" y="${n(top)}" width="${n(Math.abs(width))}" height="${n(Math.abs(height))}"`;
  }

  private paintOf(what: 'fill' | 'stroke', style: State['fillStyle']): string {
    const text = typeof style === 'string' ? style : 'rgb(128 128 128 / 0.3)';
    const [, rgb, alpha] = /^rgb\(([\d. ]+)(?: \/ ([\d.]+))?\)$/.exec(text) ?? [];
    const color = rgb ? `rgb(${rgb.trim().split(/\s+/).join(',')})` : text;
    const opacity = Number(alpha ?? 1) * this.globalAlpha;
    return ` ${what}="${escaped(color)}"${opacity < 1 ? ` ${what}-opacity="${n(opacity)}"` : ''}`;
  }

  private lines(): string {
    const dash = this.dash.length > 0 ? ` stroke-dasharray="${this.dash.map(n).join(' ')}"` : '';
    const ends = this.lineCap === 'butt' ? '' : ` stroke-linecap="${this.lineCap}"`;
    const joins = this.lineJoin === 'miter' ? '' : ` stroke-linejoin="${this.lineJoin}"`;
    return ` stroke-width="${n(this.lineWidth)}"${ends}${joins}${dash}`;
  }

  private put(head: string, look: string, tail = '/>'): void {
    const move = this.transform ? ` transform="${this.transform.trim()}"` : '';
    const element = `${head}${look}${move}${tail}`;
    this.parts.push(this.clipName ? `<g clip-path="url(#${this.clipName})">${element}</g>` : element);
  }
}

/** Whoever draws takes it for a canvas. */
export function svgOf(
  width: number,
  height: number,
  paper: string,
  draw: (g: CanvasRenderingContext2D) => void,
): string {
  const sheet = new SvgSheet(width, height, paper);
  draw(sheet as unknown as CanvasRenderingContext2D);
  return sheet.text();
}
