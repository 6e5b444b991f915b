// dom.ts - making elements. Text is always text: there is no way from a trace to markup.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value));
  }
  add(element, ...children);
  return element;
}

export function add(parent: Node, ...children: Child[]): void {
  for (const child of children)
    if (child) parent.appendChild(typeof child === 'string' ? document.createTextNode(child) : child);
}

export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  add(parent, ...children);
}

/** Calls it before the next picture, once however often it is asked for. */
export function onceAPicture(act: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      act();
    });
  };
}

export interface Size {
  width: number; // CSS pixels
  height: number;
}

/** Size a canvas to its box (who knows its size saves the browser from measuring it) in device pixels; returns its 2D context scaled
 * to CSS pixels, cleared; with a colour of the ground it lets nothing through. Canvases stay in memory: pictures are made there, and a
 * graphics card that is software would take many times as long to put them together. */
export function paper(
  canvas: HTMLCanvasElement,
  known?: Size,
  ground?: string,
): Size & { g: CanvasRenderingContext2D } {
  const ratio = devicePixelRatio || 1;
  const { width, height } = known ?? { width: canvas.clientWidth, height: canvas.clientHeight };
  const w = Math.max(1, Math.round(width * ratio));
  const hh = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w || canvas.height !== hh) {
    canvas.width = w;
    canvas.height = hh;
  }
  const g = canvas.getContext('2d', { willReadFrequently: true, alpha: ground === undefined })!;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  if (ground !== undefined) {
    g.fillStyle = ground;
    g.fillRect(0, 0, width + 1, height + 1);
  }
  return { g, width, height };
}

export interface Theme {
  dark: boolean;
  text: string;
  dim: string;
  line: string;
  paper: string;
  idle: string;
  accent: string;
}

/** The colours of the style sheet, for canvases. */
export function theme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string) => style.getPropertyValue(name).trim();
  return {
    dark: value('--dark') === '1',
    text: value('--text'),
    dim: value('--dim'),
    line: value('--line'),
    paper: value('--paper'),
    idle: value('--idle'),
    accent: value('--accent'),
  };
}

export const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

/** Of what is not known, or not here: thin lines. */
export function unknownPattern(g: CanvasRenderingContext2D, color: string): CanvasPattern {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const t = tile.getContext('2d')!;
  t.strokeStyle = color;
  t.beginPath();
  for (const shift of [-6, 0, 6]) {
    t.moveTo(shift, 0);
    t.lineTo(shift + 6, 6);
  }
  t.stroke();
  return g.createPattern(tile, 'repeat')!;
}
